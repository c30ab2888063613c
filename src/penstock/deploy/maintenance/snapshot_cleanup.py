"""Expire snapshots that no flow, history, reader or tag needs, and later delete the files that only they had.

In: a table, and what all flows still need. Out: fewer snapshots; fewer files. Invariant: what a flow has not read yet
stays, as snapshots of the line or as squashed ones; a file goes only when no query or step can have begun to read it
before its snapshot went. Snapshots go early, because every commit rewrites the metadata of all; files go late.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass

from penstock.deploy.maintenance.maintained_tables import MaintainedTable
from penstock.deploy.maintenance.retention import RetainedData
from penstock.deploy.runtime.core import Core
from penstock.lake.maintenance.snapshot_expiry import (
    ExpiryLimits,
    RequiredSnapshots,
    SnapshotHistory,
    delete_removed_files,
    expirable_snapshots,
    expire_snapshots,
    list_snapshots,
    unneeded_branches,
)
from penstock.lake.maintenance.squashed_snapshots import SquashLimits, next_squash, squash_snapshots
from penstock.state.logs.operations import Operation

PLANNED_WITHIN = 15.0
"""Seconds after which every query or step that found a snapshot as the newest one has read its list of files."""
MOST_SNAPSHOTS = 500
"""The most snapshots that one turn expires."""
MOST_SQUASHES = 10
"""The most squashed snapshots that one turn makes."""
MOST_FILES = 2_000
"""The most files that are deleted while a table is locked."""
DELETE_SECONDS = 60.0
"""Seconds between two deletions of files of one table, for each of which its steps wait."""
LOG_SECONDS = 600.0
"""Seconds between two entries of the operations log for one table."""


@dataclass(frozen=True, slots=True)
class RemovedFiles:
    """Files that no snapshot refers to any more."""

    removed: float
    """When their snapshots were removed, by the monotonic clock."""
    paths: tuple[str, ...]


@dataclass(slots=True)
class TableExpiry:
    """What is known of one table."""

    followed: dict[int, float]
    """Since when each snapshot has had a successor, by the monotonic clock."""
    removed: deque[RemovedFiles]
    """Files to delete, those that were removed first in front."""
    files: int = 0
    """Files deleted since the last entry of the operations log."""
    deleted: float = float("-inf")
    logged: float = float("-inf")
    """When files were deleted, and when that was logged last, by the monotonic clock."""


class SnapshotExpiry:
    """Expires snapshots soon after they are superseded, and deletes files later: a query that began before may still
    read them. What is not deleted when the server ends is found as orphan files."""

    def __init__(self, core: Core):
        self._core = core
        self._tables: dict[str, TableExpiry] = {}
        self._guard = threading.Lock()
        self.squash_limits = SquashLimits()

    @property
    def safe(self) -> float:
        """Seconds after which every query or step that reads a snapshot has ended; copies take as long as they like."""
        settings = self._core.settings
        return float(max(settings.server.max_query_seconds, settings.flow.max_step_seconds)) + 5.0

    def is_due(self, table: str) -> bool:
        """Whether a table has many more snapshots than stay, as far as is known without reading anything."""
        return len(self._core.warehouse.registry.snapshots(table).line) > self._most * 3 // 2

    def run(self, on: MaintainedTable, retained: RetainedData) -> bool:
        """Expire some snapshots of a table that are not needed, and delete files of earlier ones. Returns whether there
        were any."""
        with self._guard:
            known = self._tables.setdefault(on.table.id, TableExpiry({}, deque()))
            if any(on.table.id in filled for filled in self._core.flows.worker.tables.values()):
                return False  # what the steps of the worker process name is not known here
            expired = on.table.id not in retained.whole_tables and self._expire(on.table.id, known, retained)
            deleted = self._delete_files(on, known)
            return expired or deleted

    def forget_except(self, tables: frozenset[str]) -> None:
        """Forget tables that are gone; their files went with them, or are found as orphan files."""
        with self._guard:
            self._tables = {table: known for table, known in self._tables.items() if table in tables}

    @property
    def _most(self) -> int:
        return self._core.settings.maintenance.max_snapshots

    def _expire(self, table: str, known: TableExpiry, retained: RetainedData) -> bool:
        lake, registry = self._core.warehouse.lake, self._core.warehouse.registry
        found = list_snapshots(lake, table)
        needed = RequiredSnapshots(frozenset(retained.needed_snapshots(table)), registry.pins(table))
        self._squash(table, found, needed)
        # A first step needs the snapshot that was current when it began for as long as the step takes.
        wait = self.safe + PLANNED_WITHIN if table in retained.being_begun else min(self.safe, PLANNED_WITHIN)
        ids, branches = self._expirable(found, needed, known, wait), unneeded_branches(found, needed)
        if not ids and not branches:
            return False
        files = expire_snapshots(lake, table, ids[:MOST_SNAPSHOTS], branches)
        if files:
            known.removed.append(RemovedFiles(time.monotonic(), files))
        registry.refresh(table)
        return files is not None

    def _squash(self, table: str, found: SnapshotHistory, needed: RequiredSnapshots) -> None:
        """Make squashed snapshots for flows that are far behind. The line goes at a later turn, when no step can have
        begun to read it without knowing them."""
        for _ in range(MOST_SQUASHES):
            squash = next_squash(found, needed, self.squash_limits)
            if squash is None:
                return
            squash_snapshots(self._core.warehouse.lake, table, squash, self.squash_limits)
            self._core.warehouse.registry.refresh(table)
            found = list_snapshots(self._core.warehouse.lake, table)

    def _expirable(
        self, found: SnapshotHistory, needed: RequiredSnapshots, known: TableExpiry, wait: float
    ) -> tuple[int, ...]:
        """The snapshots that may expire and were superseded at least `wait` seconds ago."""
        now = time.monotonic()
        followed = [each.id for each in (*found.line[:-1], *found.detached)]
        known.followed = {id: known.followed.get(id, now) for id in followed}
        limits = ExpiryLimits(time.time() - self._core.settings.maintenance.snapshot_seconds, self._most)
        return tuple(id for id in expirable_snapshots(found, needed, limits) if known.followed[id] <= now - wait)

    def _delete_files(self, on: MaintainedTable, known: TableExpiry) -> bool:
        """Delete files that nobody can read any more, some at a time while no step runs and nobody clones the table."""
        core, table = self._core, on.table.id
        waits = max(self.safe, float(core.settings.maintenance.snapshot_seconds))
        if core.board.readers.may_lease(table):
            waits = max(waits, float(core.settings.maintenance.reader_seconds))
        if time.monotonic() < known.deleted + min(waits, DELETE_SECONDS):
            return False
        due = _take_due(known, time.monotonic() - waits, core.board.readers.oldest)
        if not due:
            return False
        with core.flows.exclusive([table]):
            delete_removed_files(core.warehouse.lake, table, due)
        known.files, known.deleted = known.files + len(due), time.monotonic()
        self._log(on, known)
        return True

    def _log(self, on: MaintainedTable, known: TableExpiry) -> None:
        if known.files and time.monotonic() - known.logged >= LOG_SECONDS:
            entry = Operation("expiry", on.table.id, on.deployment, read_rows=known.files)
            self._core.store.operations.log(entry)
            known.files, known.logged = 0, time.monotonic()


def _take_due(known: TableExpiry, before: float, oldest_reader: float | None) -> tuple[str, ...]:
    """Up to MOST_FILES of the files that were removed before a time, and before the query began that has run for
    longest. They are no longer known afterwards: if their deletion fails, they are found as orphan files."""
    due: list[str] = []
    while known.removed and len(due) < MOST_FILES:
        first = known.removed[0]
        if first.removed > before or (oldest_reader is not None and oldest_reader <= first.removed):
            break
        known.removed.popleft()
        room = MOST_FILES - len(due)
        due += first.paths[:room]
        if first.paths[room:]:
            known.removed.appendleft(RemovedFiles(first.removed, first.paths[room:]))
    return tuple(due)
