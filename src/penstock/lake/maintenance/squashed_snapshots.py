"""Squashed snapshots: what many snapshots of a table appended, appended by a few.

In: a table's snapshots, and those up to which flows have read it. Out: beside the line, on a branch that begins at
such a snapshot, snapshots that append the same rows again; the line may expire up to the last one that they stand for.
Invariant: a flow that reads the branch gets exactly the rows that it would have got from the line, whatever was
compacted, rewritten or deleted since: those of the very files that were appended, each once. Small files become one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.crash_points import crash_point
from penstock.lake.maintenance.rewrite import FileLayout, select_all_rows, written_files
from penstock.lake.maintenance.snapshot_expiry import SQUASHED, RequiredSnapshots, SnapshotHistory, SnapshotInfo
from penstock.lake.spark.names import MADE_BY
from penstock.lake.spark.session import Lake
from penstock.lake.tables.java_table import JavaTable, RewriteConflict
from penstock.lake.tables.snapshots import SQUASHED_SEQUENCE, SQUASHES
from penstock.model.manifest import SEQ
from penstock.sql.spark_text import quote_identifier

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

KEEPS_ALL = 2**31 - 1
"""The least number of snapshots that an expiry from outside leaves on the branch."""
SEVERAL = 4
"""Fewer small files than this are not worth a job of Spark."""


@dataclass(frozen=True, slots=True)
class SquashLimits:
    """When snapshots are squashed, and how many into one."""

    begins: int = 200
    """A flow that is behind by more snapshots than this, and than it has squashed ones to read, reads squashed ones:
    after n commits, if n is large, there are as many squashed ones as others, some √(2n)."""
    spares: int = 50
    """So many of the newest snapshots are left as they are: at least one, so that a flow that has read squashed ones
    always finds more to read."""
    small: int = 4 * 2**20
    """Files of fewer bytes are written into one, if a partition has SEVERAL of them. The others are referred to."""
    together: int = 128 * 2**20
    """So many bytes of small files become one file."""
    rows: int = 250_000
    """A squashed snapshot has about as many rows at most, so that a step can read it."""


@dataclass(frozen=True, slots=True)
class Squash:
    """Snapshots of the line to squash into one: those after `after` up to `upto`."""

    branch: str
    head: int
    """The last snapshot of the branch; the one with which it begins if it does not exist yet."""
    after: int
    upto: int


def next_squash(found: SnapshotHistory, needed: RequiredSnapshots, limits: SquashLimits) -> Squash | None:
    """What to squash next for a flow that is far behind; None if no flow is."""
    for id in sorted(needed.read):
        base = found.find(id)
        chain = found.squashed_after(id)
        last = chain[-1] if chain else base
        if base is None or last is None or not last.carries:
            continue  # a snapshot without the flows' progress cannot stand alone
        after = last.squashes if last.squashes is not None else last.id
        place = found.position(after)
        if place is None or len(found.line) - 1 - place <= max(limits.begins, len(chain)):
            continue
        taken = _within_rows(found.line[place + 1 : len(found.line) - limits.spares], limits.rows)
        if taken:
            return Squash(_branch_of(found, last), last.id, after, taken[-1].id)
    return None


def _within_rows(line: Sequence[SnapshotInfo], most: int) -> Sequence[SnapshotInfo]:
    """The first snapshots that together append about `most` rows; at least one if there is any."""
    rows = 0
    for count, each in enumerate(line):
        rows += each.added
        if count and rows > most:
            return line[:count]
    return line


def _branch_of(found: SnapshotHistory, last: SnapshotInfo) -> str:
    """The branch that ends with a snapshot, or the name of a new one."""
    return next((name for name, head in found.branches.items() if head == last.id), f"{SQUASHED}{last.id}")


def squash_snapshots(lake: Lake, table: str, squash: Squash, limits: SquashLimits) -> None:
    """Append to the branch, as one snapshot, the rows that the line appended in the range. Raises RewriteConflict if
    another server has done so."""
    java = JavaTable(lake, table)
    if java.table.refs().get(squash.branch) is None:
        branch = java.table.manageSnapshots().createBranch(squash.branch, squash.head)
        crash_point("lake.before")
        branch.setMinSnapshotsToKeep(squash.branch, KEEPS_ALL).commit()
        crash_point("lake.after")
        java.table.refresh()
    tasks, upto = java.appended_tasks(squash.after, squash.upto), java.table.snapshot(squash.upto)
    kept = {SQUASHES: str(squash.upto), SQUASHED_SEQUENCE: str(upto.sequenceNumber()), MADE_BY: "penstock"}
    summary = {**java.progress_at(upto), **kept}
    with ExitStack() as written:
        files: list[JavaObject] = []
        for group in _groups(java, tasks, limits):
            files += (
                _fewer_files(lake, java, group, written) if len(group) >= SEVERAL else [each.file() for each in group]
            )

        def append() -> JavaObject:
            update = java.table.newFastAppend().toBranch(squash.branch)
            for file in files:
                update = update.appendFile(file)
            for key, value in summary.items():
                update = update.set(key, value)
            return update

        java.commit_to_branch(squash.branch, squash.head, append)


def _groups(java: JavaTable, tasks: Sequence[JavaObject], limits: SquashLimits) -> Iterator[Sequence[JavaObject]]:
    """The tasks, with small files of one partition together. A file of an earlier partitioning stands alone: its rows
    may belong into many partitions of today's."""
    spec = java.table.spec().specId()
    open_groups: dict[str, tuple[list[JavaObject], int]] = {}
    for task in tasks:
        file, size = task.file(), int(task.file().fileSizeInBytes())
        if size >= limits.small or file.specId() != spec:
            yield [task]
            continue
        partition = str(file.partition())
        group, bytes = open_groups.pop(partition, ([], 0))
        if bytes + size > limits.together:
            yield group
            group, bytes = [], 0
        group.append(task)
        open_groups[partition] = group, bytes + size
    yield from (group for group, _ in open_groups.values())


def _fewer_files(lake: Lake, java: JavaTable, tasks: Sequence[JavaObject], written: ExitStack) -> Sequence[JavaObject]:
    """New files with the rows of these tasks. They are deleted if `written` ends with RewriteConflict, which this
    raises if the rows are not all there."""
    new = written.enter_context(written_files(lake, java, tasks, select_all_rows, FileLayout((quote_identifier(SEQ),))))
    if sum(int(file.recordCount()) for file in new) != sum(int(task.file().recordCount()) for task in tasks):
        raise RewriteConflict(f"{java.name}: rows were deleted from the files that a flow has to read")
    return new
