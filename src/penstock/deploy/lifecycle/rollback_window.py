"""Retire the previous deployment when nobody has gone back to it for long enough.

In: the pointer and the settings. Out: a retirement. Called by `pipeline`, in a thread of its own.
Invariant: while a server runs, time is counted by a clock that never jumps; what passed before it
started is taken from the store's dates.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import datetime, timezone

from penstock.deploy.runtime.core import Core
from penstock.deploy.runtime.periodic_task import PeriodicTask

PAUSE = 60.0
log = logging.getLogger("penstock.deploy")


class RollbackWindow(PeriodicTask):
    """Looks once a minute. `retire` is that of the deployer."""

    def __init__(self, core: Core, retire: Callable[[str], object]):
        super().__init__("window", PAUSE)
        self._core = core
        self._retire = retire
        self._ages: dict[int, float] = {}

    def look(self) -> None:
        """Retire the previous deployment if it is that old."""
        previous = self._core.pointer.read().previous
        hours = self._core.settings.deploy.rollback_window_hours
        if previous is not None and self._age(previous) > hours * 3600.0:
            log.info("deployment %d was previous for %d hours: it is retired", previous, hours)
            self._retire(str(previous))

    def _age(self, id: int) -> float:
        """Seconds since it became previous."""
        now = time.monotonic()
        if id not in self._ages:
            stored = (datetime.now(timezone.utc) - self._core.deployments.get(id).updated_at).total_seconds()
            self._ages = {id: now - max(stored, 0.0)}
        return now - self._ages[id]
