"""Create the jobs of copies and sinks at the times of their schedules.

In: the copies and sinks of the live deployment that have a schedule (cron syntax, UTC). Out: jobs. Invariant: there is
at most one job for each time; times that passed while no server ran are not made up for; one is skipped while its
previous job is still active.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone

from cronsim import CronSim

from penstock.deploy.runtime.periodic_task import PeriodicTask
from penstock.errors import Conflict
from penstock.state.jobs import Jobs

PAUSE = 1.0
log = logging.getLogger("penstock.deploy")


@dataclass(frozen=True, slots=True)
class RunSchedule:
    """What a schedule runs."""

    kind: str
    target: str
    """What its job is said to write to."""
    schedule: str | None


class CopySchedule(PeriodicTask):
    """Checks the schedules once a second. `runs` returns the copies and sinks of the live deployment by name."""

    def __init__(self, jobs: Jobs, runs: Callable[[], Mapping[str, RunSchedule]]):
        super().__init__("schedule", PAUSE)
        self._jobs = jobs
        self._runs = runs
        self._due: dict[tuple[str, str], datetime] = {}

    def run_once(self) -> None:
        """Create a job for each copy and sink that is due."""
        now = datetime.now(timezone.utc)
        before, self._due = self._due, {}
        for pipe, run in self._runs().items():
            if run.schedule is None:
                continue
            due = before.get((pipe, run.schedule)) or next(CronSim(run.schedule, now))
            if due <= now:
                self._create_job(pipe, run, due)
                due = next(CronSim(run.schedule, now))
            self._due[pipe, run.schedule] = due

    def _create_job(self, pipe: str, run: RunSchedule, due: datetime) -> None:
        if self._jobs.has_open_job(pipe):
            log.warning("the %s `%s` is due but skipped: its previous run is still active", run.kind, pipe)
            return
        try:
            self._jobs.create(run.kind, pipe, run.target, {}, due)
        except Conflict:
            log.info("the %s `%s` has a job for %s already", run.kind, pipe, due)
