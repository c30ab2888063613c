"""Dates and times: now, parts, starts of units, formatting, Unix time.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: parts and starts
are those of the type's zone; a zone argument comes before the type's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.conversions.dates import truncate_fraction
from penstock.sql.conversions.explicit import CAST_MODE, convert
from penstock.sql.expr.dates import FIRST_DAY, add_interval, clamp_below, start_of_unit, wall_clock
from penstock.sql.expr.typed import Typed, as_spark, nullable_if_any, typed
from penstock.sql.functions.arguments import literal_string
from penstock.sql.functions.function import INT64, UINT8, UINT16, UINT32, BadArguments, Function

_SUBSECOND_UNITS = ("Millisecond", "Microsecond")
_UNITS = ("Second", "Minute", "Hour", "Day", "Week", "Month", "Quarter", "Year")


def apply_zone_argument(value: Typed, values: Sequence[Typed], place: int) -> Typed:
    """The value as one of the zone that a text literal at `place` names, if there is one."""
    if len(values) <= place:
        return value
    zone = literal_string(values[place], "the time zone")
    match value.bare:
        case t.DateTime():
            of: Type = t.DateTime(zone)
        case t.DateTime64(precision, _):
            of = t.DateTime64(precision, zone)
        case _:
            raise BadArguments(f"{value.type} has no time zone")
    return replace(value, type=nullable_if_any(of, [value]))


def _part_function(name: str, template: str, of: t.Int) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        if isinstance(values[0].bare, t.Date) and name in ("toHour", "toMinute", "toSecond"):
            raise BadArguments(f"`{name}` of a {values[0].bare} is not defined")
        sql = template.format(wall_clock(apply_zone_argument(values[0], values, 1)))
        return typed(f"CAST({sql} AS {'BIGINT' if of.bits == 32 else 'INT'})", nullable_if_any(of, list(values[:1])))

    return Function(name, (1, 2), ("time", "constant"), build)


def _start_function(name: str, unit: str, step: int = 1) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        if isinstance(values[0].bare, t.Date) and unit in ("MINUTE", "HOUR"):
            raise BadArguments(f"`{name}` of a {values[0].bare} is not defined", "toStartOfDay")
        return start_of_unit(apply_zone_argument(values[0], values, 1), unit, step)

    return Function(name, (1, 2), ("time", "constant"), build)


def _subsecond_start_function(name: str, digits: int) -> Function:
    """The start of a second, or of a part of one, of a DateTime64."""

    def build(values: Sequence[Typed]) -> Typed:
        value = apply_zone_argument(values[0], values, 1)
        if not isinstance(value.bare, t.DateTime64):
            raise BadArguments(f"`{name}` needs a DateTime64, this is {value.type}")
        of = t.DateTime64(max(value.bare.precision, digits), value.bare.zone)
        return typed(truncate_fraction(value.sql, digits), nullable_if_any(of, [value]))

    return Function(name, (1, 2), ("time", "constant"), build)


def _start_of_week(values: Sequence[Typed]) -> Typed:
    """Even modes, as the default 0, start weeks on Sunday, odd ones on Monday."""
    value = apply_zone_argument(values[0], values, 2)
    if week_mode(values) % 2 == 1:
        return start_of_unit(value, "WEEK")
    wall = f"CAST({wall_clock(value)} AS DATE)"
    sql = clamp_below(f"date_sub({wall}, dayofweek({wall}) - 1)", FIRST_DAY, nullable=value.nullable)
    return typed(sql, nullable_if_any(t.Date(), [value]))


def week_mode(values: Sequence[Typed]) -> int:
    """The second argument, 0 to 9, of functions about weeks."""
    mode = values[1].constant if len(values) > 1 else 0
    if not isinstance(mode, int) or not 0 <= mode <= 9:
        raise BadArguments("the mode of a week must be a literal from 0 to 9")
    return mode


def _shift_function(unit: str, sign: int) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        if unit in _SUBSECOND_UNITS and isinstance(values[0].bare, t.Date):
            raise BadArguments(f"a {values[0].bare} has no {unit.lower()}s", "convert it by toDateTime64 first")
        return add_interval(values[0], values[1], unit.upper(), sign)

    return Function(f"{'add' if sign > 0 else 'subtract'}{unit}s", (2, 2), ("time", "integer"), build)


def _interval_function(unit: str) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        value = values[0]
        return Typed(as_spark(value, "BIGINT"), value.type, "BIGINT", value.constant, unit.upper())

    return Function(f"toInterval{unit}", (1, 1), ("integer",), build)


def _now(values: Sequence[Typed]) -> Typed:
    zone = literal_string(values[0], "the time zone") if values else None
    return typed("date_trunc('SECOND', current_timestamp())", t.DateTime(zone))


def _now64(values: Sequence[Typed]) -> Typed:
    precision = values[0].constant if values else 3
    if not isinstance(precision, int) or not 0 <= precision <= 6:
        raise BadArguments("the precision must be a literal from 0 to 6")
    return typed(truncate_fraction("current_timestamp()", precision), t.DateTime64(precision))


def _to_time_zone(values: Sequence[Typed]) -> Typed:
    value = values[0]
    if isinstance(value.bare, t.Date):
        raise BadArguments("a Date has no time zone", "convert it by toDateTime first")
    return apply_zone_argument(value, values, 1)


def _to_unix_timestamp(values: Sequence[Typed]) -> Typed:
    value: Typed | None = values[0]
    if isinstance(values[0].bare, (t.String, t.FixedString)):
        zone = literal_string(values[1], "the time zone") if len(values) > 1 else None
        value = convert(values[0], t.DateTime(zone), CAST_MODE)
    if value is None or not isinstance(value.bare, (t.DateTime, t.DateTime64, t.Date)):
        raise BadArguments(f"`toUnixTimestamp` needs a time, this is {values[0].type}")
    moment = value.sql
    if isinstance(value.bare, t.Date):
        moment = f"CAST({value.sql} AS TIMESTAMP)"
    return typed(f"unix_seconds({moment})", nullable_if_any(UINT32, [values[0]]))


def _from_unix_timestamp64_function(unit: str, precision: int, per_second: int) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        zone = literal_string(values[1], "the time zone") if len(values) > 1 else None
        micros = f"timestamp_micros({as_spark(values[0], 'BIGINT')} * {1_000_000 // per_second}L)"
        return typed(micros, nullable_if_any(t.DateTime64(precision, zone), [values[0]]))

    return Function(f"fromUnixTimestamp64{unit}", (1, 2), ("integer", "constant"), build)


def _to_unix_timestamp64_function(unit: str, spark: str) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        if not isinstance(values[0].bare, t.DateTime64):
            raise BadArguments(f"`toUnixTimestamp64{unit}` needs a DateTime64, not {values[0].type}", "toDateTime64")
        return typed(f"{spark}({values[0].sql})", nullable_if_any(INT64, list(values)))

    return Function(f"toUnixTimestamp64{unit}", (1, 1), ("time",), build)


FUNCTIONS: tuple[Function, ...] = (
    Function("now", (0, 1), ("constant",), _now),
    Function("now64", (0, 1), ("constant",), _now64),
    Function("today", (0, 0), ("any",), lambda values: typed("current_date()", t.Date())),
    Function("yesterday", (0, 0), ("any",), lambda values: typed("date_sub(current_date(), 1)", t.Date())),
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
    _subsecond_start_function("toStartOfSecond", 0),
    _subsecond_start_function("toStartOfMillisecond", 3),
    _subsecond_start_function("toStartOfMicrosecond", 6),
    _start_function("toStartOfMinute", "MINUTE"),
    _start_function("toStartOfFiveMinutes", "MINUTE", 5),
    _start_function("toStartOfTenMinutes", "MINUTE", 10),
    _start_function("toStartOfFifteenMinutes", "MINUTE", 15),
    _start_function("toStartOfHour", "HOUR"),
    _start_function("toStartOfDay", "DAY"),
    _start_function("toStartOfMonth", "MONTH"),
    _start_function("toStartOfQuarter", "QUARTER"),
    _start_function("toStartOfYear", "YEAR"),
    _start_function("toMonday", "WEEK"),
    Function("toStartOfWeek", (1, 3), ("time", "constant"), _start_of_week),
    *(_shift_function(unit, sign) for unit in (*_UNITS, *_SUBSECOND_UNITS) for sign in (1, -1)),
    *map(_interval_function, (*_UNITS, *_SUBSECOND_UNITS)),
    Function("toTimeZone", (2, 2), ("time", "constant"), _to_time_zone),
    Function("toUnixTimestamp", (1, 2), ("any", "constant"), _to_unix_timestamp),
    _to_unix_timestamp64_function("Second", "unix_seconds"),
    _to_unix_timestamp64_function("Milli", "unix_millis"),
    _to_unix_timestamp64_function("Micro", "unix_micros"),
    _from_unix_timestamp64_function("Second", 0, 1),
    _from_unix_timestamp64_function("Milli", 3, 1000),
    _from_unix_timestamp64_function("Micro", 6, 1_000_000),
)
ALIASES = {
    "YEAR": "toYear",
    "QUARTER": "toQuarter",
    "MONTH": "toMonth",
    "DAY": "toDayOfMonth",
    "DAYOFMONTH": "toDayOfMonth",
    "DAYOFYEAR": "toDayOfYear",
    "HOUR": "toHour",
    "MINUTE": "toMinute",
    "SECOND": "toSecond",
    "curdate": "today",
    "current_date": "today",
    "toStartOfFiveMinute": "toStartOfFiveMinutes",
    "toTimezone": "toTimeZone",
}
ANY_CASE = (
    "now",
    "now64",
    "YEAR",
    "QUARTER",
    "MONTH",
    "DAY",
    "DAYOFMONTH",
    "DAYOFYEAR",
    "HOUR",
    "MINUTE",
    "SECOND",
    "curdate",
    "current_date",
)
