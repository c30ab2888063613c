"""Expressions that are known not to fail: constants, and what is computed of columns whose types are known.

In: an expression of a tree of `opaque_calls`, and the types of the columns in it. Out: whether it is such an
expression, or the expression with a word in the place of each part that is one. `penstock.sql.analysis.may_raise` takes
every cast for one that may fail; here a cast is looked at together with the values that can be cast. Invariant: an
expression counts as sure only if it gives the same value each time it is asked for, and never an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from sqlglot import exp

from penstock.model.types import Int, Type, unwrap_type
from penstock.sql.analysis.may_raise import may_raise
from penstock.sql.analysis.opaque_calls import call_name, parse_opaque_value, write_opaque
from penstock.sql.analysis.pattern_groups import count_groups
from penstock.sql.analysis.sure_calls import add_to_time, call_function
from penstock.sql.analysis.sure_values import (
    DATES,
    EXACT,
    FLOATS,
    MOST_DIGITS,
    TIMES,
    AnyValue,
    ArrayValue,
    BoolValue,
    DateValue,
    DecimalNumber,
    FloatNumber,
    MapValue,
    NullValue,
    SureValue,
    TextValue,
    TimeValue,
    TupleValue,
    WholeNumber,
    are_alike,
    are_comparable,
    are_keys,
    cast_value,
    choose_value,
    compute_value,
    decimal_sizes,
    negate,
    number_of,
)
from penstock.sql.spark_text import DIALECT
from penstock.sql.stored_types import spark_type

Columns: TypeAlias = Mapping[str, Type]
"""The types of the columns that an expression reads, by name."""
NO_COLUMNS: Columns = MappingProxyType({})
_WORD = "known"
"""Stands for a sure expression. It is no column, and no value of which a cast is known to succeed."""
_CONDITIONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.And, exp.Or, exp.Is)
_MATCHES = (exp.Like, exp.ILike, exp.RegexpLike)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv, exp.BitwiseAnd)
_MADE = (
    *(exp.Cast, exp.Neg, exp.Array, exp.Coalesce, exp.VarMap, exp.Anonymous, exp.If, exp.Case, exp.Paren),
    *(*_CONDITIONS, *_MATCHES, *_ARITHMETIC, exp.Not, exp.In),
)
_KINDS: Mapping[str, SureValue] = {
    "BOOLEAN": BoolValue(),
    "STRING": TextValue(),
    "DATE": DateValue(DATES),
    "TIMESTAMP": TimeValue(TIMES),
    "FLOAT": FloatNumber(),
    "DOUBLE": FloatNumber(),
    "INT": WholeNumber(-(1 << 31), (1 << 31) - 1, 32),
    "BIGINT": WholeNumber(-(1 << 63), (1 << 63) - 1, 64),
}
"""What is known of the values of stored types."""


def is_sure(node: exp.Expr, columns: Columns = NO_COLUMNS) -> bool:
    """Whether it cannot fail. Without columns, it is a constant."""
    return _sure(node, columns) is not None


def is_sure_sql(sql: str) -> bool:
    """The same of Spark SQL of a constant; false where sqlglot does not know the form."""
    node = parse_opaque_value(sql)
    return node is not None and is_sure(node)


def without_sure_parts(node: exp.Expr, columns: Columns = NO_COLUMNS) -> exp.Expr:
    """A copy with a word in the place of each sure part that is more than a literal or a column."""

    known = NO_COLUMNS if node.find(exp.Lambda) is not None else columns  # a parameter may have the name of a column

    def replaced(each: exp.Expr) -> exp.Expr:
        is_part = isinstance(each, _MADE) and not (isinstance(each, exp.If) and isinstance(each.parent, exp.Case))
        return exp.var(_WORD) if is_part and is_sure(each, known) else each

    return node.transform(replaced)


def is_zero(value: exp.Expr) -> bool:
    """Whether it is the number 0 of any type. One with a sign is not: a float may be -0.0."""
    inner: object = value
    while isinstance(inner, (exp.Paren, exp.Cast, exp.Coalesce)):
        inner = inner.this
    is_literal = isinstance(inner, exp.Literal) and not inner.is_string and inner.this == "0"
    return is_literal and isinstance(_sure(value, NO_COLUMNS), (WholeNumber, DecimalNumber, FloatNumber))


def zero_sum(value: exp.Expr) -> exp.Expr | None:
    """The sum of zeros with a fraction, in the type that Spark gives a sum: of floats a DOUBLE, of a DECIMAL one of ten
    more digits. None for another expression."""
    while isinstance(value, exp.Paren):
        value = value.this
    of = _sum_type(value.to) if isinstance(value, exp.Cast) and is_zero(value) else None
    return exp.cast(exp.Literal.number(0), of, dialect=DIALECT) if of is not None else None


def _sum_type(of: exp.DataType) -> str | None:
    sizes = decimal_sizes(of)
    if of.this in FLOATS:
        return "DOUBLE"
    return f"DECIMAL({min(sizes[0] + 10, MOST_DIGITS)}, {sizes[1]})" if sizes is not None else None


# ------------------------------------------------------------------------------------------------- by kind of node


def _sure(node: object, columns: Columns) -> SureValue | None:
    match node:
        case exp.Paren():
            return _sure(node.this, columns)
        case exp.Literal() | exp.Null() | exp.Boolean() | exp.Column():
            return _leaf(node, columns)
        case exp.Neg() | exp.Cast():
            return _of_one(node, _sure(node.this, columns))
        case exp.Coalesce():
            return _chosen([node.this, *node.expressions], columns)
        case exp.If() | exp.Case():
            return _choice(node, columns)
        case exp.Array() | exp.VarMap() | exp.Anonymous():
            return _made(node, columns)
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div() | exp.Mod() | exp.IntDiv() | exp.BitwiseAnd():
            values = _all_sure([node.this, node.expression], columns)
            return None if values is None else compute_value(type(node), *values)
        case _:
            return _condition(node, columns)


def _leaf(node: exp.Literal | exp.Null | exp.Boolean | exp.Column, columns: Columns) -> SureValue | None:
    match node:
        case exp.Column():
            return _column(columns.get(node.name)) if not node.table else None
        case exp.Literal():
            return TextValue(str(node.this)) if node.is_string else number_of(str(node.this))
        case _:
            return NullValue() if isinstance(node, exp.Null) else BoolValue()


def _of_one(node: exp.Neg | exp.Cast, value: SureValue | None) -> SureValue | None:
    if isinstance(node, exp.Neg):
        return negate(value)
    return None if value is None else cast_value(value, node.to)  # sqlglot reads CAST of Spark as its TryCast


def _column(of: Type | None) -> SureValue | None:
    """What is known of the values of a column by its type."""
    if of is None:
        return None
    plain, stored = unwrap_type(of), spark_type(of)
    if isinstance(plain, Int):
        return WholeNumber(plain.low, plain.high, {"INT": 32, "BIGINT": 64}.get(stored, EXACT))
    if stored.startswith("DECIMAL"):
        precision, scale = (int(each) for each in re.findall(r"\d+", stored))
        return DecimalNumber(precision - scale, scale)
    return _KINDS.get(stored, AnyValue())


def _chosen(nodes: Sequence[object], columns: Columns) -> SureValue | None:
    values = _all_sure(nodes, columns)
    return None if values is None else choose_value(values)


def _choice(node: exp.If | exp.Case, columns: Columns) -> SureValue | None:
    if isinstance(node, exp.If) and _guards_division(node):
        return _quotient(node, columns)
    branches = [node] if isinstance(node, exp.If) else node.args["ifs"]
    otherwise = node.args.get("false") or node.args.get("default") or exp.Null()
    if isinstance(node, exp.Case) and node.this is not None:
        return None
    are_known = all(isinstance(_sure(each.this, columns), (BoolValue, NullValue)) for each in branches)
    return _chosen([*(each.args["true"] for each in branches), otherwise], columns) if are_known else None


def _guards_division(node: exp.If) -> bool:
    """Whether it is `IF(0 = x, …, y / x)`, as a division of ClickHouse is compiled."""
    test, quotient = node.this.unnest(), node.args.get("false")
    quotient = quotient.unnest() if isinstance(quotient, exp.Expr) else None
    if not isinstance(test, exp.EQ) or not isinstance(quotient, exp.Div):
        return False
    sides = (test.this, test.expression)
    zeros = [each for each in sides if isinstance(each, exp.Literal) and each.this == "0" and not each.is_string]
    return len(zeros) == 1 and any(each == quotient.expression for each in sides)


def _quotient(node: exp.If, columns: Columns) -> SureValue | None:
    """The outcome of a division that is guarded: a DOUBLE, if all that is computed with are numbers and one is that."""
    quotient = node.args["false"].unnest()
    parts = _all_sure([node.args["true"], quotient.this, quotient.expression], columns)
    is_float = parts is not None and isinstance(parts[2], FloatNumber)
    numbers = (WholeNumber, FloatNumber)
    return (
        FloatNumber() if is_float and parts is not None and all(isinstance(each, numbers) for each in parts) else None
    )


def _condition(node: object, columns: Columns) -> SureValue | None:
    """The outcome of a condition over sure parts."""
    match node:
        case exp.Not():
            return BoolValue() if is_sure(node.this, columns) else None
        case exp.In() if not node.args.get("query") and not node.args.get("unnest"):
            values = _all_sure([node.this, *node.expressions], columns)
            return BoolValue() if values is not None and are_comparable(values) else None
        case exp.Like() | exp.ILike() | exp.RegexpLike():
            return BoolValue() if _matches(node, columns) else None
        case _ if isinstance(node, _CONDITIONS):
            values = _all_sure([node.this, node.expression], columns)
            return BoolValue() if values is not None and are_comparable(values) else None
        case _:
            return None


def _matches(node: exp.Like | exp.ILike | exp.RegexpLike, columns: Columns) -> bool:
    """Whether a text is compared with a pattern that Java can read and match."""
    if not isinstance(_sure(node.this, columns), TextValue):
        return False
    alone = node.copy()
    alone.this.replace(exp.column("text", quoted=True))
    pattern = node.expression
    is_flat = isinstance(node, exp.RegexpLike) and isinstance(pattern, exp.Literal) and pattern.is_string
    return not may_raise(write_opaque(alone)) or (is_flat and count_groups(str(pattern.this)) is not None)


def _made(node: exp.Array | exp.VarMap | exp.Anonymous, columns: Columns) -> SureValue | None:
    """What is made of several values."""
    match node:
        case exp.Array():
            parts = _all_sure(node.expressions, columns)
            return None if parts is None or not are_alike(parts) else ArrayValue(parts)
        case exp.VarMap():
            return _map(node, columns)
        case _:
            return _called(call_name(node), node.expressions, columns)


def _all_sure(nodes: Sequence[object], columns: Columns) -> tuple[SureValue, ...] | None:
    found = [_sure(each, columns) for each in nodes]
    known = tuple(each for each in found if each is not None)
    return known if len(known) == len(found) else None


def _map(node: exp.VarMap, columns: Columns) -> SureValue | None:
    keys, values = (_all_sure(node.args[side].expressions, columns) for side in ("keys", "values"))
    if keys is None or values is None or len(keys) != len(values) or not are_alike(values):
        return None
    return MapValue(keys, values) if are_keys(keys) else None


def _called(name: str, given: Sequence[exp.Expr], columns: Columns) -> SureValue | None:
    if name == "named_struct":
        parts = _all_sure(given[1::2], columns)
        is_named = len(given) % 2 == 0 and all(isinstance(each, exp.Literal) and each.is_string for each in given[::2])
        return TupleValue(parts) if parts is not None and is_named else None
    if name == "timestampadd":
        values = _all_sure(given[1:], columns)
        return add_to_time(given[0].name, values) if values is not None and isinstance(given[0], exp.Var) else None
    values = _all_sure(given, columns)
    return None if values is None else call_function(name, values)
