"""Literals: numbers, texts, NULL, booleans, arrays, tuples, intervals.

In: literal nodes. Out: `Typed`, with the constant where there is one. Called through HANDLERS.
Invariant: a number has the least type that holds it, as in ClickHouse.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.integer_parsing import whole_number
from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.compiler.translator import Translator, no_interval
from penstock.sql.expr.bind_once import let
from penstock.sql.expr.common_type import supertype
from penstock.sql.expr.overflow import negated_whole, to_signed
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import NOTHING, NULL, Typed, as_spark, integer, is_null, text, typed

UNITS = ("SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR", "MILLISECOND", "MICROSECOND")


def literal(tr: Translator, node: exp.Expr) -> Typed:
    if node.args.get("is_string"):
        return text(node.name)
    whole = whole_number(node.name)
    try:
        return integer(whole) if whole is not None and whole < 2**64 else floating(float(node.name))
    except ValueError:
        raise tr.refused(node, "invalid-literal", f"`{node.name}` is no number") from None


def floating(value: float) -> Typed:
    """A double literal; infinity and NaN have no literal of their own in Spark."""
    written = repr(value)
    sql = f"double('{written}')" if "n" in written else f"{written}D"
    return Typed(sql, t.Float(64), "DOUBLE", value)


def hexadecimal(tr: Translator, node: exp.Expr) -> Typed:
    return integer(int(node.name, 16))


def boolean_literal(tr: Translator, node: exp.Expr) -> Typed:
    return Typed("true" if node.this else "false", t.Bool(), "BOOLEAN", bool(node.this))


def null(tr: Translator, node: exp.Expr) -> Typed:
    return NULL


def negative(tr: Translator, node: exp.Expr) -> Typed:
    value = tr.translate(node.this)
    if isinstance(node.this, exp.Cast) and isinstance(node.this.this, exp.Literal) and not _has_signs(value.bare):
        message = f"-1 is no {value.bare}: in `-1::T` the sign belongs to the number"
        raise tr.refused(node, "wrong-argument-type", message, "cast to a signed type")
    found = negated(value)
    if found is None:
        raise tr.refused(node, "wrong-argument-type", f"`-` needs a number, this is {value.type}")
    return found


def _has_signs(of: Type) -> bool:
    return not isinstance(of, t.Int) or of.signed


def negated(value: Typed) -> Typed | None:
    """The number with the other sign; the least of its type has none and stays as it is."""
    match value.constant, value.bare:
        case (bool(), _):
            pass
        case (int(number), _):
            return integer(-number) if number <= 2**63 else floating(-float(number))
        case (float(number), _):
            return floating(-number)
        case (_, t.Float(_) | t.Decimal()):
            return Typed(f"(- {value.sql})", value.type, value.spark)
        case (_, t.Int(bits, signed)):
            plain = t.Int(bits if signed else min(64, bits * 2))
            of: Type = t.Nullable(plain) if value.nullable else plain
            if signed and bits < 32:
                return Typed(let(value.sql, lambda v: f"if({v} = {plain.low}, {v}, - {v})"), of, value_type(of))
            return _negated_whole(value, of)
    return None


def _negated_whole(value: Typed, of: Type) -> Typed:
    """A result of 64 bits, or of as many as the value has, wraps around."""
    spark = value_type(of)
    if value.spark.startswith("DECIMAL"):
        return Typed(to_signed(f"- {value.sql}"), of, spark)
    if isinstance(value.bare, t.Int) and not value.bare.signed:
        return Typed(f"(- {as_spark(value, spark)})", of, spark)
    return Typed(negated_whole(value, spark), of, spark)


def array(tr: Translator, node: exp.Expr) -> Typed:
    return array_of(tr, node, tr.all(node.expressions))


def array_of(tr: Translator, node: exp.Expr, values: list[Typed]) -> Typed:
    """An array of values of one supertype."""
    if not values:
        return Typed("array()", t.Array(NOTHING), "ARRAY<VOID>")
    of = common(tr, node, values)
    return typed(f"array({', '.join(widen_all(values, of))})", t.Array(of))


def tuple_of(tr: Translator, node: exp.Expr) -> Typed:
    values = tr.all(node.expressions)
    no_interval(tr, node, values)
    return make_tuple(values)


def make_tuple(values: list[Typed]) -> Typed:
    fields: tuple[tuple[str | None, Type], ...] = tuple((None, value.type) for value in values)
    parts = (f"'_{place}', {as_spark(value, value_type(value.type))}" for place, value in enumerate(values, 1))
    return typed(f"named_struct({', '.join(parts)})", t.Tuple(fields))


def paren(tr: Translator, node: exp.Expr) -> Typed:
    return tr.translate(node.this)


def alias(tr: Translator, node: exp.Expr) -> Typed:
    return tr.translate(node.this)


def interval(tr: Translator, node: exp.Expr) -> Typed:
    """A number with a unit; what it means is for the operator beside it."""
    unit = node.args["unit"].name.upper().removesuffix("S") if node.args.get("unit") else ""
    if unit not in UNITS:
        raise tr.refused(node, "unsupported-syntax", f"unknown interval unit `{unit}`", "SECOND … YEAR")
    value = tr.translate(node.this)
    if isinstance(value.constant, str):
        value = _counted(value)
    if not isinstance(value.bare, t.Int):
        raise tr.refused(node, "wrong-argument-type", f"INTERVAL needs an integer, this is {value.type}")
    return Typed(as_spark(value, "BIGINT"), value.type, "BIGINT", value.constant, unit)


def _counted(value: Typed) -> Typed:
    """The number that a text literal is, as in INTERVAL '3' DAY."""
    written = str(value.constant)
    number = whole_number(written.removeprefix("-"))
    return value if number is None else integer(-number if written.startswith("-") else number)


def common(tr: Translator, node: exp.Expr, values: list[Typed]) -> Type:
    """The supertype of values. Raises Refused where there is none."""
    no_interval(tr, node, values)
    of = supertype([value.type for value in values])
    if of is None:
        types = ", ".join(dict.fromkeys(str(value.type) for value in values))
        raise tr.refused(node, "no-common-type", f"there is no common type of {types}", "cast one of them")
    return of


def widen_all(values: list[Typed], of: Type) -> list[str]:
    """Values as the Spark type of their supertype."""
    spark = value_type(of)
    return [
        f"CAST(NULL AS {spark})" if is_null(value) and spark != "VOID" else as_spark(value, spark) for value in values
    ]
