"""Starts and ends of units of time: toStartOfMonth, toStartOfHour, toMonday, toLastDayOfMonth, timeSlots

The starts of weeks (toStartOfWeek) are in `weeks`.

Units begin on the clock of the time zone: that of a zone argument, else that of the value's type. A start before the
first value of the result type becomes that first value.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.conversions.parse_best_effort import truncate_fraction
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.dates import (
    FIRST_DAY,
    FIRST_SECOND,
    LAST_DAY,
    LAST_SECOND,
    clamp,
    clamp_below,
    is_extended,
    start_of_unit,
    wall_clock,
    zone_of,
)
from penstock.sql.expr.fine_times import cut_fine_time
from penstock.sql.expr.spark_types import is_fine_time
from penstock.sql.expr.typed import TypedSql, nullable_if_any, typed_sql
from penstock.sql.functions.arguments import literal_integer
from penstock.sql.functions.dates.time_zones import apply_zone_argument
from penstock.sql.functions.function import BadArguments, Function


def _start_function(name: str, unit: str, step: int = 1) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        if isinstance(values[0].bare, t.Date) and unit in ("MINUTE", "HOUR"):
            raise BadArguments(f"`{name}` of a {values[0].bare} is not defined", "toStartOfDay")
        return start_of_unit(apply_zone_argument(values[0], values, 1), unit, step)

    return Function(name, (1, 2), ("time", "constant"), build)


def _subsecond_start_function(name: str, digits: int) -> Function:
    """The start of a second, or of a fraction of one with so many digits, of a DateTime64."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        value = apply_zone_argument(values[0], values, 1)
        if not isinstance(value.bare, t.DateTime64):
            raise BadArguments(f"`{name}` needs a DateTime64, this is {value.type}")
        of = t.DateTime64(max(value.bare.precision, digits), value.bare.zone)
        cut = cut_fine_time if is_fine_time(value.bare) else truncate_fraction
        return typed_sql(cut(value.sql, digits), nullable_if_any(of, [value]))

    return Function(name, (1, 2), ("time", "constant"), build)


def _time_slot(values: Sequence[TypedSql]) -> TypedSql:
    value = values[0]
    if not isinstance(value.bare, (t.DateTime, t.DateTime64)) or zone_of(value.bare):
        raise BadArguments("`timeSlot` of a Date or in a time zone is not supported", "toStartOfInterval")
    sql = f"timestamp_seconds(floor(unix_seconds({value.sql}) / 1800) * 1800)"
    if is_extended(value.bare):
        sql = clamp(sql, FIRST_SECOND, LAST_SECOND, nullable=value.nullable)
    return typed_sql(sql, nullable_if_any(t.DateTime(value.bare.zone), [value]))


def _last_day_of_month(values: Sequence[TypedSql]) -> TypedSql:
    value = apply_zone_argument(values[0], values, 1)
    day = wall_clock(value)
    if zone_of(value.bare) and isinstance(value.bare, t.DateTime):
        day = clamp_below(f"CAST({day} AS DATE)", FIRST_DAY, nullable=value.nullable)
    last = f"last_day({day})"
    if isinstance(value.bare, t.Date) or is_extended(value.bare):
        last = clamp(last, FIRST_DAY, LAST_DAY, nullable=value.nullable)
    return typed_sql(last, nullable_if_any(t.Date(), [value]))


def _start_of_iso_year(values: Sequence[TypedSql]) -> TypedSql:
    value = apply_zone_argument(values[0], values, 1)
    day = f"CAST({wall_clock(value)} AS DATE)"
    if is_extended(value.bare):
        day = clamp(day, "DATE'1969-12-31'", LAST_DAY, nullable=value.nullable)

    def first(d: str) -> str:
        january = f"make_date(CAST(extract(YEAROFWEEK FROM {d}) AS INT), 1, 4)"
        return clamp_below(f"CAST(date_trunc('WEEK', {january}) AS DATE)", FIRST_DAY, nullable=value.nullable)

    return typed_sql(first(day), nullable_if_any(t.Date(), [value]))


def _time_slots(values: Sequence[TypedSql]) -> TypedSql:
    """The starts of all slots from a time on, for a duration in seconds; ClickHouse adds them in 32 bits."""
    start, duration = values[:2]
    size = literal_integer(values[2], "the size of a slot") if len(values) > 2 else 1800
    if not isinstance(start.bare, t.DateTime) or duration.bare != t.Int(32, signed=False) or size < 1:
        raise BadArguments("`timeSlots` takes a DateTime, a UInt32 and a size from 1", "toUInt32(…)")
    if start.nullable or duration.nullable:
        raise BadArguments("`timeSlots` of Nullable values is not supported", "assumeNotNull")

    def formula(first: str) -> str:
        last = f"(({first} + {duration.sql}) & 4294967295L) DIV {size}"
        slots = f"sequence({first} DIV {size}, greatest({last}, {first} DIV {size}))"
        shown = f"transform({slots}, ` s` -> timestamp_seconds(` s` * {size}L))"
        return f"if({last} < {first} DIV {size}, CAST(array() AS ARRAY<TIMESTAMP>), {shown})"

    return typed_sql(bind_if_long(f"unix_seconds({start.sql})", formula), t.Array(start.bare))


FUNCTIONS: tuple[Function, ...] = (
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
    Function("timeSlot", (1, 1), ("time",), _time_slot),
    Function("toLastDayOfMonth", (1, 2), ("time", "constant"), _last_day_of_month),
    Function("toStartOfISOYear", (1, 2), ("time", "constant"), _start_of_iso_year),
    Function("timeSlots", (2, 3), ("time", "integer", "constant"), _time_slots),
)
ALIASES: dict[str, str] = {"toStartOfFiveMinute": "toStartOfFiveMinutes", "LAST_DAY": "toLastDayOfMonth"}
ANY_CASE: tuple[str, ...] = ("LAST_DAY",)
