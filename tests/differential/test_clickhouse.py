"""Each query of `queries/*.sql` on ClickHouse (chDB) and, compiled, on Spark: the same rows and types.

A query that ClickHouse refuses must be refused here or fail on Spark. The share of the queries that `make test` runs
is run with the code that Spark generates for a query. The others run without it, because generating it takes most of
the time; `make test-sql` runs all of them with it.
"""

from __future__ import annotations

import os
import re
import zlib
from collections import defaultdict, deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from pyspark.errors import PySparkException
from tests.differential.compare import by_text, statements, without_hint
from tests.differential.engines import ClickHouse, Rows, Spark, same

from penstock.errors import InvalidQuery
from penstock.sql.query import Query

HERE = Path(__file__).parent
GOLDEN = [path for path in (HERE.parent / "golden" / "sql").rglob("*.sql") if not path.name.endswith(".spark.sql")]
FILES = [*sorted((HERE / "queries").glob("*.sql")), *sorted(GOLDEN)]
QUERIES = [(file.stem, query) for file in FILES for query in statements(file.read_text(encoding="utf-8"))]
SHARE = 10
"""So many queries there are for each one that `make test` runs."""
LONG_COMPUTATIONS = re.compile(r"numbers\(.*\d{10}|cityHash64|sipHash", re.IGNORECASE)
"""Queries that take longer to run without generated code than to generate it: billions of rows, hashes."""
AHEAD, THREADS = 8, 2
"""So many queries are run, or wait to be, before their tests begin; by so many threads."""
WITH_GENERATED_CODE = os.environ.get("PENSTOCK_SQL_GENERATED_CODE") == "all"
"""Whether every query is run with generated code."""

pytestmark = pytest.mark.spark


def in_share(sql: str) -> bool:
    """By the text alone: another query in the same file does not change which ones `make test` runs."""
    return zlib.crc32(sql.encode()) % SHARE == 0


def cases(queries: list[tuple[str, str]]) -> list[ParameterSet]:
    return [pytest.param(family, sql, id=f"{family}-{sql[:60]}") for family, sql in queries]


@dataclass(eq=False)
class SparkAnswers:
    """Spark's answers, some of which are computed while others are compared: most of a query's time is one thread's."""

    left: deque[tuple[str, Spark]]
    """The queries of the tests to come, in their order."""
    pool: ThreadPoolExecutor
    waiting: dict[str, deque[Future[tuple[Query, Rows]]]] = field(default_factory=lambda: defaultdict(deque))
    """By text, which may be that of several tests."""

    def take(self, sql: str) -> tuple[Query, Rows]:
        """The compiled query and its rows. Raises what compiling or running it raised."""
        while self.left and (len(self.waiting) < AHEAD or sql not in self.waiting):
            following, spark = self.left.popleft()
            self.waiting[following].append(self.pool.submit(answered, following, spark))
        found = self.waiting[sql].popleft()
        if not self.waiting[sql]:
            del self.waiting[sql]
        return found.result()


def answered(sql: str, spark: Spark) -> tuple[Query, Rows]:
    query = spark.compile(sql)
    return query, spark.rows(query)


@pytest.fixture(scope="module")
def answers(request: pytest.FixtureRequest, spark: Spark, quick: Spark) -> Iterator[SparkAnswers]:
    tests = [each for each in request.session.items if isinstance(each, pytest.Function)]
    texts = [each.callspec.params["sql"] for each in tests if each.module is request.module]
    with ThreadPoolExecutor(THREADS) as pool:
        yield SparkAnswers(deque((sql, spark if is_generated(sql) else quick) for sql in texts), pool)
        pool.shutdown(cancel_futures=True)


def is_generated(sql: str) -> bool:
    """Whether a query is run with the code that Spark generates for it."""
    return in_share(sql) or WITH_GENERATED_CODE or LONG_COMPUTATIONS.search(sql) is not None


@pytest.mark.parametrize(("family", "sql"), cases([each for each in QUERIES if in_share(each[1])]))
def test_same_rows(family: str, sql: str, clickhouse: ClickHouse, answers: SparkAnswers) -> None:
    compare_rows(family, sql, clickhouse, answers)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "sql"), cases([each for each in QUERIES if not in_share(each[1])]))
def test_same_rows_of_the_other_queries(family: str, sql: str, clickhouse: ClickHouse, answers: SparkAnswers) -> None:
    compare_rows(family, sql, clickhouse, answers)


def compare_rows(family: str, sql: str, clickhouse: ClickHouse, answers: SparkAnswers) -> None:
    try:
        names, types, theirs = clickhouse.rows(sql)
    except RuntimeError:
        with pytest.raises((InvalidQuery, PySparkException)):
            answers.take(sql)
        return
    query, ours = answers.take(sql)
    if "ORDER BY" not in sql.upper():
        ours, theirs = by_text(ours), by_text(theirs)
    assert [without_hint(str(of)) for _, of in query.columns] == list(map(without_hint, types))
    assert len(ours) == len(theirs)
    different = [(mine, their) for mine, their in zip(ours, theirs, strict=True) if not same(mine, their)]
    assert not different
    if family.startswith("clauses"):
        assert [name for name, _ in query.columns] == names
