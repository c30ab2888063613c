"""Texts as dates and times: what ClickHouse's toDate, toDateTime and toDateTime64 take.

In: SQL of a text, a zone. Out: `Conversion`. Called by conversion_times. Invariant: a day after a month's last
goes on into the next month, a month that there is not gives the type's zero, a time out of the type's range
gives the nearest that is in it.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.sql.conversion import Conversion
from penstock.sql.dates import FIRST_DAY, FIRST_SECOND, from_clock_text, zone_of

_OTHER = "[ -/:-~]"
"""What stands between numbers: any character but a digit."""
_DAY = f"[0-9]{{4}}{_OTHER}[0-9]{{2}}{_OTHER}[0-9]{{2}}"
_CLOCK = f"[ T][0-9]{{2}}{_OTHER}[0-9]{{2}}{_OTHER}[0-9]{{2}}"
_LOOSE_DAY = f"[0-9]{{4}}{_OTHER}[0-9]{{1,2}}{_OTHER}[0-9]{{1,2}}"
_DATE_TEXT = f"^({_LOOSE_DAY}|[0-9]{{8}}|{_DAY}{_CLOCK}([.][0-9]+)?)$"
_TIME_TEXT = f"^{_DAY}({_CLOCK})?$"
_TIME64_TEXT = f"^{_DAY}({_CLOCK}([.][0-9]{{0,9}})?)?$"
_PARTS = f"^([0-9]{{4}}){_OTHER}?([0-9]{{1,2}}){_OTHER}?([0-9]{{1,2}}).*$"
_SECONDS = "^[0-9]{5,}$"
_SECONDS64 = "^(-[0-9]{1,16}|[0-9]{5,16})([.][0-9]{0,9})?$"
LAST_DAY, LAST_SECOND = "DATE'2149-06-06'", "TIMESTAMP'2106-02-07 06:28:15'"


def date_of(text: str, want: t.Date) -> Conversion:
    """YYYY-MM-DD, with one digit for a month or day too, and YYYYMMDD; a time after the day is passed over."""
    found = _day(text)
    day = found if want.wide else f"least(greatest({found}, {FIRST_DAY}), {LAST_DAY})"
    return Conversion(day, f"{text} RLIKE '{_DATE_TEXT}'")


def _day(text: str) -> str:
    first = f"try_cast(regexp_replace({text}, '{_PARTS}', '$1-$2-1') AS DATE)"
    place = f"try_cast(regexp_replace({text}, '{_PARTS}', '$3') AS INT)"
    overflowing = f"if({place} BETWEEN 1 AND 31, date_add({first}, {place} - 1), NULL)"
    return f"coalesce(try_cast(left({text}, 10) AS DATE), {overflowing}, DATE'1900-01-01')"


def _wall(text: str) -> str:
    """The clock's time; hours, minutes and seconds that no clock shows go on into the next."""
    hours, minutes, seconds = (f"try_cast(substring({text}, {place}, 2) AS BIGINT)" for place in (12, 15, 18))
    passed = f"coalesce({hours} * 3600000000 + {minutes} * 60000000 + {seconds} * 1000000, 0)"
    fraction = f"coalesce(CAST(try_cast(concat('0', substring({text}, 20)) AS DECIMAL(10,9)) * 1000000 AS BIGINT), 0)"
    overflowing = f"timestampadd(MICROSECOND, {passed} + {fraction}, CAST({_day(text)} AS TIMESTAMP))"
    never = f"if({text} LIKE '0000-00-00%', {FIRST_SECOND}, NULL)"
    return f"coalesce(try_cast({text} AS TIMESTAMP), {never}, {overflowing})"


def datetime_of(text: str, want: t.DateTime) -> Conversion:
    """On the wall clock of the zone; five digits and more are seconds since 1970."""
    moment = f"least(greatest({from_clock_text(_wall(text), zone_of(want))}, {FIRST_SECOND}), {LAST_SECOND})"
    seconds = f"timestamp_seconds(coalesce(least(try_cast({text} AS DECIMAL(20,0)), 4294967295), 4294967295))"
    sql = f"if({text} RLIKE '{_SECONDS}', {seconds}, {moment})"
    return Conversion(sql, f"{text} RLIKE '{_SECONDS}' OR {text} RLIKE '{_TIME_TEXT}'")


def datetime64_of(text: str, want: t.DateTime64) -> Conversion:
    """As a DateTime, with a fraction; a number too large for seconds counts the precision's units. The
    fraction is not cut to the precision yet."""
    number = f"try_cast({text} AS DECIMAL(26,9))"
    units = f"{number} * {10 ** (6 - want.precision)}"
    scaled = f"if({number} >= {10 ** (9 + want.precision)}, {units}, {number} * 1000000)"
    seconds = f"timestamp_micros(CAST({scaled} AS BIGINT))"
    moment = from_clock_text(_wall(text), zone_of(want))
    sql = f"if({text} RLIKE '{_SECONDS64}', {seconds}, {moment})"
    return Conversion(sql, f"{text} RLIKE '{_SECONDS64}' OR {text} RLIKE '{_TIME64_TEXT}'")
