"""Arithmetic of 64 bits that wraps around, in Spark SQL, whose own raises on overflow.

In: SQL of type BIGINT, whose bits are those of an unsigned number. Out: the same. Called by the hashes.
Invariant: nothing overflows, as products are made of halves; NULL of NULL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

TWO_64 = 2**64
_LOW = "4294967295L"
_SIMPLE = re.compile(r"(` ?\w+`)(\.\w+)?|-?\d+L")


def signed(value: int, bits: int = 64) -> int:
    """The number whose bits are those of an unsigned one."""
    value %= 2**bits
    return value - 2**bits if value >= 2 ** (bits - 1) else value


def constant(value: int) -> str:
    """A BIGINT literal; no hash has the least one, which cannot be written."""
    return f"{signed(value)}L"


def unsigned(sql: str) -> str:
    """As UInt64 is kept."""
    return f"CAST(pmod(CAST({sql} AS DECIMAL(20,0)), {TWO_64}BD) AS DECIMAL(20,0))"


@dataclass(frozen=True, slots=True)
class Wrapping:
    """The operations; what they use more than once is bound to a name: ` h0`, ` h1` …"""

    numbers: Iterator[int] = field(default_factory=count)

    def bound(self, sql: str, formula: Callable[[str], str]) -> str:
        """`formula` of a name that stands for `sql`, which is evaluated once."""
        if _SIMPLE.fullmatch(sql):
            return formula(sql)
        name = f"` h{next(self.numbers)}`"
        return f"transform(array({sql}), {name} -> {formula(name)})[0]"

    def times(self, sql: str, factor: int) -> str:
        """A product with a constant. The signed low half keeps it within 63 bits."""
        low, high = signed(factor, 32), signed((factor - signed(factor, 32)) >> 32, 32)

        def formula(v: str) -> str:
            below = f"(({v} & {_LOW}) * {low}L)"
            above = f"shiftright({v}, 32) * {low}L + ((({v} & {_LOW}) * {high}L) & {_LOW})"
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
