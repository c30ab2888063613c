"""Fractions of numbers in the SQL itself, as a DEFAULT may have them: `10 / 4`.

In: an expression as parsed. Out: its value, or that it divides by zero. Invariant: a value is that which ClickHouse
computes, a Float64; what is not written in numbers alone has none.
"""

from __future__ import annotations

import math

from sqlglot import exp

from penstock.model import types as t
from penstock.model.types import Type, unwrap_type
from penstock.sql.stored_types import spark_type

_WHOLE_DIVISIONS = ("intDiv", "modulo")
_MOST = 2**31
"""Larger whole numbers may wrap in ClickHouse."""


def constant_fraction(tree: exp.Expr) -> float | None:
    """The value of a calculation with numbers in which `/` makes a fraction; None for any other expression."""
    found = _number(tree)
    return found if isinstance(found, float) and tree.find(exp.Div) is not None else None


def divides_by_zero(tree: exp.Expr) -> bool:
    """Whether it has a whole fraction, or a rest, of a whole number by zero: ClickHouse refuses that in every row."""
    for each in tree.walk():
        match each:
            case exp.Mod() | exp.IntDiv():
                sides = (each.this, each.expression)
            case exp.Anonymous(expressions=[one, other]) if each.name.rstrip("@") in _WHOLE_DIVISIONS:
                sides = (one, other)
            case _:
                continue
        left, right = map(_number, sides)
        if isinstance(left, int) and isinstance(right, int) and right == 0:
            return True
    return False


def fraction_as(value: float, of: Type) -> str | None:
    """Spark SQL of a Float64 as a value of a whole number or Decimal, of which the rest is cut off; None if that does
    not have it, or it is another type."""
    bare = unwrap_type(of)
    if not math.isfinite(value):
        return None
    match bare:
        case t.Int():
            return f"CAST({int(value)} AS {spark_type(of)})" if bare.low <= int(value) <= bare.high else None
        case t.Decimal(digits, scale):
            whole = int(value * 10**scale)
            text = f"{'-' if whole < 0 else ''}{abs(whole) // 10**scale}.{abs(whole) % 10**scale:0{scale or 1}d}"
            return f"CAST('{text}' AS {spark_type(of)})" if abs(whole) < 10**digits else None
        case _:
            return None


def _number(tree: exp.Expr) -> int | float | None:
    """The value of an expression that is written in numbers; None for any other."""
    match tree:
        case exp.Paren(this=inner):
            return _number(inner)
        case exp.Neg(this=inner):
            value = _number(inner)
            return -value if value is not None else None
        case exp.Literal(is_string=False):
            written = tree.name
            return int(written) if written.isdigit() and len(written) < 10 else _written_fraction(written)
        case exp.Div() | exp.Mul() | exp.Add() | exp.Sub():
            return _computed(tree, _number(tree.this), _number(tree.expression))
        case _:
            return None


def _written_fraction(written: str) -> float | None:
    is_plain = all(each in "0123456789." for each in written) and written.count(".") == 1
    return float(written) if is_plain and len(written) < 16 else None


def _computed(tree: exp.Binary, left: int | float | None, right: int | float | None) -> int | float | None:
    if left is None or right is None:
        return None
    match tree:
        case exp.Div():
            return left / right if right else float(left) * math.inf
        case exp.Mul():
            found = left * right
        case exp.Add():
            found = left + right
        case _:
            found = left - right
    return found if isinstance(found, float) or abs(found) < _MOST else None
