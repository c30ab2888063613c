"""A table through Iceberg's own Java library, for what neither Spark SQL nor PyIceberg offers.

In: the lake and a table. Out: `JavaTable`: its read tasks, and commits that carry the flows' progress along.
Invariant: a commit is made on top of exactly the snapshot whose progress it carries, or is refused: no cursor ever
goes back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError, Py4JJavaError

from penstock.crash_points import crash_point
from penstock.lake.spark.names import CATALOG, MADE_BY, NAMESPACE
from penstock.lake.spark.session import Lake
from penstock.lake.tables import physical_tables
from penstock.lake.tables.snapshots import BEFORE, CURSOR, FLOWS, WATERMARK

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

MAX_TRIES = 20
"""Enough: a commit takes about 0.1 s, and a busy stream commits about once a second."""
_PROGRESS_KEYS = (CURSOR, WATERMARK, BEFORE, FLOWS)


class RewriteConflict(Exception):
    """Files to be replaced are gone, or flows commit too often: nothing was committed."""


class JavaTable:
    """One table, for short use by one thread."""

    def __init__(self, lake: Lake, table: str):
        jvm = lake.spark._jvm
        assert jvm is not None, "the session was opened here"
        self.jvm = jvm
        self.name = table
        self.table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(
            lake.spark._jsparkSession, f"{CATALOG}.{NAMESPACE}.{table}"
        )

    @property
    def shares_files(self) -> bool:
        """Whether a clone may refer to its files; then only the removal of orphan files deletes them."""
        return bool(self.table.properties().get("gc.enabled") == "false")

    def read_tasks(self, snapshot: int, paths: Collection[str]) -> list[JavaObject]:
        """Iceberg's read tasks for these data files of a snapshot. Raises RewriteConflict if one is not in it."""
        wanted = set(paths)
        found: list[JavaObject] = []
        planned = self.table.newScan().useSnapshot(snapshot).ignoreResiduals().planFiles()
        try:
            files = planned.iterator()
            while len(found) < len(wanted) and files.hasNext():
                task = files.next()
                if task.file().location() in wanted:
                    found.append(task)
        finally:
            planned.close()
        if len(found) != len(wanted):
            raise RewriteConflict(f"{self.name}: {len(wanted) - len(found)} files are not in snapshot {snapshot}")
        return found

    def appended_tasks(self, after: int, upto: int) -> list[JavaObject]:
        """Iceberg's read tasks for the data files that the snapshots after one (exclusive) up to another (inclusive)
        appended."""
        planned = self.table.newIncrementalAppendScan().fromSnapshotExclusive(after).toSnapshot(upto).planFiles()
        found: list[JavaObject] = []
        try:
            files = planned.iterator()
            while files.hasNext():
                found.append(files.next())
        finally:
            planned.close()
        return found

    def commit(self, make: Callable[[], JavaObject]) -> JavaObject:
        """Commit the snapshot that the update made by `make` gives, with the progress of the snapshot before it.
        Returns the new snapshot. Raises RewriteConflict."""
        operations = self.table.operations()
        for _ in range(MAX_TRIES):
            self.table.refresh()
            before = self.table.currentSnapshot()
            update = make().set(MADE_BY, "penstock")
            for key, value in self.progress_at(before).items():
                update = update.set(key, value)
            made = self._applied(update)
            if made.parentId() != before.snapshotId():
                self._remove_attempt(made)
                continue  # a flow committed in between: the progress would be that of an older snapshot
            base = operations.current()
            builder = self.jvm.org.apache.iceberg.TableMetadata.buildFrom(base)
            if _try_commit(operations, base, builder.setBranchSnapshot(made, "main").build()):
                return made
            self._remove_attempt(made)
        raise RewriteConflict(f"{self.name}: flows commit too fast")

    def commit_to_branch(self, branch: str, head: int, make: Callable[[], JavaObject]) -> None:
        """Commit the snapshot that the update made by `make` gives as the successor of the branch's snapshot `head`.
        Raises RewriteConflict if the branch has another one: Iceberg itself would append after that."""
        operations = self.table.operations()
        for _ in range(MAX_TRIES):
            self.table.refresh()
            made = self._applied(make())
            base = operations.current()
            now = base.ref(branch)
            if now is None or now.snapshotId() != head:
                self._remove_attempt(made)
                break
            builder = self.jvm.org.apache.iceberg.TableMetadata.buildFrom(base)
            if made.parentId() == head and _try_commit(
                operations, base, builder.setBranchSnapshot(made, branch).build()
            ):
                return
            self._remove_attempt(made)
        raise RewriteConflict(f"{self.name}: the branch {branch} does not end with snapshot {head}")

    def _applied(self, update: JavaObject) -> JavaObject:
        """The snapshot that an update would commit. Raises RewriteConflict."""
        try:
            return update.apply()
        except Py4JJavaError as error:
            if "ValidationException" in str(error.java_exception.getClass().getName()):
                raise RewriteConflict(f"{self.name}: {error.java_exception.getMessage()}") from error
            raise

    def _remove_attempt(self, made: JavaObject) -> None:
        """Delete the manifests and the manifest list that were written for a snapshot which no metadata names. What
        cannot be deleted now is found as orphan files."""
        io, attempt = self.table.io(), made.snapshotId()
        with suppress(Py4JError):
            for manifest in made.allManifests(io):
                if manifest.snapshotId() == attempt:
                    io.deleteFile(manifest.path())
            io.deleteFile(made.manifestListLocation())

    def progress_at(self, snapshot: JavaObject) -> dict[str, str]:
        """The flows' progress in the last snapshot at or before this one that has any, as summary properties."""
        while snapshot is not None:
            summary = dict(snapshot.summary())
            progress = {key: str(value) for key, value in summary.items() if key.startswith(_PROGRESS_KEYS)}
            if progress:
                return progress
            parent = snapshot.parentId()
            snapshot = self.table.snapshot(parent) if parent is not None else None
        return {}

    def remove_snapshots(self, snapshots: Collection[int]) -> bool:
        """Remove snapshots from the table's metadata without deleting files. Returns False if another commit came
        first."""
        self.table.refresh()
        operations = self.table.operations()
        base = operations.current()
        ids = self.jvm.java.util.HashSet(java_list(self.jvm, snapshots))
        builder = self.jvm.org.apache.iceberg.TableMetadata.buildFrom(base).removeSnapshots(ids)
        return _try_commit(operations, base, builder.build())


def java_list(jvm: JavaObject, values: Collection[object]) -> JavaObject:
    """The values as a Java list."""
    made = jvm.java.util.ArrayList()
    for value in values:
        made.add(value)
    return made


def _try_commit(operations: JavaObject, base: JavaObject, metadata: JavaObject) -> bool:
    """Commit new metadata on top of `base`. Returns False if another commit came first."""
    crash_point("lake.before")
    try:
        operations.commit(base, metadata)
    except Py4JJavaError as error:
        if physical_tables.came_second(error):
            return False
        raise
    crash_point("lake.after")
    return True
