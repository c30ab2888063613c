"""Times, conversions and numbers that ClickHouse answers and that are refused here, with what is missing."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

_NY = "toDateTime('2024-01-01 00:00:00', 'America/New_York')"
CASES = {
    f"if(carrier = 'a', today(), {_NY})": "there is no common type of Date, DateTime('America/New_York')",
    f"greatest(today(), {_NY})": "there is no common type of Date, DateTime('America/New_York')",
    "today() IN (now())": "IN of DateTime and Date is not supported",
    "now() IN (SELECT today())": "IN of DateTime and Date is not supported",
    "(now(), 1) IN (SELECT today(), 1)": "IN of DateTime and Date is not supported",
    "CAST(NULL AS Int32)": "NULL cannot be converted to Int32",
    "accurateCastOrDefault(NULL, 'Int32')": "NULL cannot be converted to Int32",
    "toInt32OrDefault(NULL)": "a literal NULL has no default",
    "age('week', today(), now())": "`age` in weeks is not supported",
    f"age('day', {_NY}, now())": "`age` in a time zone is not supported",
    "parseDateTime(carrier, '%a %Y')": "the format code `%a` is not supported",
    "parseDateTime(carrier, '%m %b')": "a format takes each part of a time once",
    "toDecimalString(1.5, 2)": "`toDecimalString` of Float64 is not supported",
    "toDecimalString(toDecimal64(1, 2), 1)": "takes 2 to 21 digits here",
    "formatReadableSize(1.5)": "`formatReadableSize` of Float64 is not supported",
    "geoToH3(0., 0., 1)": "unknown function `geoToH3`",
    "runningConcurrency(carrier, carrier)": "unknown function `runningConcurrency`",
    "hostName()": "unknown function `hostName`",
}


@pytest.mark.parametrize("call", CASES)
def test_refused(call: str) -> None:
    found = problems(f"SELECT {call} FROM flights")
    assert len(found) == 1
    assert CASES[call] in found[0]


def test_using_columns_without_a_common_type() -> None:
    (found,) = problems(
        f"SELECT x FROM (SELECT today() AS x FROM flights) AS a JOIN (SELECT {_NY} AS x FROM flights) AS b USING (x)"
    )
    assert "USING (`x`) of Date and DateTime('America/New_York')" in found
