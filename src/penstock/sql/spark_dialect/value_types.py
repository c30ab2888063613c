"""The ClickHouse type of a value that Spark SQL computes.

In: a piece of a tree with the types that sqlglot infers. Out: a type, or None where Spark's is not known for certain:
then the value has to be CAST. Invariant: a scalar that Spark computes may be NULL, so its type is Nullable.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.spark_dialect.allowed import function_name

_SCALARS: dict[exp.DType, Type] = {
    exp.DType.TINYINT: t.Int(8),
    exp.DType.SMALLINT: t.Int(16),
    exp.DType.INT: t.Int(32),
    exp.DType.BIGINT: t.Int(64),
    exp.DType.FLOAT: t.Float(32),
    exp.DType.DOUBLE: t.Float(64),
    exp.DType.BOOLEAN: t.Bool(),
    exp.DType.TEXT: t.String(),
    exp.DType.VARCHAR: t.String(),
    exp.DType.CHAR: t.String(),
    exp.DType.DATE: t.Date(wide=True),
    exp.DType.TIMESTAMP: t.DateTime64(6),
    exp.DType.TIMESTAMPTZ: t.DateTime64(6),
    exp.DType.TIMESTAMPLTZ: t.DateTime64(6),
}


def clickhouse_type(of: exp.DataType | None) -> Type | None:
    """The ClickHouse type of a Spark type; None if sqlglot could not infer it, or if there is none."""
    if of is None:
        return None
    if of.this == exp.DType.ARRAY:
        inner = clickhouse_type(of.expressions[0]) if of.expressions else None
        return t.Array(inner) if inner is not None else None
    if of.this == exp.DType.DECIMAL:
        precision, scale, *_ = [*(int(each.name) for each in of.expressions), *((10, 0)[len(of.expressions) :])]
        return t.Nullable(t.Decimal(precision, scale))
    scalar = _SCALARS.get(of.this)
    return t.Nullable(scalar) if scalar is not None else None


def type_of_value(node: exp.Expr) -> Type | None:
    """The type of a value; None if it is not known."""
    value = node.unnest()
    if isinstance(value, exp.NullSafeEQ):
        return t.Nullable(t.Bool())
    called = function_name(value) if isinstance(value, exp.Func) else ""
    always = next((t.Nullable(of) for of, names in _TYPES_OF_CALLS if called in names), None)
    if always is not None:
        return always
    return clickhouse_type(node.type) if _is_certain(value) else None


_TYPES_OF_CALLS: tuple[tuple[Type, frozenset[str]], ...] = (
    (t.Bool(), frozenset(["arrays_overlap", "every", "some", "bool_and", "bool_or"])),
    (t.Int(32), frozenset(["find_in_set", "hash", "json_array_length", "octet_length", "regexp_count"])),
    (t.Int(64), frozenset(["array_position", "crc32", "width_bucket", "xxhash64"])),
    (t.Float(64), frozenset(["acos", "asin", "atan", "atan2", "cbrt", "corr", "cos", "degrees", "exp", "hypot"])),
    (t.Float(64), frozenset(["ln", "log", "log1p", "log2", "power", "radians", "rint", "sin", "sqrt", "tan"])),
    (t.Float(64), frozenset(["stddev", "stddev_pop", "stddev_samp", "var_pop", "var_samp", "variance"])),
    (t.String(), frozenset(["bin", "btrim", "conv", "elt", "format_number", "split_part", "substring_index"])),
    (t.Date(wide=True), frozenset(["make_date"])),
    (t.DateTime64(6), frozenset(["date_trunc", "timestamp_micros", "timestamp_millis", "timestamp_seconds"])),
)
"""Functions that always give the same type, for which sqlglot has none or another one."""
_NUMBERS = (exp.DType.DECIMAL, exp.DType.DOUBLE, exp.DType.FLOAT, *exp.DataType.INTEGER_TYPES)
_SAME_TYPE = (exp.Min, exp.Max, exp.Sum, exp.Neg, exp.Paren)
"""What has the type of its argument; a sum has more digits, of the same scale."""
_CHOICES = (exp.Coalesce, exp.Case, exp.If, exp.Greatest, exp.Least)


def _is_certain(value: exp.Expr) -> bool:
    """Whether Spark gives the type that sqlglot infers. Of numbers that are made of decimals it often is another one:
    sqlglot does not know how many digits a division or a mean has."""
    if value.type is None or value.type.this not in _NUMBERS:
        return True
    if isinstance(value, (exp.Column, exp.Cast, exp.Literal)) or not any(map(_is_decimal, value.walk())):
        return True
    if isinstance(value, _SAME_TYPE):
        return _is_certain(value.this)
    if isinstance(value, _CHOICES):
        results = _choices(value)
        return all(map(_is_certain, results)) and len({str(each.type) for each in results}) == 1
    if isinstance(value, (exp.Add, exp.Sub, exp.Mul)):
        return all(map(_is_certain, (value.left, value.right))) and _has_scale_of_one(value)
    return isinstance(value, (exp.Count, exp.CountIf, exp.ApproxDistinct))


def _choices(value: exp.Expr) -> list[exp.Expr]:
    """The values of which it is one."""
    if isinstance(value, (exp.Case, exp.If)):
        parts = [each.args["true"] for each in value.args.get("ifs", [value])]
        return [*parts, *(each for each in (value.args.get("default"), value.args.get("false")) if each is not None)]
    return [value.this, *value.expressions]


def _has_scale_of_one(value: exp.Binary) -> bool:
    """Whether one side is a decimal and the other a whole number, so that the result has the scale of the decimal."""
    return {_is_decimal(value.left), _is_decimal(value.right)} == {True, False} and any(
        each.type is not None and each.type.this in exp.DataType.INTEGER_TYPES for each in (value.left, value.right)
    )


def _is_decimal(value: exp.Expr) -> bool:
    return value.type is not None and value.type.this == exp.DType.DECIMAL
