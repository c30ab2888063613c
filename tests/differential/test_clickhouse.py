"""Each query of `queries/*.sql` on ClickHouse (chDB) and, compiled, on Spark: the same rows and types.

A query that ClickHouse refuses must be refused here or fail on Spark. The share of the queries that `make test` runs
is run with the code that Spark generates for a query. The others run without it, because generating it takes most of
the time; `make test-sql` runs all of them with it.
"""

from __future__ import annotations

import os
import re
import zlib
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from pyspark.errors import PySparkException
from tests.differential.compare import by_text, statements, without_hint
from tests.differential.engines import ClickHouse, Spark, same

from penstock.errors import InvalidQuery

HERE = Path(__file__).parent
GOLDEN = [path for path in (HERE.parent / "golden" / "sql").rglob("*.sql") if not path.name.endswith(".spark.sql")]
FILES = [*sorted((HERE / "queries").glob("*.sql")), *sorted(GOLDEN)]
QUERIES = [(file.stem, query) for file in FILES for query in statements(file.read_text(encoding="utf-8"))]
SHARE = 10
"""So many queries there are for each one that `make test` runs."""
LONG_COMPUTATIONS = re.compile(r"numbers\(.*\d{10}|cityHash64|sipHash", re.IGNORECASE)
"""Queries that take longer to run without generated code than to generate it: billions of rows, hashes."""
WITH_GENERATED_CODE = os.environ.get("PENSTOCK_SQL_GENERATED_CODE") == "all"
"""Whether every query is run with generated code."""

pytestmark = pytest.mark.spark


def in_share(sql: str) -> bool:
    """By the text alone: another query in the same file does not change which ones `make test` runs."""
    return zlib.crc32(sql.encode()) % SHARE == 0


def cases(queries: list[tuple[str, str]]) -> list[ParameterSet]:
    return [pytest.param(family, sql, id=f"{family}-{sql[:60]}") for family, sql in queries]


@pytest.mark.parametrize(("family", "sql"), cases([each for each in QUERIES if in_share(each[1])]))
def test_same_rows(family: str, sql: str, clickhouse: ClickHouse, spark: Spark) -> None:
    compare_rows(family, sql, clickhouse, spark)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "sql"), cases([each for each in QUERIES if not in_share(each[1])]))
def test_same_rows_of_the_other_queries(
    family: str, sql: str, clickhouse: ClickHouse, quick: Spark, spark: Spark
) -> None:
    generated = WITH_GENERATED_CODE or LONG_COMPUTATIONS.search(sql)
    compare_rows(family, sql, clickhouse, spark if generated else quick)


def compare_rows(family: str, sql: str, clickhouse: ClickHouse, spark: Spark) -> None:
    try:
        names, types, theirs = clickhouse.rows(sql)
    except RuntimeError:
        with pytest.raises((InvalidQuery, PySparkException)):
            spark.rows(spark.compile(sql))
        return
    query = spark.compile(sql)
    ours = spark.rows(query)
    if "ORDER BY" not in sql.upper():
        ours, theirs = by_text(ours), by_text(theirs)
    assert [without_hint(str(of)) for _, of in query.columns] == list(map(without_hint, types))
    assert len(ours) == len(theirs)
    different = [(mine, their) for mine, their in zip(ours, theirs, strict=True) if not same(mine, their)]
    assert not different
    if family.startswith("clauses"):
        assert [name for name, _ in query.columns] == names
