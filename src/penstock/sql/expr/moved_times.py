"""Dates and times moved by a number of units: addDays, + INTERVAL 3 MONTH.

In: a typed date or time, a typed amount, a unit, and 1 or -1. Out: the moved one, of ClickHouse's type. Invariant: days
and longer units are added on the clock of the value's time zone, shorter ones to the moment; beyond the range of its
type a Date and a DateTime wrap around, the others stop at the end of the year 9999; before the year 1, which there is
not here, they fail.
"""

from __future__ import annotations

from datetime import datetime, timezone

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.dates import (
    MONTHS_PER_UNIT,
    as_timestamp,
    clamp_to_1970,
    from_written_clock,
    wall_clock,
    wrap_to_range,
    zone_of,
)
from penstock.sql.expr.interval_numbers import CLOCK_UNITS, IntervalNumber, may_leave_years, shift_count
from penstock.sql.expr.typed import TypedSql, nullable_if_any, typed_sql, unless_null

_SUBSECOND_DIGITS = {"MILLISECOND": 3, "MICROSECOND": 6}
_LAST_COUNTED_DAY = "DATE'2299-12-31'"
_MANY_MONTHS = 150 * 12
"""A Date moved by fewer stays below 2300."""
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
"""How far from now, in each unit, a moment is surely within the range of Date and DateTime."""
_FIRST_DAY, _LAST_DAY = "DATE'0001-01-01'", "DATE'9999-12-31'"
_EARLY = "raise_error('a date or time before the year 1')"
_DAY_MICROS = 86_400_000_000
_YEAR_0, _YEAR_1 = -62_167_219_200, -62_135_596_800
_LAST_MIDNIGHT, _AFTER_LAST = 253_402_214_400, 253_402_300_800
"""Seconds since 1970: the beginnings of the years 0 and 1, of the last day of 9999, and of the year after."""


def add_interval(value: TypedSql, amount: TypedSql, unit: str, sign: int) -> TypedSql:
    """`value` plus (`sign` 1) or minus (`sign` -1) `amount` units. A Date plus a unit below a day becomes a
    DateTime."""
    bare = _type_after_shift(value.bare, unit)
    shift = shift_count(amount, unit, sign, bare)
    if unit not in CLOCK_UNITS and unit not in _SUBSECOND_DIGITS:
        moved = _moved_by_days(value, shift, amount)
    else:
        moved = f"timestampadd({shift.unit}, {shift.count}, {as_timestamp(value)})"
        moved = within_years(moved, bare, unit) if may_leave_years(amount, unit) else moved
    if not _is_surely_in_range(value, amount, unit):
        nulls = value.nullable or amount.nullable
        moved = wrap_to_range(clamp_to_1970(moved, bare, nullable=nulls) if unit in MONTHS_PER_UNIT else moved, bare)
    return typed_sql(moved, nullable_if_any(bare, [value, amount]))


def _moved_by_days(value: TypedSql, shift: IntervalNumber, amount: TypedSql) -> str:
    """On the clock of the zone."""
    unit, bare, leaves = shift.unit, value.bare, may_leave_years(amount, shift.unit)
    of_date = isinstance(bare, t.Date)
    wall, count = wall_clock(value), shift.count
    if unit == "YEAR" and leaves and _has_wide_range(bare):
        count = unless_null(f"least({count}, 9999 - year({wall}))", value, amount)
    moved = _shift_date(wall, count, unit) if of_date else f"timestampadd({unit}, {count}, {wall})"
    if leaves:
        moved = within_years(moved, bare, unit)
    if _may_pass_2299(bare, amount, unit):
        moved = _not_after_2299(moved, bare)
    return moved if of_date else from_written_clock(moved, zone_of(bare))


def _has_wide_range(of: Type) -> bool:
    return of == t.Date(wide=True) or isinstance(of, t.DateTime64)


def within_years(sql: str, of: Type, unit: str) -> str:
    """Not after the year 9999, at which ClickHouse stops, and not before the year 1. A DateTime moved by days stops at
    the first and last day too, before it wraps around."""
    last, rest = (_LAST_MIDNIGHT, _DAY_MICROS) if unit in ("DAY", "WEEK") else (_AFTER_LAST - 1, 10**6)
    if of == t.Date(wide=True):
        return bind_if_long(sql, _within_days)
    if isinstance(of, t.DateTime64):
        return bind_if_long(sql, lambda m: _between(m, _YEAR_1, _EARLY, _late(m, last, rest)))
    if isinstance(of, t.DateTime) and rest == _DAY_MICROS:
        return bind_if_long(sql, lambda m: _between(m, _YEAR_0, _late(m, _YEAR_0, rest), _late(m, last, rest)))
    return sql


def _within_days(day: str) -> str:
    return f"CASE WHEN {day} < {_FIRST_DAY} THEN {_EARLY} WHEN {day} > {_LAST_DAY} THEN {_LAST_DAY} ELSE {day} END"


def _late(moment: str, seconds: int, rest: int) -> str:
    """The time of the day (or the fraction of the second: what is below `rest` microseconds) of a moment at another."""
    return f"timestamp_micros({seconds}000000L + pmod(unix_micros({moment}), {rest}L))"


def _between(moment: str, first: int, early: str, late: str) -> str:
    seconds = f"unix_seconds({moment})"
    return f"CASE WHEN {seconds} < {first}L THEN {early} WHEN {seconds} >= {_AFTER_LAST}L THEN {late} ELSE {moment} END"


def _is_surely_in_range(value: TypedSql, amount: TypedSql, unit: str) -> bool:
    """Whether the result is surely within range: it is now, moved by a literal of some years at most."""
    near = isinstance(amount.constant, int) and abs(amount.constant) <= _SAFE_AMOUNTS.get(unit, 0)
    return near and value.sql in ("date_trunc('SECOND', current_timestamp())", "current_date()")


def _may_pass_2299(of: Type, amount: TypedSql, unit: str) -> bool:
    """Whether a Date or DateTime that is moved by months may be after 2299; before it is wrapped around."""
    wraps = isinstance(of, t.DateTime) or of == t.Date()
    months = abs(amount.constant) * MONTHS_PER_UNIT.get(unit, 0) if isinstance(amount.constant, int) else _MANY_MONTHS
    return wraps and unit in MONTHS_PER_UNIT and months >= _MANY_MONTHS


def _not_after_2299(sql: str, of: Type) -> str:
    """The last day that ClickHouse counts months to, at the time of the day that it is."""
    if isinstance(of, t.Date):
        return bind_if_long(sql, lambda day: f"if({day} > {_LAST_COUNTED_DAY}, {_LAST_COUNTED_DAY}, {day})")
    last = f"{int(datetime(2299, 12, 31, tzinfo=timezone.utc).timestamp())}000000L"
    clock = "pmod(unix_micros({0}), 86400000000L)"
    late = f"timestamp_micros({last} + {clock})"
    return bind_if_long(sql, lambda m: f"if(unix_micros({m}) >= {last}, {late.format(m)}, {m})")


def _shift_date(sql: str, count: str, unit: str) -> str:
    if unit in MONTHS_PER_UNIT:
        return f"add_months({sql}, {_multiply(count, MONTHS_PER_UNIT[unit])})"
    return f"date_add({sql}, {_multiply(count, 7 if unit == 'WEEK' else 1)})"


def _multiply(count: str, factor: int) -> str:
    return count if factor == 1 else f"{count} * {factor}"


def _type_after_shift(of: Type, unit: str) -> Type:
    match of:
        case t.Date(wide=True) if unit in CLOCK_UNITS:
            return t.DateTime64(3)
        case t.Date() if unit in CLOCK_UNITS:
            return t.DateTime()
        case t.Date() if unit in _SUBSECOND_DIGITS:
            return t.DateTime64(_SUBSECOND_DIGITS[unit])
        case t.DateTime(zone) if unit in _SUBSECOND_DIGITS:
            return t.DateTime64(_SUBSECOND_DIGITS[unit], zone)
        case t.DateTime64(precision, zone) if unit in _SUBSECOND_DIGITS:
            return t.DateTime64(max(precision, _SUBSECOND_DIGITS[unit]), zone)
        case _:
            return of
