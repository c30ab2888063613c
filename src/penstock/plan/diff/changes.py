"""The differences between two versions of a project: a closed union of frozen changes, and their texts.

In: nothing. Out: the change classes, and `change_text` for plans, reasons and problems. Invariants: a change says
what the user wrote differently, not what follows from it; it reads the same wherever it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, Union

from typing_extensions import assert_never

from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Type
from penstock.plan.diff.resource_kinds import ResourceKind


@dataclass(frozen=True, slots=True)
class ResourceAdded:
    """A resource that the live version does not have."""

    resource: str
    kind: ResourceKind


@dataclass(frozen=True, slots=True)
class ResourceRemoved:
    """A resource of the live version that the project no longer has."""

    resource: str
    kind: ResourceKind


@dataclass(frozen=True, slots=True)
class ResourceRenamed:
    """A data source with RENAMED_FROM."""

    resource: str
    kind: ResourceKind
    old: str


@dataclass(frozen=True, slots=True)
class ColumnAdded:
    """A column that the live version does not have."""

    resource: str
    column: str
    type: Type


@dataclass(frozen=True, slots=True)
class ColumnDropped:
    """A column of the live version that the project no longer has."""

    resource: str
    column: str


@dataclass(frozen=True, slots=True)
class ColumnRenamed:
    """A column renamed by RENAMED_FROM, or by a forward query that selects the bare old column."""

    resource: str
    column: str
    old: str


@dataclass(frozen=True, slots=True)
class ColumnTypeChanged:
    """Another type for the same column."""

    resource: str
    column: str
    before: Type
    after: Type


@dataclass(frozen=True, slots=True)
class ColumnDefaultChanged:
    """Another DEFAULT expression; None: no DEFAULT."""

    resource: str
    column: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class ColumnPathChanged:
    """The column is filled from another place of the ingested row; None: it is not filled from the row."""

    resource: str
    column: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class ColumnsReordered:
    """The same columns in another order."""

    resource: str


@dataclass(frozen=True, slots=True)
class SortingKeyChanged:
    """Another ENGINE_SORTING_KEY."""

    resource: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PartitionKeyChanged:
    """Another ENGINE_PARTITION_KEY."""

    resource: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TtlChanged:
    """Another ENGINE_TTL; None: no TTL."""

    resource: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class EngineChanged:
    """Another ENGINE, or another value of one of its options (ENGINE_VER, ENGINE_SIGN …)."""

    resource: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """Another ENGINE_SETTINGS, ENGINE_PRIMARY_KEY or ENGINE_SAMPLING_KEY."""

    resource: str


@dataclass(frozen=True, slots=True)
class ViewChanged:
    """Another query of a materialized view, or another data source that it writes."""

    resource: str
    node: str


@dataclass(frozen=True, slots=True)
class EndpointChanged:
    """Another query of a pipe that no table depends on."""

    resource: str
    kind: ResourceKind


@dataclass(frozen=True, slots=True)
class MetadataChanged:
    """Other descriptions, tokens, tags and the like."""

    resource: str
    kind: ResourceKind
    what: tuple[str, ...]
    """The names of what changed."""


Change: TypeAlias = Union[
    ResourceAdded,
    ResourceRemoved,
    ResourceRenamed,
    ColumnAdded,
    ColumnDropped,
    ColumnRenamed,
    ColumnTypeChanged,
    ColumnDefaultChanged,
    ColumnPathChanged,
    ColumnsReordered,
    SortingKeyChanged,
    PartitionKeyChanged,
    TtlChanged,
    EngineChanged,
    SettingsChanged,
    ViewChanged,
    EndpointChanged,
    MetadataChanged,
]


def change_text(change: Change) -> str:
    """A change in words, without the name of its resource."""
    match change:
        case ResourceAdded() | ResourceRemoved() | ResourceRenamed() | MetadataChanged():
            return _resource_change_text(change)
        case ViewChanged() | EndpointChanged():
            return "query changed"
        case SortingKeyChanged() | PartitionKeyChanged() | TtlChanged() | EngineChanged() | SettingsChanged():
            return _engine_change_text(change)
        case _:
            return _column_change_text(change)


def _resource_change_text(change: ResourceAdded | ResourceRemoved | ResourceRenamed | MetadataChanged) -> str:
    match change:
        case ResourceAdded():
            return "new"
        case ResourceRemoved():
            return "removed"
        case ResourceRenamed(_, _, old):
            return f"renamed from `{old}`"
        case MetadataChanged(_, _, what):
            return f"{', '.join(what)} changed"
        case _:
            assert_never(change)


def _engine_change_text(
    change: SortingKeyChanged | PartitionKeyChanged | TtlChanged | EngineChanged | SettingsChanged,
) -> str:
    match change:
        case SortingKeyChanged(_, _, after):
            return f"sorting key is now {', '.join(after) or 'none'}"
        case PartitionKeyChanged(_, _, after):
            return f"partition key is now {', '.join(after) or 'none'}"
        case TtlChanged(_, _, after):
            return f"TTL is now {after or 'none'}"
        case EngineChanged(_, before, after):
            return f"engine {before} → {after}"
        case SettingsChanged():
            return "engine settings changed"
        case _:
            assert_never(change)


def _column_change_text(
    change: ColumnAdded
    | ColumnDropped
    | ColumnRenamed
    | ColumnTypeChanged
    | ColumnDefaultChanged
    | ColumnPathChanged
    | ColumnsReordered,
) -> str:
    match change:
        case ColumnAdded(_, column, of):
            return f"`{column}` {of} added"
        case ColumnDropped(_, column):
            return f"`{column}` dropped"
        case ColumnRenamed(_, column, old):
            return f"`{old}` renamed to `{column}`"
        case ColumnTypeChanged(_, column, before, after):
            return f"`{column}` {before} → {after}"
        case ColumnDefaultChanged(_, column, _, default):
            return f"DEFAULT of `{column}` is now {default or 'none'}"
        case ColumnPathChanged(_, column, _, path):
            return f"`{column}` is filled from {path or 'no JSON path'}"
        case ColumnsReordered():
            return "columns reordered"
        case _:
            assert_never(change)


def change_kind(change: Change) -> str:
    """The stable name of a change in JSON: the name of its class in snake case."""
    name = type(change).__name__
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


def changed_columns(change: Change) -> tuple[str, ...]:
    """The columns that a change is about; a renamed one under both its names."""
    match change:
        case ColumnRenamed(_, column, old):
            return (old, column)
        case (
            ColumnAdded(_, column)
            | ColumnDropped(_, column)
            | ColumnTypeChanged(_, column)
            | ColumnDefaultChanged(_, column)
            | ColumnPathChanged(_, column)
        ):
            return (column,)
        case _:
            return ()


def join_words(words: Iterable[str]) -> str:
    """The words as a list in a sentence: `a, b and c`."""
    *first, last = list(dict.fromkeys(words)) or [""]
    return f"{', '.join(first)} and {last}" if first else last


def rows_text(rows: int | None) -> str:
    """A number of rows in words; `all` where it is not known."""
    if rows is None:
        return "all its rows"
    return "1 row" if rows == 1 else f"{rows:,} rows"
