"""Run the kinds of maintenance, one after the other, in a thread of its own.

In: the core and `[maintenance]` of the settings. Out: smaller tables, logs and folders. Invariant: live comes first:
nothing begins while its rows wait; a task that fails is logged and retried with a growing wait; no flow waits for
maintenance longer than one commit takes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from penstock.deploy.maintenance.compaction import CompactionResults, compact_table
from penstock.deploy.maintenance.inbox_trimming import trim_inbox, trim_keys, trim_logs
from penstock.deploy.maintenance.maintained_tables import MaintainedTable, MaintenanceCounts, maintained_tables
from penstock.deploy.maintenance.maintenance_share import MaintenanceShare, waiting_tables
from penstock.deploy.maintenance.manifest_merge import ManifestMerge
from penstock.deploy.maintenance.orphan_cleanup import SEEN_SECONDS, OrphanCleanup
from penstock.deploy.maintenance.retention import NOT_ENDED, RetainedData, find_retained_data
from penstock.deploy.maintenance.row_ttl import delete_expired, expiry_condition
from penstock.deploy.maintenance.snapshot_cleanup import SnapshotExpiry
from penstock.deploy.runtime.core import Core
from penstock.deploy.runtime.periodic_task import PeriodicTask
from penstock.lake.maintenance.shared_files import read_table_files, restorable_properties, set_properties
from penstock.lake.tables.java_table import RewriteConflict
from penstock.lake.tables.physical_tables import LATER_PROPERTIES, list_tables, load_table
from penstock.state.batches import BatchLog

TICK_SECONDS = 5.0
"""Seconds between two looks at tables with many snapshots."""
RETENTION_REUSE_SECONDS = 5.0
"""Seconds for which the result of `find_retained_data` is reused; shorter than any snapshot is kept."""
LONGEST = 3600.0
"""The longest wait, in seconds, before a task that keeps failing is tried again."""
GIVING_WAY = frozenset({"compaction", "ttl", "orphans"})
"""The tasks that give way to live. The others are short, and without them every step becomes slower."""
log = logging.getLogger("penstock.deploy")


class Maintenance(PeriodicTask):
    """Runs every kind of maintenance at a fixed interval. `counts` is for metrics."""

    def __init__(self, core: Core, batches: BatchLog, inbox: Path):
        self._interval = float(core.settings.maintenance.interval_seconds)
        super().__init__("maintenance", min(TICK_SECONDS, self._interval))
        self._core = core
        self._batches = batches
        self._inbox = inbox
        self._expiry = SnapshotExpiry(core)
        self._manifests = ManifestMerge(core)
        self._share = MaintenanceShare(partial(waiting_tables, core))
        self._compacted = CompactionResults()
        self._orphans = OrphanCleanup(core)
        self._tables: tuple[MaintainedTable, ...] = ()
        self._round_at = time.monotonic() + self._interval
        self._tick_at = 0.0
        self._due: dict[tuple[str, str], float] = {}
        self._failures: dict[tuple[str, str], int] = {}
        self._known: tuple[float, RetainedData | None] = (0.0, None)
        self._entered = False
        self.counts = MaintenanceCounts()
        self._turn = threading.Lock()

    @contextmanager
    def held(self) -> Iterator[None]:
        """A block during which no task runs, so that no file of a table and no raw batch is removed; waits for the task
        that runs."""
        with self._turn:
            yield

    def run_round(self) -> None:
        """Look at all tables: run the tasks that are due, one after the other."""
        self._join_pool()
        self._known = (0.0, None)
        settings = self._core.settings.maintenance
        self._tables = maintained_tables(self._core.store, self._core.warehouse)
        kept = frozenset(on.table.id for on in self._tables)
        self._expiry.forget_except(kept)
        self._manifests.forget_except(kept)
        self.counts.forget_except(kept)
        for on in self._tables:
            self._run_if_due("compaction", on, 0.0, partial(compact_table, self._core, on, self._compacted))
            if expiry_condition(on) is not None:
                self._run_if_due("ttl", on, settings.ttl_seconds, partial(self._delete_expired, on))
            self._run_if_due("manifests", on, 0.0, partial(self._manifests.run, on))
            self._run_if_due("expiry", on, 0.0, partial(self._expire, on))
            self._run_if_due("properties", on, LONGEST, partial(_add_properties, self._core, on))
            self._expire_where_due()
        self._run_if_due("sharing", None, 60.0, self._allow_shared_deletes)
        self._run_if_due("trim", None, 60.0, self._trim_logs)
        self._run_if_due("orphans", None, settings.orphan_interval_seconds, self._orphans.run)
        if self._orphans.has_seen:  # sure of them only at the second look
            self._due["orphans", ""] = min(self._due["orphans", ""], time.monotonic() + SEEN_SECONDS)

    def run_once(self) -> None:
        """Expire snapshots of the tables that have many, and make a round over all tables if it is time for one."""
        self._join_pool()
        self._expire_where_due()
        if time.monotonic() >= self._round_at:
            try:
                self.run_round()
            finally:
                self._round_at = time.monotonic() + self._interval

    def _join_pool(self) -> None:
        if not self._entered:
            self._core.flows.stepper.join_pool("background")
            self._entered = True

    def _expire_where_due(self) -> None:
        """Between other tasks: a busy table makes more snapshots in a round than its metadata should have."""
        if time.monotonic() < self._tick_at:
            return
        for on in self._tables:
            if self._expiry.is_due(on.table.id):
                self._run_if_due("expiry", on, 0.0, partial(self._expire, on))
        self._tick_at = time.monotonic() + TICK_SECONDS

    def _delete_expired(self, on: MaintainedTable) -> bool:
        return delete_expired(self._core, on, self._recent_retained_data())

    def _expire(self, on: MaintainedTable) -> bool:
        return self._expiry.run(on, self._recent_retained_data())

    def _recent_retained_data(self) -> RetainedData:
        """What the flows need, at most RETENTION_REUSE_SECONDS old. A flow that began since then reads a snapshot that
        was current at that time, and expiry keeps such a snapshot longer. Of a flow whose first step began before and
        has ended since, its source is known."""
        at, known = self._known
        if known is None or time.monotonic() - at > RETENTION_REUSE_SECONDS:
            at, known = time.monotonic(), self._find_retained_data()
            self._known = at, known
        return known

    def _find_retained_data(self) -> RetainedData:
        core = self._core
        filled = frozenset().union(*core.flows.worker.tables.values())
        # Before the cursors are read: a step that ends in between is in one of the two.
        stepped = filled | {work.table for work in core.flows.scheduler.under_way}
        for table in filled:
            core.warehouse.registry.refresh(table)  # another process writes it
        return find_retained_data(core.warehouse.registry, core.store.deployments.in_state(*NOT_ENDED), stepped)

    def _run_if_due(self, kind: str, on: MaintainedTable | None, every: float, run: Callable[[], object]) -> None:
        """Run a task if it is due. A task that fails is due again later, the wait doubling each time."""
        key, now = (kind, on.table.id if on is not None else ""), time.monotonic()
        if now < self._due.get(key, 0.0) or self._stop.is_set():
            return
        if kind in GIVING_WAY and not self._share.allows(on.table.id if on is not None else None):
            return
        if not self._turn.acquire(blocking=False):
            return  # held: the next run tries again
        try:
            if run():
                self.counts.done[kind] = self.counts.done.get(kind, 0) + 1
            self._failures.pop(key, None)
            self.counts.failing.pop(key, None)
            self._due[key] = time.monotonic() + every
        except Exception as error:
            self._failures[key] = failures = self._failures.get(key, 0) + 1
            self.counts.failed[kind] = self.counts.failed.get(kind, 0) + 1
            self.counts.failing[key] = str(error)[:500]
            wait = min(self._interval * 2.0**failures, LONGEST)
            self._due[key] = time.monotonic() + wait
            trace = None if isinstance(error, RewriteConflict) else error
            log.warning("%s of %s failed: %s; again in %d s", kind, key[1] or "all", error, wait, exc_info=trace)
        finally:
            self._turn.release()
            if kind in GIVING_WAY:
                self._share.ran(time.monotonic() - now)

    def _allow_shared_deletes(self) -> bool:
        """Allow tables to delete their own files again once the clone that shared these files is dropped."""
        core = self._core
        homes = {
            table: found
            for table in list_tables(core.warehouse.lake)
            if (found := read_table_files(core.warehouse.lake, table)) is not None
        }
        changed = False
        for table in sorted(homes):
            if restorable_properties(table, homes):
                with core.flows.exclusive([table]):
                    changed = self._allow_deletes(table) or changed
        return changed

    def _allow_deletes(self, table: str) -> bool:
        """Allow one table to delete its own files, if that is still safe while the table cannot be cloned. Returns
        whether its properties changed."""
        core = self._core
        fresh = {
            each: found
            for each in list_tables(core.warehouse.lake)
            if (found := read_table_files(core.warehouse.lake, each)) is not None
        }
        wanted = restorable_properties(table, fresh) if table in fresh and core.warehouse.recorded.is_own(table) else {}
        if wanted:
            set_properties(core.warehouse.lake, table, wanted)
        return bool(wanted)

    def _trim_logs(self) -> bool:
        batches = trim_inbox(self._core, self._batches, self._inbox, self._recent_retained_data())
        keys = trim_keys(self._core.settings, self._core.store, self._batches.keys)
        return bool(batches + keys + trim_logs(self._core.settings, self._core.store))


def _add_properties(core: Core, on: MaintainedTable) -> bool:
    """Give a table of a former release the properties that it was made without."""
    found = load_table(core.warehouse.lake, on.table.id)
    missing = (
        {} if found is None else {key: LATER_PROPERTIES[key] for key in LATER_PROPERTIES.keys() - found.properties}
    )
    if missing:
        set_properties(core.warehouse.lake, on.table.id, missing)
    return found is not None and bool(missing)
