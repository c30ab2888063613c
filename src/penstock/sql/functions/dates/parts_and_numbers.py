"""Dates from their parts and their parts as names and numbers: makeDate, dateName, YYYYMMDDToDate …

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: parts that make no date
give the first day or second that the type has.

Dates as numbers and numbers as dates: Julian days, months since 1970, YYYYMMDDhhmmss, clocks of zones.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: what is before the first
value of the type becomes the first one, what is after the last one the last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from penstock.model import types as t
from penstock.sql.conversions.dates import LAST_DAY, LAST_SECOND
from penstock.sql.conversions.explicit import CAST_MODE, convert
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.dates import (
    FIRST_DAY,
    FIRST_SECOND,
    clamp,
    clamp_below,
    from_written_clock,
    wall_clock,
    wrap_to_range,
    zone_of,
)
from penstock.sql.expr.spark_types import text_literal, value_type
from penstock.sql.expr.typed import Typed, as_spark, nullable_if_any, typed, unless_null
from penstock.sql.functions.arguments import literal_string
from penstock.sql.functions.dates.change_part import as_bigint
from penstock.sql.functions.dates.datetimes import apply_zone_argument
from penstock.sql.functions.function import INT32, STRING, UINT8, UINT16, UINT32, UINT64, BadArguments, Function

_LAST_YEAR, _WIDE_YEARS = 2149, (1, 9999)


def _date_from_parts(parts: list[str], low: int, high: int, zero: str) -> str:
    """A day of the month goes on into the next month; 31 is the last there is."""
    year, month, day = parts
    inside = f"{year} BETWEEN {low} AND {high} AND {month} BETWEEN 1 AND 12 AND {day} BETWEEN 1 AND 31"
    first = f"make_date(CAST({year} AS INT), CAST({month} AS INT), 1)"
    return f"if({inside}, date_add({first}, CAST({day} AS INT) - 1), {zero})"


def _first_day_if_too_late(day: str, of: t.Date) -> str:
    return day if of.wide else bind_if_long(day, lambda d: f"if({d} > {LAST_DAY}, {FIRST_DAY}, {d})")


def _make_date_function(*, wide: bool) -> Function:
    of = t.Date(wide)
    zero = FIRST_DAY

    def build(values: Sequence[Typed]) -> Typed:
        if len(values) == 1:
            raise BadArguments("`makeDate` of a number is not supported", "YYYYMMDDToDate")
        numbers = [as_spark(value, "BIGINT") for value in values]
        low, high = _WIDE_YEARS if wide else (1970, _LAST_YEAR)
        if len(values) == 3:
            sql = _date_from_parts(numbers, low, high, zero)
        else:
            inside = f"{numbers[0]} BETWEEN {low} AND {high} AND {numbers[1]} BETWEEN 1 AND 365"
            first = f"make_date(CAST({numbers[0]} AS INT), 1, 1)"
            sql = f"if({inside}, date_add({first}, CAST({numbers[1]} AS INT) - 1), {zero})"
        return typed(unless_null(_first_day_if_too_late(sql, of), *values), nullable_if_any(of, list(values)))

    return Function("makeDate32" if wide else "makeDate", (1, 3), ("integer",), build)


def _date_from_digits_function(name: str, of: t.Date) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        number = as_spark(values[0], "BIGINT")
        parts = [f"({number} DIV 10000)", f"({number} DIV 100 % 100)", f"({number} % 100)"]
        low, high = _WIDE_YEARS if of.wide else (1970, _LAST_YEAR)
        day = _first_day_if_too_late(_date_from_parts(parts, low, high, FIRST_DAY), of)
        return typed(unless_null(day, *values), nullable_if_any(of, list(values)))

    return Function(name, (1, 1), ("integer",), build)


_PART_AS_STRING = {
    "YEAR": "CAST(year({0}) AS STRING)",
    "QUARTER": "CAST(quarter({0}) AS STRING)",
    "MONTH": "date_format({0}, 'MMMM')",
    "DAYOFYEAR": "CAST(dayofyear({0}) AS STRING)",
    "DAY": "CAST(dayofmonth({0}) AS STRING)",
    "WEEK": "CAST(weekofyear({0}) AS STRING)",
    "WEEKDAY": "date_format({0}, 'EEEE')",
    "HOUR": "CAST(hour({0}) AS STRING)",
    "MINUTE": "CAST(minute({0}) AS STRING)",
    "SECOND": "CAST(second({0}) AS STRING)",
}


def _date_name(values: Sequence[Typed]) -> Typed:
    part = literal_string(values[0], "the part").upper()
    if part not in _PART_AS_STRING or not isinstance(values[1].bare, (t.Date, t.DateTime, t.DateTime64)):
        raise BadArguments("`dateName` takes one of " + ", ".join(map(str.lower, _PART_AS_STRING)) + " and a time")
    value = apply_zone_argument(values[1], values, 2)
    return typed(_PART_AS_STRING[part].format(wall_clock(value)), nullable_if_any(STRING, [value]))


def _month_name(values: Sequence[Typed]) -> Typed:
    return typed(f"date_format({wall_clock(values[0])}, 'MMMM')", nullable_if_any(STRING, list(values)))


def _days_since_year_zero(values: Sequence[Typed]) -> Typed:
    value = apply_zone_argument(values[0], values, 1)
    sql = f"CAST(unix_date(CAST({wall_clock(value)} AS DATE)) + 719528 AS BIGINT)"
    return typed(sql, nullable_if_any(UINT32, [value]))


def _from_days_function(name: str, of: t.Date) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        day = f"date_from_unix_date(CAST({as_spark(values[0], 'BIGINT')} - 719528 AS INT))"
        return typed(wrap_to_range(day, of), nullable_if_any(of, list(values)))

    return Function(name, (1, 1), ("integer",), build)


def _to_datetime_digits(values: Sequence[Typed]) -> Typed:
    """YYYYMMDDhhmmss as a number."""
    value = apply_zone_argument(values[0], values, 1)
    wall = wall_clock(value)
    sql = f"CAST(date_format({wall}, 'yyyyMMddHHmmss') AS DECIMAL(20,0))"
    return typed(sql, nullable_if_any(UINT64, [value]))


def _fraction_function(name: str, digits: int, of: t.Int) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        value = apply_zone_argument(values[0], values, 1)
        if isinstance(value.bare, t.Date):
            raise BadArguments(f"`{name}` of a Date is not supported")
        sql = f"pmod(unix_micros({value.sql}), 1000000) DIV {10 ** (6 - digits)}"
        return typed(f"CAST({sql} AS {'INT' if of.bits == 16 else 'BIGINT'})", nullable_if_any(of, [value]))

    return Function(name, (1, 2), ("time", "constant"), build)


def _time_slot(values: Sequence[Typed]) -> Typed:
    value = values[0]
    if isinstance(value.bare, t.Date) or zone_of(value.bare):
        raise BadArguments("`timeSlot` of a Date or in a time zone is not supported", "toStartOfInterval")
    sql = f"timestamp_seconds(floor(unix_seconds({value.sql}) / 1800) * 1800)"
    return typed(sql, nullable_if_any(t.DateTime(), [value]))


def _time_zone_offset(values: Sequence[Typed]) -> Typed:
    value = values[0]
    if not isinstance(value.bare, (t.DateTime, t.DateTime64)):
        raise BadArguments("`timezoneOffset` needs a DateTime")
    moved = f"CAST(unix_seconds({wall_clock(value)}) - unix_seconds({value.sql}) AS INT)"
    return Typed(
        moved if zone_of(value.bare) else f"(0 * second({value.sql}))", nullable_if_any(t.Int(32), [value]), "INT"
    )


def _time_zone_name(values: Sequence[Typed]) -> Typed:
    of = values[0].bare if values else t.DateTime()
    if not isinstance(of, (t.DateTime, t.DateTime64)):
        raise BadArguments("`timezoneOf` needs a DateTime")
    if of.zone is None and values:
        raise BadArguments("the time zone is the server's", "timezoneOf(toTimeZone(…, 'UTC'))")
    return typed(text_literal(of.zone or "UTC"), STRING)


def _make_datetime(values: Sequence[Typed]) -> Typed:
    zone = literal_string(values[6], "the time zone") if len(values) > 6 else None
    of = t.DateTime(zone)
    numbers = [as_spark(value, "BIGINT") for value in values[:6]]
    day = _date_from_parts(numbers[:3], 1970, 9999, "NULL")
    seconds = f"{numbers[3]} * 3600 + {numbers[4]} * 60 + {numbers[5]}"
    wall = from_written_clock(f"timestampadd(SECOND, {seconds}, CAST({day} AS TIMESTAMP))", zone_of(of))
    fits = " AND ".join(f"{number} BETWEEN 0 AND 99" for number in numbers[3:])
    made = f"if({fits} AND {day} IS NOT NULL, least({wall}, {LAST_SECOND}), {FIRST_SECOND})"
    if any(value.nullable for value in values[:6]):
        raise BadArguments("`makeDateTime` of Nullable numbers is not supported", "assumeNotNull")
    return typed(made, of)


_JULIAN_DAY_OF_1970 = 40587
_FIRST_JULIAN_DAY, _LAST_JULIAN_DAY = -678941, 2973483
_ISO_DATE = text_literal(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\z")
_FIRST_DATETIME64 = "TIMESTAMP'1900-01-01 00:00:00'"


def _calendar_number_function(name: str, of: t.Int, formula: Callable[[str], str]) -> Function:
    """A number of a time's day, never below 0."""

    def build(values: Sequence[Typed]) -> Typed:
        value = apply_zone_argument(values[0], values, 1)
        number = clamp_below(formula(wall_clock(value)), "0", nullable=value.nullable)
        return typed(f"CAST({number} AS {value_type(of)})", nullable_if_any(of, [value]))

    return Function(name, (1, 2), ("time", "constant"), build)


def _to_julian_day_function(name: str, *, lenient: bool) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        text = values[0].sql
        wrong = "NULL" if lenient else f"if({text} IS NULL, NULL, raise_error('the text is no date'))"
        day = f"if({text} RLIKE {_ISO_DATE}, unix_date(try_cast({text} AS DATE)), NULL)"
        sql = f"CAST(coalesce({day} + {_JULIAN_DAY_OF_1970}, {wrong}) AS INT)"
        return typed(sql, t.Nullable(INT32) if lenient else nullable_if_any(INT32, list(values)))

    return Function(name, (1, 1), ("bytes",), build)


def _from_julian_day_function(name: str, *, lenient: bool) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        def formula(n: str) -> str:
            near = f"greatest(least({n}, {_LAST_JULIAN_DAY}), {_FIRST_JULIAN_DAY}) - {_JULIAN_DAY_OF_1970}"
            day = f"CAST(date_from_unix_date(CAST({near} AS INT)) AS STRING)"
            wrong = "NULL" if lenient else "raise_error('the number is no day')"
            inside = f"{n} BETWEEN {_FIRST_JULIAN_DAY} AND {_LAST_JULIAN_DAY}"
            return f"CASE WHEN {n} IS NULL THEN NULL WHEN {inside} THEN {day} ELSE {wrong} END"

        if values[0].bare == UINT64:
            raise BadArguments(f"`{name}` of a UInt64 is not supported", "toInt64(…)")
        return typed(
            bind_if_long(as_bigint(values[0]), formula),
            t.Nullable(STRING) if lenient else nullable_if_any(STRING, [values[0]]),
        )

    return Function(name, (1, 1), ("integer",), build)


def _require_zoneless(value: Typed, name: str) -> t.DateTime | t.DateTime64:
    if not isinstance(value.bare, (t.DateTime, t.DateTime64)) or value.bare.zone is not None:
        raise BadArguments(f"`{name}` takes a DateTime or DateTime64 that names no zone, this is {value.type}")
    return value.bare


def _clip_datetime(value: Typed, sql: str) -> Typed:
    if isinstance(value.bare, t.DateTime):
        sql = clamp(sql, FIRST_SECOND, LAST_SECOND, nullable=value.nullable)
    return typed(sql, value.type)


def _to_utc_timestamp(values: Sequence[Typed]) -> Typed:
    """ClickHouse takes the offset that the zone has when it is this time in UTC."""
    value, zone = values[0], text_literal(literal_string(values[1], "the time zone"))
    _require_zoneless(value, "toUTCTimestamp")
    sql = bind_if_long(
        value.sql, lambda v: f"timestamp_micros(2 * unix_micros({v}) - unix_micros(from_utc_timestamp({v}, {zone})))"
    )
    return _clip_datetime(value, sql)


def _from_utc_timestamp(values: Sequence[Typed]) -> Typed:
    value, zone = values[0], text_literal(literal_string(values[1], "the time zone"))
    _require_zoneless(value, "fromUTCTimestamp")
    return _clip_datetime(value, f"from_utc_timestamp({value.sql}, {zone})")


def _timestamp(values: Sequence[Typed]) -> Typed:
    found = convert(values[0], t.DateTime64(6), CAST_MODE)
    if found is None:
        raise BadArguments(f"{values[0].type} cannot be read as a time")
    return replace(found, sql=f"if({values[0].sql} = '', {FIRST_SECOND}, {found.sql})")


def _wall_clock_from_parts(numbers: Sequence[str]) -> tuple[str, str]:
    """The wall clock of six numbers, and the condition that they are one, whatever the year."""
    year, month, day, hour, minute, second = numbers
    inside = f"{month} BETWEEN 1 AND 12 AND {day} BETWEEN 1 AND 31"
    fits = " AND ".join(f"{number} BETWEEN 0 AND 99" for number in (hour, minute, second))
    near = f"least(greatest({year}, 1), 9999)", f"least(greatest({month}, 1), 12)", f"least(greatest({day}, 1), 31)"
    first = f"make_date(CAST({near[0]} AS INT), CAST({near[1]} AS INT), 1)"
    seconds = f"({near[2]} - 1) * 86400 + {hour} * 3600 + {minute} * 60 + {second}"
    return f"timestampadd(SECOND, {seconds}, CAST({first} AS TIMESTAMP))", f"{inside} AND {fits}"


def _datetime_from_digits(values: Sequence[Typed]) -> Typed:
    zone = literal_string(values[1], "the time zone") if len(values) > 1 else None
    of = t.DateTime(zone)

    def formula(n: str) -> str:
        numbers = [f"({n} DIV 10000000000)", *(f"({n} DIV {10**at} % 100)" for at in (8, 6, 4, 2, 0))]
        wall, inside = _wall_clock_from_parts(numbers)
        moment = clamp(from_written_clock(wall, zone_of(of)), FIRST_SECOND, LAST_SECOND, nullable=False)
        late = f"WHEN {numbers[0]} > 9999 THEN {LAST_SECOND} "
        empty = f"WHEN {n} IS NULL THEN NULL WHEN {n} < 0 OR {numbers[0]} < 1970 OR NOT ({inside}) THEN {FIRST_SECOND} "
        return f"CASE {empty}{late}ELSE {moment} END"

    return typed(bind_if_long(as_bigint(values[0]), formula), nullable_if_any(of, [values[0]]))


def _make_datetime64(values: Sequence[Typed]) -> Typed:
    precision = values[7].constant if len(values) > 7 else 3
    if not isinstance(precision, int) or not 0 <= precision <= 6:
        raise BadArguments("the precision must be a literal from 0 to 6")
    of = t.DateTime64(precision, literal_string(values[8], "the time zone") if len(values) > 8 else None)
    if any(value.nullable for value in values[:7]):
        raise BadArguments("`makeDateTime64` of Nullable numbers is not supported", "assumeNotNull")
    numbers = [as_bigint(value) for value in values[:6]]
    wall, inside = _wall_clock_from_parts(numbers)
    moment = from_written_clock(wall, zone_of(of))
    if zone_of(of):
        raise BadArguments("`makeDateTime64` in a time zone is not supported", "toTimeZone")
    last = f"TIMESTAMP'2299-12-31 23:59:59{'.' + '9' * precision if precision else ''}'"
    if len(values) > 6 and precision:
        parts = f"least(greatest({as_bigint(values[6])}, 0), {10**precision - 1}) * {10 ** (6 - precision)}"
        moment = f"timestampadd(MICROSECOND, {parts}, {moment})"
    early = f"WHEN {numbers[0]} < 1900 OR NOT ({inside}) THEN {_FIRST_DATETIME64}"
    return typed(f"CASE {early} WHEN {numbers[0]} > 2299 THEN {last} ELSE {moment} END", of)


_MONTHS_SINCE_EPOCH = "((year({0}) - 1970) * 12 + month({0}) - 1)"


FUNCTIONS: tuple[Function, ...] = (
    _make_date_function(wide=False),
    _make_date_function(wide=True),
    _date_from_digits_function("YYYYMMDDToDate", t.Date()),
    _date_from_digits_function("YYYYMMDDToDate32", t.Date(wide=True)),
    Function("dateName", (2, 3), ("constant", "any", "constant"), _date_name),
    Function("monthName", (1, 1), ("time",), _month_name),
    Function("toDaysSinceYearZero", (1, 2), ("time", "constant"), _days_since_year_zero),
    _from_days_function("fromDaysSinceYearZero", t.Date()),
    _from_days_function("fromDaysSinceYearZero32", t.Date(wide=True)),
    Function("toYYYYMMDDhhmmss", (1, 2), ("time", "constant"), _to_datetime_digits),
    _fraction_function("toMillisecond", 3, UINT16),
    _fraction_function("toMicrosecond", 6, UINT32),
    Function("timeSlot", (1, 1), ("time",), _time_slot),
    Function("timezoneOffset", (1, 1), ("time",), _time_zone_offset),
    Function("timezoneOf", (1, 1), ("time",), _time_zone_name),
    Function("timezone", (0, 0), ("any",), _time_zone_name),
    Function(
        "makeDateTime",
        (6, 7),
        ("integer", "integer", "integer", "integer", "integer", "integer", "constant"),
        _make_datetime,
    ),
    _calendar_number_function("toDaysInMonth", UINT8, "dayofmonth(last_day({0}))".format),
    _calendar_number_function("toYearNumSinceEpoch", UINT16, "(year({0}) - 1970)".format),
    _calendar_number_function("toMonthNumSinceEpoch", UINT32, _MONTHS_SINCE_EPOCH.format),
    _to_julian_day_function("toModifiedJulianDay", lenient=False),
    _to_julian_day_function("toModifiedJulianDayOrNull", lenient=True),
    _from_julian_day_function("fromModifiedJulianDay", lenient=False),
    _from_julian_day_function("fromModifiedJulianDayOrNull", lenient=True),
    Function("toUTCTimestamp", (2, 2), ("time", "constant"), _to_utc_timestamp),
    Function("fromUTCTimestamp", (2, 2), ("time", "constant"), _from_utc_timestamp),
    Function(
        "UTCTimestamp",
        (0, 0),
        ("any",),
        lambda values: typed("date_trunc('SECOND', current_timestamp())", t.DateTime("UTC")),
    ),
    Function("timestamp", (1, 1), ("bytes",), _timestamp, exact=False),
    Function("YYYYMMDDhhmmssToDateTime", (1, 2), ("integer", "constant"), _datetime_from_digits, exact=False),
    Function("makeDateTime64", (6, 9), (*("integer",) * 7, "constant", "constant"), _make_datetime64, exact=False),
)
ALIASES: dict[str, str] = {
    "timeZoneOffset": "timezoneOffset",
    "timeZoneOf": "timezoneOf",
    "timeZone": "timezone",
    "TO_DAYS": "toDaysSinceYearZero",
    "FROM_DAYS": "fromDaysSinceYearZero",
    "MILLISECOND": "toMillisecond",
    "MICROSECOND": "toMicrosecond",
    "UTC_timestamp": "UTCTimestamp",
    "to_utc_timestamp": "toUTCTimestamp",
    "from_utc_timestamp": "fromUTCTimestamp",
}
ANY_CASE: tuple[str, ...] = (
    "monthName",
    "TO_DAYS",
    "FROM_DAYS",
    "MILLISECOND",
    "MICROSECOND",
    "UTCTimestamp",
    "UTC_timestamp",
    "to_utc_timestamp",
    "from_utc_timestamp",
    "timestamp",
    "YYYYMMDDhhmmssToDateTime",
    "makeDateTime64",
)
