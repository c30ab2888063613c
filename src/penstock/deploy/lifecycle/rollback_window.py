"""Retire the previous deployment at the end of the rollback window.

In: the live pointer, and the window in hours. Out: a retirement. Invariant: while a server runs, time is measured by a
monotonic clock; the time before it started is taken from the dates in the state store, an hour after the start: by then
the clock of a machine is set.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from penstock.deploy.runtime.periodic_task import PeriodicTask
from penstock.deploy.runtime.state_store import StateStore
from penstock.deploy.runtime.steady_clock import SteadyClock

PAUSE = 60.0
log = logging.getLogger("penstock.deploy")


class RollbackWindow(PeriodicTask):
    """Checks once a minute. `retire` is called with the id of a deployment that was previous for `hours`."""

    def __init__(self, store: StateStore, hours: int, retire: Callable[[str], object]):
        super().__init__("window", PAUSE)
        self._store = store
        self._hours = hours
        self._retire = retire
        self._first_look: dict[int, tuple[float, float]] = {}
        self._clock = SteadyClock()

    def run_once(self) -> None:
        """Retire the previous deployment if the rollback window is over."""
        previous = self._store.pointer.read().previous
        if previous is not None and self._age(previous) > self._hours * 3600.0:
            log.info("deployment %d was previous for %d hours: it is retired", previous, self._hours)
            self._retire(str(previous))

    def _age(self, id: int) -> float:
        """Seconds since the deployment became previous: those that this process has seen, and those before if the
        machine's clock can be trusted."""
        now, stored = time.monotonic(), (self._clock.now() - self._store.deployments.get(id).updated_at).total_seconds()
        if id not in self._first_look:
            self._first_look = {id: (now, stored)}
        began, stored_then = self._first_look[id]
        before = min(stored_then, stored - (now - began)) if self._clock.is_settled() else 0.0
        return now - began + max(before, 0.0)
