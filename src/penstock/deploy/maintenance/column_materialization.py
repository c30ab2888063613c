"""Write the values of bridged columns into the files of live's tables, so that readers need not compute them any more.

In: the live manifest. Out: a thread that rewrites slices of its tables. Invariant: rows that wait come first, and so
does a deployment that fills its tables.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial

from penstock.deploy.maintenance.maintenance_share import MaintenanceShare, waiting_tables
from penstock.deploy.runtime.bridged_columns import bridged_columns, is_given_up, materialize_slice
from penstock.deploy.runtime.core import Core
from penstock.lake.read.history_slices import SliceLimits

PAUSE = 5.0
"""Seconds between two searches for columns to materialize."""
log = logging.getLogger("penstock.deploy")


class ColumnMaterializer:
    """A thread that materializes one slice at a time, and then rests as long as the slice took."""

    def __init__(self, core: Core, most: SliceLimits):
        self._core = core
        self._most = most
        self._share = MaintenanceShare(partial(_waiting_tables, core))
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="materializer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        self._core.flows.stepper.join_pool("background")
        rest = PAUSE
        while not self._stop.wait(rest):
            started = time.monotonic()
            try:
                busy = materialize_next(self._core, self._most, self._share.allows)
            except Exception:  # tried again later; nothing depends on it
                log.exception("columns could not be materialized")
                busy = False
            self._share.ran(time.monotonic() - started)
            rest = max(time.monotonic() - started, 0.2) if busy else PAUSE


def materialize_next(core: Core, most: SliceLimits, may: Callable[[str], bool] = lambda table: True) -> bool:
    """Materialize one slice of one table of live on which work may begin. Returns whether there was one, also if other
    maintenance came first: somebody who compacts all the while would else come first each time."""
    live = core.board.live()
    if live is None:
        return False
    left = (each for each in bridged_columns(live.manifest, core.board.readers.leases) if may(each.table))
    found = next((each for each in left if not is_given_up(core, each.table)), None)
    if found is None:
        return False
    materialize_slice(core, live.manifest, found, most)
    return True


def _waiting_tables(core: Core) -> frozenset[str]:
    """The tables of live that give way: those whose rows wait, and all of them while a deployment fills its tables."""
    live = core.board.live()
    if live is not None and any(each.state == "backfilling" for each in core.board.running.deployments):
        return frozenset(table.id for table in live.manifest.tables)
    return waiting_tables(core)
