"""Run copies at the times of their schedules.

In: the copies of the live deployment that have one. Out: jobs. Called by `pipeline`, in a thread of its own. Invariant:
for each time there is at most one job, whatever became of the server; times that passed while none ran are not made
up for, and a copy of which a job is not over yet is left out that time.
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
    """Looks once a second. `copies` gives them by name."""

    def __init__(self, jobs: Jobs, copies: Callable[[], Mapping[str, Copied]]):
        super().__init__("schedule", PAUSE)
        self._jobs = jobs
        self._copies = copies
        self._due: dict[tuple[str, str], datetime] = {}

    def look(self) -> None:
        """Make the jobs that are due."""
        now = datetime.now(timezone.utc)
        before, self._due = self._due, {}
        for pipe, copied in self._copies().items():
            if copied.schedule is None:
                continue
            due = before.get((pipe, copied.schedule)) or next(CronSim(copied.schedule, now))
            if due <= now:
                self._begin(pipe, copied.datasource, due)
                due = next(CronSim(copied.schedule, now))
            self._due[pipe, copied.schedule] = due

    def _begin(self, pipe: str, datasource: str, due: datetime) -> None:
        if self._jobs.has_open_job(pipe):
            log.warning("the copy `%s` is due, and its job before is not over: it is left out", pipe)
            return
        try:
            self._jobs.create("copy", pipe, datasource, {}, due)
        except Conflict:
            log.info("the copy `%s` was run for %s before", pipe, due)
