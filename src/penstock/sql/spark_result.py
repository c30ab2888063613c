"""The ClickHouse type of what Spark computes.

In: sqlglot's type of an expression. Out: a `Type`, or None where it is unknown. Called by
spark_dialect. Invariant: a scalar that Spark computes may be NULL, so it is Nullable.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.model import types as t
from penstock.model.types import Type

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
    """None for a type that sqlglot could not tell."""
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
