"""Which snapshots of a table may expire, and their removal from its metadata.

In: a table's snapshots, and which of them are needed. Out: fewer snapshots, and the files that no snapshot refers to
any more, for the caller to delete later. Invariant: from each snapshot that a flow has read up to, a way leads to the
current one: the line, or the squashed snapshots that stand for its first part; and the newest snapshot with the
flows' progress stays.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyiceberg.table.snapshots import Operation
from pyiceberg.table.snapshots import Snapshot as IcebergSnapshot

from penstock.crash_points import crash_point
from penstock.lake.spark.session import Lake
from penstock.lake.tables import physical_tables
from penstock.lake.tables.java_table import JavaTable
from penstock.lake.tables.snapshots import FLOWS, SQUASHES

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

SQUASHED = "penstock-squashed-"
"""How the names of branches with squashed snapshots begin; the id of the snapshot that they follow comes after."""


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """A snapshot of a table."""

    id: int
    made: float
    """When it was committed, in seconds since 1970."""
    held: bool = False
    """Whether a tag or branch refers to it, other than one of squashed snapshots."""
    carries: bool = True
    """Whether it carries the flows' progress."""
    added: int = 0
    """The rows that it appended."""
    parent: int | None = None
    squashes: int | None = None
    """The last snapshot of the line whose rows it repeats; None unless it is a squashed one."""


@dataclass(frozen=True, slots=True)
class SnapshotHistory:
    """The snapshots that led to the current one, oldest first (`line`), and the others (`detached`)."""

    line: tuple[SnapshotInfo, ...] = ()
    detached: tuple[SnapshotInfo, ...] = ()
    branches: Mapping[str, int] = field(default_factory=dict)
    """The last snapshot of each branch of squashed snapshots, by its name."""

    def position(self, id: int) -> int | None:
        """The place of a snapshot in the line; None if it is not in it."""
        return next((place for place, each in enumerate(self.line) if each.id == id), None)

    def squashed_after(self, id: int) -> tuple[SnapshotInfo, ...]:
        """The squashed snapshots that follow a snapshot, in order."""
        following = {each.parent: each for each in self.detached if each.squashes is not None}
        found: list[SnapshotInfo] = []
        while (each := following.get(id)) is not None:
            found.append(each)
            id = each.id
        return tuple(found)

    def find(self, id: int) -> SnapshotInfo | None:
        return next((each for each in (*self.line, *self.detached) if each.id == id), None)


@dataclass(frozen=True, slots=True)
class RequiredSnapshots:
    """What is needed of a table's snapshots."""

    read: frozenset[int] = frozenset()
    """The snapshots up to which flows have read: what was appended after them is needed."""
    pinned: frozenset[int] = frozenset()
    """The snapshots that a step or a rewrite reads now: these and all later ones of the line are needed as they are."""


@dataclass(frozen=True, slots=True)
class ExpiryLimits:
    """Snapshots that nobody needs stay as long as they are within both limits."""

    before: float
    """A snapshot whose successor was made before this time (seconds since 1970) is too old."""
    most: int
    """A snapshot with at least as many newer ones is one too many."""


def list_snapshots(lake: Lake, table: str) -> SnapshotHistory:
    """The current snapshots of a table."""
    found = physical_tables.load_table(lake, table)
    if found is None:
        return SnapshotHistory()
    refs = found.metadata.refs
    branches = {name: ref.snapshot_id for name, ref in refs.items() if name.startswith(SQUASHED)}
    held = {ref.snapshot_id for name, ref in refs.items() if name not in branches}
    known = {each.snapshot_id: _describe_snapshot(each, held) for each in found.metadata.snapshots}
    line: list[SnapshotInfo] = []
    at = found.metadata.current_snapshot_id
    while at is not None and at in known:
        snapshot = known.pop(at)
        line.append(snapshot)
        at = snapshot.parent
    return SnapshotHistory(tuple(reversed(line)), tuple(known.values()), branches)


def _describe_snapshot(snapshot: IcebergSnapshot, held: Collection[int]) -> SnapshotInfo:
    summary = snapshot.summary
    extra = summary.additional_properties if summary is not None else {}
    appends = summary is not None and summary.operation == Operation.APPEND
    return SnapshotInfo(
        snapshot.snapshot_id,
        snapshot.timestamp_ms / 1000,
        snapshot.snapshot_id in held,
        FLOWS in extra,
        int(extra.get("added-records", 0)) if appends else 0,
        snapshot.parent_snapshot_id,
        int(extra[SQUASHES]) if SQUASHES in extra else None,
    )


def expirable_snapshots(found: SnapshotHistory, needed: RequiredSnapshots, limits: ExpiryLimits) -> tuple[int, ...]:
    """The snapshots that may expire, oldest first: none that is needed, that a tag or branch holds, or that is within
    the limits."""
    kept = kept_snapshots(found, needed)
    start = _line_start(found, needed)
    line: list[SnapshotInfo] = []
    for place in range(start):
        newer = len(found.line) - 1 - place
        if found.line[place + 1].made >= limits.before and newer < limits.most:
            break
        line.append(found.line[place])
    aside = [each for each in found.detached if each.squashes is not None or each.made < limits.before]
    return tuple(each.id for each in (*aside, *line) if not each.held and each.id not in kept)


def kept_snapshots(found: SnapshotHistory, needed: RequiredSnapshots) -> frozenset[int]:
    """The snapshots beside the end of the line that are needed: those that flows have read up to or that are read now,
    and the squashed ones after them."""
    kept = {each for each in needed.pinned | needed.read if found.find(each) is not None}
    for id in needed.read | needed.pinned:
        kept |= {each.id for each in found.squashed_after(id)}
    return frozenset(kept)


def unneeded_branches(found: SnapshotHistory, needed: RequiredSnapshots) -> tuple[str, ...]:
    """The branches of squashed snapshots that no flow will read."""
    kept = kept_snapshots(found, needed)
    return tuple(sorted(name for name, head in found.branches.items() if head not in kept))


def _line_start(found: SnapshotHistory, needed: RequiredSnapshots) -> int:
    """The place in the line from which on every snapshot stays."""
    places = [len(found.line) - 1] if found.line else [0]
    carrying = [place for place, each in enumerate(found.line) if each.carries]
    places += carrying[-1:]
    pins = (found.position(id) for id in needed.pinned)
    places += [place for place in pins if place is not None]
    places += [place for id in needed.read if (place := _resumes_at(found, id)) is not None]
    return min(places)


def _resumes_at(found: SnapshotHistory, id: int) -> int | None:
    """The place from which a flow that has read up to a snapshot needs the line; None if it needs none of it."""
    chain = found.squashed_after(id)
    last = chain[-1] if chain else found.find(id)
    stands_for = last.squashes if last is not None else None
    place = found.position(stands_for) if stands_for is not None else None
    return place if place is not None else found.position(id)


def expire_snapshots(
    lake: Lake, table: str, snapshots: Sequence[int], branches: Collection[str] = ()
) -> tuple[str, ...] | None:
    """Remove these snapshots, and these branches, from the table's metadata. Returns the files that no snapshot refers
    to any more (none for a table that shares files with a clone); None if another commit came first. Raises Iceberg's
    error, and removes nothing, if the files of a snapshot that stays cannot be listed."""
    java = JavaTable(lake, table)
    _require_manifest_lists(java, frozenset(snapshots))
    _drop_branches(java, branches)
    if java.shares_files:
        return () if java.remove_snapshots(snapshots) else None
    files = java.jvm.java.util.ArrayList()
    # Without `expireOlderThan`, Iceberg also expires everything older than five days, its default.
    update = java.table.expireSnapshots().expireOlderThan(0).deleteWith(_adds_to(java.jvm, files))
    for snapshot in snapshots:
        update = update.expireSnapshotId(snapshot)
    crash_point("lake.before")
    update.commit()
    crash_point("lake.after")
    return tuple(str(path) for path in files)


def _require_manifest_lists(java: JavaTable, expiring: Collection[int]) -> None:
    """Read the manifest list of each snapshot that stays. Where one is missing or damaged, Iceberg would only log that,
    and give back manifests to delete which that snapshot needs. Source: IncrementalFileCleanup of Iceberg 1.12."""
    if java.shares_files:
        return
    io, snapshots = java.table.io(), java.table.snapshots().iterator()
    while snapshots.hasNext():
        snapshot = snapshots.next()
        if snapshot.snapshotId() not in expiring:
            snapshot.allManifests(io)


def _drop_branches(java: JavaTable, branches: Collection[str]) -> None:
    if not branches:
        return
    update = java.table.manageSnapshots()
    for name in branches:
        update = update.removeBranch(name)
    crash_point("lake.before")
    update.commit()
    crash_point("lake.after")
    java.table.refresh()


def _adds_to(jvm: JavaObject, files: JavaObject) -> JavaObject:
    """A java.util.function.Consumer that adds what it is given to a list: Iceberg calls it instead of deleting."""
    lang = jvm.java.lang
    add = lang.invoke.MethodHandles.publicLookup().findVirtual(
        lang.Class.forName("java.util.ArrayList"),
        "add",
        lang.invoke.MethodType.methodType(lang.Boolean.TYPE, lang.Class.forName("java.lang.Object")),
    )
    consumer = lang.Class.forName("java.util.function.Consumer")
    return lang.invoke.MethodHandleProxies.asInterfaceInstance(consumer, add.bindTo(files))


def delete_removed_files(lake: Lake, table: str, paths: Collection[str]) -> None:
    """Delete files that `expire_snapshots` returned. The caller makes sure that the table is not cloned meanwhile; of
    a table that has come to share its files with a clone, none is deleted here."""
    java = JavaTable(lake, table)
    if java.shares_files:
        return
    io = java.table.io()
    for path in paths:
        crash_point("lake.before")
        io.deleteFile(path)
