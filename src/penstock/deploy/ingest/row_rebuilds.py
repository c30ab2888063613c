"""Deletions after which what views computed of the rows is computed anew, whatever becomes of the server meanwhile.

In: a data source and a condition. Out: a `Job`, whose deployment computes the targets anew. Invariants: the job is
recorded before anything is deleted, so once rows are gone the rebuild follows, by this server or the next; it begins
after the rows are gone from live, and one job makes one deployment.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from penstock.crash_points import crash_point
from penstock.deploy.ingest.event_ingestion import Receipt
from penstock.deploy.runtime.periodic_task import PeriodicTask
from penstock.errors import Conflict, Failed, PenstockError, Timeout, Unavailable
from penstock.lake.spark.errors import explain_error
from penstock.model.deployment import CANDIDATES, Deployment
from penstock.state.batch_keys import ReusedKey
from penstock.state.deployments import Deployments
from penstock.state.jobs import OPEN_STATES, REBUILD, Job, Jobs, JobState

LOOK, WAIT = 0.5, 5.0
LONGEST_WAIT = 60.0
"""The longest wait, in seconds, before a job that could not go on is tried again; the waits double."""
MOST_ATTEMPTS = 8
"""A job fails once its run ended in this many errors in a row."""
MOST_LOOKED_AT = 100
DELETING: tuple[JobState, ...] = ("reading",)
REBUILDING: tuple[JobState, ...] = ("appending",)
"""The rows are gone."""
ROWS_ARE_GONE: tuple[JobState, ...] = (*REBUILDING, "done")
log = logging.getLogger("penstock.deploy")


class Deletions(Protocol):
    """What deletes rows (`row_deletion.py`)."""

    def delete(self, name: str, where: str, key: str) -> Receipt: ...


class RemovalIngestion(Protocol):
    """What waits until a batch can be queried (`event_ingestion.py`)."""

    def wait(self, receipt: Receipt, timeout: float) -> Receipt: ...


class RebuildDeployer(Protocol):
    """What starts rebuilds (`lifecycle/deployer.py`)."""

    def rebuild_once(self, name: str, since: datetime, *, promote: bool) -> Deployment | None: ...


@dataclass(frozen=True, slots=True)
class RebuildContext:
    """The parts of the pipeline that rebuilds use."""

    jobs: Jobs
    deployments: Deployments
    deletions: Deletions
    ingestion: RemovalIngestion
    deployer: RebuildDeployer


@dataclass(frozen=True, slots=True)
class _Held:
    """A job that could not go on, and when it is tried again, in seconds of the monotonic clock."""

    attempts: int
    again: float


class RowRebuilds(PeriodicTask):
    """Runs one job at a time, the oldest first of those that can go on. A job that `stop` interrupts continues after
    the next start."""

    def __init__(self, context: RebuildContext):
        super().__init__("rebuilds", LOOK)
        self._context = context
        self._held: dict[int, _Held] = {}
        self._creating = threading.Lock()

    def create(self, name: str, where: str, key: str, *, promote: bool) -> Job:
        """Create a job that deletes the rows of a data source and rebuilds what derives from them; the same key is one
        job. The caller has looked whether that can be done. Raises ReusedKey if it was given for another condition."""
        digest = hashlib.sha256(where.encode()).hexdigest()
        with self._creating:
            for job in self._recent(name):
                if job.parameters.get("key") == key:
                    if job.parameters.get("digest") != digest:
                        raise ReusedKey(key)
                    return job
            asked = {"where": where, "digest": digest, "key": key, "promote": promote}
            return self._context.jobs.create(REBUILD, name, name, asked)

    def find_under_way(self, name: str) -> Job | None:
        """The newest rebuild of a data source that is not over: it runs, or its deployment is not live yet. It is the
        one that a call means which has no more rows to delete."""
        return next(filter(self._goes_on, self._recent(name)), None)

    def wait(self, job: Job, timeout: float) -> Job:
        """The job once it is done. Raises Timeout after so many seconds, and Failed if it failed."""
        end = time.monotonic() + timeout
        while (now := self._context.jobs.get(job.id)).is_open:
            if time.monotonic() >= end or self._stop.wait(LOOK):
                raise Timeout(
                    f"job {job.id} takes long: it removes the rows of `{job.datasource}`, then it begins to rebuild"
                    " what derives from them",
                    hint=f"it goes on by itself, also after a restart: `penstock job show {job.id}` has its deployment",
                )
        if now.state != "done":
            raise Failed(
                f"job {job.id} is {now.state}: {(now.error or {}).get('error', 'it was cancelled')}",
                hint="rows that are gone stay gone; the same call again removes none and rebuilds",
            )
        return now

    def run_once(self) -> None:
        """Run the jobs that can go on."""
        now = time.monotonic()
        for job in self._context.jobs.open_jobs():
            held = self._held.get(job.id)
            if self._stop.is_set():
                return
            if job.kind == REBUILD and (held is None or held.again <= now):
                self._run_job(job)

    def _recent(self, name: str) -> list[Job]:
        return [
            job for job in self._context.jobs.recent(MOST_LOOKED_AT) if job.kind == REBUILD and job.datasource == name
        ]

    def _goes_on(self, job: Job) -> bool:
        if job.is_open:
            return True
        candidates = {each.id for each in self._context.deployments.in_state(*CANDIDATES)}
        return job.state == "done" and job.deployment in candidates

    def _run_job(self, job: Job) -> None:
        try:
            if job.state != "appending":
                job = self._delete_rows(job)
            promote = bool(job.parameters["promote"])
            made = self._context.deployer.rebuild_once(job.datasource, job.updated_at, promote=promote)
            crash_point("rebuild.begun")
            self._context.jobs.move(job.id, REBUILDING, "done", deployment=made.id if made else None, error=None)
            self._held.pop(job.id, None)
        except Timeout as error:
            log.info("job %d waits: the rows are not removed yet", job.id)
            self._note(job, error, self._hold(job))
        except Unavailable:
            self._hold(job)
        except Exception as error:
            self._try_again(job, error)

    def _delete_rows(self, job: Job) -> Job:
        """Delete the rows, once however often it is called, and wait until they are gone. Raises Timeout."""
        context, where = self._context, str(job.parameters["where"])
        context.jobs.move(job.id, ("waiting", "reading"), "reading")
        receipt = context.deletions.delete(job.datasource, where, str(job.parameters["key"]))
        crash_point("rebuild.deleted")
        context.ingestion.wait(receipt, WAIT)
        return context.jobs.move(job.id, DELETING, "appending", parameters=_without_condition(job))

    def _try_again(self, job: Job, error: Exception) -> None:
        """What is done after an error: other jobs go first for a while, or it fails."""
        attempts, shown = self._hold(job), error if isinstance(error, PenstockError) else Failed(explain_error(error))
        with suppress(Conflict):  # it was cancelled
            if isinstance(error, Conflict):  # a version is being filled: its rows cannot be deleted before it is ready
                self._context.jobs.move(job.id, DELETING, "reading")
                self._note(job, shown, attempts)
                log.warning("job %d waits: %s", job.id, shown.message)
                return
        if attempts < MOST_ATTEMPTS and (isinstance(error, Conflict) or not isinstance(error, PenstockError)):
            log.warning("job %d could not go on and is tried again", job.id, exc_info=error)
            self._note(job, shown, attempts)
            return
        log.error("job %d fails", job.id, exc_info=error)
        with suppress(Conflict):
            self._context.jobs.move(
                job.id, OPEN_STATES, "failed", parameters=_without_condition(job), error=shown.as_json()
            )

    def _note(self, job: Job, error: PenstockError, attempts: int) -> None:
        self._context.jobs.note_error(job.id, {**error.as_json(), "attempts": attempts})

    def _hold(self, job: Job) -> int:
        """Try a job again later, each time later. Returns how often in a row."""
        before = self._held.get(job.id)
        attempts = before.attempts + 1 if before else 1
        self._held[job.id] = _Held(attempts, time.monotonic() + min(2.0 ** (attempts - 1), LONGEST_WAIT))
        return attempts


def _without_condition(job: Job) -> dict[str, object]:
    """The parameters of a job that needs its condition no more: whose rows they were is written down no longer than
    necessary."""
    return {name: value for name, value in job.parameters.items() if name != "where"}
