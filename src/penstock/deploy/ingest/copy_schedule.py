"""Create the jobs of copies at the times of their schedules.

In: the copies of the live deployment that have a schedule (cron syntax, UTC). Out: jobs. Invariant: there is at most
one job for each time; times that passed while no server ran are not made up for; a copy is skipped while its previous
job is still active.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timezone

from cronsim import CronSim

from penstock.deploy.runtime.periodic_task import PeriodicTask
from penstock.errors import Conflict
from penstock.model.pipe import Copied
from penstock.state.jobs import Jobs

PAUSE = 1.0
log = logging.getLogger("penstock.deploy")


class CopySchedule(PeriodicTask):
    """Checks the schedules once a second. `copies` returns the copies of the live deployment by name."""

    def __init__(self, jobs: Jobs, copies: Callable[[], Mapping[str, Copied]]):
        super().__init__("schedule", PAUSE)
        self._jobs = jobs
        self._copies = copies
        self._due: dict[tuple[str, str], datetime] = {}

    def run_once(self) -> None:
        """Create a job for each copy that is due."""
        now = datetime.now(timezone.utc)
        before, self._due = self._due, {}
        for pipe, copied in self._copies().items():
            if copied.schedule is None:
                continue
            due = before.get((pipe, copied.schedule)) or next(CronSim(copied.schedule, now))
            if due <= now:
                self._create_job(pipe, copied.datasource, due)
                due = next(CronSim(copied.schedule, now))
            self._due[pipe, copied.schedule] = due

    def _create_job(self, pipe: str, datasource: str, due: datetime) -> None:
        if self._jobs.has_open_job(pipe):
            log.warning("the copy `%s` is due but skipped: its previous run is still active", pipe)
            return
        try:
            self._jobs.create("copy", pipe, datasource, {}, due)
        except Conflict:
            log.info("the copy `%s` has a job for %s already", pipe, due)
