"""Calls of functions on arrays that ClickHouse answers and that are refused here, with the reason."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

REFUSED = {
    "arraySort([toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')])": "the order of UUID inside an array is not supported",
    "arrayAvg([toDecimal128(1, 7)])": "`arrayAvg` of Array(Decimal(38, 7)) is not",
    "arrayExcept([1.5], [2.5])": "`arrayExcept` of floats is not supported",
    "has([(1, 1.5)], (1, 1.5))": "cannot be compared exactly",
    "arrayIntersect([1], [1.5])": "arrays of several types are not intersected",
    "L2Norm([toDecimal32(1, 1)])": "`L2Norm` of elements of Decimal(9, 1) is not supported",
    "arrayRemove([1.5], 1)": "`arrayRemove` of floats and decimals is not supported",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    (problem,) = problems(f"SELECT {call} FROM flights")
    assert REFUSED[call] in problem
