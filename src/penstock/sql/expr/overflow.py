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
from penstock.sql.expr.bind_once import let
from penstock.sql.expr.typed import Typed, Whole, as_spark, null_if_any

TWO_63, TWO_64 = 2**63, 2**64
WIDE = "DECIMAL(20,0)"
_TRIED = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}
_LEAST = "shiftleft(1L, 63)"
"""The least BIGINT, which cannot be written as a literal."""
_LOW = "4294967295L"
_DIGITS = 10**37
"""Decimals hold more; a sum or product of what is less stays exact."""
_LONGEST = 600
"""Longer operands are bound to names: each stands twice in the result. Sums of sums are not, whose text grows by
what is added."""


def whole(operator: str, left: Typed, right: Typed) -> Typed:
    """`left operator right` as Int64, kept in a BIGINT. Neither is kept in decimals."""
    a, b = _known(left), _known(right)
    of = null_if_any(t.Int(64), [left, right])
    reach = _reach(operator, a, b)
    if reach < TWO_63:
        sql = f"({a.of} {operator} {b.of})"
        return Typed(sql, of, "BIGINT", whole=Whole(sql, sql, _wide(sql), reach))
    if reach >= _DIGITS:
        a, b = _leaf(a.of, TWO_63), _leaf(b.of, TWO_63)
    if any(each.tried == each.of and len(each.of) > _LONGEST for each in (a, b)):
        return Typed(let(a.of, lambda x: let(b.of, lambda y: _wrapped(operator, x, y))), of, "BIGINT")
    known = _tried(operator, a, b)
    return Typed(known.of, of, "BIGINT", whole=known)


def _wrapped(operator: str, left: str, right: str) -> str:
    return _tried(operator, _leaf(left, TWO_63), _leaf(right, TWO_63)).of


def added(left: str, right: str) -> str:
    """The sum of two BIGINTs."""
    return _of_two("+", left, right)


def negated_whole(value: Typed, spark: str) -> str:
    """An INT or BIGINT with the other sign; the least of its type has none and stays as it is."""
    sql = as_spark(value, spark)
    return let(sql, lambda v: f"coalesce(try_subtract({'0L' if spark == 'BIGINT' else '0'}, {v}), {v})")


def to_signed(sql: str) -> str:
    """A whole decimal as the BIGINT of its lowest 64 bits."""
    return f"CAST(pmod({sql} + {TWO_63}, {TWO_64}) - {TWO_63} AS BIGINT)"


def total(sql: str, over: str = "") -> str:
    """The sum of BIGINTs of many rows, by halves: either one is within 63 bits for two thousand million rows."""
    if sql.startswith("DISTINCT "):
        return to_signed(f"sum(DISTINCT CAST({sql.removeprefix('DISTINCT ')} AS {WIDE})){over}")
    high, low = f"sum(shiftright({sql}, 32)){over}", f"sum({sql} & {_LOW}){over}"
    return f"(shiftleft({high} + shiftright({low}, 32), 32) | ({low} & {_LOW}))"


def is_small(value: Typed) -> bool:
    """Whether two thousand million of such numbers are within 63 bits."""
    return isinstance(value.bare, t.Int) and value.spark in ("INT", "BIGINT") and _known(value).reach <= 2**32


def _known(value: Typed) -> Whole:
    sql = as_spark(value, "BIGINT")
    if value.whole is not None and value.whole.of == value.sql:
        return value.whole
    if isinstance(value.constant, int):
        return _leaf(sql, abs(value.constant))
    of = value.bare if isinstance(value.bare, t.Int) else t.Int(8, signed=False)
    reach = min(max(-of.low, of.high), TWO_63)
    return _leaf(sql, min(reach, 2**31) if value.spark == "INT" else reach)


def _leaf(sql: str, reach: int) -> Whole:
    return Whole(sql, sql, _wide(sql), reach)


def _wide(sql: str) -> str:
    return f"CAST({sql} AS {WIDE})"


def _reach(operator: str, a: Whole, b: Whole) -> int:
    return a.reach * b.reach if operator == "*" else a.reach + b.reach


def _tried(operator: str, a: Whole, b: Whole) -> Whole:
    """What is NULL where a step passes 64 bits, then the same in decimals, from which the lowest bits are taken."""
    tried, exact = f"{_TRIED[operator]}({a.tried}, {b.tried})", f"({a.exact} {operator} {b.exact})"
    plain = operator != "*" and a.tried == a.of and b.tried == b.of
    sql = _of_two(operator, a.of, b.of) if plain else f"coalesce({tried}, {to_signed(exact)})"
    return Whole(sql, tried, exact, _reach(operator, a, b))


def _of_two(operator: str, left: str, right: str) -> str:
    """Where the result passes 64 bits, it is that of both moved by 2**63 to the other side of 0, which does not."""
    call = _TRIED[operator]
    return f"coalesce({call}({left}, {right}), {call}({_moved(left)}, {_moved(right)}))"


def _moved(sql: str) -> str:
    digits = sql.removesuffix("L")
    if digits == sql or not digits.removeprefix("-").isdecimal() or int(digits) == 0:
        return f"{sql} ^ {_LEAST}"
    number = int(digits)
    return f"{number - TWO_63 if number > 0 else number + TWO_63}L"


_MADE_UP, _FIELD = re.compile(r"` \w+`"), re.compile(r"'\w+'")
_SIMPLE = re.compile(r"(` ?\w+`)(\.\w+)?(\[[0-7]\])?|-?\d+L")


def signed(value: int, bits: int = 64) -> int:
    """The number whose bits are those of an unsigned one."""
    value %= 2**bits
    return value - 2**bits if value >= 2 ** (bits - 1) else value


def halves(value: int) -> tuple[int, int]:
    """The low half of a number, signed, and what is left of the high one."""
    low = signed(value, 32)
    return low, signed((value - low) >> 32, 32)


def constant(value: int) -> str:
    """A BIGINT literal; no hash has the least one, which cannot be written."""
    return f"{signed(value)}L"


def unsigned(sql: str) -> str:
    """As UInt64 is kept."""
    return f"CAST(pmod(CAST({sql} AS DECIMAL(20,0)), {TWO_64}BD) AS DECIMAL(20,0))"


def bind(name: str, sql: str, body: str) -> str:
    """`body`, in which `name` stands for `sql`. What is bound itself is handed on: Spark resolves a chain of lambdas in
    half as many rounds as lambdas of what is taken out of an array."""
    one = sql.removesuffix("[0]") if _is_bound(sql) else f"array({sql})"
    return f"transform({one}, {name} -> {body})[0]"


def _is_bound(sql: str) -> bool:
    """Whether this is one array's only element, with nothing in it that a user wrote."""
    if not sql.startswith("transform(") or not sql.endswith(")[0]") or "`" in _MADE_UP.sub("", sql):
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
class Wrapping:
    """The operations; what they use more than once is bound to a name: ` h0`, ` h1` …"""

    numbers: Iterator[int] = field(default_factory=count)

    def bound(self, sql: str, formula: Callable[[str], str]) -> str:
        """`formula` of a name that stands for `sql`, which is evaluated once."""
        if _SIMPLE.fullmatch(sql):
            return formula(sql)
        name = f"` h{next(self.numbers)}`"
        return bind(name, sql, formula(name))

    def times(self, sql: str, factor: int) -> str:
        """A product with a constant."""
        low, high = halves(factor)
        return self.product(sql, (f"{low}L", f"{high}L"))

    def product(self, sql: str, factor: tuple[str, str]) -> str:
        """A product with the number of two `halves`. The signed low half keeps it within 63 bits."""
        low, high = factor

        def formula(v: str) -> str:
            below = f"(({v} & {_LOW}) * {low})"
            above = f"shiftright({v}, 32) * {low} + ((({v} & {_LOW}) * {high}) & {_LOW})"
            return f"(shiftleft(shiftright({below}, 32) + {above}, 32) | ({below} & {_LOW}))"

        return self.bound(sql, formula)

    def plus(self, *terms: str) -> str:
        """A sum by halves. Nothing is bound: Spark takes some forty levels of names and no more."""
        low = " + ".join(f"({term} & {_LOW})" for term in terms)
        high = " + ".join(f"shiftright({term}, 32)" for term in terms)
        return f"(shiftleft({high} + shiftright({low}, 32), 32) | (({low}) & {_LOW}))"

    def minus(self, *terms: str) -> str:
        """The first ones without the last."""
        return self.plus(*terms[:-1], f"(~ {terms[-1]})", "1L")

    def rotated(self, sql: str, bits: int) -> str:
        """To the right."""
        return self.bound(sql, lambda v: f"(shiftrightunsigned({v}, {bits}) | shiftleft({v}, {64 - bits}))")

    def mixed(self, sql: str, bits: int) -> str:
        """The number with its own high bits folded in."""
        return self.bound(sql, lambda v: f"({v} ^ shiftrightunsigned({v}, {bits}))")
