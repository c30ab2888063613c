"""Aggregates of different values beside those that depend on the order of rows: when Spark's DISTINCT is left out."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import PROJECT, text

from penstock.sql.compile import compile_sql


def compiled(sql: str) -> str:
    return compile_sql(PROJECT, text(sql), "clickhouse").sql


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT uniqExact(carrier), groupArray(carrier) FROM (SELECT * FROM flights ORDER BY carrier)",
        "WITH any(carrier) AS one SELECT one, count(DISTINCT carrier) FROM (SELECT * FROM flights ORDER BY carrier)",
        "SELECT any(carrier) FROM (SELECT * FROM flights ORDER BY carrier) HAVING uniqExact(carrier) > 1",
        "SELECT uniqExact(x), groupArray(x) FROM flights ARRAY JOIN [1, 2] AS x",
        "SELECT sum(DISTINCT number), groupArray(number) FROM numbers(3)",
    ],
)
def test_ordered_rows_are_not_regrouped(sql: str) -> None:
    assert "DISTINCT" not in compiled(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT uniqExact(carrier), any(carrier) FROM flights",
        "SELECT uniqExact(carrier), max(carrier) FROM (SELECT * FROM flights ORDER BY carrier)",
        "SELECT sum(DISTINCT number), max(number) FROM numbers(3)",
    ],
)
def test_other_rows_are_counted_without_keeping_their_values(sql: str) -> None:
    assert "(DISTINCT " in compiled(sql)
