"""Dates and times made of numbers: makeDate, makeDateTime, makeDateTime64, YYYYMMDDToDate, timestamp

Parts that make no date give the first value of the result type; a year after its last one gives the last value or, for
Date, the first one, as in ClickHouse. A day that the month does not have counts into the next month.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.conversions.explicit import ConversionMode, convert
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.dates import FIRST_DAY, FIRST_SECOND, LAST_DAY, LAST_SECOND, clamp, from_written_clock, zone_of
from penstock.sql.expr.typed import TypedSql, nullable_if_any, typed_sql, unless_null
from penstock.sql.functions.arguments import as_bigint, precision_argument, zone_argument
from penstock.sql.functions.function import BadArguments, Function

_LAST_YEAR, _WIDE_YEARS = 2149, (0, 9999)
"""The last year of Date, and the first and last year of Date32."""
_FIRST_DATETIME64 = "TIMESTAMP'1900-01-01 00:00:00'"
"""The first DateTime64 of ClickHouse."""


def _date_from_parts(parts: list[str], low: int, high: int, zero: str) -> str:
    """The date of year, month and day, `zero` if the month or the day (1 to 31) is out of range."""
    year, month, day = parts
    inside = f"{year} BETWEEN {low} AND {high} AND {month} BETWEEN 1 AND 12 AND {day} BETWEEN 1 AND 31"
    first = f"make_date(CAST({year} AS INT), CAST({month} AS INT), 1)"
    return f"if({inside}, date_add({first}, CAST({day} AS INT) - 1), {zero})"


def _first_day_if_too_late(day: str, of: t.Date) -> str:
    return day if of.wide else bind_if_long(day, lambda d: f"if({d} > {LAST_DAY}, {FIRST_DAY}, {d})")


def _make_date_function(*, wide: bool) -> Function:
    of = t.Date(wide)
    zero = FIRST_DAY

    def build(values: Sequence[TypedSql]) -> TypedSql:
        if len(values) == 1:
            raise BadArguments("`makeDate` of a number is not supported", "YYYYMMDDToDate")
        numbers = [as_bigint(value) for value in values]
        low, high = _WIDE_YEARS if wide else (1970, _LAST_YEAR)
        if len(values) == 3:
            sql = _date_from_parts(numbers, low, high, zero)
        else:
            inside = f"{numbers[0]} BETWEEN {low} AND {high} AND {numbers[1]} BETWEEN 1 AND 365"
            first = f"make_date(CAST({numbers[0]} AS INT), 1, 1)"
            sql = f"if({inside}, date_add({first}, CAST({numbers[1]} AS INT) - 1), {zero})"
        return typed_sql(unless_null(_first_day_if_too_late(sql, of), *values), nullable_if_any(of, list(values)))

    return Function("makeDate32" if wide else "makeDate", (1, 3), ("integer",), build)


def _date_from_digits_function(name: str, of: t.Date) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        number = as_bigint(values[0])
        parts = [f"({number} DIV 10000)", f"({number} DIV 100 % 100)", f"({number} % 100)"]
        low, high = _WIDE_YEARS if of.wide else (1970, _LAST_YEAR)
        day = _first_day_if_too_late(_date_from_parts(parts, low, high, FIRST_DAY), of)
        return typed_sql(unless_null(day, *values), nullable_if_any(of, list(values)))

    return Function(name, (1, 1), ("integer",), build)


def _make_datetime(values: Sequence[TypedSql]) -> TypedSql:
    zone = zone_argument(values, 6)
    of = t.DateTime(zone)
    numbers = [as_bigint(value) for value in values[:6]]
    day = _date_from_parts([f"least({numbers[0]}, 9999)", *numbers[1:3]], 1970, 9999, "NULL")
    seconds = f"{numbers[3]} * 3600 + {numbers[4]} * 60 + {numbers[5]}"
    wall = from_written_clock(f"timestampadd(SECOND, {seconds}, CAST({day} AS TIMESTAMP))", zone_of(of))
    fits = " AND ".join(f"{number} BETWEEN 0 AND 99" for number in numbers[3:])
    made = f"if({fits} AND {day} IS NOT NULL, least({wall}, {LAST_SECOND}), {FIRST_SECOND})"
    if any(value.nullable for value in values[:6]):
        raise BadArguments("`makeDateTime` of Nullable numbers is not supported", "assumeNotNull")
    return typed_sql(made, of)


def _timestamp(values: Sequence[TypedSql]) -> TypedSql:
    """A text in the fixed forms of toDateTime64OrNull: not in any format, as a conversion reads it."""
    value = values[0]
    found = convert(value, t.DateTime64(6), ConversionMode("null"))
    if found is None:
        raise BadArguments(f"{value.type} cannot be read as a time")
    error = f"raise_error(concat('cannot read a timestamp from ', {value.sql}))"
    read = f"if({value.sql} = '', {FIRST_SECOND}, coalesce({found.sql}, {error}))"
    sql = f"if({value.sql} IS NULL, NULL, {read})" if value.nullable else read
    return typed_sql(sql, nullable_if_any(t.DateTime64(6), [value]))


def _wall_clock_from_parts(numbers: Sequence[str]) -> tuple[str, str]:
    """The wall-clock time of six numbers, and the condition that they are within range, whatever the year."""
    year, month, day, hour, minute, second = numbers
    inside = f"{month} BETWEEN 1 AND 12 AND {day} BETWEEN 1 AND 31"
    fits = " AND ".join(f"{number} BETWEEN 0 AND 99" for number in (hour, minute, second))
    near = f"least(greatest({year}, 1), 9999)", f"least(greatest({month}, 1), 12)", f"least(greatest({day}, 1), 31)"
    first = f"make_date(CAST({near[0]} AS INT), CAST({near[1]} AS INT), 1)"
    seconds = f"({near[2]} - 1) * 86400 + {hour} * 3600 + {minute} * 60 + {second}"
    return f"timestampadd(SECOND, {seconds}, CAST({first} AS TIMESTAMP))", f"{inside} AND {fits}"


def _datetime_from_digits(values: Sequence[TypedSql]) -> TypedSql:
    """YYYYMMDDhhmmssToDateTime: what is too early gives the first DateTime, a year above 9999 the last."""
    zone = zone_argument(values, 1)
    of = t.DateTime(zone)

    def formula(n: str) -> str:
        numbers = [f"({n} DIV 10000000000)", *(f"({n} DIV {10**at} % 100)" for at in (8, 6, 4, 2, 0))]
        wall, inside = _wall_clock_from_parts(numbers)
        moment = clamp(from_written_clock(wall, zone_of(of)), FIRST_SECOND, LAST_SECOND, nullable=False)
        late = f"WHEN {numbers[0]} > 9999 THEN {LAST_SECOND} "
        empty = f"WHEN {n} IS NULL THEN NULL WHEN {n} < 0 OR {numbers[0]} < 1970 OR NOT ({inside}) THEN {FIRST_SECOND} "
        return f"CASE {empty}{late}ELSE {moment} END"

    return typed_sql(bind_if_long(as_bigint(values[0]), formula), nullable_if_any(of, [values[0]]))


def _make_datetime64(values: Sequence[TypedSql]) -> TypedSql:
    """Years before 1900 give the first value, years after 2299 the last; the fraction is clamped to the precision."""
    precision = precision_argument(values, 7)
    of = t.DateTime64(precision, zone_argument(values, 8))
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
    return typed_sql(f"CASE {early} WHEN {numbers[0]} > 2299 THEN {last} ELSE {moment} END", of)


FUNCTIONS: tuple[Function, ...] = (
    _make_date_function(wide=False),
    _make_date_function(wide=True),
    _date_from_digits_function("YYYYMMDDToDate", t.Date()),
    _date_from_digits_function("YYYYMMDDToDate32", t.Date(wide=True)),
    Function(
        "makeDateTime",
        (6, 7),
        ("integer", "integer", "integer", "integer", "integer", "integer", "constant"),
        _make_datetime,
    ),
    Function("timestamp", (1, 1), ("bytes",), _timestamp, exact=False),
    Function("YYYYMMDDhhmmssToDateTime", (1, 2), ("integer", "constant"), _datetime_from_digits, exact=False),
    Function("makeDateTime64", (6, 9), (*("integer",) * 7, "constant", "constant"), _make_datetime64, exact=False),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = (
    "timestamp",
    "YYYYMMDDhhmmssToDateTime",
    "makeDateTime64",
    "YYYYMMDDToDate",
    "YYYYMMDDToDate32",
    "makeDate",
    "makeDate32",
    "makeDateTime",
)
