"""Weeks: toWeek, toYearWeek, toStartOfWeek, toLastDayOfWeek, toDayOfWeek

A week mode from 0 to 9 (those of MySQL's WEEK and two of ClickHouse's) says on which day weeks start and which week
of a year is its first. It must be a literal. The starts of other units are in `unit_starts`.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.dates import (
    FIRST_DAY,
    LAST_DAY,
    clamp,
    clamp_below,
    is_extended,
    shows_1969,
    start_of_unit,
    wall_clock,
    zone_of,
)
from penstock.sql.expr.typed import TypedSql, nullable_if_any, typed_sql
from penstock.sql.functions.dates.time_zones import apply_zone_argument
from penstock.sql.functions.function import UINT8, UINT32, BadArguments, Function


def week_mode(values: Sequence[TypedSql]) -> int:
    """The week mode of a function: its second argument, by default 0. Raises BadArguments unless it is a literal from 0
    to 9."""
    mode = values[1].constant if len(values) > 1 else 0
    if not isinstance(mode, int) or not 0 <= mode <= 9:
        raise BadArguments("the mode of a week must be a literal from 0 to 9")
    return mode


def _start_of_week(values: Sequence[TypedSql]) -> TypedSql:
    """Weeks start on Sunday in even modes, of which 0 is the default, and on Monday in odd ones."""
    value = apply_zone_argument(values[0], values, 2)
    if week_mode(values) % 2 == 1:
        return start_of_unit(value, "WEEK")
    wall = f"CAST({wall_clock(value)} AS DATE)"
    first = f"date_sub({wall}, dayofweek({wall}) - 1)"
    return typed_sql(_within_dates(value, first), nullable_if_any(t.Date(), [value]))


def _within_dates(value: TypedSql, day: str) -> str:
    """A day of the week of a time, as the nearest Date."""
    if isinstance(value.bare, t.Date) or is_extended(value.bare):
        return clamp(day, FIRST_DAY, LAST_DAY, nullable=value.nullable)
    return clamp_below(day, FIRST_DAY, nullable=value.nullable)


def _first_day_of_week_one(day: str, years: int, mode: int) -> str:
    """The first day (in days since 1970) of week 1 of the date's year, or of the year so many years after it: the first
    start of a week not earlier than `before` days before January 1."""
    since_1970 = 3 if mode % 2 else 4
    before = 6 if mode >= 8 else 0 if bool(mode & 4) == bool(mode % 2) else 3
    new_year = (
        f"unix_date(make_date(year({day}){f' + {years}' if years > 0 else f' - {-years}' if years else ''}, 1, 1))"
    )
    return f"({new_year} - {before} + pmod({before - since_1970} - {new_year}, 7))"


def _week_number(day: str, first: str) -> str:
    return f"CAST(floor((unix_date({day}) - {first}) / 7) + 1 AS INT)"


def _choose_by_week_year(day: str, mode: int, results: tuple[str, str, str]) -> str:
    """One of three results: for a date in a week of the next year, of its own year or of the previous one."""
    after, own = (f"unix_date({day}) >= {_first_day_of_week_one(day, years, mode)}" for years in (1, 0))
    return f"CASE WHEN {after} THEN {results[0]} WHEN {own} THEN {results[1]} ELSE {results[2]} END"


def _week_in_mode(day: str, mode: int) -> str:
    own = _week_number(day, _first_day_of_week_one(day, 0, mode))
    if mode < 8 and not mode & 2:
        return f"({own} * CAST(unix_date({day}) >= {_first_day_of_week_one(day, 0, mode)} AS INT))"
    weeks = [_week_number(day, _first_day_of_week_one(day, years, mode)) for years in (1, 0, -1)]
    return _choose_by_week_year(day, mode, (weeks[0], weeks[1], weeks[2]))


def _year_and_week_in_mode(day: str, mode: int) -> str:
    parts = [
        f"((year({day}) + {years}) * 100 + {_week_number(day, _first_day_of_week_one(day, years, mode))})"
        for years in (1, 0, -1)
    ]
    return _choose_by_week_year(day, mode, (parts[0], parts[1], parts[2]))


def _day_argument(values: Sequence[TypedSql]) -> tuple[TypedSql, str]:
    value = apply_zone_argument(values[0], values, 2)
    day = f"CAST({wall_clock(value)} AS DATE)"
    if isinstance(value.bare, t.DateTime) and shows_1969(zone_of(value.bare)):
        day = clamp_below(day, FIRST_DAY, nullable=value.nullable)
    return value, day


def _to_week(values: Sequence[TypedSql]) -> TypedSql:
    value, day = _day_argument(values)
    return typed_sql(bind_if_long(day, lambda d: _week_in_mode(d, week_mode(values))), nullable_if_any(UINT8, [value]))


def _to_year_week(values: Sequence[TypedSql]) -> TypedSql:
    value, day = _day_argument(values)
    sql = bind_if_long(day, lambda d: _year_and_week_in_mode(d, week_mode(values)))
    return typed_sql(f"CAST({sql} AS BIGINT)", nullable_if_any(UINT32, [value]))


def _day_of_week(values: Sequence[TypedSql]) -> TypedSql:
    """The first day of the week is Monday=1, Monday=0, Sunday=0 or Sunday=1, in modes 0 to 3."""
    mode = values[1].constant if len(values) > 1 else 0
    value = apply_zone_argument(values[0], values, 2)
    forms = {0: "(weekday({0}) + 1)", 1: "weekday({0})", 2: "(dayofweek({0}) - 1)", 3: "dayofweek({0})"}
    if not isinstance(mode, int) or mode not in forms:
        raise BadArguments("the mode of `toDayOfWeek` must be a literal from 0 to 3")
    return typed_sql(f"CAST({forms[mode].format(wall_clock(value))} AS INT)", nullable_if_any(UINT8, [value]))


def _last_day_of_week(values: Sequence[TypedSql]) -> TypedSql:
    value, day = _day_argument(values)
    left = f"6 - weekday({day})" if week_mode(values) % 2 else f"7 - dayofweek({day})"
    return typed_sql(_within_dates(value, f"date_add({day}, {left})"), nullable_if_any(t.Date(), [value]))


FUNCTIONS: tuple[Function, ...] = (
    Function("toStartOfWeek", (1, 3), ("time", "constant"), _start_of_week),
    Function("toWeek", (1, 3), ("time", "constant"), _to_week),
    Function("toYearWeek", (1, 3), ("time", "constant"), _to_year_week),
    Function("toDayOfWeek", (1, 3), ("time", "constant"), _day_of_week),
    Function("toLastDayOfWeek", (1, 3), ("time", "constant"), _last_day_of_week),
)
ALIASES: dict[str, str] = {"week": "toWeek", "yearweek": "toYearWeek", "DAYOFWEEK": "toDayOfWeek"}
ANY_CASE: tuple[str, ...] = ("week", "yearweek", "DAYOFWEEK")
