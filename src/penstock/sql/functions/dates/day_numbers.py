"""Days and other units counted from an epoch: toDaysSinceYearZero, toModifiedJulianDay, toRelativeHourNum

Modified Julian days count from 1858-11-17. A number before the first value of the result type becomes that first value.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.dates import (
    clamp,
    has_whole_hour_offsets,
    is_extended,
    offset_at_1970,
    wall_clock,
    wrap_to_range,
    zone_of,
)
from penstock.sql.expr.interval_numbers import as_signed_bigint
from penstock.sql.expr.moved_times import within_years
from penstock.sql.expr.typed import TypedSql, nullable_if_any, typed_sql
from penstock.sql.functions.arguments import as_bigint
from penstock.sql.functions.dates.time_zones import apply_zone_argument
from penstock.sql.functions.function import INT32, STRING, UINT16, UINT32, UINT64, BadArguments, Function
from penstock.sql.spark_text import string_literal

_DAYS_TO_1970 = 719528
"""Days from 0000-01-01 to 1970-01-01."""
_JULIAN_DAY_OF_1970 = 40587
"""The modified Julian day of 1970-01-01."""
_FIRST_JULIAN_DAY, _LAST_JULIAN_DAY = -678941, 2973483
"""The modified Julian days of 0000-01-01 and 9999-12-31."""
_ISO_DATE = string_literal(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\z")


def _days_since_year_zero(values: Sequence[TypedSql]) -> TypedSql:
    value = apply_zone_argument(values[0], values, 1)
    moment = value.sql if isinstance(value.bare, t.DateTime) else wall_clock(value)  # no zone counts for a DateTime
    sql = f"CAST(unix_date(CAST({moment} AS DATE)) + {_DAYS_TO_1970} AS BIGINT)"
    return typed_sql(sql, nullable_if_any(UINT32, [value]))


def _day_of_32_bits(value: TypedSql) -> str:
    """The day since 1970 of one since the year 0, as an INT; ClickHouse takes the lower 32 bits."""
    if isinstance(value.constant, int):
        if value.constant < 0:
            raise BadArguments("the number of days must not be negative")
        day = (value.constant - _DAYS_TO_1970 + 2**31) % 2**32 - 2**31
        return f"CAST({day} AS INT)"
    number = as_signed_bigint(value)
    if not isinstance(value.bare, t.Int) or value.bare.bits <= 16:
        return f"CAST({number} - {_DAYS_TO_1970} AS INT)"
    return f"CAST(shiftright(shiftleft(({number} & 4294967295L) - {_DAYS_TO_1970}, 32), 32) AS INT)"


def _from_days_function(name: str, of: t.Date) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        value = values[0]
        sql = f"date_from_unix_date({_day_of_32_bits(value)})"
        if of.wide and isinstance(value.bare, t.Int) and value.bare.bits > 16:
            sql = within_years(sql, of, "DAY")
        sql = wrap_to_range(sql, of)
        if isinstance(value.bare, t.Int) and value.bare.signed and value.constant is None:
            sql = f"if({value.sql} < 0, raise_error('the number of days must not be negative'), {sql})"
        return typed_sql(sql, nullable_if_any(of, [value]))

    return Function(name, (1, 1), ("integer",), build)


def _to_julian_day_function(name: str, *, lenient: bool) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        text = values[0].sql
        wrong = "NULL" if lenient else f"if({text} IS NULL, NULL, raise_error('the text is no date'))"
        day = f"if({text} RLIKE {_ISO_DATE}, unix_date(try_cast({text} AS DATE)), NULL)"
        sql = f"CAST(coalesce({day} + {_JULIAN_DAY_OF_1970}, {wrong}) AS INT)"
        return typed_sql(sql, t.Nullable(INT32) if lenient else nullable_if_any(INT32, list(values)))

    return Function(name, (1, 1), ("bytes",), build)


def _from_julian_day_function(name: str, *, lenient: bool) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        def formula(n: str) -> str:
            near = f"greatest(least({n}, {_LAST_JULIAN_DAY}), {_FIRST_JULIAN_DAY}) - {_JULIAN_DAY_OF_1970}"
            day = f"CAST(date_from_unix_date(CAST({near} AS INT)) AS STRING)"
            wrong = "NULL" if lenient else "raise_error('the number is no day')"
            inside = f"{n} BETWEEN {_FIRST_JULIAN_DAY} AND {_LAST_JULIAN_DAY}"
            return f"CASE WHEN {n} IS NULL THEN NULL WHEN {inside} THEN {day} ELSE {wrong} END"

        if values[0].bare == UINT64:
            raise BadArguments(f"`{name}` of a UInt64 is not supported", "toInt64(…)")
        return typed_sql(
            bind_if_long(as_bigint(values[0]), formula),
            t.Nullable(STRING) if lenient else nullable_if_any(STRING, [values[0]]),
        )

    return Function(name, (1, 1), ("integer",), build)


_LARGEST = dict.fromkeys(("Week", "Hour", "Minute", "Second"), 2**32 - 1) | {"Day": 2**16 - 1}
"""The numbers to which the numbers of these units are limited."""


def _seconds_of_hours(value: TypedSql, seconds: str, zone: str | None) -> str:
    """The seconds whose hours are counted: in a zone that is not whole hours from UTC, and before 1970, ClickHouse
    begins a day earlier."""
    offset = offset_at_1970(zone) if zone else 0
    earlier = f"({seconds} + {86400 - offset})"
    if zone and not has_whole_hour_offsets(zone):
        return earlier
    return f"if({seconds} < 0, {earlier}, {seconds})" if is_extended(value.bare) else seconds


def _relative_number_function(name: str, template: str, of: t.Int) -> Function:
    """toRelativeYearNum … toRelativeSecondNum: units since 1970; years, quarters and months since year 0."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        value = apply_zone_argument(values[0], values, 1)
        wall, zone = wall_clock(value), zone_of(value.bare)
        moment = f"CAST({value.sql} AS TIMESTAMP)" if value.spark == "DATE" else value.sql
        seconds = f"unix_seconds({moment})"
        if name == "Hour":
            seconds = _seconds_of_hours(value, seconds, zone)
        sql = template.format(wall=wall, day=f"unix_date(CAST({wall} AS DATE))", seconds=seconds)
        if name in _LARGEST and (is_extended(value.bare) or name == "Second"):
            sql = clamp(sql, "0", str(_LARGEST[name]), nullable=value.nullable)
        elif name == "Day" and isinstance(value.bare, t.DateTime):
            sql = f"({sql} & {_LARGEST[name]})"  # the day before 1970 in a zone west of UTC
        return typed_sql(f"CAST({sql} AS {'INT' if of.bits == 16 else 'BIGINT'})", nullable_if_any(of, [value]))

    return Function(f"toRelative{name}Num", (1, 2), ("time", "constant"), build)


FUNCTIONS: tuple[Function, ...] = (
    Function("toDaysSinceYearZero", (1, 2), ("time", "constant"), _days_since_year_zero),
    _from_days_function("fromDaysSinceYearZero", t.Date()),
    _from_days_function("fromDaysSinceYearZero32", t.Date(wide=True)),
    _to_julian_day_function("toModifiedJulianDay", lenient=False),
    _to_julian_day_function("toModifiedJulianDayOrNull", lenient=True),
    _from_julian_day_function("fromModifiedJulianDay", lenient=False),
    _from_julian_day_function("fromModifiedJulianDayOrNull", lenient=True),
    _relative_number_function("Year", "year({wall})", UINT16),
    _relative_number_function("Quarter", "(year({wall}) * 4 + quarter({wall}) - 1)", UINT32),
    _relative_number_function("Month", "(year({wall}) * 12 + month({wall}))", UINT32),
    _relative_number_function("Week", "floor(({day} + 3) / 7)", UINT32),
    _relative_number_function("Day", "{day}", UINT32),
    _relative_number_function("Hour", "floor({seconds} / 3600)", UINT32),
    _relative_number_function("Minute", "floor({seconds} / 60)", UINT32),
    _relative_number_function("Second", "{seconds}", UINT32),
)
ALIASES: dict[str, str] = {"TO_DAYS": "toDaysSinceYearZero", "FROM_DAYS": "fromDaysSinceYearZero"}
ANY_CASE: tuple[str, ...] = ("TO_DAYS", "FROM_DAYS")
