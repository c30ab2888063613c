"""Dates from their parts and their parts as names and numbers: makeDate, dateName, YYYYMMDDToDate …

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: parts that make no date
give the first day or second that the type has.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.conversion_time_texts import LAST_DAY, LAST_SECOND
from penstock.sql.dates import FIRST_DAY, FIRST_SECOND, from_clock_text, narrowed, wall_clock, zone_of
from penstock.sql.functions.datetimes import in_zone
from penstock.sql.functions.function import STRING, UINT16, UINT32, UINT64, BadArguments, Function
from penstock.sql.functions.text_arguments import constant_text
from penstock.sql.let import let
from penstock.sql.typed import Typed, as_spark, null_if_any, typed, unless_null
from penstock.sql.value_types import text_literal

_LAST_YEAR, _WIDE_YEARS = 2149, (1, 9999)


def _made(parts: list[str], low: int, high: int, zero: str) -> str:
    """A day of the month goes on into the next month; 31 is the last there is."""
    year, month, day = parts
    inside = f"{year} BETWEEN {low} AND {high} AND {month} BETWEEN 1 AND 12 AND {day} BETWEEN 1 AND 31"
    first = f"make_date(CAST({year} AS INT), CAST({month} AS INT), 1)"
    return f"if({inside}, date_add({first}, CAST({day} AS INT) - 1), {zero})"


def _within(day: str, of: t.Date) -> str:
    return day if of.wide else let(day, lambda d: f"if({d} > {LAST_DAY}, {FIRST_DAY}, {d})")


def _make_date(*, wide: bool) -> Function:
    of = t.Date(wide)
    zero = FIRST_DAY

    def build(values: Sequence[Typed]) -> Typed:
        if len(values) == 1:
            raise BadArguments("`makeDate` of a number is not supported", "YYYYMMDDToDate")
        numbers = [as_spark(value, "BIGINT") for value in values]
        low, high = _WIDE_YEARS if wide else (1970, _LAST_YEAR)
        if len(values) == 3:
            sql = _made(numbers, low, high, zero)
        else:
            inside = f"{numbers[0]} BETWEEN {low} AND {high} AND {numbers[1]} BETWEEN 1 AND 365"
            first = f"make_date(CAST({numbers[0]} AS INT), 1, 1)"
            sql = f"if({inside}, date_add({first}, CAST({numbers[1]} AS INT) - 1), {zero})"
        return typed(unless_null(_within(sql, of), *values), null_if_any(of, list(values)))

    return Function("makeDate32" if wide else "makeDate", (1, 3), ("integer",), build)


def _from_number(name: str, of: t.Date) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        number = as_spark(values[0], "BIGINT")
        parts = [f"({number} DIV 10000)", f"({number} DIV 100 % 100)", f"({number} % 100)"]
        low, high = _WIDE_YEARS if of.wide else (1970, _LAST_YEAR)
        day = _within(_made(parts, low, high, FIRST_DAY), of)
        return typed(unless_null(day, *values), null_if_any(of, list(values)))

    return Function(name, (1, 1), ("integer",), build)


_NAMES = {
    "YEAR": "CAST(year({0}) AS STRING)", "QUARTER": "CAST(quarter({0}) AS STRING)", "MONTH": "date_format({0}, 'MMMM')",
    "DAYOFYEAR": "CAST(dayofyear({0}) AS STRING)", "DAY": "CAST(dayofmonth({0}) AS STRING)",
    "WEEK": "CAST(weekofyear({0}) AS STRING)", "WEEKDAY": "date_format({0}, 'EEEE')",
    "HOUR": "CAST(hour({0}) AS STRING)", "MINUTE": "CAST(minute({0}) AS STRING)",
    "SECOND": "CAST(second({0}) AS STRING)",
}  # fmt: skip


def _date_name(values: Sequence[Typed]) -> Typed:
    part = constant_text(values[0], "the part").upper()
    if part not in _NAMES or not isinstance(values[1].bare, (t.Date, t.DateTime, t.DateTime64)):
        raise BadArguments("`dateName` takes one of " + ", ".join(map(str.lower, _NAMES)) + " and a time")
    value = in_zone(values[1], values, 2)
    return typed(_NAMES[part].format(wall_clock(value)), null_if_any(STRING, [value]))


def _month_name(values: Sequence[Typed]) -> Typed:
    return typed(f"date_format({wall_clock(values[0])}, 'MMMM')", null_if_any(STRING, list(values)))


def _days_since_year_zero(values: Sequence[Typed]) -> Typed:
    value = in_zone(values[0], values, 1)
    sql = f"CAST(unix_date(CAST({wall_clock(value)} AS DATE)) + 719528 AS BIGINT)"
    return typed(sql, null_if_any(UINT32, [value]))


def _from_days(name: str, of: t.Date) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        day = f"date_from_unix_date(CAST({as_spark(values[0], 'BIGINT')} - 719528 AS INT))"
        return typed(narrowed(day, of), null_if_any(of, list(values)))

    return Function(name, (1, 1), ("integer",), build)


def _digits(values: Sequence[Typed]) -> Typed:
    """YYYYMMDDhhmmss as a number."""
    value = in_zone(values[0], values, 1)
    wall = wall_clock(value)
    sql = f"CAST(date_format({wall}, 'yyyyMMddHHmmss') AS DECIMAL(20,0))"
    return typed(sql, null_if_any(UINT64, [value]))


def _part_of_second(name: str, digits: int, of: t.Int) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        value = in_zone(values[0], values, 1)
        if isinstance(value.bare, t.Date):
            raise BadArguments(f"`{name}` of a Date is not supported")
        sql = f"pmod(unix_micros({value.sql}), 1000000) DIV {10 ** (6 - digits)}"
        return typed(f"CAST({sql} AS {'INT' if of.bits == 16 else 'BIGINT'})", null_if_any(of, [value]))

    return Function(name, (1, 2), ("time", "constant"), build)


def _time_slot(values: Sequence[Typed]) -> Typed:
    value = values[0]
    if isinstance(value.bare, t.Date) or zone_of(value.bare):
        raise BadArguments("`timeSlot` of a Date or in a time zone is not supported", "toStartOfInterval")
    sql = f"timestamp_seconds(floor(unix_seconds({value.sql}) / 1800) * 1800)"
    return typed(sql, null_if_any(t.DateTime(), [value]))


def _offset(values: Sequence[Typed]) -> Typed:
    value = values[0]
    if not isinstance(value.bare, (t.DateTime, t.DateTime64)):
        raise BadArguments("`timezoneOffset` needs a DateTime")
    moved = f"CAST(unix_seconds({wall_clock(value)}) - unix_seconds({value.sql}) AS INT)"
    return Typed(moved if zone_of(value.bare) else f"(0 * second({value.sql}))", null_if_any(t.Int(32), [value]), "INT")


def _zone_name(values: Sequence[Typed]) -> Typed:
    of = values[0].bare if values else t.DateTime()
    if not isinstance(of, (t.DateTime, t.DateTime64)):
        raise BadArguments("`timezoneOf` needs a DateTime")
    if of.zone is None and values:
        raise BadArguments("the time zone is the server's", "timezoneOf(toTimeZone(…, 'UTC'))")
    return typed(text_literal(of.zone or "UTC"), STRING)


def _make_datetime(values: Sequence[Typed]) -> Typed:
    zone = constant_text(values[6], "the time zone") if len(values) > 6 else None
    of = t.DateTime(zone)
    numbers = [as_spark(value, "BIGINT") for value in values[:6]]
    day = _made(numbers[:3], 1970, 9999, "NULL")
    seconds = f"{numbers[3]} * 3600 + {numbers[4]} * 60 + {numbers[5]}"
    wall = from_clock_text(f"timestampadd(SECOND, {seconds}, CAST({day} AS TIMESTAMP))", zone_of(of))
    fits = " AND ".join(f"{number} BETWEEN 0 AND 99" for number in numbers[3:])
    made = f"if({fits} AND {day} IS NOT NULL, least({wall}, {LAST_SECOND}), {FIRST_SECOND})"
    if any(value.nullable for value in values[:6]):
        raise BadArguments("`makeDateTime` of Nullable numbers is not supported", "assumeNotNull")
    return typed(made, of)


FUNCTIONS: tuple[Function, ...] = (
    _make_date(wide=False),
    _make_date(wide=True),
    _from_number("YYYYMMDDToDate", t.Date()),
    _from_number("YYYYMMDDToDate32", t.Date(wide=True)),
    Function("dateName", (2, 3), ("constant", "any", "constant"), _date_name),
    Function("monthName", (1, 1), ("time",), _month_name),
    Function("toDaysSinceYearZero", (1, 2), ("time", "constant"), _days_since_year_zero),
    _from_days("fromDaysSinceYearZero", t.Date()),
    _from_days("fromDaysSinceYearZero32", t.Date(wide=True)),
    Function("toYYYYMMDDhhmmss", (1, 2), ("time", "constant"), _digits),
    _part_of_second("toMillisecond", 3, UINT16),
    _part_of_second("toMicrosecond", 6, UINT32),
    Function("timeSlot", (1, 1), ("time",), _time_slot),
    Function("timezoneOffset", (1, 1), ("time",), _offset),
    Function("timezoneOf", (1, 1), ("time",), _zone_name),
    Function("timezone", (0, 0), ("any",), _zone_name),
    Function("makeDateTime", (6, 7), ("integer", "integer", "integer", "integer", "integer", "integer", "constant"),
             _make_datetime),
)  # fmt: skip
ALIASES = {
    "timeZoneOffset": "timezoneOffset", "timeZoneOf": "timezoneOf", "timeZone": "timezone",
    "TO_DAYS": "toDaysSinceYearZero",
    "FROM_DAYS": "fromDaysSinceYearZero", "MILLISECOND": "toMillisecond", "MICROSECOND": "toMicrosecond",
}  # fmt: skip
ANY_CASE = ("monthName", "TO_DAYS", "FROM_DAYS", "MILLISECOND", "MICROSECOND")
