"""Copy the history of a table through a forward query, or the rows that a condition keeps, into its successor, one
slice a step.

In: a copy and its progress. Out: one commit of rows and cursor. Invariant: the copy reads one snapshot of the old
table; with its last slice it commits the cursors that the old table's flows had at that snapshot, and the new
table's flows continue from there, so no row is missing or repeated in between. Of a source of engine Null no row is
copied: those that are still on disk were never part of it. A copy of a table that lost rows is noted as one, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.crash_points import crash_point
from penstock.flow.table_registry import TableRegistry
from penstock.lake.maintenance.removed_rows import note_loss, note_loss_over, shortened_tables
from penstock.lake.read.bindings import CurrentRows, SnapshotSlice, TablePart, binding_relation, with_seq
from penstock.lake.read.history_slices import HistorySlice, SliceLimits, next_slice
from penstock.lake.spark.session import Lake
from penstock.lake.tables.snapshot_tags import release_tag
from penstock.lake.tables.snapshots import Progress, Snapshots
from penstock.model.cursor import Cursor, HistoryCursor, TailCursor
from penstock.model.manifest import KEEPS_NOTHING, SEQ, Copy
from penstock.sql.spark_text import quote_identifier

EMPTY_SOURCE = TailCursor(-1)
"""The cursor of a copy whose source had no row: it is complete."""


@dataclass(frozen=True, slots=True)
class CopiedSlice:
    """The result of a step: rows appended, and bytes of the files read."""

    rows: int
    bytes: int


def is_copy_complete(cursor: Cursor | None) -> bool:
    return isinstance(cursor, TailCursor)


def copy_slice(lake: Lake, registry: TableRegistry, copy: Copy, most: SliceLimits) -> CopiedSlice:
    """Run the next step of a copy that is not complete. The caller must hold the target's lock."""
    source = registry.snapshots(copy.source.table)
    cursor = registry.cursor(copy.table, copy.id)
    if cursor is None and source.current is None:
        return CopiedSlice(_commit_slice(lake, registry, copy, CurrentRows(), {copy.id: Progress(EMPTY_SOURCE)}), 0)
    snapshot, after = _copy_position(cursor, source)
    if after < 0 and _lacks_rows(lake, copy):
        note_loss(lake, copy.table)
    history_slice = _next_slice(lake, copy, snapshot, after, most)
    if history_slice.last:
        made = {copy.id: Progress(TailCursor(snapshot)), **_inherited_progress(copy, source.at(snapshot))}
    else:
        made = {copy.id: Progress(HistoryCursor(snapshot, history_slice.upto))}
    rows = _commit_slice(lake, registry, copy, SnapshotSlice(snapshot, after, history_slice.upto), made)
    if history_slice.last:
        note_loss_over(lake, copy.table)
        release_tag(lake, copy.source.table, (copy.table, copy.id))
    return CopiedSlice(rows, history_slice.bytes)


def _next_slice(lake: Lake, copy: Copy, snapshot: int, after: int, most: SliceLimits) -> HistorySlice:
    if copy.source.keeps != KEEPS_NOTHING:
        return next_slice(lake, copy.source.table, snapshot, after, most)
    return HistorySlice(after, 0, 0, True)


def _lacks_rows(lake: Lake, copy: Copy) -> bool:
    """Whether the table that is copied got rows that the copy will not have."""
    return copy.source.keeps == KEEPS_NOTHING or bool(shortened_tables(lake, (copy.source.table,)))


def _inherited_progress(copy: Copy, old: Mapping[str, Progress]) -> dict[str, Progress]:
    """The progress of the old table's flows; the last step of its landing was none of the new table."""
    return {new: replace(old[before], before=None) for before, new in copy.cursors if before in old}


def _copy_position(cursor: Cursor | None, source: Snapshots) -> tuple[int, int]:
    """The snapshot that is copied, and the `_seq` up to which it has been copied."""
    if isinstance(cursor, HistoryCursor):
        return cursor.snapshot, cursor.seq
    assert source.current is not None, "an empty source was copied in one step"
    return source.current.id, -1


def _commit_slice(
    lake: Lake, registry: TableRegistry, copy: Copy, part: TablePart, made: Mapping[str, Progress]
) -> int:
    # Copied rows keep their `_seq`.
    read = binding_relation(with_seq(copy.source), part)
    columns = ", ".join(f"{sql} AS {quote_identifier(field)}" for field, sql in copy.select)
    kept = f" WHERE {copy.where}" if copy.where is not None else ""
    rows = lake.bulk.sql(f"SELECT {columns}, {SEQ} FROM {read} AS `source`{kept}")
    added = registry.commit(rows, copy.table, made)
    crash_point("copy.committed")
    return added
