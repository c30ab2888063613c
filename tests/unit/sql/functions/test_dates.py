"""Calls of functions on dates that ClickHouse answers and that are refused here, with the reason."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems, query

_NY = "toDateTime('2024-01-01 00:00:00', 'America/New_York')"
REFUSED = {
    f"changeYear({_NY}, 2020)": "`changeYear` in a time zone is not supported",
    "toStartOfInterval(toDate32(now()), INTERVAL 1 DAY)": "toStartOfInterval of a Date32 is not supported",
    "timeSlots(now(), toUInt32(5), 0)": "`timeSlots` takes a DateTime, a UInt32 and a size from 1",
    "timeSlots(toNullable(now()), toUInt32(5))": "`timeSlots` of Nullable values is not supported",
    "makeDateTime64(2020, 1, 2, 3, 4, 5, 6, 3, 'Asia/Tokyo')": "`makeDateTime64` in a time zone is not supported",
    "makeDateTime64(2020, 1, 2, 3, 4, toNullable(5))": "`makeDateTime64` of Nullable numbers is not supported",
    "fromModifiedJulianDay(toUInt64(5))": "`fromModifiedJulianDay` of a UInt64 is not supported",
    "toStartOfInterval(now(), INTERVAL 5 HOUR, toDateTime('2024-01-30 23:15:00'))": "5 hour from an origin",
    "toStartOfInterval(now(), INTERVAL 1 MONTH, toDateTime('2024-01-30 23:15:00'))": "1 month from an origin",
    "toStartOfInterval(now(), INTERVAL 1 DAY, toDate('2024-01-30'))": "the origin must be a constant of the type",
    "parseDateTime(carrier, '%Q %Y')": "the format code `%Q` is not supported",
    "parseDateTime(carrier, '%F %W')": "after a weekday, a format needs the month or the day",
    "parseDateTime(carrier, '%Y %j %m')": "a format with the day of the year takes no month and no day",
    "parseDateTime(carrier, '%F %y')": "a format takes each part of a time once",
    "toTimeZone(now(), 'a')": "unknown time zone 'a'",
    "toRelativeHourNum(now(), 'Europe/Berli')": "unknown time zone 'Europe/Berli' (did you mean 'Europe/Berlin'?)",
    "toDateTime('2024-01-01 00:00:00', 'europe/berlin')": "did you mean 'Europe/Berlin'?",
    "toDateTime64('2024-01-01', 3, 'x')": "unknown time zone 'x'",
    "toUTCTimestamp(now(), 'x')": "unknown time zone 'x'",
    "parseDateTime(carrier, '%m %b')": "a format takes each part of a time once",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    (problem,) = problems(f"SELECT {call} FROM flights")
    assert REFUSED[call] in problem


def test_a_percent_sign_before_the_letter_of_a_composite_code() -> None:
    sql = query("SELECT parseDateTime(carrier, '%%F %Y') AS t FROM flights").sql
    assert r"\\A%F\\ ([0-9]{4})\\z" in sql
