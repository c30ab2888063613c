"""Jobs: work that runs once, on demand or at a scheduled time, and its outcome.

In: the copy to run, its parameters and its time. Out: `Job` values. Invariant: a job changes its state only if the
current one is among those that the caller expects; a scheduled time has one job, however often the server restarts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Literal, TypeAlias

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from penstock.errors import Conflict, NotFound
from penstock.model.pipe import CopyMode
from penstock.state.database import Database
from penstock.state.schema import jobs

JobState: TypeAlias = Literal["waiting", "reading", "appending", "done", "failed", "cancelled"]
COPY = "copy"
"""The kind of the jobs that run a copy."""
REBUILD = "rebuild"
"""The kind of the jobs that delete rows and then rebuild what was computed of them; the others post rows."""
RANGE = "range"
"""The kind of the jobs that run a copy for one of many ranges: of all with the same parameters one appends rows, so
those that did are kept for ever."""
SINK = "sink"
"""The kind of the jobs that write rows outside."""
OPEN_STATES: tuple[JobState, ...] = ("waiting", "reading", "appending")


@dataclass(frozen=True, slots=True)
class Job:
    """A run of a copy, a sink, a replay or a rebuild."""

    id: int
    kind: str
    pipe: str
    """The copy."""
    datasource: str
    """The data source that its rows are appended to; of a sink, the place that they are written to."""
    state: JobState
    parameters: Mapping[str, object]
    """The parameters of the call."""
    due_at: datetime | None
    """The scheduled time; None for a job on demand."""
    created_at: datetime
    updated_at: datetime
    deployment: int | None = None
    """The version that its rows were read from, once they are read; of a rebuild, the one that it made."""
    stream: str | None = None
    """The stream that its rows are appended to, once they are read."""
    rows: int | None = None
    error: Mapping[str, object] | None = None
    """Why it failed; of a job that has not ended, why it could not go on, with its `attempts` in a row."""
    mode: CopyMode = "append"
    """Whether its rows replace those of the data source; `append` until they are read."""
    written_bytes: int | None = None
    """Of a sink, how many bytes it writes outside, once its rows are read."""
    token: str = ""
    """The name of the token that asked for a run of a sink; empty if its schedule did."""

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_STATES


def job_key_prefix(job: Job) -> str:
    """The beginning of the idempotency keys of a job's parts, which no other job has ever used: job numbers are used
    again after trimming."""
    return f"job {job.id} of {job.created_at.isoformat()}"


class Jobs:
    """The jobs of one state store."""

    def __init__(self, database: Database):
        self._database = database

    def create(
        self,
        kind: str,
        pipe: str,
        datasource: str,
        parameters: Mapping[str, object],
        asked: datetime | str = "",
    ) -> Job:
        """Create a waiting job: for the time of a schedule, or asked for by the token of a name. Raises Conflict if the
        pipe has a job for that time."""
        now = datetime.now(timezone.utc)
        values = {
            "kind": kind,
            "pipe": pipe,
            "datasource": datasource,
            "state": "waiting",
            "parameters": dict(parameters),
            "due_at": asked if isinstance(asked, datetime) else None,
            "token": asked if isinstance(asked, str) else "",
            "created_at": now,
            "updated_at": now,
        }
        try:
            with self._database.write() as connection:
                made = connection.execute(sa.insert(jobs).values(values)).inserted_primary_key
        except IntegrityError as error:
            raise Conflict(f"`{pipe}` was run for {asked} before") from error
        assert made is not None, "an insert of one row gives its key"
        return self.get(int(made[0]))

    def get(self, id: int) -> Job:
        """The job of this id. Raises NotFound."""
        with self._database.read() as connection:
            row = connection.execute(sa.select(*jobs.c).where(jobs.c.id == id)).one_or_none()
        if row is None:
            raise NotFound(f"there is no job {id}", hint="`penstock job ls` lists them")
        return Job(*row)

    def recent(self, limit: int) -> tuple[Job, ...]:
        """The latest jobs, newest first."""
        query = sa.select(*jobs.c).order_by(jobs.c.id.desc()).limit(limit)
        with self._database.read() as connection:
            return tuple(Job(*row) for row in connection.execute(query))

    def open_jobs(self) -> tuple[Job, ...]:
        """The jobs that have not ended, oldest first."""
        query = sa.select(*jobs.c).where(jobs.c.state.in_(OPEN_STATES)).order_by(jobs.c.id)
        with self._database.read() as connection:
            return tuple(Job(*row) for row in connection.execute(query))

    def ranges_of(self, pipe: str) -> tuple[Job, ...]:
        """The jobs for ranges of a copy, oldest first."""
        query = sa.select(*jobs.c).where(jobs.c.pipe == pipe, jobs.c.kind == RANGE).order_by(jobs.c.id)
        with self._database.read() as connection:
            return tuple(Job(*row) for row in connection.execute(query))

    def has_open_job(self, pipe: str) -> bool:
        """Whether the pipe has a job that has not ended, but for those of ranges."""
        is_open = sa.and_(jobs.c.pipe == pipe, jobs.c.state.in_(OPEN_STATES), jobs.c.kind != RANGE)
        query = sa.select(jobs.c.id).where(is_open).limit(1)
        with self._database.read() as connection:
            return connection.execute(query).one_or_none() is not None

    def move(self, id: int, of: Collection[JobState], to: JobState, **values: object) -> Job:
        """Change the state of a job and set other columns. Raises Conflict if its state is not among `of`."""
        changed = {"state": to, "updated_at": datetime.now(timezone.utc), **values}
        where = sa.and_(jobs.c.id == id, jobs.c.state.in_(of))
        with self._database.write() as connection:
            moved = connection.execute(sa.update(jobs).where(where).values(changed)).rowcount == 1
        found = self.get(id)
        if not moved:
            raise Conflict(f"job {id} cannot change from {found.state} to {to}")
        return found

    def note_error(self, id: int, error: Mapping[str, object] | None) -> None:
        """Write down why a job that has not ended cannot go on, None once it goes on. Its state and time stay."""
        where = sa.and_(jobs.c.id == id, jobs.c.state.in_(OPEN_STATES))
        with self._database.write() as connection:
            connection.execute(sa.update(jobs).where(where).values(error=error))

    def trim(self, before: datetime) -> int:
        """Remove the jobs that ended before a time, but for ranges that appended rows. Returns how many."""
        may_go = sa.or_(jobs.c.kind != RANGE, jobs.c.rows.is_(None))
        old = sa.and_(jobs.c.updated_at < before, jobs.c.state.not_in(OPEN_STATES), may_go)
        with self._database.read() as connection:
            if connection.execute(sa.select(jobs.c.id).where(old).limit(1)).one_or_none() is None:
                return 0
        with self._database.write() as connection:
            return int(connection.execute(sa.delete(jobs).where(old)).rowcount)
