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
from penstock.sql.functions.arguments import constant_text
from penstock.sql.functions.dates.change_part import whole
from penstock.sql.functions.dates.datetimes import in_zone
from penstock.sql.functions.function import INT32, STRING, UINT8, UINT16, UINT32, UINT64, BadArguments, Function

_LAST_YEAR, _WIDE_YEARS = 2149, (1, 9999)


def _made(parts: list[str], low: int, high: int, zero: str) -> str:
    """A day of the month goes on into the next month; 31 is the last there is."""
    year, month, day = parts
    inside = f"{year} BETWEEN {low} AND {high} AND {month} BETWEEN 1 AND 12 AND {day} BETWEEN 1 AND 31"
    first = f"make_date(CAST({year} AS INT), CAST({month} AS INT), 1)"
    return f"if({inside}, date_add({first}, CAST({day} AS INT) - 1), {zero})"


def _within(day: str, of: t.Date) -> str:
    return day if of.wide else bind_if_long(day, lambda d: f"if({d} > {LAST_DAY}, {FIRST_DAY}, {d})")


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
        return typed(unless_null(_within(sql, of), *values), nullable_if_any(of, list(values)))

    return Function("makeDate32" if wide else "makeDate", (1, 3), ("integer",), build)


def _from_number(name: str, of: t.Date) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        number = as_spark(values[0], "BIGINT")
        parts = [f"({number} DIV 10000)", f"({number} DIV 100 % 100)", f"({number} % 100)"]
        low, high = _WIDE_YEARS if of.wide else (1970, _LAST_YEAR)
        day = _within(_made(parts, low, high, FIRST_DAY), of)
        return typed(unless_null(day, *values), nullable_if_any(of, list(values)))

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
    return typed(_NAMES[part].format(wall_clock(value)), nullable_if_any(STRING, [value]))


def _month_name(values: Sequence[Typed]) -> Typed:
    return typed(f"date_format({wall_clock(values[0])}, 'MMMM')", nullable_if_any(STRING, list(values)))


def _days_since_year_zero(values: Sequence[Typed]) -> Typed:
    value = in_zone(values[0], values, 1)
    sql = f"CAST(unix_date(CAST({wall_clock(value)} AS DATE)) + 719528 AS BIGINT)"
    return typed(sql, nullable_if_any(UINT32, [value]))


def _from_days(name: str, of: t.Date) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        day = f"date_from_unix_date(CAST({as_spark(values[0], 'BIGINT')} - 719528 AS INT))"
        return typed(wrap_to_range(day, of), nullable_if_any(of, list(values)))

    return Function(name, (1, 1), ("integer",), build)


def _digits(values: Sequence[Typed]) -> Typed:
    """YYYYMMDDhhmmss as a number."""
    value = in_zone(values[0], values, 1)
    wall = wall_clock(value)
    sql = f"CAST(date_format({wall}, 'yyyyMMddHHmmss') AS DECIMAL(20,0))"
    return typed(sql, nullable_if_any(UINT64, [value]))


def _part_of_second(name: str, digits: int, of: t.Int) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        value = in_zone(values[0], values, 1)
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


def _offset(values: Sequence[Typed]) -> Typed:
    value = values[0]
    if not isinstance(value.bare, (t.DateTime, t.DateTime64)):
        raise BadArguments("`timezoneOffset` needs a DateTime")
    moved = f"CAST(unix_seconds({wall_clock(value)}) - unix_seconds({value.sql}) AS INT)"
    return Typed(
        moved if zone_of(value.bare) else f"(0 * second({value.sql}))", nullable_if_any(t.Int(32), [value]), "INT"
    )


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
    wall = from_written_clock(f"timestampadd(SECOND, {seconds}, CAST({day} AS TIMESTAMP))", zone_of(of))
    fits = " AND ".join(f"{number} BETWEEN 0 AND 99" for number in numbers[3:])
    made = f"if({fits} AND {day} IS NOT NULL, least({wall}, {LAST_SECOND}), {FIRST_SECOND})"
    if any(value.nullable for value in values[:6]):
        raise BadArguments("`makeDateTime` of Nullable numbers is not supported", "assumeNotNull")
    return typed(made, of)


_DAY_OF_1970 = 40587
_FIRST_JULIAN, _LAST_JULIAN = -678941, 2973483
_DATE = text_literal(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\z")
_FIRST_WIDE = "TIMESTAMP'1900-01-01 00:00:00'"


def _of_day(name: str, of: t.Int, formula: Callable[[str], str]) -> Function:
    """A number of a time's day, never below 0."""

    def build(values: Sequence[Typed]) -> Typed:
        value = in_zone(values[0], values, 1)
        number = clamp_below(formula(wall_clock(value)), "0", nullable=value.nullable)
        return typed(f"CAST({number} AS {value_type(of)})", nullable_if_any(of, [value]))

    return Function(name, (1, 2), ("time", "constant"), build)


def _to_julian(name: str, *, lenient: bool) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        text = values[0].sql
        wrong = "NULL" if lenient else f"if({text} IS NULL, NULL, raise_error('the text is no date'))"
        day = f"if({text} RLIKE {_DATE}, unix_date(try_cast({text} AS DATE)), NULL)"
        sql = f"CAST(coalesce({day} + {_DAY_OF_1970}, {wrong}) AS INT)"
        return typed(sql, t.Nullable(INT32) if lenient else nullable_if_any(INT32, list(values)))

    return Function(name, (1, 1), ("bytes",), build)


def _from_julian(name: str, *, lenient: bool) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        def formula(n: str) -> str:
            near = f"greatest(least({n}, {_LAST_JULIAN}), {_FIRST_JULIAN}) - {_DAY_OF_1970}"
            day = f"CAST(date_from_unix_date(CAST({near} AS INT)) AS STRING)"
            wrong = "NULL" if lenient else "raise_error('the number is no day')"
            inside = f"{n} BETWEEN {_FIRST_JULIAN} AND {_LAST_JULIAN}"
            return f"CASE WHEN {n} IS NULL THEN NULL WHEN {inside} THEN {day} ELSE {wrong} END"

        if values[0].bare == UINT64:
            raise BadArguments(f"`{name}` of a UInt64 is not supported", "toInt64(…)")
        return typed(
            bind_if_long(whole(values[0]), formula),
            t.Nullable(STRING) if lenient else nullable_if_any(STRING, [values[0]]),
        )

    return Function(name, (1, 1), ("integer",), build)


def _plain(value: Typed, name: str) -> t.DateTime | t.DateTime64:
    if not isinstance(value.bare, (t.DateTime, t.DateTime64)) or value.bare.zone is not None:
        raise BadArguments(f"`{name}` takes a DateTime or DateTime64 that names no zone, this is {value.type}")
    return value.bare


def _moved(value: Typed, sql: str) -> Typed:
    if isinstance(value.bare, t.DateTime):
        sql = clamp(sql, FIRST_SECOND, LAST_SECOND, nullable=value.nullable)
    return typed(sql, value.type)


def _to_utc(values: Sequence[Typed]) -> Typed:
    """ClickHouse takes the offset that the zone has when it is this time in UTC."""
    value, zone = values[0], text_literal(constant_text(values[1], "the time zone"))
    _plain(value, "toUTCTimestamp")
    sql = bind_if_long(
        value.sql, lambda v: f"timestamp_micros(2 * unix_micros({v}) - unix_micros(from_utc_timestamp({v}, {zone})))"
    )
    return _moved(value, sql)


def _from_utc(values: Sequence[Typed]) -> Typed:
    value, zone = values[0], text_literal(constant_text(values[1], "the time zone"))
    _plain(value, "fromUTCTimestamp")
    return _moved(value, f"from_utc_timestamp({value.sql}, {zone})")


def _timestamp(values: Sequence[Typed]) -> Typed:
    found = convert(values[0], t.DateTime64(6), CAST_MODE)
    if found is None:
        raise BadArguments(f"{values[0].type} cannot be read as a time")
    return replace(found, sql=f"if({values[0].sql} = '', {FIRST_SECOND}, {found.sql})")


def _clock(numbers: Sequence[str]) -> tuple[str, str]:
    """The wall clock of six numbers, and the condition that they are one, whatever the year."""
    year, month, day, hour, minute, second = numbers
    inside = f"{month} BETWEEN 1 AND 12 AND {day} BETWEEN 1 AND 31"
    fits = " AND ".join(f"{number} BETWEEN 0 AND 99" for number in (hour, minute, second))
    near = f"least(greatest({year}, 1), 9999)", f"least(greatest({month}, 1), 12)", f"least(greatest({day}, 1), 31)"
    first = f"make_date(CAST({near[0]} AS INT), CAST({near[1]} AS INT), 1)"
    seconds = f"({near[2]} - 1) * 86400 + {hour} * 3600 + {minute} * 60 + {second}"
    return f"timestampadd(SECOND, {seconds}, CAST({first} AS TIMESTAMP))", f"{inside} AND {fits}"


def _from_digits(values: Sequence[Typed]) -> Typed:
    zone = constant_text(values[1], "the time zone") if len(values) > 1 else None
    of = t.DateTime(zone)

    def formula(n: str) -> str:
        numbers = [f"({n} DIV 10000000000)", *(f"({n} DIV {10**at} % 100)" for at in (8, 6, 4, 2, 0))]
        wall, inside = _clock(numbers)
        moment = clamp(from_written_clock(wall, zone_of(of)), FIRST_SECOND, LAST_SECOND, nullable=False)
        late = f"WHEN {numbers[0]} > 9999 THEN {LAST_SECOND} "
        empty = f"WHEN {n} IS NULL THEN NULL WHEN {n} < 0 OR {numbers[0]} < 1970 OR NOT ({inside}) THEN {FIRST_SECOND} "
        return f"CASE {empty}{late}ELSE {moment} END"

    return typed(bind_if_long(whole(values[0]), formula), nullable_if_any(of, [values[0]]))


def _make_datetime64(values: Sequence[Typed]) -> Typed:
    precision = values[7].constant if len(values) > 7 else 3
    if not isinstance(precision, int) or not 0 <= precision <= 6:
        raise BadArguments("the precision must be a literal from 0 to 6")
    of = t.DateTime64(precision, constant_text(values[8], "the time zone") if len(values) > 8 else None)
    if any(value.nullable for value in values[:7]):
        raise BadArguments("`makeDateTime64` of Nullable numbers is not supported", "assumeNotNull")
    numbers = [whole(value) for value in values[:6]]
    wall, inside = _clock(numbers)
    moment = from_written_clock(wall, zone_of(of))
    if zone_of(of):
        raise BadArguments("`makeDateTime64` in a time zone is not supported", "toTimeZone")
    last = f"TIMESTAMP'2299-12-31 23:59:59{'.' + '9' * precision if precision else ''}'"
    if len(values) > 6 and precision:
        parts = f"least(greatest({whole(values[6])}, 0), {10**precision - 1}) * {10 ** (6 - precision)}"
        moment = f"timestampadd(MICROSECOND, {parts}, {moment})"
    early = f"WHEN {numbers[0]} < 1900 OR NOT ({inside}) THEN {_FIRST_WIDE}"
    return typed(f"CASE {early} WHEN {numbers[0]} > 2299 THEN {last} ELSE {moment} END", of)


_MONTHS = "((year({0}) - 1970) * 12 + month({0}) - 1)"


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
    _of_day("toDaysInMonth", UINT8, "dayofmonth(last_day({0}))".format),
    _of_day("toYearNumSinceEpoch", UINT16, "(year({0}) - 1970)".format),
    _of_day("toMonthNumSinceEpoch", UINT32, _MONTHS.format),
    _to_julian("toModifiedJulianDay", lenient=False),
    _to_julian("toModifiedJulianDayOrNull", lenient=True),
    _from_julian("fromModifiedJulianDay", lenient=False),
    _from_julian("fromModifiedJulianDayOrNull", lenient=True),
    Function("toUTCTimestamp", (2, 2), ("time", "constant"), _to_utc),
    Function("fromUTCTimestamp", (2, 2), ("time", "constant"), _from_utc),
    Function("UTCTimestamp", (0, 0), ("any",), lambda values: typed("date_trunc('SECOND', current_timestamp())",
                                                                     t.DateTime("UTC"))),
    Function("timestamp", (1, 1), ("bytes",), _timestamp, exact=False),
    Function("YYYYMMDDhhmmssToDateTime", (1, 2), ("integer", "constant"), _from_digits, exact=False),
    Function("makeDateTime64", (6, 9), (*("integer",) * 7, "constant", "constant"), _make_datetime64, exact=False),
)  # fmt: skip
ALIASES: dict[str, str] = {
    "timeZoneOffset": "timezoneOffset", "timeZoneOf": "timezoneOf", "timeZone": "timezone",
    "TO_DAYS": "toDaysSinceYearZero",
    "FROM_DAYS": "fromDaysSinceYearZero", "MILLISECOND": "toMillisecond", "MICROSECOND": "toMicrosecond",
    "UTC_timestamp": "UTCTimestamp", "to_utc_timestamp": "toUTCTimestamp", "from_utc_timestamp": "fromUTCTimestamp",
}  # fmt: skip
ANY_CASE: tuple[str, ...] = (
    "monthName", "TO_DAYS", "FROM_DAYS", "MILLISECOND", "MICROSECOND",
    "UTCTimestamp", "UTC_timestamp", "to_utc_timestamp", "from_utc_timestamp", "timestamp",
            "YYYYMMDDhhmmssToDateTime", "makeDateTime64",
)  # fmt: skip
