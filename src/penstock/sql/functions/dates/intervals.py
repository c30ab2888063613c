"""Adding and subtracting units of time: addDays, subtractMonths, toIntervalHour

Days and longer units are added on the clock of the value's time zone, shorter ones to the moment.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.expr.fine_times import move_fine_time
from penstock.sql.expr.interval_numbers import as_signed_bigint
from penstock.sql.expr.moved_times import add_interval
from penstock.sql.expr.spark_types import FINE_TIME
from penstock.sql.expr.typed import TypedSql
from penstock.sql.functions.function import BadArguments, Function

_SUBSECOND_UNITS = ("Millisecond", "Microsecond")
_UNITS = ("Second", "Minute", "Hour", "Day", "Week", "Month", "Quarter", "Year")


def _shift_function(unit: str, sign: int) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        if unit in _SUBSECOND_UNITS and isinstance(values[0].bare, t.Date):
            raise BadArguments(f"a {values[0].bare} has no {unit.lower()}s", "convert it by toDateTime64 first")
        if values[0].spark == FINE_TIME:
            return move_fine_time(values[0], lambda micros: add_interval(micros, values[1], unit.upper(), sign))
        return add_interval(values[0], values[1], unit.upper(), sign)

    return Function(f"{'add' if sign > 0 else 'subtract'}{unit}s", (2, 2), ("time", "integer"), build)


def _interval_function(unit: str) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        value = values[0]
        return TypedSql(as_signed_bigint(value), value.type, "BIGINT", value.constant, unit.upper())

    return Function(f"toInterval{unit}", (1, 1), ("integer",), build)


FUNCTIONS: tuple[Function, ...] = (
    *(_shift_function(unit, sign) for unit in (*_UNITS, *_SUBSECOND_UNITS) for sign in (1, -1)),
    *map(_interval_function, (*_UNITS, *_SUBSECOND_UNITS)),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
