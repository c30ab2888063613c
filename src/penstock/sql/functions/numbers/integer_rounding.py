"""Integers rounded to tens, hundreds …: round, roundBankers, floor, ceil and trunc with a negative number of digits.

In: an integer and the digits. Out: an integer of its type. Invariant: the steps are those of ClickHouse's
src/Functions/FunctionsRound.h, so near the limits of the type the result wraps around as there.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.model import types as t
from penstock.model.quick_dataclass import dataclass
from penstock.sql.conversions.numbers import wrap_integer
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import TypedSql, as_spark, computed_type, nullable_if_any, typed_sql
from penstock.sql.functions.function import BadArguments

_MOST_DIGITS = {8: 2, 16: 4, 32: 9, 64: 18}
"""By the size of the type: the largest power of ten that it holds for sure; beyond it ClickHouse gives 0."""
_WIDE = "DECIMAL(38,0)"
_BY_HALVES = ("round", "roundBankers")


@dataclass(frozen=True, slots=True)
class _Steps:
    """How the numbers of the steps are written."""

    of: t.Int
    scale: int
    wide: bool
    """In decimals: a 64-bit integer near its limits, or a UInt64."""

    def number(self, value: int) -> str:
        return f"CAST({value} AS {_WIDE})" if self.wide else f"{value}L"

    def divide(self, sql: str) -> str:
        """Towards zero."""
        if self.wide:
            return f"(({sql} - {sql} % {self.number(self.scale)}) / {self.number(self.scale)})"
        return f"({sql} DIV {self.number(self.scale)})"

    def wrapped(self, sql: str, of: t.Int) -> str:
        """Reduced to the range of a type."""
        if not self.wide:
            return f"CAST({wrap_integer(sql, 'BIGINT', of)} AS BIGINT)" if of.bits < 64 else sql
        modulus = f"CAST({2**of.bits} AS {_WIDE})"
        shift = 2 ** (of.bits - 1) if of.signed else 0
        return f"CAST(pmod({sql} + {shift}, {modulus}) - {shift} AS {_WIDE})"


def round_integer(name: str, value: TypedSql, digits: int) -> TypedSql:
    """An integer rounded to 10, 100 … for -1, -2 … digits."""
    of = computed_type(value.bare)
    assert isinstance(of, t.Int)
    result = nullable_if_any(of, [value])
    if -digits > _MOST_DIGITS[of.bits]:
        zero = f"CAST(0 AS {value_type(of)})"
        return typed_sql(f"if({value.sql} IS NULL, NULL, {zero})" if value.nullable else zero, result)
    if name == "roundBankers" and of.signed and of.bits < 32:
        raise BadArguments(f"`{name}` of {value.type} to {digits} digits is not supported", "cast it by toInt64")
    scale = 10**-digits
    spark = value_type(of)
    if of.bits < 64:
        plain = _rounded(name, _Steps(of, scale, wide=False))
        return typed_sql(f"CAST({bind_if_long(as_spark(value, 'BIGINT'), plain)} AS {spark})", result)
    exact = _rounded(name, _Steps(of, scale, wide=True))
    if not of.signed:
        return typed_sql(f"CAST({bind_if_long(as_spark(value, _WIDE), exact)} AS {spark})", result)
    plain, room = _rounded(name, _Steps(of, scale, wide=False)), 2 * scale

    def either(x: str) -> str:
        inside = f"{x} BETWEEN {of.low + room} AND {of.high - room}"
        return f"if({inside}, {plain(x)}, CAST({exact(f'CAST({x} AS {_WIDE})')} AS BIGINT))"

    return typed_sql(bind_if_long(as_spark(value, "BIGINT"), either), result)


def _rounded(name: str, steps: _Steps) -> Callable[[str], str]:
    """ClickHouse adds or subtracts first, which may wrap around, and then divides and multiplies."""
    of, scale = steps.of, steps.scale
    # Small types are added as ints in C++, and cut when the result is stored.
    added = of if of.bits >= 32 else t.Int(32)

    def moved(x: str) -> str:
        match name:
            case "floor" if of.signed:
                return steps.wrapped(f"if({x} < 0, {x} - {steps.number(scale - 1)}, {x})", of)
            case "ceil":
                return steps.wrapped(f"if({x} >= 0, {x} + {steps.number(scale - 1)}, {x})", of)
            case _ if name in _BY_HALVES:
                low = steps.wrapped(f"if({x} < 0, {x} - {steps.number(scale)}, {x})", of) if of.signed else x
                return steps.wrapped(f"({low} + {steps.number(scale // 2)})", added)
            case _:
                return x

    def result(x: str) -> str:
        def multiplied(v: str) -> str:
            quotient = steps.divide(v)
            if name == "roundBankers":
                below = f"{steps.wrapped(f'({v} - {steps.number(scale // 2)})', added)} < 0"
                nearer = f"({quotient} + if({below}, {steps.number(1)}, {steps.number(0)}))"
                even = f"{nearer} - pmod({nearer}, {steps.number(2)})"
                quotient = f"if({v} = {quotient} * {steps.number(scale)}, {even}, {quotient})"
            return steps.wrapped(f"({quotient} * {steps.number(scale)})", of)

        return bind_if_long(moved(x), multiplied)

    return result
