"""Where a change is written: the file and line that say it.

In: a change and both versions of the project. Out: its `Location`. Invariant: a removed resource has the place that it
had in the version before; every other change has a place in the next version, at least that of its resource.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from typing_extensions import assert_never

from penstock.errors import Location
from penstock.model.datasource import DataSource
from penstock.model.pipe import Pipe
from penstock.model.project import Project
from penstock.plan.diff.changes import (
    Change,
    ColumnAdded,
    ColumnDefaultChanged,
    ColumnDropped,
    ColumnPathChanged,
    ColumnRenamed,
    ColumnsReordered,
    ColumnTypeChanged,
    EndpointChanged,
    EngineChanged,
    MetadataChanged,
    PartitionKeyChanged,
    ResourceAdded,
    ResourceRemoved,
    ResourceRenamed,
    SettingsChanged,
    SortingKeyChanged,
    TtlChanged,
    ViewChanged,
)


def change_places(changes: Iterable[Change], before: Project, after: Project) -> Mapping[Change, Location]:
    """The place of each change."""
    found = {change: _place(change, before, after) for change in changes}
    return {change: place for change, place in found.items() if place is not None}


def _place(change: Change, before: Project, after: Project) -> Location | None:
    match change:
        case ResourceRemoved(name, kind):
            gone = before.datasource(name) if kind == "datasource" else before.pipe(name)
            return gone.location if gone is not None else None
        case ViewChanged(name) | EndpointChanged(name):
            return _query_place(before.pipe(name), after.pipe(name))
        case ResourceAdded(name, kind) | ResourceRenamed(name, kind) | MetadataChanged(name, kind):
            return _resource_place(change, after.datasource(name) if kind == "datasource" else after.pipe(name))
        case _:
            source = after.datasource(change.resource)
            return (_source_place(change, source) or source.location) if source is not None else None


def _resource_place(
    change: ResourceAdded | ResourceRenamed | MetadataChanged, resource: DataSource | Pipe | None
) -> Location | None:
    if isinstance(change, MetadataChanged) and isinstance(resource, DataSource) and resource.forward_query is not None:
        return resource.forward_query.location if "forward query" in change.what else resource.location
    return resource.location if resource is not None else None


def _query_place(old: Pipe | None, new: Pipe | None) -> Location | None:
    """The place of the first node with another query."""
    if new is None:
        return None
    known = {node.name: node.sql for node in old.nodes} if old is not None else {}
    changed = (node.sql.location for node in new.nodes if known.get(node.name) != node.sql)
    return next(changed, new.location)


def _source_place(
    change: ColumnAdded
    | ColumnDropped
    | ColumnRenamed
    | ColumnTypeChanged
    | ColumnDefaultChanged
    | ColumnPathChanged
    | ColumnsReordered
    | SortingKeyChanged
    | PartitionKeyChanged
    | TtlChanged
    | EngineChanged
    | SettingsChanged,
    source: DataSource,
) -> Location | None:
    """The place of a column, or of a setting of the engine; None: nothing there says it."""
    match change:
        case ColumnDropped() | ColumnsReordered():
            return None
        case SortingKeyChanged():
            return source.engine.location("ENGINE_SORTING_KEY")
        case PartitionKeyChanged():
            return source.engine.location("ENGINE_PARTITION_KEY")
        case TtlChanged():
            return source.engine.location("ENGINE_TTL")
        case EngineChanged() | SettingsChanged():
            return source.engine.location("ENGINE")
        case ColumnAdded() | ColumnRenamed() | ColumnTypeChanged() | ColumnDefaultChanged() | ColumnPathChanged():
            column = source.column(change.column)
            return column.location if column is not None else None
        case _:
            assert_never(change)
