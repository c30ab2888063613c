"""Dates and times: moving them by a unit, cutting them to one.

In: `Typed` dates and times. Out: `Typed`. Called by arithmetic, conversions and the date functions.
Invariant: Spark's session zone is UTC; a type's own zone is applied by converting to its wall clock.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.typed import Typed, as_spark, null_if_any, typed
from penstock.sql.value_types import text_literal

_FINE = ("SECOND", "MINUTE", "HOUR")
_SUBSECOND = {"MILLISECOND": 3, "MICROSECOND": 6}
MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_SECONDS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86400, "WEEK": 604800}


def zone_of(of: Type) -> str | None:
    """The zone of a time type, None for UTC and for what has none."""
    zone = of.zone if isinstance(of, (t.DateTime, t.DateTime64)) else None
    return None if zone in (None, "UTC", "Etc/UTC") else zone


def wall_clock(value: Typed) -> str:
    """The SQL of a time as its zone's clock shows it."""
    zone = zone_of(value.bare)
    return f"from_utc_timestamp({value.sql}, {text_literal(zone)})" if zone else value.sql


def from_wall_clock(sql: str, zone: str | None) -> str:
    """The inverse of `wall_clock`."""
    return f"to_utc_timestamp({sql}, {text_literal(zone)})" if zone and zone not in ("UTC", "Etc/UTC") else sql


def shift(value: Typed, amount: Typed, unit: str, sign: int) -> Typed:
    """A date or time moved by `amount` units; a Date moved by hours and less becomes a DateTime."""
    number = as_spark(amount, "INT") if unit in MONTHS or unit in ("DAY", "WEEK") else as_spark(amount, "BIGINT")
    count = number if sign > 0 else f"(- {number})"
    of = null_if_any(_shifted_type(value.bare, unit), [value, amount])
    if isinstance(value.bare, t.Date) and (unit in MONTHS or unit in ("DAY", "WEEK")):
        return typed(_shift_date(value.sql, count, unit), of)
    moment = wall_clock(value) if unit in MONTHS or unit in ("DAY", "WEEK") else value.sql
    moved = _shift_time(f"CAST({moment} AS TIMESTAMP)" if value.spark == "DATE" else moment, count, unit)
    exact = unit in MONTHS or unit in ("DAY", "WEEK")
    return typed(from_wall_clock(moved, zone_of(value.bare)) if exact else moved, of)


def _shift_date(sql: str, count: str, unit: str) -> str:
    if unit in MONTHS:
        return f"add_months({sql}, {_times(count, MONTHS[unit])})"
    return f"date_add({sql}, {_times(count, 7 if unit == 'WEEK' else 1)})"


def _shift_time(sql: str, count: str, unit: str) -> str:
    return f"timestampadd({unit}, {count}, {sql})"


def _times(count: str, factor: int) -> str:
    return count if factor == 1 else f"{count} * {factor}"


def _shifted_type(of: Type, unit: str) -> Type:
    match of:
        case t.Date() if unit in _FINE:
            return t.DateTime()
        case t.Date() if unit in _SUBSECOND:
            return t.DateTime64(_SUBSECOND[unit])
        case t.DateTime(zone) if unit in _SUBSECOND:
            return t.DateTime64(_SUBSECOND[unit], zone)
        case t.DateTime64(precision, zone) if unit in _SUBSECOND:
            return t.DateTime64(max(precision, _SUBSECOND[unit]), zone)
        case _:
            return of


def start_of(value: Typed, unit: str, step: int = 1) -> Typed:
    """The start of the unit, or of the group of `step` units, that the time is in: a Date from DAY's
    elders on, except that toStartOfDay gives a DateTime (see the table of functions)."""
    zone = zone_of(value.bare)
    wall = wall_clock(value)
    if unit in MONTHS:
        return typed(_months_start(wall, MONTHS[unit] * step), null_if_any(t.Date(), [value]))
    if unit == "WEEK":
        passed = f"CAST(floor(datediff({wall}, DATE'1970-01-05') / {7 * step}) * {7 * step} AS INT)"
        weeks = f"date_add(DATE'1970-01-05', {passed})"
        first = f"CAST(date_trunc('WEEK', {wall}) AS DATE)" if step == 1 else weeks
        return typed(first, null_if_any(t.Date(), [value]))
    named = t.DateTime(value.bare.zone if isinstance(value.bare, (t.DateTime, t.DateTime64)) else None)
    of = null_if_any(named, [value])
    if step == 1:
        return typed(from_wall_clock(f"date_trunc('{unit}', {wall})", zone), of)
    if unit == "HOUR":
        hours = f"timestampadd(HOUR, CAST(floor(hour({wall}) / {step}) * {step} AS INT), date_trunc('DAY', {wall}))"
        return typed(from_wall_clock(hours, zone), of)
    seconds = _SECONDS[unit] * step
    source = f"CAST({wall} AS TIMESTAMP)" if value.spark == "DATE" else wall
    cut = f"timestamp_seconds(floor(unix_seconds({source}) / {seconds}) * {seconds})"
    return typed(from_wall_clock(cut, zone), of)


def _months_start(wall: str, months: int) -> str:
    unit = {1: "MONTH", 3: "QUARTER", 12: "YEAR"}.get(months)
    if unit:
        return f"CAST(date_trunc('{unit}', {wall}) AS DATE)"
    since = f"((year({wall}) - 1970) * 12 + month({wall}) - 1)"
    return f"add_months(DATE'1970-01-01', CAST(floor({since} / {months}) * {months} AS INT))"
