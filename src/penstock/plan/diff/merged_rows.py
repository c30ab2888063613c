"""Which rows an engine makes one of, and what of them it loses.

In: a data source. Out: its key columns, and whether it keeps what every row says. Invariant: an engine counts as one
that keeps rows only if what a query gets of them, merged, is the same before and after a compaction.
"""

from __future__ import annotations

from penstock.model.datasource import DataSource
from penstock.model.types import AggregateFunction, SimpleAggregateFunction, Type

_MERGEABLE = frozenset(["count", "sum", "min", "max", "avg", "uniq", "uniqExact"])
"""Aggregates, also with If, whose states give the same whatever the order in which they are merged."""


def is_mergeable(of: Type) -> bool:
    """Whether values of a type are merged, and give the same in any order."""
    match of:
        case SimpleAggregateFunction() | AggregateFunction():
            return of.function.removesuffix("If") in _MERGEABLE
        case _:
            return False


def key_columns(source: DataSource) -> frozenset[str]:
    """The columns that are parts of the sorting key themselves."""
    return frozenset(part.strip().strip("`") for part in source.engine.sorting_key)


def merges_by_its_key(source: DataSource) -> bool:
    """Whether it is an AggregatingMergeTree in which each column is part of the key, or merged in any order."""
    keys = key_columns(source)
    columns = (each.name in keys or is_mergeable(each.type) for each in source.columns)
    return source.engine.name == "AggregatingMergeTree" and all(columns)


def keeps_what_rows_say(source: DataSource) -> bool:
    """Whether no row goes, and none loses a value: not by its engine, and not by a TTL."""
    return source.engine.ttl is None and (source.engine.name == "MergeTree" or merges_by_its_key(source))
