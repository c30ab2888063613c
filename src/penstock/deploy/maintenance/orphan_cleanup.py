"""Delete files in the tables' folders that no table refers to.

In: the folders of the tables that Penstock made. Out: fewer files. Invariant: only old files, and only while every
table can be read: a file that any table refers to is kept, whenever it was written. Old is what the file's time says
and this process has seen: a clock that jumps must not make a file old that is being written.
"""

from __future__ import annotations

import logging
import time
from itertools import islice

from penstock.deploy.runtime.core import Core
from penstock.deploy.runtime.warehouse import Warehouse
from penstock.lake.maintenance.orphan_files import (
    StoredFile,
    delete_files,
    list_files,
    normalize_path,
    referenced_files,
)
from penstock.lake.tables import physical_tables
from penstock.state.logs.operations import Operation

MOST = 100_000
"""The most files deleted in one run; the next run continues."""
log = logging.getLogger("penstock.deploy")


SEEN_SECONDS = 3_600.0
"""Seconds between the first look that finds an orphan file and the one that deletes it, by the monotonic clock: longer
than any step or rewrite takes to commit the files that it wrote."""


class OrphanCleanup:
    """Deletes old files that no table refers to, at the second look that finds them."""

    def __init__(self, core: Core):
        self._core = core
        self._seen: dict[str, float] = {}

    @property
    def has_seen(self) -> bool:
        """Whether files wait for a second look."""
        return bool(self._seen)

    def run(self) -> int:
        """Look once. Returns how many files were deleted."""
        found, now = find_orphans(self._core), time.monotonic()
        wait = self._seen_seconds()
        self._seen = {file.path: self._seen.get(file.path, now) for file in found}
        sure = [file for file in found if now - self._seen[file.path] >= wait]
        if not sure or self._core.warehouse.recorded.is_unsound():
            return 0
        _delete_orphans(self._core, sure)
        for file in sure:
            del self._seen[file.path]
        return len(sure)

    def _seen_seconds(self) -> float:
        """While another reader may use files that it was given, as long as it may; a file does not say whose it is."""
        if not self._core.board.readers.may_lease_any:
            return SEEN_SECONDS
        return max(SEEN_SECONDS, float(self._core.settings.maintenance.reader_seconds))


def find_orphans(core: Core) -> list[StoredFile]:
    """Files that no table refers to and that are old by their own time; at most MOST of them."""
    there, ours = physical_tables.list_tables(core.warehouse.lake), sorted(core.store.deployments.table_ids())
    made = [table for table in ours if table in there and core.warehouse.recorded.is_own(table)]
    if not made or core.warehouse.recorded.is_unsound():
        return []
    before = time.time() - core.settings.maintenance.orphan_seconds
    old = [
        file
        for folder in _table_folders(core.warehouse, made, ours)
        for file in list_files(core.warehouse.lake, made[0], folder, before)
    ]
    if not old:
        return []
    # The tables are read after the folders: a file that a table refers to now is kept, whenever it was written.
    known = referenced_files(core.warehouse.lake, physical_tables.list_tables(core.warehouse.lake))
    return list(islice((file for file in old if normalize_path(file.path) not in known), MOST))


def _delete_orphans(core: Core, orphans: list[StoredFile]) -> None:
    began = time.monotonic()
    delete_files(core.warehouse.lake, physical_tables.list_tables(core.warehouse.lake)[0], orphans)
    size = sum(file.bytes for file in orphans)
    log.info("deleted %d files (%d bytes) that no table refers to", len(orphans), size)
    took = time.monotonic() - began
    core.store.operations.log(Operation("orphans", "", elapsed_time=took, read_rows=len(orphans), read_bytes=size))


def _table_folders(warehouse: Warehouse, made: list[str], ours: list[str]) -> list[str]:
    """The folders of existing tables, and the folders beside them in which dropped tables were."""
    found: set[str] = set()
    for table in made:
        known = physical_tables.load_table(warehouse.lake, table)
        location = known.location().rstrip("/") if known is not None else ""
        parent, _, name = location.rpartition("/")
        found |= {location} if location else set()
        if name == table:
            found |= {f"{parent}/{other}" for other in ours}
    return sorted(found)
