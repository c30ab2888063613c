"""Calls of special forms that are refused, and what is near to them."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems, query

REFUSED = {
    "sqr(rand())": "`sqr` of a random number is not supported",
    "toTypeName(lower(carrier))": "`toTypeName` of what may keep the LowCardinality of its argument",
    "upper(carrier) AS x, toTypeName(x)": "`toTypeName` of what may keep the LowCardinality of its argument",
    "toTypeName(day AND toLowCardinality(day = 1))": "`toTypeName` of what may keep the LowCardinality of its argument",
    "multiSearchAny('abc', materialize(['a']))": "looks for in a literal text must be a literal array of strings",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    (problem,) = problems(f"SELECT {call} FROM flights")
    assert REFUSED[call] in problem


@pytest.mark.timeout(60)
def test_the_type_of_a_column_that_is_named_as_itself() -> None:
    """Its alias stands for the column, not for the alias again and again."""
    sql = query("SELECT carrier AS carrier, toTypeName(carrier) AS type FROM flights").sql
    assert "'LowCardinality(String)' AS `type`" in sql
    (problem,) = problems("SELECT upper(carrier) AS carrier, toTypeName(carrier) FROM flights")
    assert "`toTypeName` of what may keep the LowCardinality of its argument" in problem
    found = problems("SELECT x AS y, y AS x, toTypeName(x) FROM flights")
    assert all("unknown column" in each for each in found)
    assert found
