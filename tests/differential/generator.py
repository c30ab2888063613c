"""Random ClickHouse queries over the grammar and the functions that Penstock compiles.

In: a source of choices (`random.Random`, or Hypothesis, which can shrink). Out: the text of a query. The functions come
from the compiler's own tables, so a new function is tested from its first day; functions that depend on the time, on
chance or on the order of rows are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from tests.differential.generator_clauses import JOINS, filled, using
from tests.differential.generator_forms import of_project
from tests.differential.generator_leaves import ARGUMENTS, LEAVES, UNSTABLE, Kind

from penstock.sql.aggregates.table import AGGREGATES
from penstock.sql.functions.function import Function
from penstock.sql.functions.table import FUNCTIONS

DEEPEST = 3
NAMES = sorted(set(FUNCTIONS) - UNSTABLE)
BY_PARAMETERS = {name: row for name, row in AGGREGATES.items() if name not in UNSTABLE and not row.ordered}


@dataclass(frozen=True)
class Maker:
    """Makes expressions; `prefix` goes before the columns (`a.` in a join)."""

    random: Random
    prefix: str = ""

    def pick(self, from_: Sequence[str]) -> str:
        return self.random.choice(list(from_))

    def leaf(self, kind: Kind) -> str:
        return self.pick(LEAVES.get(kind, LEAVES["any"])).replace("@", self.prefix)

    def expression(self, kind: Kind = "any", depth: int = DEEPEST) -> str:
        """One expression; of a kind only if it is a leaf, since what a call gives is the compiler's to say."""
        if depth <= 0 or self.random.random() < 0.3:
            return self.leaf(kind)
        makes = (self.call, self.call, self.call, self.operator, self.condition, self.choice, self.lambda_)
        return self.random.choice(makes)(depth - 1)

    def call(self, depth: int) -> str:
        name = self.pick(NAMES)
        return f"{name}({', '.join(self.arguments(FUNCTIONS[name], depth))})"

    def arguments(self, row: Function, depth: int) -> list[str]:
        if row.name in ARGUMENTS:
            return [given.replace("@", self.prefix) for given in self.random.choice(ARGUMENTS[row.name])]
        low, high = row.arity
        many = self.random.randint(low, min(high, low + 2))
        kinds = [row.takes[min(place, len(row.takes) - 1)] for place in range(many)]
        return [self.leaf(kind) if kind == "constant" else self.of_kind(kind, depth) for kind in kinds]

    def of_kind(self, kind: Kind, depth: int) -> str:
        """Mostly a leaf of the kind: a call may give another, and then there is nothing to compare."""
        return self.expression(kind, depth) if self.random.random() < 0.35 else self.leaf(kind)

    def operator(self, depth: int) -> str:
        sign = self.pick(("+", "-", "*", "/", "%", "=", "<>", "<", ">=", "DIV", "||"))
        kind: Kind = "string" if sign == "||" else self.random.choice(("number", "integer", "number", "time"))
        return f"({self.of_kind(kind, depth)} {sign} {self.of_kind(kind, depth)})"

    def condition(self, depth: int) -> str:
        value = self.of_kind("number", depth)
        texts = self.of_kind("string", depth)
        return self.pick(
            (
                f"({value} IN (1, 7, NULL))",
                f"({value} BETWEEN -5 AND 100)",
                f"({value} IS NULL)",
                f"({texts} LIKE '%l_%')",
                f"({texts} ILIKE 'H%')",
                f"NOT ({value} > 3)",
                f"({value} > 3 AND {texts} <> '')",
                f"({value} = 7 OR {texts} = 'x')",
                f"({texts} IN ('x', ''))",
            )
        )

    def choice(self, depth: int) -> str:
        kind: Kind = self.random.choice(("number", "string", "time"))
        one, other = self.of_kind(kind, depth), self.of_kind(kind, depth)
        test = self.condition(depth - 1)
        return self.pick(
            (
                f"if({test}, {one}, {other})",
                f"CASE WHEN {test} THEN {one} ELSE {other} END",
                f"multiIf({test}, {one}, {self.condition(0)}, {other}, {one})",
                f"coalesce({one}, {other})",
                f"ifNull({one}, {other})",
                f"nullIf({one}, {other})",
                f"nullIf({self.random.choice(('t', 'd', 's', 'lc'))}, '2024-01-02')",
            )
        )

    def lambda_(self, depth: int) -> str:
        array = self.leaf("array")
        inner = self.pick(
            ("x + 1", "x", "toString(x)", "x IS NULL", "(x, 1)", f"concat(toString(x), {self.leaf('string')})")
        )
        test = self.pick(("toString(x) > '1'", "x = x", "length(toString(x)) % 2 = 1", "NOT isNull(x)"))
        return self.pick(
            (
                f"arrayMap(x -> {inner}, {array})",
                f"arrayFilter(x -> {test}, {array})",
                f"arrayExists(x -> {test}, {array})",
                f"arrayAll(x -> {test}, {array})",
                f"arrayCount(x -> {test}, {array})",
                f"arraySort(x -> {inner}, {array})",
                f"arrayFirstIndex(x -> {test}, {array})",
            )
        )

    def aggregate(self) -> str:
        name = self.pick(sorted(BY_PARAMETERS))
        row = BY_PARAMETERS[name]
        kind: Kind = "number" if row.takes == "number" else "any"
        many = self.random.randint(row.arity[0], min(row.arity[1], row.arity[0] + 1))
        given = [self.of_kind(kind, 1) for _ in range(many)]
        parameters = self.pick(("0.5", "0.9")) if row.parameters[0] or "uantile" in name else ""
        ending = self.pick(("", "", "If", "OrNull", "OrDefault", "State", "Distinct"))
        if ending == "If":
            given.append(self.condition(1))
        call = f"{name}{ending}{f'({parameters})' if parameters else ''}({', '.join(given)})"
        return f"finalizeAggregation({call})" if ending == "State" else call


def query(random: Random) -> str:
    """One SELECT."""
    forms = (plain, plain, plain, grouped, grouped, joined, using, unfolded, filled, windowed, unioned, nested)
    return random.choice((*forms, of_project))(random)


def _items(make: Maker, one: Callable[[], str], most: int = 3) -> list[str]:
    return [f"{one()} AS c{place}" for place in range(make.random.randint(1, most))]


def _where(make: Maker) -> str:
    return f" WHERE {make.condition(1)}" if make.random.random() < 0.3 else ""


def _ending(random: Random, columns: int) -> str:
    """ORDER BY every column makes LIMIT determinate, up to rows that are equal."""
    if random.random() < 0.7:
        return ""
    order = ", ".join(f"{place}{random.choice(('', ' DESC', ' NULLS FIRST'))}" for place in range(1, columns + 1))
    return f" ORDER BY {order}" + random.choice(("", " LIMIT 3", " LIMIT 2, 2", " LIMIT 1 BY 1"))


def plain(random: Random) -> str:
    make = Maker(random)
    items = _items(make, make.expression)
    distinct = random.choice(("", "", "", "DISTINCT "))
    return f"SELECT {distinct}{', '.join(items)} FROM t{_where(make)}"


def grouped(random: Random) -> str:
    make = Maker(random)
    keys = [f"{make.expression(depth=1)} AS k{place}" for place in range(random.randint(0, 2))]
    items = keys + _items(make, make.aggregate)
    names = ", ".join(f"k{place}" for place in range(len(keys)))
    by = f" GROUP BY {names}" if keys else ""
    by += random.choice(("", "", " WITH ROLLUP", " WITH CUBE")) if keys else ""
    having = random.choice(("", "", " HAVING count() > 1")) if keys else ""
    return f"SELECT {', '.join(items)} FROM {random.choice(('t', 't', 't', 'none'))}{_where(make)}{by}{having}"


def joined(random: Random) -> str:
    left, right = Maker(random, "a."), Maker(random, "b.")
    kind = random.choice(JOINS)
    on = random.choice(("a.id = b.u8", "a.u8 = b.u8 AND a.lc = b.lc", "a.id = b.id", "a.ni = b.ni", "a.s = b.ns"))
    on = "a.id = b.id" if "ANY" in kind else on
    makers = (left,) if "SEMI" in kind or "ANTI" in kind else (left, right)
    items = [f"{random.choice(makers).expression(depth=1)} AS c{place}" for place in range(random.randint(1, 4))]
    return f"SELECT {', '.join(items)} FROM t AS a {kind} t AS b ON {on}"


def unfolded(random: Random) -> str:
    array = random.choice(("arr", "sarr AS e", "arr AS e, arrayEnumerate(arr) AS n", "m AS e", "range(u8 % 4) AS e"))
    kind = random.choice(("ARRAY JOIN", "LEFT ARRAY JOIN"))
    shown = "id, " + ("arr" if array == "arr" else "e, arr") + (", n" if " AS n" in array else "")
    return f"SELECT {shown}, {Maker(random).expression(depth=1)} AS c0 FROM t {kind} {array}{_where(Maker(random))}"


def windowed(random: Random) -> str:
    make = Maker(random)
    window = make.pick(("PARTITION BY lc ORDER BY id", "ORDER BY id", "PARTITION BY u8 ORDER BY id DESC"))
    frame = make.pick(
        (
            "",
            "",
            " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
            " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
        )
    )
    value = make.leaf("number")
    call = make.pick(
        (
            "row_number()",
            "rank()",
            "dense_rank()",
            f"sum({value})",
            f"count({value})",
            f"min({value})",
            f"max({value})",
            f"lagInFrame({value})",
            f"leadInFrame({value})",
            f"first_value({value})",
            f"last_value({value})",
            f"avg({value})",
        )
    )
    return f"SELECT id, {call} OVER ({window}{frame}) AS c0, {make.expression(depth=1)} AS c1 FROM t"


def unioned(random: Random) -> str:
    make = Maker(random)
    kinds: list[Kind] = [random.choice(("number", "string", "time")) for _ in range(random.randint(1, 2))]
    sides = [", ".join(f"{make.of_kind(kind, 1)} AS c{place}" for place, kind in enumerate(kinds)) for _ in range(2)]
    word = random.choice(("UNION ALL", "UNION DISTINCT", "INTERSECT", "EXCEPT"))
    return f"SELECT {sides[0]} FROM t {word} SELECT {sides[1]} FROM t"


def nested(random: Random) -> str:
    make = Maker(random)
    inner = plain(random)
    return random.choice(
        (
            f"SELECT count() AS n FROM ({inner})",
            f"SELECT * FROM ({inner})",
            f"WITH x AS ({inner}) SELECT c0 FROM x",
            f"SELECT id, {make.expression(depth=1)} AS c0 FROM t WHERE id IN (SELECT u8 FROM t{_where(make)})",
            f"SELECT c0 FROM ({inner}) ORDER BY c0 LIMIT 4",
        )
    )
