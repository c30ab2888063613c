"""Many queries in one: their select lists are joined where the rest is the same, since a Spark job costs more than what
a row of it does.

In: `Generated` queries. Out: a verdict for each, with what differs. Invariant: a query that differs, fails or is
answered by one engine only in a joined query is asked once more alone; if it then does not, the joined query itself is
what is reported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from pyspark.errors import PySparkException
from tests.differential.compare import Verdict, by_text, without_hint
from tests.differential.engines import ClickHouse, Rows, Spark, same
from tests.differential.typed.compositions import Cell
from tests.differential.typed.excused import excuse
from tests.differential.typed.signatures import compiled

from penstock.errors import InvalidQuery
from penstock.model import types as t
from penstock.model.types import Type, unwrap_type
from penstock.sql.query import Query

IN_ONE = 32
SETTINGS = ", output_format_json_quote_decimals=1"


@dataclass(frozen=True)
class Generated:
    """A query: the items of its select list, and what is around them; or a `whole` one. `named` items have no alias."""

    seed: int
    items: tuple[str, ...] = ()
    key: str = "id"
    rest: str = "FROM w"
    ordered: bool = False
    named: bool = False
    whole: str = ""
    cells: frozenset[Cell] = frozenset()

    @property
    def sql(self) -> str:
        return self.whole or joined([self])


def joined(queries: Sequence[Generated]) -> str:
    """One SELECT with the items of all, which differ in nothing else."""
    if queries[0].whole:
        return queries[0].whole
    items = [item for query in queries for item in query.items]
    shown = items if queries[0].named else [f"{item} AS c{place}" for place, item in enumerate(items)]
    return f"SELECT {', '.join([queries[0].key, *shown])} {queries[0].rest}"


@dataclass(frozen=True)
class Answer:
    """What came of a query."""

    query: Generated
    verdict: Verdict
    what: str = ""


def answers(queries: Sequence[Generated], clickhouse: ClickHouse, spark: Spark) -> Iterator[Answer]:
    """One for each query. What one of the engines refuses, or gives another type or name, is known without Spark."""
    groups: dict[tuple[object, ...], list[Generated]] = defaultdict(list)
    for query in queries:
        alone = query.seed if query.whole else None
        groups[query.key, query.rest, query.named, alone].append(query)
    for group in groups.values():
        group.sort(key=_arguments)  # where one fails, its neighbours often do
        for start in range(0, len(group), IN_ONE):
            some = group[start : start + IN_ONE]
            outcomes = _without_spark(some, clickhouse)
            yield from (
                Answer(q, o.verdict, o.what) for q, o in zip(some, outcomes, strict=True) if o.verdict != "same"
            )
            left = [query for query, outcome in zip(some, outcomes, strict=True) if outcome.verdict == "same"]
            if left:
                yield from _of_group(left, clickhouse, spark)


def _without_spark(group: Sequence[Generated], clickhouse: ClickHouse) -> list[Outcome]:
    """What ClickHouse says of each alone. They are compiled as one; each alone only if that is refused, or differs."""
    try:
        columns = [] if group[0].whole else compiled(joined(group)).columns
    except Exception:
        columns = []
    ends = list(accumulate((len(query.items) for query in group), initial=1))
    return [
        _one_without_spark(query, [*columns[:1], *columns[end : end + len(query.items)]], clickhouse)
        for query, end in zip(group, ends, strict=False)
    ]


def _one_without_spark(query: Generated, columns: Sequence[tuple[str, Type]], clickhouse: ClickHouse) -> Outcome:
    if len(columns) != 1 + len(query.items) or query.whole:
        return asked(query.sql, clickhouse, None)
    try:
        names, types, _ = clickhouse.rows(query.sql, SETTINGS)
    except RuntimeError as error:
        return Outcome("clickhouse refuses", str(error)[:300])
    known = [(name if query.named or not at else f"c{at - 1}", of) for at, (name, of) in enumerate(columns)]
    return asked(query.sql, clickhouse, None) if _different(known, names, types) else Outcome("same")


def _arguments(query: Generated) -> list[str]:
    return sorted(argument for _, argument in query.cells)


def _of_group(group: list[Generated], clickhouse: ClickHouse, spark: Spark) -> Iterator[Answer]:
    """Columns that differ are asked alone; by halves where one of them stands in the way of the others."""
    outcome = asked(joined(group), clickhouse, spark, ordered=group[0].ordered)
    if outcome.verdict == "same" or len(group) == 1:
        yield from (Answer(query, outcome.verdict, outcome.what) for query in group)
        return
    guilty = _of_columns(group, outcome.columns)
    if guilty and len(guilty) < len(group):
        yield from (Answer(query, "same") for query in group if query not in guilty)
        parts = [[query] for query in guilty]
    else:
        half = len(group) // 2
        parts = [group[:half], group[half:]]
    found = [answer for part in parts for answer in _of_group(part, clickhouse, spark)]
    if all(each.verdict == "same" for each in found):
        yield Answer(Generated(group[0].seed, whole=joined(group)), outcome.verdict, outcome.what)
    yield from found


def _of_columns(group: list[Generated], columns: frozenset[int]) -> list[Generated]:
    """The queries that these columns of the joined one belong to; none if its key is among them."""
    ends = list(accumulate((len(query.items) for query in group), initial=1))
    if 0 in columns:
        return []
    return [query for query, end, many in zip(group, ends, ends[1:], strict=False) if columns & set(range(end, many))]


@dataclass(frozen=True)
class Outcome:
    """The verdict over a query, what differs, and in which columns."""

    verdict: Verdict
    what: str = ""
    columns: frozenset[int] = frozenset()


def asked(sql: str, clickhouse: ClickHouse, spark: Spark | None, *, ordered: bool = False) -> Outcome:
    """Rows, types and names are compared; without Spark, types and names alone."""
    try:
        query = compiled(sql)
    except InvalidQuery as error:
        return Outcome("refused", error.problems[0].message)
    except Exception as error:
        return Outcome("differs", f"the compiler breaks down: {error!r}")
    try:
        names, types, rows = clickhouse.rows(sql, SETTINGS)
    except RuntimeError as error:
        return Outcome("clickhouse refuses", str(error)[:300])
    if different := _different(query.columns, names, types):
        return Outcome("differs", different)
    return _compared(query, rows, spark, ordered=ordered) if spark else Outcome("same")


def _different(columns: Sequence[tuple[str, Type]], names: Sequence[str], types: Sequence[str]) -> str:
    """Which types or names differ."""
    mine = [without_hint(str(of)) for _, of in columns]
    if different := [pair for pair in zip(mine, map(without_hint, types), strict=True) if pair[0] != pair[1]]:
        return f"types (ours, theirs): {different[:3]}"
    if different := [pair for pair in zip((each for each, _ in columns), names, strict=True) if pair[0] != pair[1]]:
        return f"names (ours, theirs): {different[:3]}"
    return ""


def _unreadable(of: Type) -> bool:
    match unwrap_type(of):
        case t.Map(key, value):
            return isinstance(unwrap_type(key), (t.Array, t.Map)) or _unreadable(value)
        case t.Array(inner):
            return _unreadable(inner)
        case t.Tuple(fields):
            return any(_unreadable(each) for _, each in fields)
        case _:
            return False


def _compared(query: Query, theirs: Rows, spark: Spark, *, ordered: bool) -> Outcome:
    if any(map(_unreadable, (of for _, of in query.columns))):
        return Outcome("refused", "Python reads no map whose keys are arrays or maps")
    try:
        ours = spark.rows(query)
    except (PySparkException, ValueError, OverflowError) as error:
        what = f"Spark fails: {str(error)[:300]}"
        return Outcome("fails" if excuse(what) else "differs", what)
    except (TypeError, AssertionError) as error:
        return Outcome("differs", f"the answer cannot be written: {error}")
    if not ordered:
        ours, theirs = by_text(ours), by_text(theirs)
    if len(ours) != len(theirs):
        return Outcome("differs", f"rows: ours {len(ours)}, theirs {len(theirs)}")
    places, shown = set[int](), ""
    for one, other in zip(ours, theirs, strict=True):
        different = [at for at, pair in enumerate(zip(one, other, strict=True)) if not same(*pair)]
        if different and not shown:
            shown = f"row {one[0]!r}: " + "; ".join(f"{one[at]!r} | {other[at]!r}" for at in different[:2])
        places.update(different)
    return Outcome("differs", shown, frozenset(places)) if places else Outcome("same")
