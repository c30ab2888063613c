"""Expire snapshots that no flow, history, reader or tag needs.

In: a table, and what all flows still need. Out: fewer snapshots; files that only they referred to are deleted.
Invariant: from the oldest snapshot that a flow has read up to, all stay; no snapshot goes that a running query or step
may have begun to read.
"""

from __future__ import annotations

import time

from penstock.deploy.maintenance.maintained_tables import MaintainedTable, log_operation
from penstock.deploy.maintenance.retention import RetainedData
from penstock.deploy.runtime.core import Core
from penstock.lake.maintenance.rewrite import RewriteResult
from penstock.lake.maintenance.snapshot_expiry import expirable_snapshots, expire_snapshots, list_snapshots


class SnapshotExpiry:
    """Expires snapshots once they are superseded for long enough. Remembers since when each snapshot has had a
    successor, by the monotonic clock, because a reader that began before may still read it."""

    def __init__(self, core: Core):
        self._core = core
        self._followed: dict[str, dict[int, float]] = {}

    @property
    def safe(self) -> float:
        """Seconds after which every query or step that reads a snapshot has ended."""
        settings = self._core.settings
        return float(max(settings.server.max_query_seconds, settings.flow.max_step_seconds)) + 5.0

    def run(self, on: MaintainedTable, retained: RetainedData) -> bool:
        """Expire the snapshots of a table that are not needed. Returns whether there were any."""
        core, table = self._core, on.table.id
        if table in retained.whole_tables or any(table in theirs for theirs in core.flows.worker.tables.values()):
            return False
        found = list_snapshots(core.warehouse.lake, table)
        known = self._superseded_since(table, [each.id for each in (*found.line[:-1], *found.detached)])
        late = time.monotonic() - self.safe
        before = time.time() - core.settings.maintenance.snapshot_seconds
        ids = [id for id in expirable_snapshots(found, retained.needed_snapshots(table), before) if known[id] <= late]
        if not ids:
            return False
        with core.flows.exclusive([table]), log_operation(core.store, "expiry", on) as done:
            if expire_snapshots(core.warehouse.lake, table, ids):
                done.append(RewriteResult(0, 0, 0, 0, 0, 0))
            core.warehouse.registry.refresh(table)
        return bool(done)

    def _superseded_since(self, table: str, followed: list[int]) -> dict[int, float]:
        before, now = self._followed.get(table, {}), time.monotonic()
        self._followed[table] = {id: before.get(id, now) for id in followed}
        return self._followed[table]
