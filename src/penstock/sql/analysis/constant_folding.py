"""Conditions and choices whose outcome is known from constants alone, replaced by that outcome.

In: an expression of a tree of `opaque_calls`. Out: the expression, folded. The logic is SQL's, of three values.
Branches of a choice have one type in compiled SQL, as casts are written out, so a branch can stand for its choice.
Invariant: the folded expression has the same value in every row for which the expression raises no error.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable
from typing import TypeAlias, Union

from sqlglot import exp

from penstock.model.quick_dataclass import dataclass
from penstock.sql.analysis.opaque_calls import call_name


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that is not known before rows are read, or of a type that is not compared here."""


Constant: TypeAlias = Union[int, str, bool, Unknown, None]
"""A known value; None is NULL."""

UNKNOWN = Unknown()
_WHOLE = {
    exp.DType.TINYINT: 8,
    exp.DType.SMALLINT: 16,
    exp.DType.INT: 32,
    exp.DType.BIGINT: 64,
}
"""Bits of the whole number types."""
_COMPARISONS: dict[type[exp.Expr], Callable[[int], bool]] = {
    exp.EQ: lambda order: order == 0,
    exp.NEQ: lambda order: order != 0,
    exp.LT: lambda order: order < 0,
    exp.LTE: lambda order: order <= 0,
    exp.GT: lambda order: order > 0,
    exp.GTE: lambda order: order >= 0,
}


_DIGITS = re.compile(r"\d{1,30}(?:\.\d{1,30})?", re.ASCII)


_LEAVES = (exp.Column, exp.Identifier, exp.Literal)
"""What holds nothing to fold: most nodes of most queries."""


def fold_constants(node: exp.Expr) -> exp.Expr:
    """The expression with all that is known folded, from the inside out. Nodes of `node` are changed in place; the
    result is a node that may be another one than `node`. Queries inside of it are left alone."""
    if isinstance(node, _LEAVES):
        return node
    for name, value in list(node.args.items()):
        if isinstance(value, exp.Expr) and not isinstance(value, exp.Query):
            folded = fold_constants(value)
            if folded is not value:
                node.set(name, folded)
        elif isinstance(value, list):
            items = [_fold_item(each) for each in value]
            if any(one is not other for one, other in zip(items, value, strict=True)):
                node.set(name, items)
    return _fold_node(node)


def _fold_item(each: object) -> object:
    return fold_constants(each) if isinstance(each, exp.Expr) and not isinstance(each, exp.Query) else each


def _fold_node(node: exp.Expr) -> exp.Expr:
    match node:
        case exp.Paren():
            return node.this if _is_plain(node.this) else node
        case exp.And() | exp.Or():
            return _fold_junction(node)
        case exp.If():
            return _fold_if(node)
        case exp.Case():
            return _fold_case(node)
        case exp.Coalesce():
            return _fold_coalesce(node)
        case exp.Literal() | exp.Null() | exp.Boolean() | exp.Cast() | exp.Neg():
            return node
        case _:
            found = _condition(node)
            return _fold_denial(node) if isinstance(found, Unknown) else _boolean(found)


def _fold_denial(node: exp.Expr) -> exp.Expr:
    """`NOT a = b` as `a <> b`, and the other way: both are NULL where one side is."""
    denied = node.this if isinstance(node, exp.Not) else None
    while isinstance(denied, exp.Paren):
        denied = denied.this
    match denied:
        case exp.EQ():
            return exp.NEQ(this=denied.this, expression=denied.expression)
        case exp.NEQ():
            return exp.EQ(this=denied.this, expression=denied.expression)
        case _:
            return node


def _is_plain(node: exp.Expr) -> bool:
    return isinstance(node, (exp.Paren, exp.Column, exp.Literal, exp.Boolean, exp.Null, exp.Cast, exp.Anonymous))


def _boolean(value: Constant) -> exp.Expr:
    return exp.cast(exp.Null(), "boolean") if value is None else exp.Boolean(this=bool(value))


def _condition(node: exp.Expr) -> Constant:
    """The outcome of a comparison or a test for NULL."""
    match node:
        case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            order = _compare(known_value(node.this), known_value(node.expression))
            order = _compare_floats(node.this, node.expression) if isinstance(order, Unknown) else order
            return _COMPARISONS[type(node)](order) if isinstance(order, int) else order
        case exp.NullSafeEQ():
            return _null_safe_equal(known_value(node.this), known_value(node.expression))
        case exp.Not():
            found = known_value(node.this)
            return not found if isinstance(found, bool) else (None if found is None else UNKNOWN)
        case exp.Is() if isinstance(node.expression, exp.Null):
            found = known_value(node.this)
            return found is None if not isinstance(found, Unknown) else (False if is_never_null(node.this) else UNKNOWN)
        case exp.In() if not node.args.get("query") and not node.args.get("unnest"):
            return _membership(known_value(node.this), [known_value(each) for each in node.expressions])
        case exp.Anonymous() if call_name(node) in ("isnull", "isnotnull") and len(node.expressions) == 1:
            is_null = _condition(exp.Is(this=node.expressions[0].copy(), expression=exp.Null()))
            return is_null if isinstance(is_null, Unknown) else is_null is (call_name(node) == "isnull")
        case exp.Anonymous() if call_name(node) == "isnan" and len(node.expressions) == 1:
            return UNKNOWN if _known_float(node.expressions[0]) is None else False
        case _:
            return UNKNOWN


def _compare(left: Constant, right: Constant) -> int | Unknown | None:
    """-1, 0 or 1 by the order of two values: numbers, or texts by their bytes; None if one is NULL."""
    if left is None or right is None:
        return None
    if isinstance(left, Unknown) or isinstance(right, Unknown) or type(left) is not type(right):
        return UNKNOWN
    if isinstance(left, str) and isinstance(right, str):
        return (left.encode() > right.encode()) - (left.encode() < right.encode())
    if isinstance(left, int) and isinstance(right, int):
        return (left > right) - (left < right)
    return UNKNOWN


def _compare_floats(left: object, right: object) -> int | Unknown:
    """The same of two numbers that are written as floats."""
    one, other = _known_float(left), _known_float(right)
    return UNKNOWN if one is None or other is None else (one > other) - (one < other)


def _known_float(node: object) -> float | None:
    """The value of a DOUBLE or FLOAT that a number is written as, or one of the other; None if it is not known, or not
    finite."""
    match node:
        case exp.Paren():
            return _known_float(node.this)
        case exp.Neg():
            found = _known_float(node.this)
            return None if found is None else -found
        case exp.Cast() if node.to.this in (exp.DType.DOUBLE, exp.DType.FLOAT):
            found = _known_float(node.this)
            found = _written_number(node.this) if found is None else found
            is_kept = found is not None and (node.to.this == exp.DType.DOUBLE or _is_single(found))
            return found if is_kept else None
        case _:
            return None


def _written_number(node: object) -> float | None:
    """The DOUBLE that is nearest to a number in digits, as Spark reads it too."""
    match node:
        case exp.Paren():
            return _written_number(node.this)
        case exp.Neg():
            found = _written_number(node.this)
            return None if found is None else -found
        case exp.Literal() if not node.is_string and _DIGITS.fullmatch(str(node.this)):
            return float(str(node.this))
        case exp.Cast():
            whole = known_value(node)
            is_exact = isinstance(whole, int) and not isinstance(whole, bool) and abs(whole) < 2**53
            return float(whole) if is_exact and isinstance(whole, int) else None
        case _:
            return None


def _is_single(value: float) -> bool:
    """Whether a FLOAT holds it exactly."""
    return abs(value) < 2.0**127 and struct.unpack("f", struct.pack("f", value))[0] == value


def _null_safe_equal(left: Constant, right: Constant) -> bool | Unknown:
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return UNKNOWN
    if left is None or right is None:
        return left is right
    order = _compare(left, right)
    return order == 0 if isinstance(order, int) else UNKNOWN


def _membership(value: Constant, options: Iterable[Constant]) -> Constant:
    """Whether a value is in a list: NULL if it is not and a NULL is among them."""
    orders = [_compare(value, each) for each in options]
    if any(isinstance(order, int) and order == 0 for order in orders):
        return True
    if any(isinstance(order, Unknown) for order in orders):
        return UNKNOWN
    return None if None in orders else False


def _fold_junction(node: exp.And | exp.Or) -> exp.Expr:
    """`x AND TRUE` is x, `x AND FALSE` is FALSE; with OR the other way."""
    deciding = isinstance(node, exp.Or)
    parts: tuple[exp.Expr, ...] = (node.this, node.expression)
    values = [known_value(each) for each in parts]
    if any(value is deciding for value in values):
        return _boolean(deciding)
    left = [part for part, value in zip(parts, values, strict=True) if value is not (not deciding)]
    match left:
        case []:
            return _boolean(not deciding)
        case [one]:
            return one
        case _:
            return _boolean(None) if all(value is None for value in values) else node


def _fold_if(node: exp.If) -> exp.Expr:
    found = known_value(node.this)
    if isinstance(found, Unknown) or isinstance(node.parent, exp.Case):
        return node
    return node.args["true"] if found is True else node.args.get("false") or exp.Null()


def _fold_case(node: exp.Case) -> exp.Expr:
    """A CASE without a value: branches that are never taken go, and one that is always taken is the last."""
    if node.this is not None:
        return node
    branches, otherwise = [], node.args.get("default")
    for each in node.args["ifs"]:
        found = known_value(each.this)
        if found is True:
            otherwise = each.args["true"]
            break
        branches += [each] if isinstance(found, Unknown) else []
    if not branches:
        return otherwise or exp.Null()
    node.set("ifs", branches)
    node.set("default", otherwise)
    return node


def _fold_coalesce(node: exp.Coalesce) -> exp.Expr:
    parts: list[exp.Expr] = [node.this, *node.expressions]
    values = [known_value(each) for each in parts]
    kept: list[exp.Expr] = []
    for part, value in zip(parts, values, strict=True):
        if value is None:
            continue
        kept.append(part)
        if not isinstance(value, Unknown) or is_never_null(part):
            break
    if not kept:
        return node
    if len(kept) == 1 and (is_never_null(kept[0]) or not isinstance(known_value(kept[0]), Unknown)):
        return kept[0]
    node.set("this", kept[0])
    node.set("expressions", kept[1:])
    return node


_NEVER_NULL = "never null"


def mark_never_null(column: exp.Column) -> None:
    """Say of a column that no row has NULL in it. Copies of the node say it too."""
    column.meta[_NEVER_NULL] = True


def is_never_null(node: exp.Expr) -> bool:
    """Whether it is a column of which that is said."""
    return is_never_null(node.this) if isinstance(node, exp.Paren) else bool(node._meta and _NEVER_NULL in node._meta)


def known_value(node: exp.Expr) -> Constant:
    """The value of a literal, with or without casts that keep it."""
    match node:
        case exp.Paren():
            return known_value(node.this)
        case exp.Null():
            return None
        case exp.Boolean():
            return bool(node.this)
        case exp.Literal():
            return str(node.this) if node.is_string else _whole_number(str(node.this))
        case exp.Neg():
            found = known_value(node.this)
            return -found if isinstance(found, int) and not isinstance(found, bool) else UNKNOWN
        case exp.Cast():  # sqlglot reads CAST of Spark as its TryCast
            return _cast_value(known_value(node.this), node.to)
        case _:
            return UNKNOWN


def _whole_number(text: str) -> Constant:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 38 else UNKNOWN


def _cast_value(value: Constant, to: exp.DataType) -> Constant:
    """The value after a cast that keeps it."""
    if value is None:
        return None
    kind = to.this
    if isinstance(value, bool):
        return value if kind == exp.DType.BOOLEAN else UNKNOWN
    if isinstance(value, int):
        bits = _WHOLE.get(kind)
        fits = bits is not None and -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)
        return value if fits or _holds_whole(to, value) else UNKNOWN
    return value if isinstance(value, str) and kind in (exp.DType.TEXT, exp.DType.VARCHAR) else UNKNOWN


def _holds_whole(to: exp.DataType, value: int) -> bool:
    """Whether a type is a DECIMAL without a fraction that holds a number."""
    sizes = [each.name for each in to.expressions]
    return (
        to.this == exp.DType.DECIMAL and len(sizes) == 2 and sizes[1] == "0" and len(str(abs(value))) <= int(sizes[0])
    )
