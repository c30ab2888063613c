"""Comparisons, LIKE and IN that are refused because of their operands."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

REFUSED = {
    "carrier ILIKE '%σ%abc'": "ClickHouse folds the case of its letters by two different rules",
    "carrier LIKE 'a\\\\'": "the pattern ends with a backslash",
    "[toIPv4(carrier)] < [toIPv4('1.2.3.4')]": "Array(IPv4) < Array(IPv4) is not supported",
    "CAST('b', 'Enum8(\\'b\\' = 1)') = CAST('b', 'Enum8(\\'b\\' = 5)')": "is ordered by its numbers",
    "today() IN (now())": "IN of DateTime and Date is not supported",
    "now() IN (SELECT today())": "IN of DateTime and Date is not supported",
    "(now(), 1) IN (SELECT today(), 1)": "IN of DateTime and Date is not supported",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    (problem,) = problems(f"SELECT {call} FROM flights")
    assert REFUSED[call] in problem
