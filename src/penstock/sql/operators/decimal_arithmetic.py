"""Arithmetic of Decimals: + - * /, intDiv and the remainder, by the integers that ClickHouse keeps for them.

In: two typed values, one of them a Decimal, and the type of the result. Out: typed SQL. Invariant: no digit is rounded;
what Spark's 38 digits cannot hold is an error of the query, never another value.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.common_type import arithmetic_type
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import TypedSql, as_spark

_MOST_DIGITS = 38
_KEPT_SCALE = 6
"""Digits behind the point that Spark always keeps."""
_BITS_OF_DIGITS = {9: 32, 18: 64, _MOST_DIGITS: 128}
"""The size of the integer behind a Decimal, by the most digits that it holds."""


def decimal_arithmetic(operator: str, pair: tuple[TypedSql, TypedSql], of: t.Decimal, result: t.Type) -> TypedSql:
    """Computed with all digits of the integer that is behind the Decimal in ClickHouse (9, 18 or 38)."""
    digits = of.kept_digits
    spark = f"DECIMAL({digits},{of.scale})"
    match operator:
        case "/":
            sql = _quotient(pair, of, digits)
        case "%":
            sql = _remainder(pair, of, digits)
        case _:
            left, right = _without_loss(operator, pair)
            sql = f"({left} {operator} {right})"
    return TypedSql(f"CAST({sql} AS {spark})", result, spark)


def whole_quotient(pair: tuple[TypedSql, TypedSql], of: t.Int) -> str:
    """intDiv: the quotient without its fraction, an integer."""
    quotient = arithmetic_type("/", pair[0].bare, pair[1].bare)
    assert isinstance(quotient, t.Decimal)
    too_large = f"raise_error('the quotient of intDiv does not fit into {of}')"

    def cut(q: str) -> str:
        within = f"{q} > {of.low - 1} AND {q} < {of.high + 1}"
        return f"if({within}, CAST({q} AS {value_type(of)}), if({q} IS NULL, NULL, {too_large}))"

    return bind_if_long(decimal_arithmetic("/", pair, quotient, quotient).sql, cut)


def _without_loss(operator: str, pair: tuple[TypedSql, TypedSql]) -> tuple[str, str]:
    """The operands of + - *. Where their result may have more than 38 digits, Spark keeps six behind the point: there
    they get so few digits before the point that it keeps all, and an operand with more is an error."""
    (whole, scale), (other, other_scale) = map(_digits, pair)
    if operator == "*":
        result, most = scale + other_scale, whole + scale + other + other_scale + 1
        room = _MOST_DIGITS - 1 - result
        first = min(whole, max(room // 2, room - other))
        second = room - first
    else:
        result = max(scale, other_scale)
        most = max(whole, other) + result + 1
        first = second = _MOST_DIGITS - 1 - result
    left, right = map(as_decimal, pair)
    if most <= _MOST_DIGITS or max(_MOST_DIGITS - (most - result), min(result, _KEPT_SCALE)) >= result:
        return left, right
    return (
        f"CAST({left} AS DECIMAL({min(whole, first) + scale},{scale}))",
        f"CAST({right} AS DECIMAL({min(other, second) + other_scale},{other_scale}))",
    )


def _digits(value: TypedSql) -> tuple[int, int]:
    """The digits before and behind the point that a value may have."""
    of = value.bare
    return (of.precision - of.scale, of.scale) if isinstance(of, t.Decimal) else (20, 0)


def as_decimal(value: TypedSql) -> str:
    """The SQL of a Decimal as it is, of an integer or a Bool as a decimal."""
    if isinstance(value.bare, t.Bool):
        return f"CAST(CAST({value.sql} AS INT) AS DECIMAL(20,0))"
    return as_spark(value, "DECIMAL(20,0)") if isinstance(value.bare, t.Int) else value.sql


def _quotient(pair: tuple[TypedSql, TypedSql], of: t.Decimal, digits: int) -> str:
    """Digits after the scale are cut off, not rounded. Spark's DIV of decimals is exact, and fails where no decimal
    holds the result."""
    left, right = (_as_wide_as(value, digits) for value in pair)
    dividend, divisor = pair[0].bare, pair[1].bare
    if isinstance(divisor, t.Decimal) and digits == _MOST_DIGITS:
        return _wide_quotient(_integer_behind(pair[0], digits), right, of.scale)
    if isinstance(dividend, t.Decimal) and dividend.precision > 18:
        return bind_if_long(left, lambda a: bind_if_long(right, lambda b: _long_quotient(a, b, dividend.scale)))
    return f"(({left} * {10**of.scale}) DIV {right}) * {decimal_unit(of.scale)}"


def _long_quotient(dividend: str, divisor: str, scale: int) -> str:
    """By an integer: without the remainder, the quotient has no digit after the scale of the dividend."""
    return f"({dividend} - {dividend} % ({divisor} * {decimal_unit(scale)})) / {divisor}"


def _wide_quotient(dividend: str, divisor: str, scale: int) -> str:
    """By a Decimal, of the integer behind another one: without the remainder, the quotient is an integer."""

    def whole(n: str, d: str) -> str:
        return f"({n} - {n} % {d}) / {d}"

    quotient = bind_if_long(divisor, lambda d: bind_if_long(dividend, lambda n: whole(n, d)))
    return f"CAST({quotient} AS DECIMAL(32,0)) * {decimal_unit(scale)}"


def _remainder(pair: tuple[TypedSql, TypedSql], of: t.Decimal, digits: int) -> str:
    """The remainder of the integers behind the Decimals, whatever their scales are."""
    left, right = (_integer_behind(value, digits) for value in pair)
    return f"CAST({left} % {right} AS DECIMAL({digits},0)) * {decimal_unit(of.scale)}"


def _integer_behind(value: TypedSql, digits: int) -> str:
    """The integer that ClickHouse keeps for a Decimal: how many of its scale's least steps it is. An integer is its
    own."""
    scale = value.bare.scale if isinstance(value.bare, t.Decimal) else 0
    return f"CAST({_as_wide_as(value, digits)} * {10**scale} AS DECIMAL({_MOST_DIGITS},0))"


def _as_wide_as(value: TypedSql, digits: int) -> str:
    """A number as a decimal; ClickHouse keeps only the lowest bits of an integer that has more than the Decimal."""
    bits = _BITS_OF_DIGITS[digits]
    of = value.bare
    if not isinstance(of, t.Int) or of.high < 2 ** (bits - 1):
        return as_decimal(value)
    half = 2 ** (bits - 1)
    return f"(pmod({as_decimal(value)} + {half}, {2 * half}) - {half})"


def decimal_unit(scale: int) -> str:
    """The least step of a scale, as a decimal: 0.01 for 2."""
    return f"CAST('{'0.' + '0' * (scale - 1) + '1' if scale else '1'}' AS DECIMAL({scale + 1},{scale}))"
