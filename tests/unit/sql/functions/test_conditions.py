"""Calls of conditional functions that are refused because of their types."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

_NY = "toDateTime('2024-01-01 00:00:00', 'America/New_York')"
REFUSED = {
    "greatest(toIPv4(carrier), toIPv4('1.2.3.4'))": "`greatest` of IPv4 is not supported",
    f"if(carrier = 'a', today(), {_NY})": "there is no common type of Date, DateTime('America/New_York')",
    "greatest(map('a', 1), map('b', 2))": "`greatest` of Map(String, UInt8) is not supported",
    "toFixedString('ab', 5) IN (toFixedString(origin, 3), toFixedString('ab', 5))": (
        "IN of FixedString(3) and FixedString(5) is not supported"
    ),
    "toDateTimeOrNull(today())": "the argument must be a String, this is Date",
    "toDateTime64OrZero(distance, 3)": "the argument must be a String, this is UInt32",
    f"greatest(today(), {_NY})": "there is no common type of Date, DateTime('America/New_York')",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    (problem,) = problems(f"SELECT {call} FROM flights")
    assert REFUSED[call] in problem
