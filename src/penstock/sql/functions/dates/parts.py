"""Parts of dates and times: toYear, toMonth, toHour, toISOWeek, toYYYYMM, dateName

Parts are those on the clock of the time zone: that of a zone argument, else that of the value's type. ISO weeks are
those of ISO 8601.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from penstock.model import types as t
from penstock.sql.expr.dates import clamp, shows_1969, wall_clock, zone_of
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import TypedSql, nullable_if_any, typed_sql
from penstock.sql.functions.arguments import literal_string
from penstock.sql.functions.dates.time_zones import apply_zone_argument
from penstock.sql.functions.function import STRING, UINT8, UINT16, UINT32, UINT64, BadArguments, Function

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
_MONTHS_SINCE_EPOCH = "((year({0}) - 1970) * 12 + month({0}) - 1)"


def _part_function(name: str, template: str, of: t.Int) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        if isinstance(values[0].bare, t.Date) and name in ("toHour", "toMinute", "toSecond"):
            raise BadArguments(f"`{name}` of a {values[0].bare} is not defined")
        sql = template.format(wall_clock(apply_zone_argument(values[0], values, 1)))
        return typed_sql(
            f"CAST({sql} AS {'BIGINT' if of.bits == 32 else 'INT'})", nullable_if_any(of, list(values[:1]))
        )

    return Function(name, (1, 2), ("time", "constant"), build)


def _whole_seconds(value: TypedSql) -> TypedSql:
    """A time whose fraction is cut off, before 1970 too."""
    if not isinstance(value.bare, t.DateTime64) or value.spark != "TIMESTAMP":
        return value
    return replace(value, sql=f"timestamp_seconds(unix_micros({value.sql}) DIV 1000000)")


def _date_name(values: Sequence[TypedSql]) -> TypedSql:
    part = literal_string(values[0], "the part").upper()
    if part not in _PART_AS_STRING or not isinstance(values[1].bare, (t.Date, t.DateTime, t.DateTime64)):
        raise BadArguments("`dateName` takes one of " + ", ".join(map(str.lower, _PART_AS_STRING)) + " and a time")
    value = apply_zone_argument(values[1], values, 2)
    return typed_sql(_PART_AS_STRING[part].format(wall_clock(_whole_seconds(value))), nullable_if_any(STRING, [value]))


def _month_name(values: Sequence[TypedSql]) -> TypedSql:
    if values[0].bare == t.Date(wide=True):
        raise BadArguments("`monthName` of a Date32 is not defined", "dateName('month', …)")
    return typed_sql(
        f"date_format({wall_clock(_whole_seconds(values[0]))}, 'MMMM')", nullable_if_any(STRING, list(values))
    )


def _to_datetime_digits(values: Sequence[TypedSql]) -> TypedSql:
    """YYYYMMDDhhmmss as a number."""
    value = apply_zone_argument(values[0], values, 1)
    wall = wall_clock(value)
    sql = f"CAST(date_format({wall}, 'yyyyMMddHHmmss') AS DECIMAL(20,0))"
    return typed_sql(sql, nullable_if_any(UINT64, [value]))


def _fraction_function(name: str, digits: int, of: t.Int) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        value = apply_zone_argument(values[0], values, 1)
        if isinstance(value.bare, t.Date):
            raise BadArguments(f"`{name}` of a Date is not supported")
        sql = f"pmod(unix_micros({value.sql}), 1000000) DIV {10 ** (6 - digits)}"
        return typed_sql(f"CAST({sql} AS {'INT' if of.bits == 16 else 'BIGINT'})", nullable_if_any(of, [value]))

    return Function(name, (1, 2), ("time", "constant"), build)


def _calendar_number_function(name: str, of: t.Int, formula: Callable[[str], str]) -> Function:
    """A number computed from the date on the zone's clock, from 0 to what 16 bits hold; of a DateTime, which a zone may
    show in 1969, the lower 16 bits."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        value = apply_zone_argument(values[0], values, 1)
        number = formula(wall_clock(value))
        if isinstance(value.bare, t.DateTime):
            number = f"{number} & 65535" if of.bits > 8 and shows_1969(zone_of(value.bare)) else number
        else:
            number = clamp(number, "0", "65535", nullable=value.nullable)
        return typed_sql(f"CAST({number} AS {value_type(of)})", nullable_if_any(of, [value]))

    return Function(name, (1, 2), ("time", "constant"), build)


FUNCTIONS: tuple[Function, ...] = (
    _part_function("toYear", "year({0})", UINT16),
    _part_function("toQuarter", "quarter({0})", UINT8),
    _part_function("toMonth", "month({0})", UINT8),
    _part_function("toDayOfMonth", "dayofmonth({0})", UINT8),
    _part_function("toDayOfYear", "dayofyear({0})", UINT16),
    _part_function("toHour", "hour({0})", UINT8),
    _part_function("toMinute", "minute({0})", UINT8),
    _part_function("toSecond", "second({0})", UINT8),
    _part_function("toISOWeek", "weekofyear({0})", UINT8),
    _part_function("toISOYear", "extract(YEAROFWEEK FROM {0})", UINT16),
    _part_function("toYYYYMM", "(year({0}) * 100 + month({0}))", UINT32),
    _part_function("toYYYYMMDD", "(year({0}) * 10000 + month({0}) * 100 + dayofmonth({0}))", UINT32),
    Function("dateName", (2, 3), ("constant", "any", "constant"), _date_name),
    Function("monthName", (1, 1), ("time",), _month_name),
    Function("toYYYYMMDDhhmmss", (1, 2), ("time", "constant"), _to_datetime_digits),
    _fraction_function("toMillisecond", 3, UINT16),
    _fraction_function("toMicrosecond", 6, UINT32),
    _calendar_number_function("toDaysInMonth", UINT8, "dayofmonth(last_day({0}))".format),
    _calendar_number_function("toYearNumSinceEpoch", UINT16, "(year({0}) - 1970)".format),
    _calendar_number_function("toMonthNumSinceEpoch", UINT32, _MONTHS_SINCE_EPOCH.format),
)
ALIASES: dict[str, str] = {
    "YEAR": "toYear",
    "QUARTER": "toQuarter",
    "MONTH": "toMonth",
    "DAY": "toDayOfMonth",
    "DAYOFMONTH": "toDayOfMonth",
    "DAYOFYEAR": "toDayOfYear",
    "HOUR": "toHour",
    "MINUTE": "toMinute",
    "SECOND": "toSecond",
    "MILLISECOND": "toMillisecond",
    "MICROSECOND": "toMicrosecond",
}
ANY_CASE: tuple[str, ...] = (
    "YEAR",
    "QUARTER",
    "MONTH",
    "DAY",
    "DAYOFMONTH",
    "DAYOFYEAR",
    "HOUR",
    "MINUTE",
    "SECOND",
    "monthName",
    "MILLISECOND",
    "MICROSECOND",
    "dateName",
)
