"""Whether rows that an engine may have merged are what another engine makes of all rows.

In: a data source as it runs and as the next version defines it, with its paired columns. Out: why the rows that are
left do not do, or nothing. Invariant: nothing is said only if the new rule gives of rows that the old one merged, at
any time and in any order, what it gives of all of them: `max` of sums is no `max`, and of the rows of one user the
last one does not tell the last one of each day.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from penstock.model.datasource import Column, DataSource
from penstock.model.types import AggregateFunction, Decimal, Float, Int, SimpleAggregateFunction, unwrap_type
from penstock.plan.diff.changes import join_words
from penstock.plan.diff.column_matching import ColumnMatch
from penstock.plan.diff.merged_rows import key_columns

_KEEP_ALL = ("MergeTree", "Null")
_ROLL_UPS = ("AggregatingMergeTree", "SummingMergeTree")


def find_other_merging(old: DataSource, new: DataSource, match: ColumnMatch, derived: Collection[str]) -> str:
    """How the live engine has merged rows that the next one needs apart; empty if it has not. `derived` are the columns
    of which it is known that their values survive that."""
    if old.engine.name in _KEEP_ALL:
        return ""
    are_alike = old.engine.name == new.engine.name or {old.engine.name, new.engine.name} <= set(_ROLL_UPS)
    if not are_alike:
        return f"rows of live are merged by {old.engine.name}"
    names = {origin.name: column.name for column, origin in match.pairs if origin is not None}
    added = {column.name for column, origin in match.pairs if origin is None} | set(derived)
    return (
        _other_option(old, new, names) or _other_key(old, new, names, added) or _other_function(old, new, match, added)
    )


def _other_option(old: DataSource, new: DataSource, names: Mapping[str, str]) -> str:
    """What else than the key chose the rows that are left."""
    was, now = old.engine, new.engine
    # A mark of deletion hides rows when they are read; rows with another mark than 0 and 1 are none with it.
    marks = [(was.is_deleted, now.is_deleted)] if now.is_deleted is not None else []
    for before, after in ((was.ver, now.ver), (was.sign, now.sign), (was.version, now.version), *marks):
        if (names.get(before) if before is not None else None) != after:
            return f"of rows of live with one key others are left than by {_column(after)}"
    return ""


def _column(name: str | None) -> str:
    return f"`{name}`" if name is not None else "the order in which they came"


def _other_key(old: DataSource, new: DataSource, names: Mapping[str, str], added: Collection[str]) -> str:
    """Whether rows that the new key keeps apart had one key, or what was a part of the key is merged from now on."""
    was = [part.strip().strip("`") for part in old.engine.sorting_key]
    kept = {names.get(part, part) for part in was}
    now = {part.strip().strip("`") for part in new.engine.sorting_key}
    left = kept - now
    is_coarser = now - set(added) <= kept and not any(
        _merged_by(new, each) for each in new.columns if each.name in left
    )
    if is_coarser and not (left and "Collapsing" in old.engine.name):
        return ""
    return f"rows of live are merged by {join_words(f'`{part}`' for part in was)}"


def _other_function(old: DataSource, new: DataSource, match: ColumnMatch, added: Collection[str]) -> str:
    """Whether values were merged otherwise."""
    if new.engine.name not in _ROLL_UPS:
        return ""
    for column, origin in match.pairs:
        if origin is None or column.name in added or origin.name in key_columns(old):
            continue
        was, now = _merged_by(old, origin), _merged_by(new, column)
        if was != now:
            return f"values of `{column.name}` are merged by {was or 'taking any'} in live"
    return ""


def _merged_by(source: DataSource, column: Column) -> str:
    """The function that merges the values of a column; empty if one of them is taken."""
    if column.name in key_columns(source):
        return ""
    match column.type:
        case SimpleAggregateFunction() | AggregateFunction():
            return column.type.function.removesuffix("If")
        case _ if source.engine.name == "SummingMergeTree":
            is_named = not source.engine.summed or column.name in source.engine.summed
            return "sum" if is_named and isinstance(unwrap_type(column.type), (Int, Float, Decimal)) else ""
        case _:
            return ""
