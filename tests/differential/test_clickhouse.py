"""Each query of `queries/*.sql` on ClickHouse (chDB) and, compiled, on Spark: the same rows and types.

A query that ClickHouse refuses must be refused here or fail on Spark.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from tests.differential.engines import ClickHouse, Spark, same

from penstock.errors import InvalidQuery

FILES = sorted((Path(__file__).parent / "queries").glob("*.sql"))
QUERIES = [
    (file.stem, query.strip())
    for file in FILES
    for query in re.split(r";\s*\n", re.sub(r"(?m)^--.*$", "", file.read_text()))
    if query.strip()
]

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(("family", "sql"), QUERIES, ids=[f"{family}-{sql[:60]}" for family, sql in QUERIES])
def test_same_rows(family: str, sql: str, clickhouse: ClickHouse, spark: Spark) -> None:
    try:
        names, types, theirs = clickhouse.rows(sql)
    except RuntimeError:
        with pytest.raises((InvalidQuery, PySparkException)):
            spark.rows(spark.compile(sql))
        return
    query = spark.compile(sql)
    ours = spark.rows(query)
    if "ORDER BY" not in sql.upper():
        ours, theirs = sorted(ours, key=_key), sorted(theirs, key=_key)
    assert [_plain(str(of)) for _, of in query.columns] == list(map(_plain, types))
    assert len(ours) == len(theirs)
    different = [(mine, their) for mine, their in zip(ours, theirs, strict=True) if not same(mine, their)]
    assert not different
    if family == "clauses":
        assert [name for name, _ in query.columns] == names


def _key(row: tuple[object, ...]) -> str:
    return json.dumps(row, sort_keys=True, default=str)


def _plain(of: str) -> str:
    """LowCardinality is a hint, which functions keep in ClickHouse and lose here."""
    return re.sub(r"LowCardinality\(((Nullable\()?[A-Za-z0-9]+\)?)\)", r"\1", of)
