"""Whether two versions of a column can be stored in one physical column.

In: the column of the live version and of the next one. Out: yes or no, and whether Iceberg promotes the stored type
(https://iceberg.apache.org/spec/#schema-evolution). Invariant: two versions share a physical column only if a raw row
that both accept gives the same stored value in both; otherwise each version writes a column of its own.
"""

from __future__ import annotations

import re

from penstock.model.datasource import Column, DataSource
from penstock.model.types import (
    AggregateFunction,
    Date,
    Decimal,
    Enum,
    Float,
    Int,
    LowCardinality,
    Nullable,
    SimpleAggregateFunction,
    Type,
    is_nullable,
    unwrap_type,
)
from penstock.sql.stored_types import spark_type

_DECIMAL = re.compile(r"DECIMAL\((\d+), ?(\d+)\)")


def can_share_column(before: Column, after: Column) -> bool:
    """Whether both versions of a column write the same stored values: same JSON path, same DEFAULT, and a new type that
    holds all values of the old one."""
    if is_nullable(before.type) and not is_nullable(after.type):
        return False
    # An explicit null is the DEFAULT for a column without NULL, and NULL for one with.
    if is_nullable(before.type) != is_nullable(after.type) and before.default is not None:
        return False
    have, want = spark_type(before.type), spark_type(after.type)
    return (have == want or is_promotion(have, want)) and _holds_all_values(
        unwrap_type(before.type), unwrap_type(after.type)
    )


def can_ingest(source: DataSource) -> bool:
    """Whether rows can be ingested into the data source: not if a required column is an aggregate state, which no JSON
    value can give."""
    states = (column for column in source.columns if isinstance(unwrap_type(column.type), AggregateFunction))
    return not any(column.default is None and source.path_of(column) is not None for column in states)


def _holds_all_values(before: Type, after: Type) -> bool:
    """Whether type `after` has every value of type `before`, read from the same text."""
    match before, after:
        case Int(), Int():
            return after.low <= before.low and before.high <= after.high
        case Float(), Float():
            return before.bits <= after.bits
        case Decimal(precision, scale), Decimal(wider, same):
            return scale == same and precision <= wider
        case Date(), Date():
            return before.wide <= after.wide
        case Enum(_, values), Enum(_, more):
            return set(values) <= set(more)
        case AggregateFunction(), AggregateFunction():
            return before.function == after.function and before.parameters == after.parameters
        case _:
            return before == after


def is_promotion(have: str, want: str) -> bool:
    """Whether Iceberg reads a stored column of Spark type `have` as `want` without rewriting data."""
    if (have, want) in (("INT", "BIGINT"), ("FLOAT", "DOUBLE")):
        return True
    narrow, wide = _DECIMAL.fullmatch(have), _DECIMAL.fullmatch(want)
    return bool(narrow and wide and narrow[2] == wide[2] and int(narrow[1]) < int(wide[1]))


def strip_nullable(of: Type) -> Type:
    """The type without its Nullable."""
    match of:
        case Nullable(inner):
            return inner
        case LowCardinality(inner):
            return LowCardinality(strip_nullable(inner))
        case SimpleAggregateFunction(function, inner):
            return SimpleAggregateFunction(function, strip_nullable(inner))
        case _:
            return of
