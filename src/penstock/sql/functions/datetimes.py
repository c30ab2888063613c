"""Dates and times: now, parts, starts of units, formatting, Unix time.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: parts and starts
are those of the type's zone; a zone argument comes before the type's own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.conversion_times import cut
from penstock.sql.conversions import CAST, convert
from penstock.sql.dates import shift, start_of, wall_clock
from penstock.sql.functions.function import INT64, STRING, UINT8, UINT16, UINT32, BadArguments, Function, simple
from penstock.sql.functions.strings import constant_text
from penstock.sql.typed import Typed, as_spark, null_if_any, typed
from penstock.sql.value_types import text_literal

_UNITS = ("Second", "Minute", "Hour", "Day", "Week", "Month", "Quarter", "Year")


def in_zone(value: Typed, values: Sequence[Typed], place: int) -> Typed:
    """The value as one of the zone that a text literal at `place` names, if there is one."""
    if len(values) <= place:
        return value
    zone = constant_text(values[place], "the time zone")
    match value.bare:
        case t.DateTime():
            of: Type = t.DateTime(zone)
        case t.DateTime64(precision, _):
            of = t.DateTime64(precision, zone)
        case _:
            raise BadArguments(f"{value.type} has no time zone")
    return replace(value, type=null_if_any(of, [value]))


def _part(name: str, template: str, of: t.Int) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        sql = template.format(wall_clock(in_zone(values[0], values, 1)))
        return typed(f"CAST({sql} AS {'BIGINT' if of.bits == 32 else 'INT'})", null_if_any(of, list(values[:1])))

    return Function(name, (1, 2), ("time", "constant"), build)


def _start(name: str, unit: str, step: int = 1) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        return start_of(in_zone(values[0], values, 1), unit, step)

    return Function(name, (1, 2), ("time", "constant"), build)


def _start_of_week(values: Sequence[Typed]) -> Typed:
    """Mode 0, the default, starts weeks on Sunday; 1 on Monday."""
    mode = values[1].constant if len(values) > 1 else 0
    if mode not in (0, 1):
        raise BadArguments("the mode of a week must be the literal 0 or 1")
    value = in_zone(values[0], values, 2)
    if mode == 1:
        return start_of(value, "WEEK")
    wall = f"CAST({wall_clock(value)} AS DATE)"
    return typed(f"date_sub({wall}, dayofweek({wall}) - 1)", null_if_any(t.Date(), [value]))


def _moved(unit: str, sign: int) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        return shift(values[0], values[1], unit.upper(), sign)

    return Function(f"{'add' if sign > 0 else 'subtract'}{unit}s", (2, 2), ("time", "integer"), build)


def _interval(unit: str) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        value = values[0]
        return Typed(as_spark(value, "BIGINT"), value.type, "BIGINT", value.constant, unit.upper())

    return Function(f"toInterval{unit}", (1, 1), ("integer",), build)


def _now(values: Sequence[Typed]) -> Typed:
    zone = constant_text(values[0], "the time zone") if values else None
    return typed("date_trunc('SECOND', current_timestamp())", t.DateTime(zone))


def _now64(values: Sequence[Typed]) -> Typed:
    precision = values[0].constant if values else 3
    if not isinstance(precision, int) or not 0 <= precision <= 6:
        raise BadArguments("the precision must be a literal from 0 to 6")
    return typed(cut("current_timestamp()", precision), t.DateTime64(precision))


_FORMATS = {
    "%Y": "yyyy", "%m": "MM", "%d": "dd", "%H": "HH", "%M": None, "%i": "mm", "%S": "ss", "%s": "ss",
    "%F": "yyyy-MM-dd",
    "%T": "HH:mm:ss", "%R": "HH:mm", "%y": "yy", "%D": "MM/dd/yy", "%j": "DDD", "%I": "hh", "%p": "a", "%b": "MMM",
    "%a": "EEE", "%W": "EEEE", "%e": None, "%%": "%",
}  # fmt: skip


def _format(values: Sequence[Typed]) -> Typed:
    """%-codes to Spark's pattern letters; those that Spark has no letters for are refused."""
    pattern = constant_text(values[1], "the format")
    parts = [_letters(piece) for piece in re.findall(r"%.|[^%]+|%", pattern)]
    value = in_zone(values[0], values, 2)
    moment = f"CAST({wall_clock(value)} AS TIMESTAMP)" if value.spark == "DATE" else wall_clock(value)
    return typed(f"date_format({moment}, {text_literal(''.join(parts))})", null_if_any(STRING, [value]))


def _letters(piece: str) -> str:
    """A %-code, or the text between two of them, in Spark's pattern."""
    if not piece.startswith("%"):
        return "'" + piece.replace("'", "''") + "'"
    letters = "MMMM" if piece == "%M" else _FORMATS.get(piece)
    if letters is None:
        raise BadArguments(f"the format code `{piece}` is not supported")
    return letters


def _to_zone(values: Sequence[Typed]) -> Typed:
    value = values[0]
    if isinstance(value.bare, t.Date):
        raise BadArguments("a Date has no time zone", "convert it by toDateTime first")
    return in_zone(value, values, 1)


def _unix_time(values: Sequence[Typed]) -> Typed:
    value: Typed | None = values[0]
    if isinstance(values[0].bare, (t.String, t.FixedString)):
        zone = constant_text(values[1], "the time zone") if len(values) > 1 else None
        value = convert(values[0], t.DateTime(zone), CAST)
    if value is None or not isinstance(value.bare, (t.DateTime, t.DateTime64, t.Date)):
        raise BadArguments(f"`toUnixTimestamp` needs a time, this is {values[0].type}")
    moment = f"CAST({value.sql} AS TIMESTAMP)" if value.spark == "DATE" else value.sql
    return typed(f"unix_seconds({moment})", null_if_any(UINT32, [values[0]]))


def _from_unix(unit: str, precision: int, per_second: int) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        zone = constant_text(values[1], "the time zone") if len(values) > 1 else None
        micros = f"timestamp_micros({as_spark(values[0], 'BIGINT')} * {1_000_000 // per_second}L)"
        return typed(micros, null_if_any(t.DateTime64(precision, zone), [values[0]]))

    return Function(f"fromUnixTimestamp64{unit}", (1, 2), ("integer", "constant"), build)


def _from_seconds(values: Sequence[Typed]) -> Typed:
    return typed(f"timestamp_seconds({as_spark(values[0], 'BIGINT')})", null_if_any(t.DateTime(), [values[0]]))


def _unix64(unit: str, spark: str) -> Function:
    return simple(f"toUnixTimestamp64{unit}", "time", spark + "({0})", INT64)


FUNCTIONS: tuple[Function, ...] = (
    Function("now", (0, 1), ("constant",), _now),
    Function("now64", (0, 1), ("constant",), _now64),
    Function("today", (0, 0), ("any",), lambda values: typed("current_date()", t.Date())),
    Function("yesterday", (0, 0), ("any",), lambda values: typed("date_sub(current_date(), 1)", t.Date())),
    _part("toYear", "year({0})", UINT16),
    _part("toQuarter", "quarter({0})", UINT8),
    _part("toMonth", "month({0})", UINT8),
    _part("toDayOfMonth", "dayofmonth({0})", UINT8),
    _part("toDayOfYear", "dayofyear({0})", UINT16),
    _part("toDayOfWeek", "(weekday({0}) + 1)", UINT8),
    _part("toHour", "hour({0})", UINT8),
    _part("toMinute", "minute({0})", UINT8),
    _part("toSecond", "second({0})", UINT8),
    _part("toISOWeek", "weekofyear({0})", UINT8),
    _part("toISOYear", "extract(YEAROFWEEK FROM {0})", UINT16),
    _part("toYYYYMM", "(year({0}) * 100 + month({0}))", UINT32),
    _part("toYYYYMMDD", "(year({0}) * 10000 + month({0}) * 100 + dayofmonth({0}))", UINT32),
    _start("toStartOfSecond", "SECOND"),
    _start("toStartOfMinute", "MINUTE"),
    _start("toStartOfFiveMinutes", "MINUTE", 5),
    _start("toStartOfTenMinutes", "MINUTE", 10),
    _start("toStartOfFifteenMinutes", "MINUTE", 15),
    _start("toStartOfHour", "HOUR"),
    _start("toStartOfDay", "DAY"),
    _start("toStartOfMonth", "MONTH"),
    _start("toStartOfQuarter", "QUARTER"),
    _start("toStartOfYear", "YEAR"),
    _start("toMonday", "WEEK"),
    Function("toStartOfWeek", (1, 3), ("time", "constant"), _start_of_week),
    *(_moved(unit, sign) for unit in _UNITS for sign in (1, -1)),
    *map(_interval, (*_UNITS, "Millisecond", "Microsecond")),
    Function("formatDateTime", (2, 3), ("time", "constant"), _format),
    Function("toTimeZone", (2, 2), ("time", "constant"), _to_zone),
    Function("toUnixTimestamp", (1, 2), ("any", "constant"), _unix_time),
    Function("fromUnixTimestamp", (1, 1), ("integer",), _from_seconds),
    _unix64("Second", "unix_seconds"),
    _unix64("Milli", "unix_millis"),
    _unix64("Micro", "unix_micros"),
    _from_unix("Second", 0, 1),
    _from_unix("Milli", 3, 1000),
    _from_unix("Micro", 6, 1_000_000),
    simple("toLastDayOfMonth", "time", "last_day({0})", t.Date()),
)
ALIASES = {
    "YEAR": "toYear", "QUARTER": "toQuarter", "MONTH": "toMonth", "DAY": "toDayOfMonth", "DAYOFMONTH": "toDayOfMonth",
    "DAYOFYEAR": "toDayOfYear", "DAYOFWEEK": "toDayOfWeek", "HOUR": "toHour", "MINUTE": "toMinute",
    "SECOND": "toSecond",
    "curdate": "today", "current_date": "today", "DATE_FORMAT": "formatDateTime", "LAST_DAY": "toLastDayOfMonth",
}  # fmt: skip
ANY_CASE = (
    "now",
    "now64",
    "YEAR",
    "QUARTER",
    "MONTH",
    "DAY",
    "DAYOFMONTH",
    "DAYOFYEAR",
    "DAYOFWEEK",
    "HOUR",
    "MINUTE",
    "SECOND",
    "curdate",
    "current_date",
    "DATE_FORMAT",
    "LAST_DAY",
)
