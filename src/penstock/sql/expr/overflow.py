"""Integer arithmetic of 64 bits that wraps around as in ClickHouse; Spark's own raises an error on overflow.

In: operands as typed SQL, or SQL of type BIGINT. Out: the same. Invariant: nothing raises, NULL gives NULL, and
arithmetic that cannot leave 64 bits is written plainly.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.typed import BigintForms, TypedSql, as_spark, nullable_if_any
from penstock.sql.spark_text import bigint_literal

TWO_63, TWO_64 = 2**63, 2**64
WIDE_TYPE = "DECIMAL(20,0)"
"""The Spark type of a UInt64."""
_TRY_FUNCTIONS = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}
_SIGN_BIT = "shiftleft(1L, 63)"
"""SQL of the least BIGINT (only the sign bit is set), which cannot be written as a literal."""
_LOW_32_BITS = "4294967295L"
_DECIMAL_LIMIT = 10**37
"""Spark decimals have 38 digits: a sum or product that stays below this is exact."""
_LONGEST_OPERAND = 600
"""Longer operands, in characters, are bound to names, as each occurs twice in the result. Sums of sums are not:
their text grows only by what is added."""


def int64_arithmetic(operator: str, left: TypedSql, right: TypedSql) -> TypedSql:
    """`left operator right` (+, - or *) as an Int64 kept in a BIGINT. Neither operand is kept as a decimal."""
    a, b = _operand_forms(left), _operand_forms(right)
    of = nullable_if_any(t.Int(64), [left, right])
    reach = _result_reach(operator, a, b)
    if reach < TWO_63:
        sql = f"({a.sql} {operator} {b.sql})"
        return TypedSql(sql, of, "BIGINT", whole=BigintForms(sql, sql, _as_decimal(sql), reach))
    if reach >= _DECIMAL_LIMIT:
        a, b = _plain_forms(a.sql, TWO_63), _plain_forms(b.sql, TWO_63)
    if any(each.or_null == each.sql and len(each.sql) > _LONGEST_OPERAND for each in (a, b)):
        return TypedSql(
            bind_if_long(a.sql, lambda x: bind_if_long(b.sql, lambda y: _wrapping_sql(operator, x, y))), of, "BIGINT"
        )
    known = _wrapping_forms(operator, a, b)
    return TypedSql(known.sql, of, "BIGINT", whole=known)


def _wrapping_sql(operator: str, left: str, right: str) -> str:
    return _wrapping_forms(operator, _plain_forms(left, TWO_63), _plain_forms(right, TWO_63)).sql


def add_wrapping(left: str, right: str) -> str:
    """The sum of two BIGINTs, wrapping around."""
    return _wrapping_sum("+", left, right)


def negate_wrapping(value: TypedSql, spark: str) -> str:
    """An INT or BIGINT with the other sign; the least number of the type stays as it is, as in ClickHouse."""
    sql = as_spark(value, spark)
    return bind_if_long(sql, lambda v: f"coalesce(try_subtract({'0L' if spark == 'BIGINT' else '0'}, {v}), {v})")


def lowest_64_bits(sql: str) -> str:
    """A decimal without fraction as the BIGINT of its lowest 64 bits."""
    return f"CAST(pmod({sql} + {TWO_63}, {TWO_64}) - {TWO_63} AS BIGINT)"


def sum_wrapping(sql: str, over: str = "") -> str:
    """The sum of BIGINTs over many rows, wrapping around. The high and low 32 bits are summed apart: either sum
    stays within 63 bits for 2^31 rows. `over` is the window clause, if any."""
    if sql.startswith("DISTINCT "):
        return lowest_64_bits(f"sum(DISTINCT CAST({sql.removeprefix('DISTINCT ')} AS {WIDE_TYPE})){over}")
    high, low = f"sum(shiftright({sql}, 32)){over}", f"sum({sql} & {_LOW_32_BITS}){over}"
    return f"(shiftleft({high} + shiftright({low}, 32), 32) | ({low} & {_LOW_32_BITS}))"


def sum_fits_int64(value: TypedSql) -> bool:
    """Whether 2^31 values as large as this one can be summed within 63 bits."""
    return isinstance(value.bare, t.Int) and value.spark in ("INT", "BIGINT") and _operand_forms(value).reach <= 2**32


def _operand_forms(value: TypedSql) -> BigintForms:
    sql = as_spark(value, "BIGINT")
    if value.whole is not None and value.whole.sql == value.sql:
        return value.whole
    if isinstance(value.constant, int):
        return _plain_forms(sql, abs(value.constant))
    of = value.bare if isinstance(value.bare, t.Int) else t.Int(8, signed=False)
    reach = min(max(-of.low, of.high), TWO_63)
    return _plain_forms(sql, min(reach, 2**31) if value.spark == "INT" else reach)


def _plain_forms(sql: str, reach: int) -> BigintForms:
    return BigintForms(sql, sql, _as_decimal(sql), reach)


def _as_decimal(sql: str) -> str:
    return f"CAST({sql} AS {WIDE_TYPE})"


def _result_reach(operator: str, a: BigintForms, b: BigintForms) -> int:
    return a.reach * b.reach if operator == "*" else a.reach + b.reach


def _wrapping_forms(operator: str, a: BigintForms, b: BigintForms) -> BigintForms:
    """The result's forms: by `try_` functions, which give NULL where a step leaves 64 bits, and then by decimals, of
    which the lowest 64 bits are taken."""
    tried = f"{_TRY_FUNCTIONS[operator]}({a.or_null}, {b.or_null})"
    exact = f"({a.in_decimals} {operator} {b.in_decimals})"
    plain = operator != "*" and a.or_null == a.sql and b.or_null == b.sql
    sql = _wrapping_sum(operator, a.sql, b.sql) if plain else f"coalesce({tried}, {lowest_64_bits(exact)})"
    return BigintForms(sql, tried, exact, _result_reach(operator, a, b))


def _wrapping_sum(operator: str, left: str, right: str) -> str:
    """Where the sum leaves 64 bits, it equals the sum of both operands moved by 2^63 to the other side of 0, which
    does not leave them."""
    call = _TRY_FUNCTIONS[operator]
    return f"coalesce({call}({left}, {right}), {call}({_flip_sign_bit(left)}, {_flip_sign_bit(right)}))"


def _flip_sign_bit(sql: str) -> str:
    """A BIGINT plus or minus 2^63, whichever fits."""
    digits = sql.removesuffix("L")
    if digits == sql or not digits.removeprefix("-").isdecimal() or int(digits) == 0:
        return f"{sql} ^ {_SIGN_BIT}"
    number = int(digits)
    return bigint_literal(number - TWO_63 if number > 0 else number + TWO_63)
