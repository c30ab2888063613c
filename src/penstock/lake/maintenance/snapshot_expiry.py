"""Expire snapshots of a table that are not needed, and delete the files that only they refer to.

In: a table, its snapshots and which of them are needed. Out: fewer snapshots. Invariant: the line from the oldest
needed snapshot to the current one stays whole; of a table that may share files with a clone, no file is deleted
here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from penstock.crash_points import crash_point
from penstock.lake.spark.session import Lake
from penstock.lake.tables import physical_tables
from penstock.lake.tables.java_table import JavaTable


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """A snapshot of a table."""

    id: int
    made: float
    """When it was committed, in seconds since 1970."""
    held: bool
    """Whether a tag or branch refers to it."""


@dataclass(frozen=True, slots=True)
class SnapshotHistory:
    """The snapshots that led to the current one, oldest first (`line`), and the others (`detached`)."""

    line: tuple[SnapshotInfo, ...] = ()
    detached: tuple[SnapshotInfo, ...] = ()


def list_snapshots(lake: Lake, table: str) -> SnapshotHistory:
    """The current snapshots of a table."""
    found = physical_tables.load_table(lake, table)
    if found is None:
        return SnapshotHistory()
    held = {ref.snapshot_id for ref in found.metadata.refs.values()}
    known = {
        each.snapshot_id: (SnapshotInfo(each.snapshot_id, each.timestamp_ms / 1000, each.snapshot_id in held), each)
        for each in found.metadata.snapshots
    }
    line: list[SnapshotInfo] = []
    at = found.metadata.current_snapshot_id
    while at is not None and at in known:
        version, snapshot = known.pop(at)
        line.append(version)
        at = snapshot.parent_snapshot_id
    return SnapshotHistory(tuple(reversed(line)), tuple(version for version, _ in known.values()))


def expirable_snapshots(found: SnapshotHistory, needed: Collection[int], before: float) -> tuple[int, ...]:
    """The snapshots that may expire: the next one was made before `before` (seconds since 1970), no tag or branch
    refers to them, and they are older than every needed one (all snapshots after a needed one are needed too)."""
    ends = _first_needed(found.line, needed)
    followed = zip(found.line[:ends], found.line[1:], strict=False)
    line = []
    for version, successor in followed:
        if successor.made >= before:
            break
        line.append(version)
    aside = [each for each in found.detached if each.made < before and each.id not in needed]
    return tuple(each.id for each in (*aside, *line) if not each.held)


def expire_snapshots(lake: Lake, table: str, snapshots: Sequence[int]) -> bool:
    """Expire these snapshots. The caller makes sure that the table is not cloned meanwhile. Returns False if another
    commit came first."""
    java = JavaTable(lake, table)
    if java.shares_files:
        return java.remove_snapshots(snapshots)
    # Without this, Iceberg also expires everything older than five days, its default.
    update = java.table.expireSnapshots().expireOlderThan(0)
    for snapshot in snapshots:
        update = update.expireSnapshotId(snapshot)
    crash_point("lake.before")
    update.commit()
    crash_point("lake.after")
    return True


def _first_needed(line: Sequence[SnapshotInfo], needed: Collection[int]) -> int:
    """The position of the first snapshot that stays."""
    places = [place for place, version in enumerate(line) if version.id in needed]
    return min(places, default=len(line) - 1)
