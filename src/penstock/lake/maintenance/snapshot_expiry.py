"""Expire snapshots of a table that nobody needs, and delete the files that only they refer to.

In: a table, its snapshots and which of them are needed. Out: fewer snapshots. Invariant: the line from the oldest
needed snapshot to the current one stays whole; of a table that may share files with a clone, no file is deleted
here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from penstock.crash_points import reached
from penstock.lake.spark.session import Lake
from penstock.lake.tables import physical_tables
from penstock.lake.tables.java_table import JavaTable


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """A snapshot: when it was made (seconds since 1970), and whether a tag or a branch holds it."""

    id: int
    made: float
    held: bool


@dataclass(frozen=True, slots=True)
class SnapshotHistory:
    """Those that led to the current one, oldest first, and the others."""

    line: tuple[SnapshotInfo, ...] = ()
    detached: tuple[SnapshotInfo, ...] = ()


def list_snapshots(lake: Lake, table: str) -> SnapshotHistory:
    """The snapshots of a table now."""
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
    """The snapshots that are followed by one of `before` (seconds since 1970), that nobody holds, and that
    are older than any that is needed: what follows one that is needed is needed as well."""
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
    """Forget these. The caller keeps clones from being made of the table. Returns whether it was done."""
    java = JavaTable(lake, table)
    if java.shares_files:
        return java.remove_snapshots(snapshots)
    # Without it, what is older than five days goes as well, whoever reads it.
    update = java.table.expireSnapshots().expireOlderThan(0)
    for snapshot in snapshots:
        update = update.expireSnapshotId(snapshot)
    reached("lake.before")
    update.commit()
    reached("lake.after")
    return True


def _first_needed(line: Sequence[SnapshotInfo], needed: Collection[int]) -> int:
    """The place of the first snapshot that stays."""
    places = [place for place, version in enumerate(line) if version.id in needed]
    return min(places, default=len(line) - 1)
