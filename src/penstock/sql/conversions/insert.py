"""Conversion of a computed value to a stored column, by the rules of ClickHouse's INSERT.

In: a value and the type of the column. Out: Spark SQL of exactly the stored type, or the reason why there is none.
Invariant: a NULL for a column without NULL becomes the column's default; a state is stored only in a column of the
same function's states.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.sql.conversions.explicit import CAST_MODE, ConversionMode, convert
from penstock.sql.conversions.implicit import implicit_cast, is_same_state
from penstock.sql.expr.typed import TypedSql, is_null
from penstock.sql.stored_types import UnknownState, column_default, spark_type


def convert_for_insert(
    value: TypedSql, want: Type, default: str | None = None, mode: ConversionMode = CAST_MODE
) -> str | None:
    """The SQL; None if there is no conversion. `default` is the column's own default expression. In the mode of CAST a
    text that is no value of a Nullable column's type is NULL."""
    if isinstance(want, t.AggregateFunction) or isinstance(unwrap_type(value.type), t.AggregateFunction):
        return _insert_state(value, want)
    otherwise = default or column_default(want)
    if is_null(value):
        return column_default(want) if is_nullable(want) else otherwise
    lossless = implicit_cast(value, want)
    if lossless is None:
        result = convert(value, want, mode)
        if result is None:
            return None
        lossless = result.sql
    return f"coalesce({lossless}, {otherwise})" if value.nullable and not is_nullable(want) else lossless


def _insert_state(value: TypedSql, want: Type) -> str | None:
    try:
        same = is_same_state(unwrap_type(value.type), want)
        spark = spark_type(want) if same else ""
    except UnknownState:
        return None
    if not same:
        return None
    return value.sql if value.spark == spark else f"CAST({value.sql} AS {spark})"


def insert_refusal(have: Type, want: Type) -> tuple[str, str | None]:
    """The message and the hint for a value that cannot be stored."""
    if isinstance(want, t.AggregateFunction):
        arguments = ", ".join("…" for _ in want.arguments)
        parameters = f"({', '.join(want.parameters)})" if want.parameters else ""
        return f"{have} is not the state {want}", f"use {want.function}State{parameters}({arguments})"
    if isinstance(unwrap_type(have), t.AggregateFunction):
        return f"the state {have} cannot be stored as {want}", "finish it with -Merge"
    return f"{have} cannot be stored as {want}", "cast it"
