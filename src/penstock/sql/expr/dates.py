"""Dates and times: moving them by a unit, cutting them to one.

In: `Typed` dates and times. Out: `Typed`. Called by arithmetic, conversions and the date functions.
Invariant: Spark's session zone is UTC; a type's own zone is applied by converting to its wall clock.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.typed import Typed, as_spark, nullable_if_any, typed
from penstock.sql.spark_text import string_literal

_CLOCK_UNITS = ("SECOND", "MINUTE", "HOUR")
_SUBSECOND_DIGITS = {"MILLISECOND": 3, "MICROSECOND": 6}
MONTHS_PER_UNIT = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_DAY_UNITS = ("DAY", "WEEK", *MONTHS_PER_UNIT)
_SECONDS_PER_UNIT = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86400, "WEEK": 604800}
FIRST_DAY, FIRST_SECOND = "DATE'1970-01-01'", "TIMESTAMP'1970-01-01 00:00:00'"
_SAFE_AMOUNTS = {
    "SECOND": 10**9,
    "MINUTE": 10**7,
    "HOUR": 10**5,
    "DAY": 9000,
    "WEEK": 1200,
    "MONTH": 300,
    "QUARTER": 100,
    "YEAR": 25,
}
"""How far from now is surely within the range of a Date and a DateTime."""


def zone_of(of: Type) -> str | None:
    """The zone of a time type, None for UTC and for what has none."""
    zone = of.zone if isinstance(of, (t.DateTime, t.DateTime64)) else None
    return None if zone in (None, "UTC", "Etc/UTC") else zone


def wall_clock(value: Typed) -> str:
    """The SQL of a time as its zone's clock shows it."""
    zone = zone_of(value.bare)
    return f"from_utc_timestamp({value.sql}, {string_literal(zone)})" if zone else value.sql


def from_wall_clock(sql: str, zone: str | None) -> str:
    """The inverse of `wall_clock`."""
    return f"to_utc_timestamp({sql}, {string_literal(zone)})" if zone and zone not in ("UTC", "Etc/UTC") else sql


def from_written_clock(sql: str, zone: str | None) -> str:
    """As `from_wall_clock`, for a clock that may show what it never shows: a time that the change to summer
    time leaves out is read with the offset after the change, as in ClickHouse; Java takes the one before."""
    if not zone or zone in ("UTC", "Etc/UTC"):
        return sql
    java = from_wall_clock(sql, zone)
    shown = f"from_utc_timestamp({java}, {string_literal(zone)})"
    return f"timestamp_micros(unix_micros({java}) + unix_micros({sql}) - unix_micros({shown}))"


def wrap_to_range(sql: str, of: Type) -> str:
    """A day or second within a Date or DateTime, which wrap around as the unsigned numbers they are."""
    match of:
        case t.Date(wide=False):
            return f"date_from_unix_date(unix_date({sql}) & 65535)"
        case t.DateTime():
            return f"timestamp_seconds(unix_seconds({sql}) & 4294967295L)"
        case _:
            return sql


def add_interval(value: Typed, amount: Typed, unit: str, sign: int) -> Typed:
    """A date or time moved by `amount` units; a Date moved by hours and less becomes a DateTime."""
    number = as_spark(amount, "INT") if unit in _DAY_UNITS else as_spark(amount, "BIGINT")
    count = number if sign > 0 else f"(- {number})"
    bare = _shifted_type(value.bare, unit)
    if isinstance(value.bare, t.Date) and unit in _DAY_UNITS:
        moved = _shift_date(value.sql, count, unit)
    elif unit in _DAY_UNITS:
        moved = from_written_clock(_shift_time(wall_clock(value), count, unit), zone_of(value.bare))
    else:
        moved = _shift_time(_as_timestamp(value), count, unit)
    if not _is_surely_in_range(value, amount, unit):
        nulls = value.nullable or amount.nullable
        moved = wrap_to_range(_clamp_to_1970(moved, bare, nullable=nulls) if unit in MONTHS_PER_UNIT else moved, bare)
    return typed(moved, nullable_if_any(bare, [value, amount]))


def clamp_below(sql: str, low: str, *, nullable: bool) -> str:
    """The greater of two; Spark's `greatest` passes over a NULL, which has to stay one."""
    return bind_if_long(sql, lambda x: f"if({x} < {low}, {low}, {x})") if nullable else f"greatest({sql}, {low})"


def clamp(sql: str, low: str, high: str, *, nullable: bool) -> str:
    """A value, or the nearest of the two that it lies between."""
    if not nullable:
        return f"least(greatest({sql}, {low}), {high})"
    return bind_if_long(sql, lambda x: f"CASE WHEN {x} < {low} THEN {low} WHEN {x} > {high} THEN {high} ELSE {x} END")


def _as_timestamp(value: Typed) -> str:
    return f"CAST({value.sql} AS TIMESTAMP)" if value.spark == "DATE" else value.sql


def _is_surely_in_range(value: Typed, amount: Typed, unit: str) -> bool:
    """Whether the result is surely in range: now, moved by a literal of some years at most."""
    near = isinstance(amount.constant, int) and abs(amount.constant) <= _SAFE_AMOUNTS.get(unit, 0)
    return near and value.sql in ("date_trunc('SECOND', current_timestamp())", "current_date()")


def _clamp_to_1970(sql: str, of: Type, *, nullable: bool) -> str:
    """ClickHouse knows no month, and no start of anything, before 1970 in a Date or DateTime."""
    match of:
        case t.Date(wide=False):
            return clamp_below(sql, FIRST_DAY, nullable=nullable)
        case t.DateTime():
            return clamp_below(sql, FIRST_SECOND, nullable=nullable)
        case _:
            return sql


def _shift_date(sql: str, count: str, unit: str) -> str:
    if unit in MONTHS_PER_UNIT:
        return f"add_months({sql}, {_multiply(count, MONTHS_PER_UNIT[unit])})"
    return f"date_add({sql}, {_multiply(count, 7 if unit == 'WEEK' else 1)})"


def _shift_time(sql: str, count: str, unit: str) -> str:
    return f"timestampadd({unit}, {count}, {sql})"


def _multiply(count: str, factor: int) -> str:
    return count if factor == 1 else f"{count} * {factor}"


def _shifted_type(of: Type, unit: str) -> Type:
    match of:
        case t.Date(wide=True) if unit in _CLOCK_UNITS:
            return t.DateTime64(3)
        case t.Date() if unit in _CLOCK_UNITS:
            return t.DateTime()
        case t.Date() if unit in _SUBSECOND_DIGITS:
            return t.DateTime64(_SUBSECOND_DIGITS[unit])
        case t.DateTime(zone) if unit in _SUBSECOND_DIGITS:
            return t.DateTime64(_SUBSECOND_DIGITS[unit], zone)
        case t.DateTime64(precision, zone) if unit in _SUBSECOND_DIGITS:
            return t.DateTime64(max(precision, _SUBSECOND_DIGITS[unit]), zone)
        case _:
            return of


def start_of_unit(value: Typed, unit: str, step: int = 1) -> Typed:
    """The start of the unit, or of the group of `step` units, that the time is in: a Date from DAY's
    elders on, except that toStartOfDay gives a DateTime (see the table of functions)."""
    if unit in MONTHS_PER_UNIT or unit == "WEEK":
        first = first_day_of_unit(value, unit, step)
        early = _may_precede(value) or unit == "WEEK"
        first = _clamp_to_1970(first, t.Date(), nullable=value.nullable) if early else first
        return typed(first, nullable_if_any(t.Date(), [value]))
    named = t.DateTime(value.bare.zone if isinstance(value.bare, (t.DateTime, t.DateTime64)) else None)
    sql = _start_of_days(value, step) if unit == "DAY" else _start_of_clock_unit(value, unit, step)
    shown = _clamp_to_1970(sql, named, nullable=value.nullable) if _may_precede(value) else sql
    return typed(shown, nullable_if_any(named, [value]))


def first_day_of_unit(value: Typed, unit: str, step: int = 1) -> str:
    """The first day of weeks, months, quarters or years, before 1970 too."""
    if unit in MONTHS_PER_UNIT:
        return _start_of_months(wall_clock(value), MONTHS_PER_UNIT[unit] * step)
    return _start_of_weeks(value, step)


def _may_precede(value: Typed) -> bool:
    """Whether a value may be before 1970."""
    return isinstance(value.bare, t.DateTime64) or value.bare == t.Date(wide=True) or zone_of(value.bare) is not None


def _start_of_weeks(value: Typed, step: int) -> str:
    wall = wall_clock(value)
    passed = f"CAST(floor(datediff({wall}, DATE'1970-01-05') / {7 * step}) * {7 * step} AS INT)"
    return f"CAST(date_trunc('WEEK', {wall}) AS DATE)" if step == 1 else f"date_add(DATE'1970-01-05', {passed})"


def _start_of_days(value: Typed, step: int) -> str:
    wall, zone = wall_clock(value), zone_of(value.bare)
    if step == 1:
        return from_wall_clock(f"date_trunc('DAY', {wall})", zone)
    days = f"CAST({wall} AS TIMESTAMP)" if value.spark == "DATE" else wall
    seconds = 86400 * step
    return from_wall_clock(f"timestamp_seconds(floor(unix_seconds({days}) / {seconds}) * {seconds})", zone)


def _start_of_clock_unit(value: Typed, unit: str, step: int) -> str:
    """Hours are counted from midnight of the zone's day; minutes and seconds from 1970 on, in UTC, as are
    hours where the zone is always whole hours away from it: two hours of one name in autumn stay two."""
    zone = zone_of(value.bare)
    if unit == "HOUR" and step > 1:
        wall = wall_clock(value)
        hours = f"timestampadd(HOUR, CAST(floor(hour({wall}) / {step}) * {step} AS INT), date_trunc('DAY', {wall}))"
        return from_wall_clock(hours, zone)
    if unit == "HOUR" and zone and not has_whole_hour_offsets(zone):
        day = f"unix_seconds({_start_of_days(value, 1)})"
        return f"timestamp_seconds({day} + floor((unix_seconds({value.sql}) - {day}) / 3600) * 3600)"
    if step == 1:
        return f"date_trunc('{unit}', {value.sql})"
    seconds = _SECONDS_PER_UNIT[unit] * step
    return f"timestamp_seconds(floor(unix_seconds({_as_timestamp(value)}) / {seconds}) * {seconds})"


@lru_cache(maxsize=512)
def has_whole_hour_offsets(zone: str) -> bool:
    """Whether a zone was whole hours away from UTC ever since 1970."""
    info = ZoneInfo(zone)
    days = (datetime.fromtimestamp(day * 86400, timezone.utc) for day in range(0, 24000, 5))
    return all((day.astimezone(info).utcoffset() or timedelta()).total_seconds() % 3600 == 0 for day in days)


@lru_cache(maxsize=512)
def offset_at_1970(zone: str) -> int:
    """The seconds that a zone was ahead of UTC in the first second of 1970."""
    offset = datetime.fromtimestamp(0, timezone.utc).astimezone(ZoneInfo(zone)).utcoffset()
    return int(offset.total_seconds()) if offset is not None else 0


def _start_of_months(wall: str, months: int) -> str:
    unit = {1: "MONTH", 3: "QUARTER", 12: "YEAR"}.get(months)
    if unit:
        return f"CAST(date_trunc('{unit}', {wall}) AS DATE)"
    since = f"((year({wall}) - 1970) * 12 + month({wall}) - 1)"
    return f"add_months(DATE'1970-01-01', CAST(floor({since} / {months}) * {months} AS INT))"
