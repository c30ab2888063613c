"""Sums and products of 64-bit integers that wrap around as ClickHouse's do, where Spark's own raise.

In: an operator and two `Typed`s, or SQL of type BIGINT. Out: the same. Called by arithmetic, literals, the folds of
arrays and the sums of aggregates. Invariant: nothing raises; what cannot pass 64 bits is written plainly.

Arithmetic of 64 bits that wraps around, in Spark SQL, whose own raises on overflow.

In: SQL of type BIGINT, whose bits are those of an unsigned number. Out: the same. Called by the hashes.
Invariant: nothing overflows, as products are made of halves; NULL of NULL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

from penstock.model import types as t
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.typed import BigintForms, Typed, as_spark, nullable_if_any

TWO_63, TWO_64 = 2**63, 2**64
WIDE_TYPE = "DECIMAL(20,0)"
_TRY_FUNCTIONS = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}
_SIGN_BIT = "shiftleft(1L, 63)"
"""The least BIGINT, which cannot be written as a literal."""
_LOW_32_BITS = "4294967295L"
_DECIMAL_LIMIT = 10**37
"""Decimals hold more; a sum or product of what is less stays exact."""
_LONGEST_OPERAND = 600
"""Longer operands are bound to names: each stands twice in the result. Sums of sums are not, whose text grows by
what is added."""


def int64_arithmetic(operator: str, left: Typed, right: Typed) -> Typed:
    """`left operator right` as Int64, kept in a BIGINT. Neither is kept in decimals."""
    a, b = _operand_forms(left), _operand_forms(right)
    of = nullable_if_any(t.Int(64), [left, right])
    reach = _result_reach(operator, a, b)
    if reach < TWO_63:
        sql = f"({a.of} {operator} {b.of})"
        return Typed(sql, of, "BIGINT", whole=BigintForms(sql, sql, _as_decimal(sql), reach))
    if reach >= _DECIMAL_LIMIT:
        a, b = _plain_forms(a.of, TWO_63), _plain_forms(b.of, TWO_63)
    if any(each.tried == each.of and len(each.of) > _LONGEST_OPERAND for each in (a, b)):
        return Typed(
            bind_if_long(a.of, lambda x: bind_if_long(b.of, lambda y: _wrapping_sql(operator, x, y))), of, "BIGINT"
        )
    known = _wrapping_forms(operator, a, b)
    return Typed(known.of, of, "BIGINT", whole=known)


def _wrapping_sql(operator: str, left: str, right: str) -> str:
    return _wrapping_forms(operator, _plain_forms(left, TWO_63), _plain_forms(right, TWO_63)).of


def add_wrapping(left: str, right: str) -> str:
    """The sum of two BIGINTs."""
    return _wrapping_sum("+", left, right)


def negate_wrapping(value: Typed, spark: str) -> str:
    """An INT or BIGINT with the other sign; the least of its type has none and stays as it is."""
    sql = as_spark(value, spark)
    return bind_if_long(sql, lambda v: f"coalesce(try_subtract({'0L' if spark == 'BIGINT' else '0'}, {v}), {v})")


def lowest_64_bits(sql: str) -> str:
    """A whole decimal as the BIGINT of its lowest 64 bits."""
    return f"CAST(pmod({sql} + {TWO_63}, {TWO_64}) - {TWO_63} AS BIGINT)"


def sum_wrapping(sql: str, over: str = "") -> str:
    """The sum of BIGINTs of many rows, by halves: either one is within 63 bits for two thousand million rows."""
    if sql.startswith("DISTINCT "):
        return lowest_64_bits(f"sum(DISTINCT CAST({sql.removeprefix('DISTINCT ')} AS {WIDE_TYPE})){over}")
    high, low = f"sum(shiftright({sql}, 32)){over}", f"sum({sql} & {_LOW_32_BITS}){over}"
    return f"(shiftleft({high} + shiftright({low}, 32), 32) | ({low} & {_LOW_32_BITS}))"


def sum_fits_int64(value: Typed) -> bool:
    """Whether two thousand million of such numbers are within 63 bits."""
    return isinstance(value.bare, t.Int) and value.spark in ("INT", "BIGINT") and _operand_forms(value).reach <= 2**32


def _operand_forms(value: Typed) -> BigintForms:
    sql = as_spark(value, "BIGINT")
    if value.whole is not None and value.whole.of == value.sql:
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
    """What is NULL where a step passes 64 bits, then the same in decimals, from which the lowest bits are taken."""
    tried, exact = f"{_TRY_FUNCTIONS[operator]}({a.tried}, {b.tried})", f"({a.exact} {operator} {b.exact})"
    plain = operator != "*" and a.tried == a.of and b.tried == b.of
    sql = _wrapping_sum(operator, a.of, b.of) if plain else f"coalesce({tried}, {lowest_64_bits(exact)})"
    return BigintForms(sql, tried, exact, _result_reach(operator, a, b))


def _wrapping_sum(operator: str, left: str, right: str) -> str:
    """Where the result passes 64 bits, it is that of both moved by 2**63 to the other side of 0, which does not."""
    call = _TRY_FUNCTIONS[operator]
    return f"coalesce({call}({left}, {right}), {call}({_flip_sign_bit(left)}, {_flip_sign_bit(right)}))"


def _flip_sign_bit(sql: str) -> str:
    digits = sql.removesuffix("L")
    if digits == sql or not digits.removeprefix("-").isdecimal() or int(digits) == 0:
        return f"{sql} ^ {_SIGN_BIT}"
    number = int(digits)
    return f"{number - TWO_63 if number > 0 else number + TWO_63}L"


_GENERATED_NAME, _FIELD = re.compile(r"` \w+`"), re.compile(r"'\w+'")
_SIMPLE_SQL = re.compile(r"(` ?\w+`)(\.\w+)?(\[[0-7]\])?|-?\d+L")


def as_signed(value: int, bits: int = 64) -> int:
    """The number whose bits are those of an unsigned one."""
    value %= 2**bits
    return value - 2**bits if value >= 2 ** (bits - 1) else value


def split_halves(value: int) -> tuple[int, int]:
    """The low half of a number, signed, and what is left of the high one."""
    low = as_signed(value, 32)
    return low, as_signed((value - low) >> 32, 32)


def bigint_literal(value: int) -> str:
    """A BIGINT literal; no hash has the least one, which cannot be written."""
    return f"{as_signed(value)}L"


def as_unsigned(sql: str) -> str:
    """As UInt64 is kept."""
    return f"CAST(pmod(CAST({sql} AS DECIMAL(20,0)), {TWO_64}BD) AS DECIMAL(20,0))"


def bind_in_chain(name: str, sql: str, body: str) -> str:
    """`body`, in which `name` stands for `sql`. What is bound itself is handed on: Spark resolves a chain of lambdas in
    half as many rounds as lambdas of what is taken out of an array."""
    one = sql.removesuffix("[0]") if _is_bound(sql) else f"array({sql})"
    return f"transform({one}, {name} -> {body})[0]"


def _is_bound(sql: str) -> bool:
    """Whether this is one array's only element, with nothing in it that a user wrote."""
    if not sql.startswith("transform(") or not sql.endswith(")[0]") or "`" in _GENERATED_NAME.sub("", sql):
        return False
    plain, depth = _FIELD.sub("0", sql), 0
    if "'" in plain:
        return False
    for place, letter in enumerate(plain):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and letter == ")":
            return place == len(plain) - len(")[0]")
    return False


@dataclass(frozen=True, slots=True)
class WrappingArithmetic:
    """The operations; what they use more than once is bound to a name: ` h0`, ` h1` …"""

    numbers: Iterator[int] = field(default_factory=count)

    def bound(self, sql: str, formula: Callable[[str], str]) -> str:
        """`formula` of a name that stands for `sql`, which is evaluated once."""
        if _SIMPLE_SQL.fullmatch(sql):
            return formula(sql)
        name = f"` h{next(self.numbers)}`"
        return bind_in_chain(name, sql, formula(name))

    def times(self, sql: str, factor: int) -> str:
        """A product with a constant."""
        low, high = split_halves(factor)
        return self.product(sql, (f"{low}L", f"{high}L"))

    def product(self, sql: str, factor: tuple[str, str]) -> str:
        """A product with the number of two `halves`. The signed low half keeps it within 63 bits."""
        low, high = factor

        def formula(v: str) -> str:
            below = f"(({v} & {_LOW_32_BITS}) * {low})"
            above = f"shiftright({v}, 32) * {low} + ((({v} & {_LOW_32_BITS}) * {high}) & {_LOW_32_BITS})"
            return f"(shiftleft(shiftright({below}, 32) + {above}, 32) | ({below} & {_LOW_32_BITS}))"

        return self.bound(sql, formula)

    def plus(self, *terms: str) -> str:
        """A sum by halves. Nothing is bound: Spark takes some forty levels of names and no more."""
        low = " + ".join(f"({term} & {_LOW_32_BITS})" for term in terms)
        high = " + ".join(f"shiftright({term}, 32)" for term in terms)
        return f"(shiftleft({high} + shiftright({low}, 32), 32) | (({low}) & {_LOW_32_BITS}))"

    def minus(self, *terms: str) -> str:
        """The first ones without the last."""
        return self.plus(*terms[:-1], f"(~ {terms[-1]})", "1L")

    def rotated(self, sql: str, bits: int) -> str:
        """To the right."""
        return self.bound(sql, lambda v: f"(shiftrightunsigned({v}, {bits}) | shiftleft({v}, {64 - bits}))")

    def mixed(self, sql: str, bits: int) -> str:
        """The number with its own high bits folded in."""
        return self.bound(sql, lambda v: f"({v} ^ shiftrightunsigned({v}, {bits}))")
