"""Whole numbers that are known when the SQL is compiled: of LIMIT, frames and offsets.

In: a node. Out: an int, or None. Called by passes.ending and the windows. Invariant: what is not plain arithmetic
of literals, or names of such, is not known.
"""

from __future__ import annotations

import re

from sqlglot import exp

from penstock.digits import whole_number
from penstock.sql.translator import Translator
from penstock.sql.tree import call_name, call_parts


def whole(tr: Translator, node: exp.Expr) -> int | None:
    """The value of `2`, `-1`, `2 * 3 + 1`, or of an alias of such."""
    match node:
        case exp.Paren() | exp.Alias():
            return whole(tr, node.this)
        case exp.Neg():
            value = whole(tr, node.this)
            return None if value is None else -value
        case exp.Add() | exp.Sub() | exp.Mul():
            left, right = whole(tr, node.this), whole(tr, node.expression)
            return None if left is None or right is None else _of(node, left, right)
        case exp.Column() if node.name in tr.scope.aliases and not node.table and node.name not in tr.resolving:
            return whole(tr.inside(node.name), tr.scope.aliases[node.name])
        case exp.Literal() if not node.args.get("is_string"):
            constant = tr.translate(node).constant
            return constant if isinstance(constant, int) and not isinstance(constant, bool) else None
        case exp.Anonymous():
            number = typed_number(node)
            return number if isinstance(number, int) else None
        case _:
            return None


def typed_number(node: exp.Expr) -> int | float | None:
    """The value of `toInt32('5')` or `toFloat64('0.5')`: so a template writes a number with its type."""
    found = _TYPED.fullmatch(call_name(node) or "")
    _, arguments = call_parts(node) if found else ([], [])
    if found is None or len(arguments) != 1 or not isinstance(arguments[0], exp.Literal):
        return None
    text = arguments[0].name
    if found["bits"] is None:
        return float(text) if _DECIMAL.fullmatch(text) else None
    number = whole_number(text.removeprefix("-"))
    value = -number if number is not None and text.startswith("-") else number
    bits = int(found["bits"])
    low, high = (0, 2**bits - 1) if found["sign"] else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return value if value is not None and low <= value <= high else None


_TYPED = re.compile(r"to(?:(?P<sign>U?)Int(?P<bits>8|16|32|64)|Float64)")
_DECIMAL = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")


def _of(node: exp.Expr, left: int, right: int) -> int:
    if isinstance(node, exp.Add):
        return left + right
    return left - right if isinstance(node, exp.Sub) else left * right
