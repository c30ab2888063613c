"""The merge rule of a data source's engine.

In: a data source. Out: `Ruling`: a `Merge`, or why FINAL cannot be had. Called by tables (FINAL) and
plan.merging. Invariant: where there is a rule, FINAL shows what ClickHouse's FINAL shows; where
ClickHouse's answer hangs on what is not known here, there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.model import types as t
from penstock.model.datasource import Column, DataSource, Text
from penstock.model.merging import Aggregating, Collapsing, Merge, Replacing, Summing, VersionedCollapsing
from penstock.model.types import bare, nullable
from penstock.sql.kept_order import enum_number
from penstock.sql.merge_columns import can_be_merged, is_aggregate, is_summed
from penstock.sql.query import Expression
from penstock.sql.single import compile_expression
from penstock.sql.spark_types import UnknownState

MERGING = (
    "ReplacingMergeTree", "SummingMergeTree", "AggregatingMergeTree", "CollapsingMergeTree",
    "VersionedCollapsingMergeTree",
)  # fmt: skip
"""Engines whose rows are merged."""
_BY_KEY = "SummingMergeTree", "AggregatingMergeTree"


@dataclass(frozen=True, slots=True)
class Ruling:
    """Without a rule, `why` FINAL is refused, and what may be done."""

    rule: Merge | None = None
    why: str = ""
    hint: str = "leave FINAL out"


def merge_rule(source: DataSource) -> Ruling:
    """What the engine does with rows of equal keys. Raises InvalidQuery where a key does not compile."""
    engine = source.engine
    if engine.name not in MERGING:
        return Ruling(why=f"FINAL is not supported by the engine {engine.name}")
    if engine.name in _BY_KEY and not engine.sorting_key:
        message = f"`{source.name}` has no sorting key: {engine.name} merges nothing"
        return Ruling(why=f"FINAL is not supported here: {message}", hint="give it an ENGINE_SORTING_KEY")
    sorting = _compiled(source, "ENGINE_SORTING_KEY", engine.sorting_key)
    parting = _compiled(source, "ENGINE_PARTITION_KEY", engine.partition_key)
    partition = () if _is_settled(sorting, parting, engine.sorting_key) else _ids(parting)
    if partition is None:
        message = "ClickHouse hashes its partition key, and that alone says which of two rows of equal keys is first"
        hint = "let the sorting key have the columns of the partition key"
        return Ruling(why=f"FINAL is not supported on `{source.name}`: {message}", hint=hint)
    fixed = frozenset(name for each in (*sorting, *parting) for name in each.uses)
    return _rule(source, tuple(each.sql for each in sorting), partition, fixed)


def _rule(source: DataSource, keys: tuple[str, ...], partition: tuple[str, ...], fixed: frozenset[str]) -> Ruling:
    """`fixed` are the columns that the keys read: they are never merged."""
    engine = source.engine
    if engine.name == "ReplacingMergeTree":
        return Ruling(Replacing(keys, engine.ver, engine.is_deleted, partition))
    if engine.name == "CollapsingMergeTree":
        return Ruling(Collapsing(keys, engine.sign or "", partition))
    if engine.name == "VersionedCollapsingMergeTree":
        return Ruling(VersionedCollapsing(keys, engine.sign or "", engine.version or "", partition))
    merged = _merged(source, fixed)
    refused = next((column for column in merged if not _has_form(column)), None)
    if refused is not None:
        message = (
            f"FINAL is not supported on `{source.name}`: `{refused.name}` is {refused.type}, which is not merged here"
        )
        return Ruling(why=message, hint=_instead(refused))
    names = tuple(column.name for column in merged)
    if engine.name == "AggregatingMergeTree":
        return Ruling(Aggregating(keys, names, partition))
    drops_zeros = bool(merged) and all(is_summed(column.type) for column in merged)
    return Ruling(Summing(keys, names, drops_zeros, partition))


def _merged(source: DataSource, fixed: frozenset[str]) -> tuple[Column, ...]:
    """The columns that the engine sums or merges."""
    engine = source.engine
    columns = tuple(column for column in source.columns if column.name not in fixed)
    if engine.name == "AggregatingMergeTree":
        return tuple(column for column in columns if is_aggregate(column.type))
    named = engine.summed
    chosen = (column for column in columns if not named or column.name in named)
    return tuple(column for column in chosen if is_summed(column.type) or is_aggregate(column.type))


def _has_form(column: Column) -> bool:
    try:
        return can_be_merged(column.type)
    except UnknownState:
        return False


def _instead(column: Column) -> str:
    if isinstance(bare(column.type), t.Bool) and is_summed(column.type):
        return "make it a UInt64, or name the columns to sum in ENGINE_COLUMNS"
    return "merge it where it is read, with GROUP BY"


def _compiled(source: DataSource, directive: str, parts: Sequence[str]) -> tuple[Expression, ...]:
    place = source.engine.location(directive) or source.location
    return tuple(compile_expression(Text(part, place), source.columns) for part in parts)


def _is_settled(sorting: Sequence[Expression], parting: Sequence[Expression], keys: Sequence[str]) -> bool:
    """Whether rows of equal sorting keys lie in one partition: it is made of columns of the key."""
    columns = {name for each, key in zip(sorting, keys, strict=True) for name in each.uses if key == name}
    known = {each.sql for each in sorting}
    return all(each.sql in known or columns.issuperset(each.uses) for each in parting)


def _ids(parting: Sequence[Expression]) -> tuple[str, ...] | None:
    """The parts of ClickHouse's partition id, which it compares as text; None where it is a hash."""
    found = [_id(each) for each in parting]
    parts = tuple(each for each in found if each is not None)
    return parts if len(parts) == len(found) else None


def _id(part: Expression) -> str | None:
    if nullable(part.type):
        return None
    match bare(part.type):
        case t.Int():
            return f"CAST({part.sql} AS STRING)"
        case t.Bool():
            return f"CAST(CAST({part.sql} AS INT) AS STRING)"
        case t.Date(wide=False):
            return f"date_format({part.sql}, 'yyyyMMdd')"
        case t.Date():
            return f"CAST(datediff({part.sql}, DATE'1970-01-01') AS STRING)"
        case t.DateTime():
            return f"CAST(unix_seconds({part.sql}) AS STRING)"
        case t.Enum() as texts:
            return f"CAST({enum_number(texts, part.sql)} AS STRING)"
        case _:
            return None
