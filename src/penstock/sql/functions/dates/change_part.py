"""A time with one part changed, in the UTC zone, and slots of time: changeYear … changeSecond, timeSlots.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: a part that does not exist
gives the least value of the type, a year too late the greatest, as in ClickHouse.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.conversions.dates import LAST_DAY, LAST_SECOND
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.dates import FIRST_DAY, FIRST_SECOND, zone_of
from penstock.sql.expr.typed import Typed, as_spark, nullable_if_any, typed
from penstock.sql.functions.arguments import literal_integer
from penstock.sql.functions.function import BadArguments, Function

_ZERO_DAY, _END_DAY = "DATE'0000-01-01'", "DATE'9999-12-31'"
_ZERO_TIME = "TIMESTAMP'0000-01-01 00:00:00'"
_PART_RANGES = {"Month": (1, 12), "Day": (1, 31), "Hour": (0, 23), "Minute": (0, 59), "Second": (0, 59)}


def as_bigint(value: Typed) -> str:
    """A number as a BIGINT; the greatest of them where it is greater."""
    if value.spark.startswith("DECIMAL") and value.constant is None:
        return f"CAST(least({value.sql}, 9223372036854775807) AS BIGINT)"
    return as_spark(value, "BIGINT")


def _first_and_last_value(of: Type) -> tuple[str, str]:
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
            raise BadArguments(f"{of} is no time")


def _year_range(of: Type) -> tuple[int, int]:
    if isinstance(of, t.DateTime):
        return 1970, 2106
    return (1970, 2149) if of == t.Date() else (0, 9999)


def _refuse_zone(value: Typed, name: str) -> None:
    if zone_of(value.bare) is not None:
        raise BadArguments(f"`{name}` in a time zone is not supported", "toTimeZone(…, 'UTC')")


def _change_day_part(value: Typed, unit: str, number: str) -> str:
    """Days of a month that it does not have go on into the next one."""
    at = value.sql
    parts = {"Year": f"year({at})", "Month": f"month({at})", "Day": f"dayofmonth({at})"}
    low, high = _year_range(value.bare) if unit == "Year" else _PART_RANGES[unit]
    parts[unit] = f"CAST(least(greatest({number}, {low}), {high}) AS INT)"
    day = f"date_add(make_date({parts['Year']}, {parts['Month']}, 1), {parts['Day']} - 1)"
    if isinstance(value.bare, t.Date):
        return day
    since = f"unix_micros({at}) - unix_micros(date_trunc('DAY', {at}))"
    return f"timestamp_micros(unix_micros(CAST({day} AS TIMESTAMP)) + {since})"


def _change_clock_part(value: Typed, unit: str, number: str) -> str:
    at = f"CAST({value.sql} AS TIMESTAMP)" if isinstance(value.bare, t.Date) else value.sql
    return f"timestampadd({unit.upper()}, least(greatest({number}, 0), 59) - {unit.lower()}({at}), {at})"


def _type_with_clock(of: Type) -> Type:
    if isinstance(of, t.Date):
        return t.DateTime64(3) if of.wide else t.DateTime()
    return of


def _change_function(unit: str) -> Function:
    name = f"change{unit}"
    by_day = unit in ("Year", "Month", "Day")

    def build(values: Sequence[Typed]) -> Typed:
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

        return typed(bind_if_long(as_bigint(values[1]), formula), nullable_if_any(of, list(values)))

    return Function(name, (2, 2), ("time", "integer"), build)


def _time_slots(values: Sequence[Typed]) -> Typed:
    """The starts of the slots from a time on for so many seconds; seconds are counted in 32 bits."""
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

    return typed(bind_if_long(f"unix_seconds({start.sql})", formula), t.Array(start.bare))


FUNCTIONS: tuple[Function, ...] = (
    *map(_change_function, ("Year", "Month", "Day", "Hour", "Minute", "Second")),
    Function("timeSlots", (2, 3), ("time", "integer", "constant"), _time_slots),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
