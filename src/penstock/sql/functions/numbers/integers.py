"""Integer arithmetic: intDivOrZero, positiveModulo, gcd, lcm, intExp2, factorial, countDigits

Result types are those of ClickHouse's operators. Functions with OrZero or OrNull in their name give that value where
ClickHouse's operator fails; gcd and lcm fail for zero, and refuse Nullable arguments because ClickHouse fails for the
zeros that it stores under NULLs.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.expr.bind_once import bind_if_long, bind_once
from penstock.sql.expr.common_type import arithmetic_type
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import TypedSql, as_spark, nullable_if_any, number_sql, typed_sql, unless_null
from penstock.sql.functions.function import FLOAT64, UINT8, UINT64, BadArguments, Function
from penstock.sql.operators.arithmetic import (
    as_signed_operands,
    divide_to_integer,
    is_decimal_division,
    is_float_division,
)
from penstock.sql.operators.decimal_arithmetic import whole_quotient
from penstock.sql.operators.literals import negate_value

_POWER_COUNTS = {2: 64, 10: 20}
"""By the base: the number of powers, from the 0th on, that fit into a UInt64."""
_EUCLID_STEPS = {8: 13, 16: 25, 32: 48, 64: 94}
"""The greatest number of divisions for integers of so many bits: by Lamé's theorem, that for two Fibonacci numbers."""


def _int_type(value: TypedSql) -> t.Int:
    return value.bare if isinstance(value.bare, t.Int) else UINT8


def _common_sides(values: Sequence[TypedSql]) -> tuple[str, str]:
    """The SQL of both integers in one Spark type."""
    used = {value_type(_int_type(value)) for value in values} | {value.spark for value in values}
    wide = next((spark for spark in ("DECIMAL(20,0)", "BIGINT") if spark in used), "INT")
    return as_spark(values[0], wide), as_spark(values[1], wide)


def _has_no_quotient(values: Sequence[TypedSql]) -> str:
    """The condition under which ClickHouse's division fails."""
    a, b = _common_sides(values)
    of = _int_type(values[0])
    least = f" OR ({b} = -1 AND {a} = {of.low})" if of.signed and _int_type(values[1]).signed and of.bits < 64 else ""
    return f"({b} = 0{least})"


def _safe_division_function(name: str, operator: str, other: str) -> Function:
    """intDivOrZero, moduloOrNull …"""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        if is_decimal_division(values[0], values[1]):
            return _divide_decimals_or_zero(name, (values[0], values[1]))
        of = arithmetic_type(operator, values[0].bare, values[1].bare)
        assert isinstance(of, t.Int)
        if is_float_division(values[0], values[1]):
            result = t.Nullable(of) if other == "NULL" else nullable_if_any(of, list(values))
            none = f"CAST({other} AS {value_type(of)})"
            null = unless_null(none, values[0]) if other == "0" else none
            return typed_sql(divide_to_integer((values[0], values[1]), of, null), result)
        values = as_signed_operands(values[0], values[1]) if operator == "intDiv" else values
        a, b = _common_sides(values)
        sql = f"CAST(({a} {'DIV' if operator == 'intDiv' else '%'} {b}) AS {value_type(of)})"
        zero = f"CAST({other} AS {value_type(of)})"
        if values[0].nullable and other == "0":
            zero = f"if({values[0].sql} IS NULL, NULL, {zero})"
        result = t.Nullable(of) if other == "NULL" else nullable_if_any(of, list(values))
        return typed_sql(f"if({_has_no_quotient(values)}, {zero}, {sql})", result)

    return Function(name, (2, 2), ("number" if operator == "intDiv" else "integer",), build)


def _divide_decimals_or_zero(name: str, pair: tuple[TypedSql, TypedSql]) -> TypedSql:
    """intDivOrZero of Decimals."""
    of = arithmetic_type("intDiv", pair[0].bare, pair[1].bare)
    if name != "intDivOrZero" or not isinstance(of, t.Int):
        raise BadArguments(f"`{name}` is not defined for {pair[0].type} and {pair[1].type}", "cast one of them")
    zero = unless_null(f"CAST(0 AS {value_type(of)})", pair[0])
    if is_float_division(*pair):
        return typed_sql(divide_to_integer(pair, of, zero), nullable_if_any(of, pair))
    sql = f"if({number_sql(pair[1])} = 0, {zero}, {whole_quotient(pair, of)})"
    return typed_sql(sql, nullable_if_any(of, pair))


def _divide_or_null(values: Sequence[TypedSql]) -> TypedSql:
    a, b = (as_spark(value, "DOUBLE") for value in values)
    return typed_sql(f"if({b} = 0, NULL, {a} / {b})", t.Nullable(FLOAT64))


def _positive_modulo_function(or_null: str) -> Function:
    """The remainder of the absolute divisor, never negative."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        of = t.Int(_int_type(values[1]).bits, signed=False)
        a, b = _common_sides(values)
        a, b = (f"CAST({side} AS {_wider(values)})" for side in (a, b)) if _may_be_least(values[1]) else (a, b)
        sql = f"CAST(pmod({a}, abs({b})) AS {value_type(of)})"
        if or_null:
            return typed_sql(f"if({b} = 0, NULL, {sql})", t.Nullable(of))
        return typed_sql(sql, nullable_if_any(of, list(values)))

    return Function(f"positiveModulo{or_null}", (2, 2), ("integer",), build)


def _may_be_least(value: TypedSql) -> bool:
    """Whether a number may be the least one of its Spark type, which has no absolute value there."""
    of = _int_type(value)
    return of.signed and of.bits >= 32 and not isinstance(value.constant, int)


def _wider(values: Sequence[TypedSql]) -> str:
    return "DECIMAL(20,0)" if any(_int_type(value).bits == 64 for value in values) else "BIGINT"


def _negate(values: Sequence[TypedSql]) -> TypedSql:
    found = negate_value(values[0])
    if found is None:
        raise BadArguments(f"`negate` needs a number, this is {values[0].type}")
    return found


def _int_exp_function(base: int) -> Function:
    """0 for negative exponents; the largest UInt64 for powers that do not fit."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        number = _exponent(values[0], base)
        powers = ", ".join(f"CAST({base**n} AS DECIMAL(20,0))" for n in range(_POWER_COUNTS[base]))
        inside = f"element_at(array({powers}), CAST({number} AS INT) + 1)"
        sql = (
            f"CASE WHEN {number} < 0 THEN CAST(0 AS DECIMAL(20,0)) "
            f"WHEN {number} >= {_POWER_COUNTS[base]} THEN CAST({2**64 - 1} AS DECIMAL(20,0)) ELSE {inside} END"
        )
        return typed_sql(unless_null(sql, *values), nullable_if_any(UINT64, list(values)))

    return Function(f"intExp{base}", (1, 1), ("integer",), build)


def _exponent(value: TypedSql, base: int) -> str:
    """intExp10 reads the lower 32 bits of its number, intExp2 a UInt64 as it is."""
    if value.spark == "DECIMAL(20,0)":
        lower = f"CAST({value.sql} % {2**32} AS BIGINT)" if base == 10 else f"CAST(least({value.sql}, 64) AS BIGINT)"
        return f"shiftright(shiftleft({lower}, 32), 32)" if base == 10 else lower
    number = as_spark(value, "BIGINT")
    return f"shiftright(shiftleft({number}, 32), 32)" if base == 10 and value.spark == "BIGINT" else number


def _extreme_of_two_function(name: str, sign: str) -> Function:
    """max2 and min2, which compute in doubles: the first value if it is beyond the second one, else the second one."""

    def choose(a: str, b: str) -> str:
        return f"if({a} {sign} {b} AND NOT isnan({a}) AND NOT isnan({b}), {a}, {b})"

    def build(values: Sequence[TypedSql]) -> TypedSql:
        of: Type = nullable_if_any(FLOAT64, list(values))
        a, b = (as_spark(value, "DOUBLE") for value in values)
        sql = bind_if_long(a, lambda x: bind_if_long(b, lambda y: choose(x, y)))
        return typed_sql(unless_null(sql, *values), of)

    return Function(name, (2, 2), ("number",), build)


def _common_divisor_function(name: str, result: str) -> Function:
    """gcd and lcm by Euclid's algorithm. `result` is a formula of the two numbers ` x` and the final state ` s`, whose
    `a` is the greatest common divisor."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        of = arithmetic_type("+", values[0].bare, values[1].bare)
        if not isinstance(of, t.Int) or any(value.nullable for value in values):
            shown = " and ".join(str(value.type) for value in values)
            raise BadArguments(f"`{name}` of {shown} is not supported", "ifNull(…), assumeNotNull(…)")
        if of.bits == 64 and (name == "lcm" and any(_bit_width(value) == 64 for value in values)):
            raise BadArguments(f"`{name}` of 64-bit numbers is not supported", "toInt32(…)")
        if of.signed and any(value.bare == t.Int(64, signed=False) for value in values):
            raise BadArguments(f"`{name}` of UInt64 and a signed number is not supported", "toInt64(…)")
        spark = "DECIMAL(20,0)" if value_type(of) == "DECIMAL(20,0)" else "BIGINT"
        pair = ", ".join(f"'{key}', abs({as_spark(value, spark)})" for key, value in zip("ab", values, strict=True))
        steps = _EUCLID_STEPS[min(map(_bit_width, values))] + 1
        rest = f"named_struct('a', ` s`.b, 'b', CAST(` s`.a % ` s`.b AS {spark}))"
        fold = f"aggregate(sequence(1, {steps}), ` x`, (` s`, ` k`) -> if(` s`.b = 0, ` s`, {rest}), ` s` -> {result})"
        zero = "raise_error('Division by zero')"
        sql = bind_once(f"named_struct({pair})", "` x`", f"if(` x`.a = 0 OR ` x`.b = 0, {zero}, {fold})")
        return typed_sql(f"CAST({sql} AS {value_type(of)})", of)

    return Function(name, (2, 2), ("integer",), build)


def _bit_width(value: TypedSql) -> int:
    return value.bare.bits if isinstance(value.bare, t.Int) else 8


def _factorial(values: Sequence[TypedSql]) -> TypedSql:
    """1 for negative numbers; an error above 20."""
    number = as_spark(values[0], "BIGINT") if values[0].spark != "DECIMAL(20,0)" else values[0].sql
    results = ", ".join(f"CAST({factorial(n)} AS DECIMAL(20,0))" for n in range(21))
    failed = "raise_error('The maximum value for the input argument of function factorial is 20')"
    inside = f"element_at(array({results}), CAST(greatest({number}, 0) AS INT) + 1)"
    sql = f"CASE WHEN {number} > 20 THEN {failed} WHEN {number} IS NOT NULL THEN {inside} END"
    return typed_sql(sql, nullable_if_any(UINT64, list(values)))


def _count_digits(values: Sequence[TypedSql]) -> TypedSql:
    """For a decimal all digits after the point count."""
    shown = f"CAST({number_sql(values[0])} AS STRING)"
    if isinstance(values[0].bare, t.Decimal):
        zeros = f"ltrim('0', translate({shown}, '-.', ''))"
        sql = bind_if_long(zeros, lambda z: f"if({z} = '', 1, length({z}))")
    elif isinstance(values[0].bare, t.Int):
        sql = f"length(ltrim('-', {shown}))"
    else:
        raise BadArguments(f"`countDigits` needs an integer or a Decimal, this is {values[0].type}")
    return typed_sql(sql, nullable_if_any(UINT8, list(values)))


FUNCTIONS: tuple[Function, ...] = (
    _safe_division_function("intDivOrZero", "intDiv", "0"),
    _safe_division_function("moduloOrZero", "%", "0"),
    _safe_division_function("intDivOrNull", "intDiv", "NULL"),
    _safe_division_function("moduloOrNull", "%", "NULL"),
    Function("divideOrNull", (2, 2), ("integer",), _divide_or_null),
    _positive_modulo_function(""),
    _positive_modulo_function("OrNull"),
    Function("negate", (1, 1), ("number",), _negate),
    _int_exp_function(2),
    _int_exp_function(10),
    _extreme_of_two_function("max2", ">"),
    _extreme_of_two_function("min2", "<"),
    _common_divisor_function("gcd", "` s`.a"),
    _common_divisor_function("lcm", "` x`.a DIV ` s`.a * ` x`.b"),
    Function("factorial", (1, 1), ("integer",), _factorial),
    Function("countDigits", (1, 1), ("number",), _count_digits),
)
ALIASES: dict[str, str] = {
    "pmod": "positiveModulo",
    "positive_modulo": "positiveModulo",
    "pmodOrNull": "positiveModuloOrNull",
    "positive_modulo_or_null": "positiveModuloOrNull",
    "modOrNull": "moduloOrNull",
}
ANY_CASE: tuple[str, ...] = ("max2", "min2", "factorial", "positiveModulo", "positiveModuloOrNull", *ALIASES)
