"""Whole numbers and decimals as texts, and factorials: toDecimalString, formatReadableSize, factorial.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: only what is computed in
whole numbers and decimals, whose rounding is ClickHouse's; doubles are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial

from penstock.model import types as t
from penstock.sql.functions.function import STRING, UINT64, BadArguments, Function
from penstock.sql.functions.text_arguments import constant_number
from penstock.sql.let import let
from penstock.sql.typed import Typed, as_spark, null_if_any, typed

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def _decimal_string(values: Sequence[Typed]) -> Typed:
    """With so many digits after the point, as many as there are or more."""
    value, digits = values[0], constant_number(values[1], "the number of digits")
    of = value.bare
    whole = 20 if isinstance(of, t.Int) else of.precision - of.scale if isinstance(of, t.Decimal) else 0
    if not whole:
        raise BadArguments(f"`toDecimalString` of {value.type} is not supported", "toDecimal128(…, digits)")
    least = max(of.scale, 1) if isinstance(of, t.Decimal) else 0
    if not least <= digits <= 37 - whole:
        raise BadArguments(f"`toDecimalString` of {value.type} takes {least} to {37 - whole} digits here", "round")
    shown = f"CAST(CAST({value.sql} AS DECIMAL({whole + 1 + digits},{digits})) AS STRING)"
    return typed(shown, null_if_any(STRING, [value]))


def _readable_size(values: Sequence[Typed]) -> Typed:
    value = values[0]
    if not isinstance(value.bare, t.Int):
        raise BadArguments(f"`formatReadableSize` of {value.type} is not supported", "toInt64")
    number = f"CAST({value.sql} AS DECIMAL(38,0))" if value.bare.bits < 64 else _as_double(value)
    return typed(let(number, _sized), null_if_any(STRING, [value]))


def _as_double(value: Typed) -> str:
    """ClickHouse takes a double, which large numbers are rounded to."""
    return f"CAST(CAST({value.sql} AS DOUBLE) AS DECIMAL(38,0))"


def _sized(n: str) -> str:
    def shown(power: int) -> str:
        cents = f"(abs({n}) * 200 + {1024**power}) DIV {2 * 1024**power}"
        text = f"concat(CAST({cents} DIV 100 AS STRING), '.', lpad(CAST(({cents}) % 100 AS STRING), 2, '0'))"
        return f"concat(if({n} < 0, '-', ''), {text.replace(cents + ' DIV', f'({cents}) DIV')}, ' {_UNITS[power]}')"

    tests = " ".join(f"WHEN abs({n}) < {1024 ** (power + 1)} THEN {shown(power)}" for power in range(len(_UNITS) - 1))
    return f"CASE {tests} WHEN {n} IS NOT NULL THEN {shown(len(_UNITS) - 1)} END"


def _factorial(values: Sequence[Typed]) -> Typed:
    """1 below 0; an error above 20."""
    number = as_spark(values[0], "BIGINT") if values[0].spark != "DECIMAL(20,0)" else values[0].sql
    results = ", ".join(f"CAST({factorial(n)} AS DECIMAL(20,0))" for n in range(21))
    failed = "raise_error('The maximum value for the input argument of function factorial is 20')"
    inside = f"element_at(array({results}), CAST(greatest({number}, 0) AS INT) + 1)"
    sql = f"CASE WHEN {number} > 20 THEN {failed} WHEN {number} IS NOT NULL THEN {inside} END"
    return typed(sql, null_if_any(UINT64, list(values)))


FUNCTIONS: tuple[Function, ...] = (
    Function("toDecimalString", (2, 2), ("number", "constant"), _decimal_string),
    Function("formatReadableSize", (1, 1), ("number",), _readable_size),
    Function("factorial", (1, 1), ("integer",), _factorial),
)
ALIASES = {"FORMAT_BYTES": "formatReadableSize"}
ANY_CASE = ("factorial", "FORMAT_BYTES")
