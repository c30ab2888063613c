"""Which rows an engine makes one of, and what of them it loses.

In: a data source. Out: its key columns, and whether it keeps what every row says. Invariant: an engine counts as one
that keeps rows only if what a query gets of them, merged, is the same before and after a compaction.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.model.datasource import DataSource
from penstock.model.manifest import BoundColumn
from penstock.model.types import AggregateFunction, Decimal, Float, Int, SimpleAggregateFunction, Type, unwrap_type

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


def merging_form(source: DataSource, columns: Iterable[BoundColumn]) -> str:
    """How its engine merges rows, and which of them its TTL lets go: tables of one form that got the same rows say the
    same when they are queried. Empty for an engine of which that is not known. It names the physical columns too, where
    they have other names: two columns that exchange theirs leave the words of a key as they are."""
    rule = merging_rule(source)
    moved = (each for each in columns if each.name in rule and each.physical != each.name)
    return " ".join([rule, *(f"{each.name} is {each.physical}" for each in moved)]) if rule else ""


def merging_rule(source: DataSource) -> str:
    """The words of its datafile that say how rows are merged, and which of them go."""
    engine, ttl = source.engine, " ".join((source.engine.ttl or "").split())
    match engine.name:
        case "MergeTree":
            return f"MergeTree TTL {ttl}"
        case "ReplacingMergeTree":
            is_known = engine.is_deleted is None  # what a deleted row hides comes back once that row is gone
        case "SummingMergeTree":
            is_known = _sums_all(source)
        case "AggregatingMergeTree":
            is_known = merges_by_its_key(source)
        case _:
            is_known = False
    parts = (engine.name, engine.sorting_key, engine.partition_key, engine.ver or "", engine.summed, ttl)
    return " ".join(map(str, parts)) if is_known else ""


def _sums_all(source: DataSource) -> bool:
    """Whether each column of a SummingMergeTree is part of the key, or a number that is summed."""
    keys, engine = key_columns(source), source.engine
    summed = [each for each in source.columns if each.name not in keys]
    is_named = (not engine.summed or each.name in engine.summed for each in summed)
    return all(is_named) and all(_is_summed(each.type) for each in summed)


def _is_summed(of: Type) -> bool:
    if isinstance(of, (AggregateFunction, SimpleAggregateFunction)):
        return is_mergeable(of)
    return isinstance(unwrap_type(of), (Int, Float, Decimal))
