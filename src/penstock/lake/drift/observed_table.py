"""The present state of a physical table, including changes from outside Penstock.

In: a table's Iceberg metadata. Out: `ObservedTable`: its identity, its columns, and for each snapshot whether
Penstock made it. Invariant: reads metadata only.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyiceberg.table import Table as IcebergTable
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.snapshots import Snapshot as IcebergSnapshot

from penstock.lake.spark.names import MADE_BY
from penstock.lake.tables.snapshots import CURSOR, FLOWS, SQUASHES
from penstock.state.made_tables import MadeColumn

_CHANGES = {Operation.APPEND: "appended", Operation.DELETE: "deleted", Operation.OVERWRITE: "replaced"}
"""Iceberg's operations that change rows; the fourth one, replace, is a compaction."""


@dataclass(frozen=True, slots=True)
class ObservedSnapshot:
    """One snapshot of a table."""

    id: int
    sequence: int
    ours: bool
    """Whether Penstock made it."""
    progress: bool
    """Whether it carries the progress of the table's flows."""
    change: str | None
    """What it did to rows: appended, deleted or replaced; None if nothing."""
    added: int
    """How many rows it added."""
    removed: int
    """How many rows it removed."""
    squashed: bool = False
    """Whether it only repeats, beside the line, what other snapshots appended."""


@dataclass(frozen=True, slots=True)
class ObservedTable:
    """A table as its metadata shows it."""

    uuid: str
    columns: tuple[MadeColumn, ...]
    line: tuple[ObservedSnapshot, ...]
    """The snapshots that led to the current one, oldest first."""
    newest: ObservedSnapshot | None
    """The last snapshot that Penstock made, whether it is in the line or not."""

    @property
    def sequence(self) -> int:
        """Sequence number of the current snapshot, 0 if there is none."""
        return self.line[-1].sequence if self.line else 0


def observe_table(found: IcebergTable) -> ObservedTable:
    """The observed state of a table that PyIceberg loaded."""
    metadata = found.metadata
    marks = {each.snapshot_id: (_observe_snapshot(each), each.parent_snapshot_id) for each in metadata.snapshots}
    line: list[ObservedSnapshot] = []
    at = metadata.current_snapshot_id
    while at is not None and at in marks:
        mark, at = marks[at]
        line.append(mark)
    columns = tuple(MadeColumn(field.name, str(field.field_type), field.field_id) for field in found.schema().fields)
    ours = (mark for mark, _ in marks.values() if mark.ours and not mark.squashed)
    newest = max(ours, key=lambda mark: mark.sequence, default=None)
    return ObservedTable(str(metadata.table_uuid), columns, tuple(reversed(line)), newest)


def _observe_snapshot(snapshot: IcebergSnapshot) -> ObservedSnapshot:
    summary = snapshot.summary
    properties = summary.additional_properties if summary is not None else {}
    progress = FLOWS in properties or any(key.startswith(CURSOR) for key in properties)
    operation = summary.operation if summary is not None else Operation.OVERWRITE
    return ObservedSnapshot(
        id=snapshot.snapshot_id,
        sequence=snapshot.sequence_number or 0,
        ours=progress or MADE_BY in properties,
        progress=progress,
        change=_CHANGES.get(operation),
        added=int(properties.get("added-records", 0)),
        removed=int(properties.get("deleted-records", 0)),
        squashed=SQUASHES in properties,
    )
