"""Forget deployments that ended long ago, and give up those that failed long ago.

In: the records, and the time for which an ended deployment is kept. Out: fewer records with their plans, manifests,
files and journals. Invariant: only a deployment of which nothing is left in the lake is forgotten, and none that a
needed one was planned against; the names of its tables stay until their folders were searched for orphan files; the
audit log is not touched. A clock that is set forward makes no deployment old.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from penstock.deploy.runtime.periodic_task import PeriodicTask
from penstock.deploy.runtime.steady_clock import SETTLED_SECONDS, SteadyClock
from penstock.model.settings import Settings
from penstock.state.deployments import Deployments

PAUSE = 600.0
LOT = 100
"""Deployments that are forgotten in one transaction."""
log = logging.getLogger("penstock.deploy")


class DeploymentCleanup(PeriodicTask):
    """Looks at least every ten minutes. `discard` is called with the id of a deployment that failed and that nobody
    discarded in the time for which ended deployments are kept: until then its tables stay, to see what went wrong.
    `undo` repeats discards that failed on the way, and drops tables that nobody reads any more."""

    def __init__(
        self,
        deployments: Deployments,
        settings: Settings,
        discard: Callable[[str], object],
        undo: Callable[[], object],
    ):
        self._kept = float(settings.maintenance.deployment_seconds)
        super().__init__("deployments", min(PAUSE, self._kept / 4))
        self._deployments = deployments
        self._searched = _seconds_until_searched(settings)
        self._discard = discard
        self._undo = undo
        self._clock = SteadyClock(min(SETTLED_SECONDS, self._kept))

    def run_once(self) -> int:
        """Discard old failures and forget old deployments. Returns how many were forgotten."""
        self.try_each({"clean-up of ended deployments": self._undo})
        if not self._clock.is_settled():
            return 0
        now = self._clock.now()
        before = now - timedelta(seconds=self._kept)
        old = [each for each in self._deployments.records_in_state("failed") if each.updated_at < before]
        self.try_each({f"discard of deployment {each.id}": partial(self._give_up, each.id) for each in old})
        forgotten = 0
        while not self._stop.is_set() and (count := self._deployments.remove_swept(before, LOT)):
            forgotten += count
        self._deployments.forget_tables(now - timedelta(seconds=self._searched))
        if forgotten:
            log.info("forgot %d deployments that ended long ago", forgotten)
        return forgotten

    def _give_up(self, id: int) -> None:
        log.info("deployment %d failed long ago: it is discarded", id)
        self._discard(str(id))


def _seconds_until_searched(settings: Settings) -> float:
    """After this time orphan cleaning has looked twice into the folders of dropped tables."""
    maintenance = settings.maintenance
    return float(maintenance.orphan_seconds + 2 * maintenance.orphan_interval_seconds)
