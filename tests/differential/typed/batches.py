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

from pyspark.errors import PySparkException
from tests.differential.compare import Verdict, by_text, without_hint
from tests.differential.engines import ClickHouse, Rows, Spark, same
from tests.differential.typed.compositions import Cell
from tests.differential.typed.excused import excuse
from tests.differential.typed.signatures import compiled

from penstock.errors import InvalidQuery
from penstock.sql.query import Query

IN_ONE = 12
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
        verdict, what = asked(query.sql, clickhouse, None)
        if verdict != "same":
            yield Answer(query, verdict, what)
            continue
        alone = query.seed if query.whole else None
        groups[query.key, query.rest, query.named, alone].append(query)
    for group in groups.values():
        for start in range(0, len(group), IN_ONE):
            yield from _of_group(group[start : start + IN_ONE], clickhouse, spark)


def _of_group(group: list[Generated], clickhouse: ClickHouse, spark: Spark) -> Iterator[Answer]:
    """By halves where one of them stands in the way of the others."""
    answer = asked(joined(group), clickhouse, spark, ordered=group[0].ordered)
    if answer[0] == "same" or len(group) == 1:
        yield from (Answer(query, *answer) for query in group)
        return
    half = len(group) // 2
    found = [*_of_group(group[:half], clickhouse, spark), *_of_group(group[half:], clickhouse, spark)]
    if all(each.verdict == "same" for each in found):
        yield Answer(Generated(group[0].seed, whole=joined(group)), *answer)
    yield from found


def asked(sql: str, clickhouse: ClickHouse, spark: Spark | None, *, ordered: bool = False) -> tuple[Verdict, str]:
    """The verdict over a query, and what differs: rows, types, names; without Spark, types and names alone."""
    try:
        query = compiled(sql)
    except InvalidQuery as error:
        return "refused", error.problems[0].message
    except Exception as error:
        return "differs", f"the compiler breaks down: {error!r}"
    try:
        names, types, rows = clickhouse.rows(sql, SETTINGS)
    except RuntimeError as error:
        return "clickhouse refuses", str(error)[:300]
    if different := _different_columns(query, names, types):
        return "differs", different
    return _compared(query, rows, spark, ordered=ordered) if spark else ("same", "")


def _different_columns(query: Query, names: list[str], types: list[str]) -> str:
    mine = [without_hint(str(of)) for _, of in query.columns]
    if different := [pair for pair in zip(mine, map(without_hint, types), strict=True) if pair[0] != pair[1]]:
        return f"types (ours, theirs): {different[:3]}"
    if different := [
        pair for pair in zip((each for each, _ in query.columns), names, strict=True) if pair[0] != pair[1]
    ]:
        return f"names (ours, theirs): {different[:3]}"
    return ""


def _compared(query: Query, theirs: Rows, spark: Spark, *, ordered: bool) -> tuple[Verdict, str]:
    try:
        ours = spark.rows(query)
    except (PySparkException, ValueError, OverflowError) as error:
        what = f"Spark fails: {str(error)[:300]}"
        return ("fails" if excuse(what) else "differs"), what
    if not ordered:
        ours, theirs = by_text(ours), by_text(theirs)
    if len(ours) != len(theirs):
        return "differs", f"rows: ours {len(ours)}, theirs {len(theirs)}"
    for one, other in zip(ours, theirs, strict=True):
        if not same(one, other):
            places = [at for at, pair in enumerate(zip(one, other, strict=True)) if not same(*pair)]
            return "differs", f"row {one[0]!r}: " + "; ".join(f"{one[at]!r} | {other[at]!r}" for at in places[:2])
    return "same", ""
