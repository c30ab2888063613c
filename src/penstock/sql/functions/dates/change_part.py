"""Times with one part replaced: changeYear, changeMonth, changeDay, changeHour, changeMinute, changeSecond

Times must have no time zone of their own. A part that does not exist gives the first value of the type, a year after
the last one the last value, as in ClickHouse.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.dates import FIRST_DAY, FIRST_SECOND, LAST_DAY, LAST_SECOND, zone_of
from penstock.sql.expr.typed import TypedSql, nullable_if_any, typed_sql
from penstock.sql.functions.arguments import as_bigint
from penstock.sql.functions.function import BadArguments, Function

_ZERO_DAY, _END_DAY = "DATE'0000-01-01'", "DATE'9999-12-31'"
_ZERO_TIME = "TIMESTAMP'0000-01-01 00:00:00'"
_PART_RANGES = {"Month": (1, 12), "Day": (1, 31), "Hour": (0, 23), "Minute": (0, 59), "Second": (0, 59)}


def _first_and_last_value(of: Type) -> tuple[str, str]:
    """The first and the last value of a type, as literals. Raises BadArguments for a type without a date."""
    match of:
        case t.Date(wide=False):
            return FIRST_DAY, LAST_DAY
        case t.Date():
            return _ZERO_DAY, _END_DAY
        case t.DateTime():
            return FIRST_SECOND, LAST_SECOND
        case t.DateTime64(precision, _):
            fraction = "." + "9" * precision if precision else ""
            return _ZERO_TIME, f"TIMESTAMP'9999-12-31 23:59:59{fraction}'"
        case _:
            raise BadArguments(f"{of} is not a time")


def _year_range(of: Type) -> tuple[int, int]:
    if isinstance(of, t.DateTime):
        return 1970, 2106
    return (1970, 2149) if of == t.Date() else (0, 9999)


def _refuse_zone(value: TypedSql, name: str) -> None:
    if zone_of(value.bare) is not None:
        raise BadArguments(f"`{name}` in a time zone is not supported", "toTimeZone(…, 'UTC')")


def _change_day_part(value: TypedSql, unit: str, number: str) -> str:
    """Days that the month does not have count into the next month."""
    at = value.sql
    parts = {"Year": f"year({at})", "Month": f"month({at})", "Day": f"dayofmonth({at})"}
    low, high = _year_range(value.bare) if unit == "Year" else _PART_RANGES[unit]
    parts[unit] = f"CAST(least(greatest({number}, {low}), {high}) AS INT)"
    day = f"date_add(make_date({parts['Year']}, {parts['Month']}, 1), {parts['Day']} - 1)"
    if isinstance(value.bare, t.Date):
        return day
    since = f"unix_micros({at}) - unix_micros(date_trunc('DAY', {at}))"
    return f"timestamp_micros(unix_micros(CAST({day} AS TIMESTAMP)) + {since})"


def _change_clock_part(value: TypedSql, unit: str, number: str) -> str:
    at = f"CAST({value.sql} AS TIMESTAMP)" if isinstance(value.bare, t.Date) else value.sql
    return f"timestampadd({unit.upper()}, least(greatest({number}, 0), 59) - {unit.lower()}({at}), {at})"


def _type_with_clock(of: Type) -> Type:
    if isinstance(of, t.Date):
        return t.DateTime64(3) if of.wide else t.DateTime()
    return of


def _change_function(unit: str) -> Function:
    """changeYear … changeSecond: the number is clamped for the computation and checked against the range of the
    part."""
    name = f"change{unit}"
    by_day = unit in ("Year", "Month", "Day")

    def build(values: Sequence[TypedSql]) -> TypedSql:
        value = values[0]
        _refuse_zone(value, name)
        of = value.bare if by_day else _type_with_clock(value.bare)
        low, high = _first_and_last_value(of)
        first, last = _year_range(value.bare) if unit == "Year" else _PART_RANGES[unit]
        greatest = high if unit == "Year" else low

        def formula(number: str) -> str:
            changed = (_change_day_part if by_day else _change_clock_part)(value, unit, number)
            wrong = f"WHEN {number} < {first} THEN {low} WHEN {number} > {last} THEN {greatest}"
            inside = bind_if_long(changed, lambda x: f"if({x} > {high}, {high}, {x})")
            nothing = " OR ".join(f"{each.sql} IS NULL" for each in values if each.nullable)
            empty = f"WHEN {nothing} THEN NULL " if nothing else ""
            return f"CASE {empty}{wrong} ELSE {inside} END"

        return typed_sql(bind_if_long(as_bigint(values[1]), formula), nullable_if_any(of, list(values)))

    return Function(name, (2, 2), ("time", "integer"), build)


FUNCTIONS: tuple[Function, ...] = (*map(_change_function, ("Year", "Month", "Day", "Hour", "Minute", "Second")),)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
