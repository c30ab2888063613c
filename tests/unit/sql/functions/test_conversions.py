"""Conversions that are refused, with the reason."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

REFUSED = {
    "toDecimal32OrDefault(NULL, 2)": "a literal NULL has no default",
    "toDecimal32OrDefault(1.5, 2)": "Float64 may not fit in Decimal(9, 2)",
    "toDecimal64OrDefault(toInt64(1), 2)": "Int64 may not fit in Decimal(18, 2)",
    "toDateTime64OrDefault(5, 3)": "a UInt8 is not converted with a default",
    "toDateTimeOrDefault(today(), 'Asia/Tokyo')": "a Date in a time zone is not converted with a default",
    "CAST(NULL AS Int32)": "NULL cannot be converted to Int32",
    "toInt32OrDefault(NULL)": "a literal NULL has no default",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    (problem,) = problems(f"SELECT {call} FROM flights")
    assert REFUSED[call] in problem
