"""Calls of functions on numbers that ClickHouse answers and that are refused here, with the reason."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

REFUSED = {
    "gcd(toNullable(4), 2)": "`gcd` of Nullable(UInt8) and UInt8 is not supported",
    "gcd(toUInt64(4), toInt8(2))": "`gcd` of UInt64 and a signed number is not supported",
    "lcm(toInt64(4), 2)": "`lcm` of 64-bit numbers is not supported",
    "formatReadableTimeDelta(true)": "`formatReadableTimeDelta` of Bool is not supported",
    "clamp(true, 0, 2)": "there is no common type of Bool, UInt8",
    "concat(map('a', 1), map('b', 2))": "concat of Map(String, UInt8) is not supported (mapConcat",
    "('a', 1) || ('b', 2)": "concat of Tuple(String, UInt8) is not supported (tupleConcat",
    "[map('a', 1)] = [map('b', 2)]": "maps cannot be compared",
    "if(carrier = 'AA', true, 2)": "there is no common type of Bool, UInt8",
    "clamp(1.5, toFloat64(carrier), 3)": "the limits of `clamp` must be literals beside floats",
    "widthBucket(5, 0, 10, 0)": "the number of buckets must be a literal from 1",
    "widthBucket(5, 0, 10, 4294967295)": "the number of buckets must be a literal from 1",
    "toDecimalString(toDecimal64(1, 2), 1)": "takes 2 to 77 digits here",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    (problem,) = problems(f"SELECT {call} FROM flights")
    assert REFUSED[call] in problem
