"""Arithmetic of 64 bits that wraps around, in Spark SQL, whose own raises on overflow.

In: SQL of type BIGINT, whose bits are those of an unsigned number. Out: the same. Called by the hashes.
Invariant: nothing overflows, as products are made of halves; NULL of NULL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

from penstock.sql.overflow import TWO_64

_MADE_UP, _FIELD = re.compile(r"` \w+`"), re.compile(r"'\w+'")
_LOW = "4294967295L"
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
