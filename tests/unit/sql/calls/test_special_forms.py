"""Calls of special forms that are refused."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

REFUSED = {
    "sqr(rand())": "`sqr` of a random number is not supported",
    "toTypeName(lower(carrier))": "`toTypeName` of what may keep the LowCardinality of its argument",
    "upper(carrier) AS x, toTypeName(x)": "`toTypeName` of what may keep the LowCardinality of its argument",
    "multiSearchAny('abc', materialize(['a']))": "looks for in a literal text must be a literal array of strings",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    (problem,) = problems(f"SELECT {call} FROM flights")
    assert REFUSED[call] in problem
