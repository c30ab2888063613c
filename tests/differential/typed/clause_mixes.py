# ruff: noqa: E501
"""Random SELECTs that combine clauses over the table of every type.

In: a source of choices. Out: the text of a query, which gives the same rows in whatever order its sources are read: keys
of every type, with DISTINCT, HAVING, LIMIT BY, ROLLUP, CUBE, GROUPING SETS, WITH FILL, windows, joins, IN (SELECT …) and
UNION around and beside each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.differential.typed.signatures import KINDS_OF_COLUMNS

# No key is -0.0 (KINDS_OF_COLUMNS has no `z64`): ClickHouse keeps it apart from 0.0 ("Known differences").
MAPS = ("m", "mn", "mi")
"""Columns that no engine sorts."""
KEYS = tuple(name for name in KINDS_OF_COLUMNS if name not in MAPS)
NUMBERS = ("i8", "i32", "u8", "u16", "ni32", "nu8", "d9", "nd", "d18")
"""Numbers whose sums do not depend on the order of the rows."""
JOINS = ("INNER JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "CROSS JOIN")
AGGREGATES = (
    "count()",
    "sum({n})",
    "min({k})",
    "max({k})",
    "uniqExact({k})",
    "countIf(b)",
    "sumIf({n}, b)",
    "avg({n})",
)
AGGREGATES += (
    "sumOrNull({n})",
    "minIfOrNull({k}, nb)",
    "argMax(id, id)",
    "groupBitOr(u8)",
    "max(({n}, id))",
    "min([{n}])",
)
CONDITIONS = (
    "id > 2",
    "b",
    "nb",
    "u8 > 3",
    "ni32 IS NOT NULL",
    "lc != 'b'",
    "id % 3 = 1",
    "lcn = 'a'",
    "NOT nb",
    "f64 = f64",
)
WINDOWS = ("row_number()", "rank()", "dense_rank()", "lag({k}) ", "lead({k}, 2)", "lagInFrame({k})", "first_value({k})")
WINDOWS += ("sum({n})", "count({k})", "min({k})", "max({k})", "last_value({k})", "nth_value({k}, 2)", "ntile(3)")
FRAMES = ("", "", " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING")


@dataclass(frozen=True)
class Mixer:
    """Picks the parts of a SELECT."""

    random: Random

    def one(self, of: Sequence[str]) -> str:
        return self.random.choice(of)

    def key(self) -> str:
        """A column of any type, or an expression over one."""
        name = self.one(KEYS)
        return self.one(
            (name, name, name, f"toNullable({name})", f"if(b, {name}, {name})", f"({name}, u8)", f"toString({name})")
        )

    def filled(self, text: str) -> str:
        return text.format(n=self.one(NUMBERS), k=self.one(KEYS))

    def source(self) -> str:
        return self.one(("tame", "w", "w", "w", "nil"))

    def where(self) -> str:
        return f" WHERE {self.one(CONDITIONS)}" if self.random.random() < 0.4 else ""

    def maybe(self, text: str, chance: float = 0.5) -> str:
        return text if self.random.random() < chance else ""


def mixed(random: Random) -> str:
    """One SELECT."""
    return random.choice(FORMS)(Mixer(random))


def distinct(mix: Mixer) -> str:
    key, other = mix.key(), mix.key()
    items = f"{key} AS k" + mix.maybe(f", {other} AS v")
    order = mix.maybe(" ORDER BY " + ("k, v" if " AS v" in items else "k") + mix.maybe(" DESC"), 0.7)
    limit = mix.maybe(mix.one((" LIMIT 3", " LIMIT 1, 2"))) if order else ""
    return f"SELECT DISTINCT {items} FROM {mix.source()}{mix.where()}{order}{limit}"


def grouped(mix: Mixer) -> str:
    keys = [f"{mix.key()} AS k{place}" for place in range(mix.random.randint(1, 2))]
    values = [f"{mix.filled(mix.one(AGGREGATES))} AS v{place}" for place in range(mix.random.randint(1, 3))]
    names = ", ".join(f"k{place}" for place in range(len(keys)))
    by = mix.one(
        (
            names,
            names,
            f"{names} WITH ROLLUP",
            f"{names} WITH CUBE",
            f"ROLLUP({names})",
            f"GROUPING SETS (({names}), ())",
        )
    )
    having = mix.maybe(mix.one((" HAVING count() > 1", " HAVING v0 IS NOT NULL", " HAVING max(id) > 4")), 0.3)
    order = mix.maybe(f" ORDER BY {names}, v0", 0.4) if by == names else ""
    limit = mix.maybe(mix.one((" LIMIT 3", " LIMIT 1 BY k0", " LIMIT 2 OFFSET 1"))) if order else ""
    shown = mix.maybe("DISTINCT ", 0.2) + ", ".join([*keys, *values])
    return f"SELECT {shown} FROM {mix.source()}{mix.where()} GROUP BY {by}{having}{order}{limit}"


def limited_by(mix: Mixer) -> str:
    key = mix.key()
    order = mix.one(("id", "id DESC", "k, id", "k DESC, id"))
    ending = mix.one(("", " LIMIT 4", " LIMIT 3 OFFSET 1"))
    return f"SELECT id, {key} AS k FROM {mix.source()}{mix.where()} ORDER BY {order} LIMIT {mix.one(('1', '2'))} BY k{ending}"


def ordered(mix: Mixer) -> str:
    turn = mix.one(("", " DESC", " NULLS FIRST", " DESC NULLS LAST", " DESC NULLS FIRST"))
    return f"SELECT id, {mix.key()} AS k FROM {mix.source()}{mix.where()} ORDER BY k{turn}, id{mix.maybe(' LIMIT 5')}"


def windowed(mix: Mixer) -> str:
    part = mix.maybe(f"PARTITION BY {mix.one(KEYS)} ")
    turn = mix.one(
        (f"ORDER BY {mix.one(KEYS)}, id", "ORDER BY id", "ORDER BY id DESC", f"ORDER BY {mix.one(KEYS)} DESC, id")
    )
    call = mix.filled(mix.one(WINDOWS))
    frame = (
        mix.one(FRAMES)
        if "(" in call and not call.startswith(("row_", "rank", "dense", "ntile", "lag(", "lead("))
        else ""
    )
    distinct = mix.maybe("DISTINCT ", 0.2)
    return f"SELECT {distinct}id, {call} OVER ({part}{turn}{frame}) AS v FROM {mix.source()}{mix.where()}{mix.maybe(' ORDER BY id LIMIT 5', 0.3)}"


def windowed_groups(mix: Mixer) -> str:
    key = mix.one(KEYS)
    call = mix.one(
        (
            f"sum(count()) OVER (ORDER BY {key})",
            f"rank() OVER (ORDER BY count(), min({key}))",
            f"max(max(id)) OVER (ORDER BY {key})",
        )
    )
    return f"SELECT {key}, count() AS n, {call} AS v FROM {mix.source()} GROUP BY {key}"


def joined(mix: Mixer) -> str:
    kind = mix.one(JOINS)
    key, other = mix.one(KEYS), mix.one(KEYS)
    on = (
        ""
        if kind == "CROSS JOIN"
        else " ON "
        + mix.one(
            (
                "a.id = b.u8",
                "a.id = b.id + 4",
                f"a.{key} = b.{key}",
                f"a.{key} = b.{key} AND a.id < b.id",
                f"a.id = b.id AND a.{key} = b.{key}",
            )
        )
    )
    right = "" if "SEMI" in kind or "ANTI" in kind else f", b.{other} AS v, b.id AS bid"
    sides = (
        mix.source(),
        mix.one(("tame", "w", "(SELECT * FROM w WHERE id > 4)", f"(SELECT DISTINCT id, u8, {key}, {other} FROM w)")),
    )
    if sides[1].startswith("(SELECT D") and len({"id", "u8", key, other}) < 4:
        sides = sides[0], "w"
    return f"SELECT a.id, a.{other} AS k{right} FROM {sides[0]} AS a {kind} {sides[1]} AS b{on}"


def joined_groups(mix: Mixer) -> str:
    kind, key, value = mix.one(JOINS[:4]), mix.one(("id", "u8", "i8", "lc")), mix.key()
    inner = f"(SELECT {key} AS j, {mix.filled(mix.one(AGGREGATES))} AS v FROM w GROUP BY {key})"
    call = mix.one(("", "toString(v)", "toStartOfMonth(dd)", "v IS NULL"))
    more = f", {call} AS c" if call else ""
    return f"SELECT a.id, {value} AS k, b.v{more} FROM {mix.source()} AS a {kind} {inner} AS b ON a.{key} = b.j"


def member(mix: Mixer) -> str:
    key = mix.one(KEYS)
    inner = mix.one(
        (
            f"SELECT {key} FROM w WHERE {mix.one(CONDITIONS)}",
            f"SELECT max({key}) FROM w GROUP BY b",
            f"SELECT DISTINCT {key} FROM tame ORDER BY {key} LIMIT 3",
        )
    )
    word = mix.one(("IN", "NOT IN"))
    if mix.random.random() < 0.3:
        return f"SELECT id FROM {mix.source()} WHERE ({key}, b) {word} (SELECT {key}, b FROM w WHERE {mix.one(CONDITIONS)})"
    if mix.random.random() < 0.4:
        return f"SELECT id FROM {mix.source()} WHERE {key} {word} ({inner})"
    return f"SELECT id, {key} {word} ({inner}) AS v FROM {mix.source()}"


def unioned(mix: Mixer) -> str:
    one, other = mix.one(KEYS), mix.one(KEYS)
    other = one if mix.random.random() < 0.4 else other
    word = mix.one(("UNION ALL", "UNION DISTINCT", "INTERSECT", "EXCEPT"))
    both = f"SELECT {one} AS k FROM {mix.source()}{mix.where()} {word} SELECT {other} FROM {mix.source()}{mix.where()}"
    return mix.one(
        (
            both,
            f"SELECT k, count() AS n FROM ({both}) GROUP BY k",
            f"SELECT DISTINCT k FROM ({both}) ORDER BY k LIMIT 4",
        )
    )


def filled(mix: Mixer) -> str:
    key, bounds = mix.random.choice(
        (
            ("id", ""),
            ("id", "FROM 0 TO 14 STEP 2"),
            ("toStartOfMonth(d)", "FROM toDate('2023-10-01') TO toDate('2024-09-01') STEP INTERVAL 1 MONTH"),
            ("u8 % 12", "STEP 3"),
            ("i8", "FROM -9 TO 12"),
            (
                "toStartOfDay(t)",
                "FROM toDateTime('2024-02-27 00:00:00') TO toDateTime('2024-03-03 00:00:00') STEP 86400",
            ),
        )
    )
    other = mix.one([each for each in KEYS if each not in ("id", "d", "t", "u8", "i8")])
    source = "w" if key == "id" else "tame"
    return f"SELECT {key} AS k, max({other}) AS v, count() AS n FROM {source}{mix.where()} GROUP BY k ORDER BY k WITH FILL {bounds}{mix.maybe(' INTERPOLATE (v)', 0.4)}{mix.maybe(' LIMIT 5', 0.3)}"


def unfolded(mix: Mixer) -> str:
    array = mix.one(("ai", "ani", "as_", "ans", "af", "ad", "aa", "at", "m", "mn", "mi"))
    kind = mix.one(("ARRAY JOIN", "LEFT ARRAY JOIN"))
    if mix.random.random() < 0.4 and array not in MAPS:
        return f"SELECT e, count() AS n, max(id) AS v FROM {mix.source()} {kind} {array} AS e GROUP BY e{mix.maybe(' HAVING n > 1', 0.3)}"
    return f"SELECT id, e, {mix.one(KEYS)} AS k FROM {mix.source()} {kind} {array} AS e{mix.where()}"


def nested(mix: Mixer) -> str:
    inner = mix.random.choice((grouped, distinct, joined, unfolded, ordered, limited_by))(mix)
    return mix.one(
        (f"SELECT count() AS n FROM ({inner})", f"SELECT * FROM ({inner})", f"WITH x AS ({inner}) SELECT * FROM x")
    )


FORMS = (
    distinct,
    distinct,
    grouped,
    grouped,
    grouped,
    limited_by,
    ordered,
    windowed,
    windowed,
    windowed_groups,
    joined,
    joined,
)
FORMS += (joined_groups, member, member, unioned, unioned, filled, unfolded, nested)
