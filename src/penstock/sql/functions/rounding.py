"""Rounding of whole numbers and decimals, to powers of two, ages and durations.

In: `Typed` arguments. Out: rows of the table and formulas for `maths`. Called by `functions.table` and `maths`.
Invariant: integers stay integers; half goes away from zero, to the even neighbour for roundBankers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.model import types as t
from penstock.sql.functions.function import UINT8, UINT16, BadArguments, Function
from penstock.sql.let import let
from penstock.sql.typed import Typed, as_spark, null_if_any, number_sql, typed
from penstock.sql.value_types import value_type

_WHOLE: Mapping[str, str] = {
    "round": "round({0}, {1})", "roundBankers": "bround({0}, {1})", "floor": "({0} - pmod({0}, {2}L))",
    "ceil": "({0} + pmod(- {0}, {2}L))", "trunc": "({0} - {0} % {2}L)",
}  # fmt: skip
DECIMAL_ROUNDING: Mapping[str, str] = {
    "round": "round({0}, {1})", "roundBankers": "bround({0}, {1})", "floor": "floor({0}, {1})",
    "ceil": "ceil({0}, {1})", "trunc": "if({0} < 0, ceil({0}, {1}), floor({0}, {1}))",
}  # fmt: skip
_LARGEST = {16: 3, 32: 8, 64: 17}


def round_whole(name: str, value: Typed, digits: int) -> Typed:
    """An integer to tens, hundreds …"""
    of = value.bare
    if not isinstance(of, t.Int) or of.bits == 8 or of == t.Int(64, signed=False) or -digits > _LARGEST[of.bits]:
        raise BadArguments(f"`{name}` of {value.type} to {digits} digits is not supported", "cast it by toInt64")
    exact = let(as_spark(value, "BIGINT"), lambda v: _WHOLE[name].format(v, digits, 10**-digits))
    return typed(let(exact, lambda v: _inside(v, of)) if of.bits < 64 else exact, value.type)


def _inside(sql: str, of: t.Int) -> str:
    """A number of the type; what ClickHouse gives for one that is out of it is not a rounded number."""
    failed = f"raise_error('a rounded {of} is out of its range')"
    fits = f"CAST({sql} AS {value_type(of)})"
    return f"CASE WHEN {sql} IS NULL OR {sql} BETWEEN {of.low} AND {of.high} THEN {fits} ELSE {failed} END"


def _steps(name: str, of: t.Int, bounds: Sequence[tuple[int, int]]) -> Function:
    """From each bound on its value; 0 below the first."""

    def build(values: Sequence[Typed]) -> Typed:
        value = values[0]
        tests = " ".join(f"WHEN {number_sql(value)} >= {low} THEN {result}" for low, result in reversed(bounds))
        null = f"WHEN {value.sql} IS NULL THEN NULL " if value.nullable else ""
        return typed(f"CASE {null}{tests} ELSE 0 END", null_if_any(of, [value]))

    return Function(name, (1, 1), ("integer",), build)


def _to_power_of_two(values: Sequence[Typed]) -> Typed:
    value = values[0]
    of = value.bare if isinstance(value.bare, t.Int) else UINT8
    if of == t.Int(64, signed=False):
        raise BadArguments("`roundToExp2` of a UInt64 is not supported", "cast it by toInt64")

    def power(v: str) -> str:
        return f"CASE WHEN {v} > 0 THEN shiftleft(1L, length(bin({v})) - 1) WHEN {v} <= 0 THEN 0L END"

    return typed(f"CAST({let(as_spark(value, 'BIGINT'), power)} AS {value_type(of)})", null_if_any(of, [value]))


_AGES = ((1, 17), (18, 18), (25, 25), (35, 35), (45, 45), (55, 55))
_DURATIONS = (1, 10, 30, 60, 120, 180, 240, 300, 600, 1200, 1800, 3600, 7200, 18000, 36000)

FUNCTIONS: tuple[Function, ...] = (
    _steps("roundAge", UINT8, _AGES),
    _steps("roundDuration", UINT16, [(low, low) for low in _DURATIONS]),
    Function("roundToExp2", (1, 1), ("integer",), _to_power_of_two),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
