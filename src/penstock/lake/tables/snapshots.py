"""The snapshots of a table, with the cursors that were committed in them.

In: a table's Iceberg metadata. Out: `Snapshots`. Invariant: the last snapshot with cursors has those of every flow
into the table, so rows and cursors are one atomic state; a maintenance snapshot without cursors is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson
from pyiceberg.table.snapshots import Snapshot as IcebergSnapshot

from penstock.lake.spark.session import Lake
from penstock.lake.tables import physical_tables
from penstock.model.cursor import Cursor, decode_cursor, encode_cursor

CURSOR = "penstock.cursor."
WATERMARK = "penstock.through."
BEFORE = "penstock.before."
FLOWS = "penstock.flows"
"""Summary key: number of flows whose cursors a snapshot carries; 0 in a clone before its first step."""
SQUASHES = "penstock.squashes"
"""Summary key of a squashed snapshot: the id of the last snapshot whose appended rows it repeats."""
SQUASHED_SEQUENCE = "penstock.squashes-sequence"
"""Summary key of a squashed snapshot: the sequence number of that snapshot."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a flow is."""

    cursor: Cursor
    watermarks: Mapping[str, int] = field(default_factory=dict)
    """By stream, the last batch whose rows are all in the table."""
    before: int | None = None
    """Of a landing, the last batch before its last step; None if it is not recorded."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One snapshot of a table."""

    id: int
    appends: bool
    """Whether it is an append."""
    added: int
    """The number of rows it added."""
    progress: Mapping[str, Progress] | None
    """The progress by flow id; None if the snapshot carries no cursors."""
    parent: int | None = None
    """The id of the snapshot that it follows."""
    squashes: int | None = None
    """The last snapshot of the line whose rows it repeats; None unless it is a squashed one."""
    added_bytes: int = 0
    """The size of the files that it added."""


@dataclass(frozen=True, slots=True)
class Snapshots:
    """The snapshots of a table."""

    line: tuple[Snapshot, ...] = ()
    """The snapshots that led to the current one, oldest first."""
    rows: int = 0
    bytes: int = 0
    files: int = 0
    """Totals of the current snapshot."""
    detached: tuple[Snapshot, ...] = ()
    """Snapshots that a tag or branch keeps although snapshots between them and the line were expired, and squashed
    ones."""

    @property
    def current(self) -> Snapshot | None:
        return self.line[-1] if self.line else None

    @property
    def progress(self) -> Mapping[str, Progress]:
        """Current progress of every flow into the table."""
        return progress_at(self.line, len(self.line) - 1)

    def at(self, snapshot: int) -> Mapping[str, Progress]:
        """Progress of every flow as of a snapshot. Raises KeyError for an unknown snapshot."""
        kept = next((each for each in self.detached if each.id == snapshot), None)
        if kept is not None and kept.progress is not None:
            return kept.progress
        return progress_at(self.line, self.index(snapshot))

    def has(self, snapshot: int) -> bool:
        """Whether the snapshot is in the line."""
        return any(each.id == snapshot for each in reversed(self.line))

    def squashed_after(self, snapshot: int) -> tuple[Snapshot, ...]:
        """The squashed snapshots, in order, that together append what the line appended after a snapshot."""
        found: list[Snapshot] = []
        following = {each.parent: each for each in self.detached if each.squashes is not None}
        while (each := following.get(snapshot)) is not None:
            found.append(each)
            snapshot = each.id
        return tuple(found)

    def unsquashed(self, snapshot: int) -> int:
        """The snapshot of the line that a squashed one stands for, if it is still in the line; else the given one."""
        kept = next((each for each in self.detached if each.id == snapshot), None)
        if kept is not None and kept.squashes is not None and self.has(kept.squashes):
            return kept.squashes
        return snapshot

    def kept_after(self, snapshot: int) -> int:
        """How many snapshots a reader needs that has read up to a snapshot: squashed ones, and those of the line."""
        squashed = self.squashed_after(snapshot)
        start = self.unsquashed(squashed[-1].id if squashed else snapshot)
        return len(squashed) + (len(self.line) - 1 - self.index(start) if self.has(start) else 0)

    def index(self, snapshot: int) -> int:
        """The position of a snapshot in the line. Raises KeyError if it is not in it."""
        for position in range(len(self.line) - 1, -1, -1):
            if self.line[position].id == snapshot:
                return position
        raise KeyError(snapshot)


def progress_at(line: tuple[Snapshot, ...], position: int) -> Mapping[str, Progress]:
    """The progress in the last snapshot at or before `position` that carries any."""
    recorded = (line[at].progress for at in range(position, -1, -1))
    return next((progress for progress in recorded if progress is not None), {})


def read_snapshots(lake: Lake, table: str, known: Snapshots | None = None) -> Snapshots:
    """The snapshots of a table now (empty if there is no table). Snapshots that are in `known` are not parsed again."""
    found = physical_tables.load_table(lake, table)
    newest = found.current_snapshot() if found is not None else None
    if found is None or newest is None:
        return Snapshots()
    parsed = {snapshot.id: snapshot for snapshot in (*known.line, *known.detached)} if known else {}
    by_id = {snapshot.snapshot_id: snapshot for snapshot in found.metadata.snapshots}
    line: list[Snapshot] = []
    step: IcebergSnapshot | None = newest
    while step is not None:
        line.append(parsed.get(step.snapshot_id) or _parse_snapshot(step))
        step = by_id.get(step.parent_snapshot_id) if step.parent_snapshot_id is not None else None
    within = {each.id for each in line}
    aside = tuple(parsed.get(id) or _parse_snapshot(each) for id, each in by_id.items() if id not in within)
    totals = (_summary_number(newest, key) for key in ("total-records", "total-files-size", "total-data-files"))
    rows, size, files = totals
    return Snapshots(tuple(reversed(line)), rows, size, files, aside)


def sequence_read(snapshot: IcebergSnapshot) -> int:
    """The sequence number up to which a flow has read whose cursor is at a snapshot: that of the snapshot which a
    squashed one stands for, and else its own."""
    extra = snapshot.summary.additional_properties if snapshot.summary else {}
    return int(extra.get(SQUASHED_SEQUENCE, snapshot.sequence_number or 0))


def summary_entries(progress: Mapping[str, Progress]) -> dict[str, str]:
    """What the summary of a table's next snapshot says about the progress of all its flows."""
    entries = {FLOWS: str(len(progress))}
    for flow, at in progress.items():
        entries[CURSOR + flow] = encode_cursor(at.cursor)
        entries[WATERMARK + flow] = orjson.dumps(dict(at.watermarks)).decode()
        if at.before is not None:
            entries[BEFORE + flow] = str(at.before)
    return entries


def summary_options(progress: Mapping[str, Progress]) -> dict[str, str]:
    """The same as write options of Spark."""
    return {f"snapshot-property.{key}": value for key, value in summary_entries(progress).items()}


def _parse_snapshot(snapshot: IcebergSnapshot) -> Snapshot:
    summary = snapshot.summary
    extra = dict(summary.additional_properties) if summary else {}
    progress = {
        key.removeprefix(CURSOR): _parse_progress(extra, key.removeprefix(CURSOR))
        for key in extra
        if key.startswith(CURSOR)
    }
    appends = summary is not None and summary.operation.value == "append"
    carried = progress if progress or FLOWS in extra else None
    squashes = int(extra[SQUASHES]) if SQUASHES in extra else None
    added, size = (int(extra.get(key, 0)) for key in ("added-records", "added-files-size"))
    return Snapshot(snapshot.snapshot_id, appends, added, carried, snapshot.parent_snapshot_id, squashes, size)


def _parse_progress(extra: Mapping[str, str], flow: str) -> Progress:
    before = extra.get(BEFORE + flow)
    return Progress(
        decode_cursor(extra[CURSOR + flow]),
        orjson.loads(extra.get(WATERMARK + flow, "{}")),
        int(before) if before is not None else None,
    )


def _summary_number(snapshot: IcebergSnapshot, key: str) -> int:
    return int((snapshot.summary.additional_properties if snapshot.summary else {}).get(key, 0))
