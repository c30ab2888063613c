"""Literals: numbers, texts, NULL, booleans, arrays, tuples and intervals.

In: literal nodes. Out: `TypedSql`, with the constant where there is one. Invariant: a number has the least type that
holds it, as in ClickHouse.
"""

from __future__ import annotations

import re
from dataclasses import replace

from sqlglot import exp

from penstock.model import types as t
from penstock.model.types import Type
from penstock.parse.sql_syntax.integer_parsing import parse_whole_number
from penstock.sql.compiler.constants import known_constant
from penstock.sql.compiler.translator import Translator, refuse_intervals
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.common_type import value_supertype
from penstock.sql.expr.dates import as_common_type
from penstock.sql.expr.interval_numbers import as_signed_bigint
from penstock.sql.expr.overflow import lowest_64_bits, negate_wrapping
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import (
    NOTHING,
    NULL,
    Constant,
    TypedSql,
    as_spark,
    integer,
    is_null,
    nullable_if_any,
    text,
    typed_sql,
)
from penstock.sql.operators.dynamic_values import dynamic_result, is_dynamic_value

INTERVAL_UNITS = ("SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR", "MILLISECOND", "MICROSECOND")


def translate_literal(tr: Translator, node: exp.Expr) -> TypedSql:
    """A number or text. Raises Refused if a number cannot be read."""
    if node.args.get("is_string"):
        return text(node.name)
    whole = parse_whole_number(node.name)
    try:
        return integer(whole) if whole is not None and whole < 2**64 else float_literal(float(node.name))
    except ValueError:
        raise tr.refusal(node, "invalid-literal", f"`{node.name}` is not a number") from None


def float_literal(value: float) -> TypedSql:
    """A double literal; Spark has no literals for infinity and NaN."""
    written = repr(value)
    sql = f"double('{written}')" if "n" in written else f"{written}D"
    return TypedSql(sql, t.Float(64), "DOUBLE", value)


def translate_hex_literal(tr: Translator, node: exp.Expr) -> TypedSql:
    """A hexadecimal integer: 0xFF."""
    return integer(int(node.name, 16))


def translate_boolean(tr: Translator, node: exp.Expr) -> TypedSql:
    """true or false."""
    return TypedSql("true" if node.this else "false", t.Bool(), "BOOLEAN", bool(node.this))


def translate_null(tr: Translator, node: exp.Expr) -> TypedSql:
    """NULL."""
    return NULL


def translate_minus(tr: Translator, node: exp.Expr) -> TypedSql:
    """A minus sign. Raises Refused if the operand is no number."""
    value = tr.translate(node.this)
    found = dynamic_result([value], lambda given: negate(given[0])) if is_dynamic_value(value) else None
    if found is None:
        found = negate(value) if isinstance(node.this, (exp.Literal, exp.HexString)) else negate_value(value)
    if found is None:
        raise tr.refusal(node, "wrong-argument-type", f"`-` needs a number, this is {value.type}")
    return found


def negate_value(value: TypedSql) -> TypedSql | None:
    """As `negate`, for what is no bare literal: `-2` is an Int8, but `-(2)` and negate(2) have the type that they have
    of a column."""
    return negate(replace(value, literal=None, computed=value.constant))


def negate(value: TypedSql) -> TypedSql | None:
    """The number with the other sign; the least number of its type stays as it is, as in ClickHouse. None if the
    value is no number."""
    match value.literal, value.bare:
        case (bool(), _) | (_, t.Bool()):
            return TypedSql(f"(- {as_spark(value, 'INT')})", nullable_if_any(t.Int(16), [value]), "INT")
        case (int(number), _):
            return integer(-number) if number <= 2**63 else float_literal(-float(number))
        case (float(number), _):
            return float_literal(-number)
        case (_, t.Float(_) | t.Decimal()):
            return TypedSql(f"(- {value.sql})", value.type, value.spark)
        case (_, t.Int(bits, signed)):
            plain = t.Int(bits if signed else min(64, bits * 2))
            of: Type = t.Nullable(plain) if value.nullable else plain
            if signed and bits < 32:
                return TypedSql(
                    bind_if_long(value.sql, lambda v: f"if({v} = {plain.low}, {v}, - {v})"), of, value_type(of)
                )
            return _negate_wide_integer(value, of)
    return None


def _negate_wide_integer(value: TypedSql, of: Type) -> TypedSql:
    """A result that wraps around: of 64 bits, or of as many as the operand has."""
    spark = value_type(of)
    if value.spark.startswith("DECIMAL"):
        return TypedSql(lowest_64_bits(f"- {value.sql}"), of, spark)
    if isinstance(value.bare, t.Int) and not value.bare.signed:
        return TypedSql(f"(- {as_spark(value, spark)})", of, spark)
    return TypedSql(negate_wrapping(value, spark), of, spark)


def translate_array(tr: Translator, node: exp.Expr) -> TypedSql:
    """An array written with brackets."""
    return make_array(tr, node, tr.translate_all(node.expressions))


def make_array(tr: Translator, node: exp.Expr, values: list[TypedSql]) -> TypedSql:
    """An array of values of one common type. Raises Refused if they have none."""
    if not values:
        return TypedSql("array()", t.Array(NOTHING), "ARRAY<VOID>")
    of = common_type(tr, node, values)
    if isinstance(t.unwrap_type(of), (t.Array, t.Map)) and any(map(is_null, values)):
        message = f"NULL beside {of} is a Variant in ClickHouse, which is not supported"
        raise tr.refusal(node, "no-common-type", message, "give [] or map() in the place of NULL")
    return typed_sql(f"array({', '.join(cast_all(values, of))})", t.Array(of))


def translate_tuple(tr: Translator, node: exp.Expr) -> TypedSql:
    """A tuple written with parentheses."""
    values = tr.translate_all(node.expressions)
    refuse_intervals(tr, node, values)
    return make_tuple(values)


def make_tuple(values: list[TypedSql]) -> TypedSql:
    """A tuple of the values, without names."""
    fields: tuple[tuple[str | None, Type], ...] = tuple((None, value.type) for value in values)
    parts = (f"'_{place}', {as_spark(value, value_type(value.type))}" for place, value in enumerate(values, 1))
    return typed_sql(f"named_struct({', '.join(parts)})", t.Tuple(fields))


def translate_parentheses(tr: Translator, node: exp.Expr) -> TypedSql:
    """The expression in parentheses."""
    return tr.translate(node.this)


def translate_alias(tr: Translator, node: exp.Expr) -> TypedSql:
    """The expression before AS."""
    return tr.translate(node.this)


def translate_interval(tr: Translator, node: exp.Expr) -> TypedSql:
    """INTERVAL: a number with a unit. What it means is up to the operator beside it. Raises Refused."""
    unit = node.args["unit"].name.upper().removesuffix("S") if node.args.get("unit") else ""
    if unit not in INTERVAL_UNITS:
        raise tr.refusal(
            node, "unsupported-syntax", f"unknown interval unit `{unit}`", f"use one of {', '.join(INTERVAL_UNITS)}"
        )
    value, constant = tr.translate(node.this), known_constant(tr, node.this)
    number = None if constant is None else _constant_number(constant)
    if number is not None:  # (SELECT 3) may be NULL for ClickHouse
        value = replace(number, type=nullable_if_any(number.type, [value]))
    return as_interval(tr, node, value, unit)


_PART = re.compile(r"(?<![0-9])([+-]?[0-9]+)\s+([A-Za-z]+)")


def split_interval(node: exp.Expr) -> list[exp.Expr]:
    """The intervals of `INTERVAL '1 day 2 hour'`, one for each unit; the node itself for every other interval."""
    written = node.this.name if isinstance(node.this, exp.Literal) and node.args.get("unit") is None else ""
    parts = _PART.findall(written)
    if not parts or _PART.sub("", written).strip():
        return [node]
    return [exp.Interval(this=exp.Literal.string(number), unit=exp.var(unit)) for number, unit in parts]


def as_interval(tr: Translator, node: exp.Expr, value: TypedSql, unit: str) -> TypedSql:
    """A number as an interval of a unit; a fraction is cut off, as ClickHouse does. Raises Refused for other types."""
    if isinstance(value.bare, t.Float):
        return TypedSql(f"CAST({value.sql} AS BIGINT)", nullable_if_any(t.Int(64), [value]), "BIGINT", None, unit)
    if not isinstance(value.bare, t.Int):
        raise tr.refusal(node, "wrong-argument-type", f"INTERVAL needs an integer, this is {value.type}")
    return TypedSql(as_signed_bigint(value), value.type, "BIGINT", value.constant, unit)


def _constant_number(constant: Constant) -> TypedSql | None:
    """The number of INTERVAL '3' DAY or of INTERVAL 2 * 7 DAY; None for a text without one."""
    if not isinstance(constant, str):
        return integer(int(constant))
    number = parse_whole_number(constant.removeprefix("-"))
    return None if number is None else integer(-number if constant.startswith("-") else number)


def common_type(tr: Translator, node: exp.Expr, values: list[TypedSql]) -> Type:
    """The common type of the values. Raises Refused if there is none."""
    refuse_intervals(tr, node, values)
    of = value_supertype(values)
    if of is None:
        types = ", ".join(dict.fromkeys(str(value.type) for value in values))
        raise tr.refusal(node, "no-common-type", f"there is no common type of {types}", "cast one of them")
    return of


def cast_all(values: list[TypedSql], of: Type) -> list[str]:
    """The SQL of values, cast to the Spark type of their common type."""
    return [as_common_type(value, of) for value in values]
