"""Changes and numbers in words, for reasons and problems.

In: changes, sizes. Out: short English. Called by `strategy`, `datasource` and `explain`. Invariant:
the same change reads the same wherever it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable

from typing_extensions import assert_never

from penstock.plan import changes as c


def told(change: c.Change) -> str:
    """What a change is, without the name of its resource."""
    match change:
        case c.ResourceAdded() | c.ResourceRemoved() | c.ResourceRenamed() | c.MetadataChanged():
            return _told_resource(change)
        case c.ViewChanged() | c.EndpointChanged():
            return "query changed"
        case c.SortingKeyChanged() | c.PartitionKeyChanged() | c.TtlChanged() | c.EngineChanged() | c.SettingsChanged():
            return _told_engine(change)
        case _:
            return _told_column(change)


def _told_resource(change: c.ResourceAdded | c.ResourceRemoved | c.ResourceRenamed | c.MetadataChanged) -> str:
    match change:
        case c.ResourceAdded():
            return "new"
        case c.ResourceRemoved():
            return "removed"
        case c.ResourceRenamed(_, _, old):
            return f"renamed from `{old}`"
        case c.MetadataChanged(_, _, what):
            return f"{', '.join(what)} changed"
        case _:
            assert_never(change)


def _told_engine(
    change: c.SortingKeyChanged | c.PartitionKeyChanged | c.TtlChanged | c.EngineChanged | c.SettingsChanged,
) -> str:
    match change:
        case c.SortingKeyChanged(_, _, after):
            return f"sorting key is now {', '.join(after) or 'none'}"
        case c.PartitionKeyChanged(_, _, after):
            return f"partition key is now {', '.join(after) or 'none'}"
        case c.TtlChanged(_, _, after):
            return f"TTL is now {after or 'none'}"
        case c.EngineChanged(_, before, after):
            return f"engine {before} → {after}"
        case c.SettingsChanged():
            return "engine settings changed"
        case _:
            assert_never(change)


def _told_column(
    change: c.ColumnAdded | c.ColumnDropped | c.ColumnRenamed | c.ColumnTypeChanged | c.ColumnDefaultChanged
    | c.ColumnPathChanged | c.ColumnsReordered,
) -> str:  # fmt: skip
    match change:
        case c.ColumnAdded(_, column, of):
            return f"`{column}` {of} added"
        case c.ColumnDropped(_, column):
            return f"`{column}` dropped"
        case c.ColumnRenamed(_, column, old):
            return f"`{old}` renamed to `{column}`"
        case c.ColumnTypeChanged(_, column, before, after):
            return f"`{column}` {before} → {after}"
        case c.ColumnDefaultChanged(_, column, _, default):
            return f"DEFAULT of `{column}` is now {default or 'none'}"
        case c.ColumnPathChanged(_, column, _, path):
            return f"`{column}` is filled from {path or 'no JSON path'}"
        case c.ColumnsReordered():
            return "columns reordered"
        case _:
            assert_never(change)


def kind_of_change(change: c.Change) -> str:
    """The stable name of a change in JSON: the name of its class with underscores."""
    name = type(change).__name__
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


def columns_of(change: c.Change) -> tuple[str, ...]:
    """The columns that a change is about; a renamed one under both names."""
    match change:
        case c.ColumnRenamed(_, column, old):
            return (old, column)
        case (
            c.ColumnAdded(_, column) | c.ColumnDropped(_, column) | c.ColumnTypeChanged(_, column)
            | c.ColumnDefaultChanged(_, column) | c.ColumnPathChanged(_, column)
        ):  # fmt: skip
            return (column,)
        case _:
            return ()


def listed(words: Iterable[str]) -> str:
    """a, b and c."""
    *first, last = list(dict.fromkeys(words)) or [""]
    return f"{', '.join(first)} and {last}" if first else last


def counted(rows: int | None) -> str:
    """A number of rows; 'all' where it is not known."""
    if rows is None:
        return "all its rows"
    return "1 row" if rows == 1 else f"{rows:,} rows"
