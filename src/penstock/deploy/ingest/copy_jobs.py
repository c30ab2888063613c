"""Copy jobs: the rows of a query at one moment are appended to a data source as if they had been posted, or take the
place of its rows. Replays, which post quarantined rows again, are jobs of the same kind.

In: a copy's name and parameters, or the time of its schedule; or a data source. Out: a `Job`. Invariant: all rows of a
job are on disk before the first is appended, and each part is appended under an idempotency key of its own, all rows of
a replacement under one; so a job whose rows were read is finished after any crash without a row lost or doubled, and
any other job has appended nothing. A job that cannot go on waits aside, and the others go on.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import BinaryIO, Protocol

from penstock.crash_points import crash_point
from penstock.deploy.ingest.event_ingestion import Receipt
from penstock.deploy.ingest.quarantine_replay import raw_row
from penstock.deploy.queries.reader import SpooledRows
from penstock.deploy.runtime.periodic_task import PeriodicTask
from penstock.errors import Conflict, Failed, NotFound, Overloaded, PenstockError, StorageFull, Timeout, Unavailable
from penstock.lake.read.query_execution import OutOfMemory
from penstock.lake.spark.cancellation import WorkCancelled
from penstock.lake.spark.errors import explain_error
from penstock.lake.storage.durable_writes import replace_file, sync_folder
from penstock.model.servers.processes import has_ended
from penstock.state.batch_keys import BodyKey
from penstock.state.jobs import COPY, OPEN_STATES, RANGE, REBUILD, SINK, Job, Jobs, JobState, job_key_prefix
from penstock.state.logs.operations import Operation, OperationsLog
from penstock.template.render_frame import JOB_TIMESTAMP, ListParameter, Parameter, format_moment

LOOK, PAUSE = 0.5, 1.0
REPLAY = "replay"
"""The kind of the jobs that post quarantined rows again."""
READING: tuple[JobState, ...] = ("reading",)
BEFORE_APPENDING: tuple[JobState, ...] = ("waiting", "reading")
APPENDING: tuple[JobState, ...] = ("appending",)
_CANCELLABLE: Mapping[str, tuple[JobState, ...]] = {REPLAY: BEFORE_APPENDING, REBUILD: ("waiting",)}
"""The states in which a job of a kind can be cancelled; others can in any."""
ROWS_A_PART, BYTES_A_PART = 50_000, 8 * 2**20
MEMORY_ATTEMPTS = 3
"""A job fails once its query got no memory this many times: if memory is short, the longest query is cancelled first,
often a copy, whoever takes the memory."""
MOST_ATTEMPTS = 8
"""A job fails once its run ended in this many unexpected errors in a row."""
LONGEST_WAIT = 60.0
"""The longest wait, in seconds, before a job that could not go on is tried again; the waits double."""
SHOWN_WITHIN = 60.0
"""A job is done when its rows can be queried, or this many seconds after they were appended."""
_PARTLY_HINT = (
    "remove the rows of the range (`penstock datasource delete --where`), then `penstock copy run` it alone by --param"
)
log = logging.getLogger("penstock.deploy")


class CopyReader(Protocol):
    """What reads the rows of copies (`queries/reader.py`)."""

    def target(self, name: str, parameters: Mapping[str, Parameter]) -> str: ...

    def copy(
        self, name: str, parameters: Mapping[str, Parameter], file: BinaryIO, stops: Callable[[], bool]
    ) -> SpooledRows: ...


class Replays(Protocol):
    """What takes rows out of quarantines (`quarantine_replay.py`)."""

    def check(self, name: str) -> None: ...

    def spool(self, name: str, file: BinaryIO, stops: Callable[[], bool]) -> SpooledRows: ...

    def remove(self, stream: str, path: Path) -> None: ...


class CopyIngestion(Protocol):
    """What appends rows (`event_ingestion.py`)."""

    def append_lines(self, stream: str, lines: Sequence[bytes], key: str | None) -> int: ...

    def replace_lines(self, stream: str, lines: Iterable[bytes], key: BodyKey) -> int: ...

    def wait(self, receipt: Receipt, timeout: float) -> Receipt: ...


@dataclass(frozen=True, slots=True)
class CopyContext:
    """The parts of the pipeline that copy jobs use."""

    jobs: Jobs
    operations: OperationsLog
    reader: CopyReader
    ingestion: CopyIngestion
    folder: Path
    """Where rows that were read wait until they are appended; every server of the warehouse can see it."""
    min_free_bytes: int
    """How much room posted rows need on the disk of that folder."""
    jvm: int
    """The process id of Spark's JVM."""
    replays: Replays


@dataclass(frozen=True, slots=True)
class _Held:
    """A job that could not go on."""

    attempts: int
    """The runs in a row that ended without progress."""
    again: float
    """When it is tried again, in seconds of the monotonic clock."""


class CopyJobs(PeriodicTask):
    """Runs one job at a time, the oldest first of those that can go on. A job that `stop` interrupts continues after
    the next start."""

    def __init__(self, context: CopyContext):
        super().__init__("copies", LOOK)
        self._context = context
        self._cancelled = threading.Event()
        self._reading = 0
        self._held: dict[int, _Held] = {}
        self._creating = threading.Lock()

    def start(self) -> None:
        """Start, and continue the jobs that were running when the server ended."""
        self._context.folder.mkdir(parents=True, exist_ok=True)
        sync_folder(self._context.folder.parent)
        self._remove_old_files()
        super().start()

    def run_once(self) -> None:
        """Run the waiting jobs. If the state store or the disk fails for a while, the next run tries again."""
        while not self._stop.is_set() and (job := self._next_job()) is not None:
            with suppress(WorkCancelled):
                self._run_job(job)

    def _next_job(self) -> Job | None:
        """The oldest job that can go on now. Behind a copy that is held wait later ones into the same data source: its
        older rows would take the place of theirs."""
        now, taken = time.monotonic(), set[str]()
        waiting = [each for each in self._context.jobs.open_jobs() if each.kind not in (REBUILD, SINK)]
        self._held = {each.id: self._held[each.id] for each in waiting if each.id in self._held}
        for job in waiting:
            is_held = job.id in self._held and self._held[job.id].again > now
            if not is_held and not (job.kind == COPY and job.datasource in taken):
                return job
            if job.kind == COPY:
                taken.add(job.datasource)
        return None

    def _hold(self, job: Job, error: PenstockError) -> int:
        """Let other jobs go first for a while, longer each time, and write down why. Returns how often in a row."""
        attempts = self._attempts(job) + 1
        wait = min(PAUSE * 2.0 ** (attempts - 1), LONGEST_WAIT)
        self._held[job.id] = _Held(attempts, time.monotonic() + wait)
        self._context.jobs.note_error(job.id, {**error.as_json(), "attempts": attempts})
        return attempts

    def _attempts(self, job: Job) -> int:
        """The runs of a job in a row that ended without progress."""
        return self._held[job.id].attempts if job.id in self._held else 0

    def run(self, pipe: str, parameters: Mapping[str, Parameter]) -> Job:
        """Create a job that runs a copy of the live deployment. Raises NotFound, InvalidRequest, InvalidQuery."""
        target = self._context.reader.target(pipe, parameters)
        stored = {name: _parameter_to_json(value) for name, value in parameters.items()}
        return self._context.jobs.create(COPY, pipe, target, stored)

    def run_range(self, pipe: str, parameters: Mapping[str, Parameter]) -> Job:
        """The job that runs a copy with these parameters for a range: the one that was made before, unless it ended
        before it had appended a row; else a new one. Raises what `run` raises, and Conflict if that job ended while it
        appended, so that its rows may be there in part."""
        target = self._context.reader.target(pipe, parameters)
        stored = {name: _parameter_to_json(value) for name, value in parameters.items()}
        with self._creating:
            same = (each for each in reversed(self._context.jobs.ranges_of(pipe)) if each.parameters == stored)
            latest = next(same, None)
            if latest is not None and (latest.is_open or latest.state == "done"):
                return latest
            if latest is not None and latest.rows is not None and latest.mode == "append":
                message = f"job {latest.id} for this range ended while its rows were appended: a part may be there"
                raise Conflict(message, hint=_PARTLY_HINT)
            return self._context.jobs.create(RANGE, pipe, target, stored)

    def replay(self, name: str) -> Job:
        """Create a job that posts the quarantined rows of a data source again which fit live. Raises NotFound, and
        Conflict if there is such a job already: two could take the same rows."""
        self._context.replays.check(name)
        quarantine = f"{name}_quarantine"
        with self._creating:
            if self._context.jobs.has_open_job(quarantine):
                raise Conflict(f"a replay of `{name}` is under way", hint="`penstock job ls` shows it")
            return self._context.jobs.create(REPLAY, quarantine, name, {})

    def cancel(self, id: int) -> Job:
        """Cancel a job. Rows of it that were appended already stay. Raises NotFound, and Conflict if it has ended, or
        if it is a replay that has begun to append, since its rows must leave the quarantine too, or a rebuild that has
        begun."""
        of = _CANCELLABLE.get(self._context.jobs.get(id).kind, OPEN_STATES)
        cancelled = self._context.jobs.move(id, of, "cancelled")
        if id == self._reading:
            self._cancelled.set()
        return cancelled

    def _remove_old_files(self) -> None:
        """Remove the files of jobs that have ended."""
        for path in self._context.folder.iterdir():
            name = path.name.partition(".")[0]
            if not name.isdigit() or not self._is_open(int(name)):
                path.unlink(missing_ok=True)

    def _is_open(self, id: int) -> bool:
        try:
            return self._context.jobs.get(id).is_open
        except NotFound:
            return False

    def _run_job(self, job: Job) -> None:
        path = self._context.folder / f"{job.id}.ndjson"
        try:
            if job.state != "appending":
                job = self._read_rows(job, path)
            self._append_rows(job, path)
        except (WorkCancelled, Unavailable):
            raise
        except _Later as later:
            log.warning("job %d waits: %s", job.id, later.error.message)
            self._hold(job, later.error)
            return
        except _JobOver as over:
            log.info("job %d: %s", job.id, over)
        except Exception as error:
            if self._hold(job, _shown(error)) < MOST_ATTEMPTS or (job.kind == REPLAY and job.state == "appending"):
                log.warning("job %d could not go on and is tried again", job.id, exc_info=error)
                return
            log.error("job %d fails: %d attempts ended in an error", job.id, MOST_ATTEMPTS, exc_info=error)
            self._give_up(job, error)
        path.unlink(missing_ok=True)

    def _give_up(self, job: Job, error: Exception) -> None:
        """End a job whose runs keep failing in a way that is not the fault of its query."""
        with suppress(Conflict):  # it was cancelled meanwhile
            self._fail_job(job, _shown(error))

    def _read_rows(self, job: Job, path: Path) -> Job:
        """Write the rows of a job to disk; returns the job. Raises _JobOver, WorkCancelled, _Later."""
        self._cancelled.clear()
        self._reading = job.id
        try:
            self._context.jobs.move(job.id, BEFORE_APPENDING, "reading")
            spooled = self._spool(job, path)
            crash_point("copy.spooled")
            return self._context.jobs.move(job.id, READING, "appending", **asdict(spooled))
        except Conflict as error:
            raise _JobOver("it was cancelled") from error
        except Unavailable:
            raise
        except PenstockError as error:
            if self._spark_ended():
                raise WorkCancelled from error
            if isinstance(error, OutOfMemory) and self._attempts(job) + 1 < MEMORY_ATTEMPTS:
                raise _Later(error) from error
            self._fail_job(job, error)
            raise _JobOver(error.message) from error
        finally:
            self._reading = 0

    def _spool(self, job: Job, path: Path) -> SpooledRows:
        try:
            with replace_file(path) as file:
                spooled = self._spool_rows(job, file)
        except OSError as error:
            raise StorageFull(f"the rows that were read cannot be written to disk: {error.strerror}") from error
        except WorkCancelled:
            if self._is_full():
                raise StorageFull("the disk of the inbox has too little room for the rows that were read") from None
            raise
        return spooled

    def _spool_rows(self, job: Job, file: BinaryIO) -> SpooledRows:
        if job.kind == REPLAY:
            return self._context.replays.spool(job.datasource, file, self._must_stop)
        given = {JOB_TIMESTAMP: format_moment(job.due_at or job.created_at), **_call_parameters(job)}
        return self._context.reader.copy(job.pipe, given, file, self._must_stop)

    def _must_stop(self) -> bool:
        return self._stop.is_set() or self._cancelled.is_set() or self._is_full()

    def _is_full(self) -> bool:
        """Whether the disk has less free room than posted rows need."""
        least = self._context.min_free_bytes
        return shutil.disk_usage(self._context.folder).free < least

    def _spark_ended(self) -> bool:
        """Whether the query failed because Spark's process has ended: the server restarts, and runs the job again."""
        return not self._stop.wait(PAUSE) and has_ended(self._context.jvm)

    def _fail_job(self, job: Job, error: PenstockError) -> None:
        self._context.jobs.move(job.id, ("reading", "appending"), "failed", error=error.as_json())
        self._log_operation(job, "error", error.message)

    def _append_rows(self, job: Job, path: Path) -> None:
        """Append the rows of a job, and wait until they can be queried. Raises _JobOver, WorkCancelled."""
        if not path.exists():
            message = "the file with the rows of this job is missing in the inbox; some rows may have been appended"
            self._fail_job(job, Failed(message, hint="check the rows of the data source before you run the copy again"))
            raise _JobOver(message)
        batch = self._replace_all(job, path) if job.mode == "replace" else self._append_parts(job, path)
        self._wait_until_queryable(job, batch)
        if job.kind == REPLAY:
            self._context.replays.remove(_stream_name(job), path)
            crash_point("copy.settled")
        try:
            self._context.jobs.move(job.id, APPENDING, "done", error=None)
        except Conflict as error:
            raise _JobOver("it was cancelled after all its rows were appended") from error
        self._log_operation(job, "ok", None)

    def _append_parts(self, job: Job, path: Path) -> int:
        """Returns the number of the last batch, 0 if there are no rows."""
        batch = 0
        for number, part in enumerate(_split_rows(path)):
            lines = [raw_row(line) for line in part] if job.kind == REPLAY else part
            append = partial(self._context.ingestion.append_lines, _stream_name(job), lines)
            batch = self._store(job, partial(append, f"{job_key_prefix(job)} part {number}"))
            crash_point("copy.appended")
        return batch

    def _replace_all(self, job: Job, path: Path) -> int:
        """Put the rows in the place of the data source's, all at one moment. Returns the number of the last batch."""
        with path.open("rb") as file:
            lines = (line.removesuffix(b"\n") for line in file)
            replace = partial(self._context.ingestion.replace_lines, _stream_name(job), lines)
            batch = self._store(job, partial(replace, BodyKey(f"{job_key_prefix(job)} replacement")))
        crash_point("copy.appended")
        return batch

    def _store(self, job: Job, store: Callable[[], int]) -> int:
        """Store rows once; returns their batch number. Raises _Later while the inbox is full or unavailable, _JobOver
        if the job was cancelled, WorkCancelled."""
        jobs = self._context.jobs
        if self._stop.is_set():
            raise WorkCancelled
        if not jobs.get(job.id).is_open:
            raise _JobOver("it was cancelled; parts that were appended before stay")
        try:
            batch = store()
        except (Overloaded, StorageFull, Unavailable) as error:
            if not jobs.get(job.id).is_open:
                raise _JobOver("it was cancelled; parts that were appended before stay") from error
            raise _Later(error) from error
        if self._held.pop(job.id, None) is not None:  # it goes on
            jobs.note_error(job.id, None)
        return batch

    def _wait_until_queryable(self, job: Job, batch: int) -> None:
        """Wait until the last batch can be queried, at most SHOWN_WITHIN seconds. Raises WorkCancelled."""
        end = time.monotonic() + SHOWN_WITHIN
        while batch and time.monotonic() < end:
            with suppress(Timeout):
                self._context.ingestion.wait(Receipt(_stream_name(job), batch, 0, 0), PAUSE)
                return
            if self._stop.is_set():
                raise WorkCancelled

    def _log_operation(self, job: Job, result: str, error: str | None) -> None:
        elapsed = (datetime.now(timezone.utc) - job.created_at).total_seconds()
        rows = job.rows or 0
        kind = "copy" if job.kind == RANGE else job.kind
        self._context.operations.log(
            Operation(kind, job.datasource, job.deployment, result, elapsed, rows, written_rows=rows, error=error)
        )


class _Later(Exception):
    """Raised inside a run when the job must wait for room in the inbox, for the state store, or for memory."""

    def __init__(self, error: PenstockError):
        super().__init__(error.message)
        self.error = error


class _JobOver(Exception):
    """Raised inside a run when the job has ended and nothing is left to do for it."""


def _shown(error: Exception) -> PenstockError:
    """An error as people see it."""
    return error if isinstance(error, PenstockError) else Failed(explain_error(error))


def _stream_name(job: Job) -> str:
    assert job.stream is not None, "a job has a stream once its rows are read"
    return job.stream


def _split_rows(path: Path) -> Iterator[list[bytes]]:
    """The rows of a file in parts; the same parts each time, so their idempotency keys match."""
    part: list[bytes] = []
    size = 0
    with path.open("rb") as file:
        for line in file:
            part.append(line[:-1])
            size += len(line)
            if len(part) == ROWS_A_PART or size >= BYTES_A_PART:
                yield part
                part, size = [], 0
    if part:
        yield part


def _parameter_to_json(value: Parameter) -> object:
    return value if isinstance(value, str) else {"json": value.json, "items": list(value.items)}


def _call_parameters(job: Job) -> Mapping[str, Parameter]:
    """The parameters of the call, as the state store has them."""
    return {
        name: value if isinstance(value, str) else _parameter_from_json(value) for name, value in job.parameters.items()
    }


def _parameter_from_json(value: object) -> ListParameter:
    assert isinstance(value, dict), "a list parameter is stored as an object"
    return ListParameter(value["json"], tuple(value["items"]))
