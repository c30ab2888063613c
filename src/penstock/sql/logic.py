"""AND, OR, NOT, xor and IS NULL.

In: nodes, or values that are conditions. Out: a Spark boolean that is ClickHouse's UInt8, or Bool where an operand
is. Called through HANDLERS and SPECIAL_FORMS, and by what joins conditions. Invariant: an operand is a number.
"""

from __future__ import annotations

from functools import reduce

from sqlglot import exp

from penstock.model import types as t
from penstock.sql.translator import Translator
from penstock.sql.typed import NULL, Typed, condition, is_null, null_if_any, tests_null

_NUMBERS = (t.Int, t.Float, t.Decimal, t.Bool)


def conjunction(tr: Translator, node: exp.Expr) -> Typed:
    left, right = tr.translate(node.this), tr.translate(node.expression)
    return connect(tr, node, "AND" if isinstance(node, exp.And) else "OR", [left, right])


def connect(tr: Translator, node: exp.Expr, word: str, values: list[Typed]) -> Typed:
    """Values joined by AND or OR."""
    check_conditions(tr, node, word, values)
    return _logical(f"({f' {word} '.join(map(condition, values))})", values)


def exclusive(tr: Translator, node: exp.Expr, values: list[Typed]) -> Typed:
    """xor: whether an odd number of values is true. ClickHouse takes no Decimal here."""
    if any(map(is_null, values)):
        return NULL
    check_conditions(tr, node, "xor", values)
    if any(isinstance(value.bare, t.Decimal) for value in values):
        raise tr.refused(node, "wrong-argument-type", "xor needs integers or floats, this is a Decimal")
    return _logical(reduce("({} <> {})".format, map(condition, values)), values)


def check_conditions(tr: Translator, node: exp.Expr, word: str, values: list[Typed]) -> None:
    """Raises Refused where a value is no number."""
    for value in values:
        if not isinstance(value.bare, _NUMBERS) and not is_null(value):
            raise tr.refused(node, "wrong-argument-type", f"{word} needs conditions, this is {value.type}")


def _logical(sql: str, values: list[Typed]) -> Typed:
    """UInt8, or Bool where an operand is."""
    of = t.Bool() if any(isinstance(value.bare, t.Bool) for value in values) else t.Int(8, signed=False)
    return Typed(sql, null_if_any(of, values), "BOOLEAN")


def negation(tr: Translator, node: exp.Expr) -> Typed:
    value = tr.translate(node.this)
    if is_null(value):
        return NULL
    check_conditions(tr, node, "NOT", [value])
    return _logical(f"(NOT {condition(value)})", [value])


def is_test(tr: Translator, node: exp.Expr) -> Typed:
    """`x IS NULL`; the operand after IS can only be NULL."""
    value = tr.translate(node.this)
    if not isinstance(node.expression, exp.Null):
        raise tr.refused(node, "unsupported-syntax", "only IS NULL and IS NOT NULL are supported")
    return tests_null(value)
