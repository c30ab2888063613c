"""Sink jobs: the rows of a query at one moment are written to files outside, or to a topic.

In: a sink's name and parameters, or the time of its schedule. Out: a `Job`. Invariants: everything that a run writes is
on this machine, with the names and the number that it will have, before anything of it is published; so a run that a
crash cut off writes what it would have written, and nothing twice. Rows are read from the live version only.
"""

from __future__ import annotations

import json
import logging
import shutil
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Protocol

from penstock.crash_points import crash_point
from penstock.deploy.connections.client_settings import client_settings
from penstock.deploy.connections.connection_values import ConnectionValues, fill_secrets
from penstock.deploy.queries.answers.answer_formats import answer_format
from penstock.deploy.runtime.periodic_task import PeriodicTask
from penstock.deploy.sinks.destinations import (
    BucketDestination,
    FolderDestination,
    SinkDestination,
    remove_unfinished,
)
from penstock.deploy.sinks.sink_files import (
    SpooledFile,
    read_list,
    read_place,
    remove_folder,
    spool_files,
    write_list,
)
from penstock.deploy.sinks.topic_writer import TopicRun, next_number, write_run
from penstock.errors import (
    Conflict,
    Failed,
    InvalidRequest,
    NotFound,
    Overloaded,
    PenstockError,
    StorageFull,
    Unavailable,
)
from penstock.lake.read.query_execution import QueryResult
from penstock.lake.spark.cancellation import WorkCancelled
from penstock.lake.spark.errors import explain_error
from penstock.lake.storage.durable_writes import replace_file, sync_folder
from penstock.model.deployment import Deployment
from penstock.model.external_tables import NamedConnection
from penstock.model.pipe import Exported, FileTarget, TopicTarget
from penstock.model.servers.processes import has_ended
from penstock.model.settings import Settings
from penstock.state.jobs import OPEN_STATES, SINK, Job, Jobs, JobState
from penstock.template.render_frame import JOB_TIMESTAMP, Parameter, format_moment

READING: tuple[JobState, ...] = ("reading",)
BEFORE_PUBLISHING: tuple[JobState, ...] = ("waiting", "reading")
APPENDING: tuple[JobState, ...] = ("appending",)
LOOK = 0.5
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds before a job that could not go on is tried again; the waits double."""
LIVE, DEPLOYMENT = "live", "deployment"
"""The version that sinks run for unless another one is named, and the parameter that names it; no sink has one of this
name."""
ROWS = "rows.ndjson"
"""The file of the rows for a topic."""
log = logging.getLogger("penstock.deploy")


class SinkReader(Protocol):
    """What reads the rows of sinks (`queries/reader.py`)."""

    def check_sink(self, name: str, parameters: Mapping[str, Parameter], ref: str) -> tuple[Deployment, Exported]: ...

    def check_sink_parameters(self, name: str, parameters: Mapping[str, Parameter], ref: str) -> None: ...

    def sink(self, name: str, parameters: Mapping[str, Parameter], ref: str) -> tuple[Deployment, QueryResult]: ...


@dataclass(frozen=True, slots=True)
class SinkContext:
    """The parts of the pipeline that sink jobs use."""

    jobs: Jobs
    reader: SinkReader
    connections: Callable[[Deployment], Mapping[str, NamedConnection]]
    """The connections of a version."""
    secrets: Mapping[str, str]
    settings: Settings
    folder: Path
    """Where files wait until they are published; every server of the warehouse can see it."""
    server: Callable[[], str]
    """What tells this server from others that write to the same brokers."""
    jvm: int
    """The process id of Spark's JVM."""


@dataclass(frozen=True, slots=True)
class _Run:
    """A sink as a version has it."""

    deployment: Deployment
    kind: Exported


@dataclass(frozen=True, slots=True)
class _Held:
    attempts: int
    again: float


class SinkJobs(PeriodicTask):
    """Runs one job at a time, the oldest first of those that can go on."""

    def __init__(self, context: SinkContext):
        super().__init__("sinks", LOOK)
        self._context = context
        self._held: dict[int, _Held] = {}
        self._running = threading.Lock()

    def start(self) -> None:
        """Start, and continue the jobs that were running when the server ended."""
        folder = self._context.folder
        folder.mkdir(parents=True, exist_ok=True)
        sync_folder(folder.parent)
        for path in folder.iterdir():
            if not path.name.isdigit() or not self._is_open(int(path.name)):
                self._remove_run(path)
        super().start()

    def run(self, pipe: str, parameters: Mapping[str, Parameter], ref: str = LIVE, token: str = "") -> Job:
        """Create a job that runs a sink of the live deployment, or of another one that somebody names; `token` is the
        name of who asks. Raises NotFound, Conflict, InvalidRequest, InvalidQuery, Forbidden."""
        run = self._find_run(pipe, parameters, ref)
        self._context.reader.check_sink_parameters(pipe, parameters, ref)
        self._check(run)
        stored = {name: value if isinstance(value, str) else asdict(value) for name, value in parameters.items()}
        if any(not isinstance(each, str) for each in stored.values()):
            raise InvalidRequest("a sink takes no lists as parameters", hint="give one text with commas")
        if ref != LIVE:
            stored[DEPLOYMENT] = str(run.deployment.id)
        return self._context.jobs.create(SINK, pipe, run.kind.place, stored, token)

    def run_once(self) -> None:
        """Run the waiting jobs."""
        with self._running:
            while not self._stop.is_set() and (job := self._next_job()) is not None:
                self._run_job(job)

    def _next_job(self) -> Job | None:
        """The oldest job that can go on. Behind one that is held wait those of its sink and of its place: they would
        take its names and its number, and its older rows would come after theirs."""
        now, taken = time.monotonic(), set[tuple[str, str]]()
        waiting = [each for each in self._context.jobs.open_jobs() if each.kind == SINK]
        self._forget_ended({each.id for each in waiting})
        for job in waiting:
            own = {("sink", job.pipe), ("place", job.datasource)}
            if not own & taken and (job.id not in self._held or self._held[job.id].again <= now):
                return job
            taken |= own
        return None

    def _forget_ended(self, open_jobs: Collection[int]) -> None:
        """Remove the files of jobs that were held and then cancelled."""
        for id in self._held.keys() - open_jobs:
            self._remove_run(self._context.folder / str(id))
            del self._held[id]

    def _is_open(self, id: int) -> bool:
        try:
            return self._context.jobs.get(id).is_open
        except NotFound:
            return False

    def _run_job(self, job: Job) -> None:
        folder = self._context.folder / str(job.id)
        try:
            run = self._find_run(job.pipe, _texts(job), _version_of(job))
            self._check(run)
            if job.state != "appending":
                job, run = self._spool(job, run, folder)
            self._publish(job, run, folder)
            self._context.jobs.move(job.id, APPENDING, "done", error=None)
        except WorkCancelled:
            return
        except (Unavailable, StorageFull, Overloaded) as error:
            self._hold(job, error)
            return
        except Exception as error:
            if has_ended(self._context.jvm):
                return  # the server starts again, and so does the job
            shown = error if isinstance(error, PenstockError) else Failed(explain_error(error))
            log.warning("job %d fails: %s", job.id, shown.message, exc_info=None if shown is error else error)
            with suppress(Conflict):  # it was cancelled meanwhile
                self._context.jobs.move(job.id, OPEN_STATES, "failed", error=shown.as_json())
            self._remove_run(folder)
        else:
            remove_folder(folder)

    def _remove_run(self, folder: Path) -> None:
        """Remove the folder of a run that is over, and what a server before this one has left of it where it writes."""
        remove_unfinished(*read_place(folder), self._context.settings.sinks.folders)
        remove_folder(folder)

    def _hold(self, job: Job, error: PenstockError) -> None:
        attempts = (self._held[job.id].attempts if job.id in self._held else 0) + 1
        self._held[job.id] = _Held(attempts, time.monotonic() + min(FIRST_WAIT * 2.0 ** (attempts - 1), LONGEST_WAIT))
        log.warning("job %d waits: %s", job.id, error.message)
        with suppress(PenstockError):  # the store may be what is away
            self._context.jobs.note_error(job.id, {**error.as_json(), "attempts": attempts})

    def _find_run(self, pipe: str, parameters: Mapping[str, Parameter], ref: str) -> _Run:
        return _Run(*self._context.reader.check_sink(pipe, parameters, ref))

    def _spool(self, job: Job, run: _Run, folder: Path) -> tuple[Job, _Run]:
        """Write all that the run publishes to this machine; returns the job, and the sink whose rows were read."""
        context = self._context
        context.jobs.move(job.id, BEFORE_PUBLISHING, "reading")
        remove_folder(folder)
        folder.mkdir()
        deployment, answer = context.reader.sink(job.pipe, _texts(job), _version_of(job))
        if deployment.id != run.deployment.id:  # promoted meanwhile: its rows go where its own sink writes
            run = self._find_run(job.pipe, _texts(job), str(deployment.id))
            self._check(run)
        if shutil.disk_usage(folder).free < context.settings.inbox.min_free_bytes:
            raise StorageFull("the disk of the inbox has too little room for the rows of a sink")
        try:
            self._spool_rows(job, run, folder, answer)
        except OSError as error:
            raise StorageFull(f"the rows cannot be written to disk: {error.strerror or error}") from error
        crash_point("sink.spooled")
        size = sum(each.bytes for each in read_list(folder, run.kind))
        found = {"deployment": deployment.id, "rows": len(answer.rows), "written_bytes": size}
        return context.jobs.move(job.id, READING, "appending", error=None, **found), run

    def _spool_rows(self, job: Job, run: _Run, folder: Path, answer: QueryResult) -> None:
        kind = run.kind
        if isinstance(kind.target, TopicTarget):
            with replace_file(folder / ROWS) as file:
                for piece in answer_format("JSONEachRow").write(answer):
                    file.write(piece)
            number = next_number(client_settings(self._values(run)), self._topic_run(job, kind.target))
            size = (folder / ROWS).stat().st_size - len(answer.rows)  # the end of a line is not sent
            write_list(folder, kind, [SpooledFile(json.dumps(number), ROWS, len(answer.rows), size)])
            return
        assert kind.target is not None, "it was checked"
        files = spool_files(folder, kind.target, answer)
        if kind.target.strategy == "new":
            with ExitStack() as opened:
                destination = self._destination(run, kind.target, opened)
                files = tuple(_named_anew(each, job, destination) for each in files)
        on_disk = self._values(run).connection.kind == "file"
        place = fill_secrets(kind.target.place, self._context.secrets) if on_disk else ""
        write_list(folder, kind, files, place)

    def _publish(self, job: Job, run: _Run, folder: Path) -> None:
        kind = run.kind
        files = read_list(folder, kind)
        if isinstance(kind.target, TopicTarget):
            written = self._topic_run(job, kind.target, int(json.loads(files[0].name)))
            self._go_on(job)
            write_run(client_settings(self._values(run)), written, folder / files[0].file)
            return
        assert kind.target is not None, "it was checked"
        with ExitStack() as opened:
            destination = self._destination(run, kind.target, opened)
            for each in files:
                self._go_on(job)
                destination.publish(each.name, folder / each.file, kind.target.strategy)
                crash_point("sink.published")

    def _go_on(self, job: Job) -> None:
        """Raises WorkCancelled if the server stops, and Conflict if the job was cancelled."""
        if self._stop.is_set():
            raise WorkCancelled
        if not self._context.jobs.get(job.id).is_open:
            raise Conflict("it was cancelled; what was published before stays")

    def _check(self, run: _Run) -> None:
        """Raises InvalidRequest, Forbidden, Failed if its rows can go nowhere."""
        kind = run.kind
        if kind.target is None:
            raise InvalidRequest("this sink does not run here", hint="`penstock check` says why")
        if isinstance(kind.target, TopicTarget):
            client_settings(self._values(run))
            return
        with ExitStack() as opened:
            self._destination(run, kind.target, opened)

    def _values(self, run: _Run) -> ConnectionValues:
        kind = run.kind
        wanted = ("kafka",) if isinstance(kind.target, TopicTarget) else ("s3", "file")
        found = self._context.connections(run.deployment).get(kind.connection)
        if found is None or found.kind not in wanted:
            raise InvalidRequest(f"there is no connection `{kind.connection}` of TYPE {' or '.join(wanted)}")
        return ConnectionValues(found, self._context.secrets)

    def _destination(self, run: _Run, target: FileTarget, opened: ExitStack) -> SinkDestination:
        values, place = self._values(run), fill_secrets(target.place, self._context.secrets)
        if values.connection.kind == "file":
            return FolderDestination(place, self._context.settings.sinks.folders)
        stops = self._stop.is_set
        return opened.enter_context(closing(BucketDestination(values, place, self._context.settings.copies, stops)))

    def _topic_run(self, job: Job, target: TopicTarget, number: int = 0) -> TopicRun:
        topic = fill_secrets(target.topic, self._context.secrets)
        return TopicRun(self._context.server(), job.pipe, topic, number)


def _named_anew(file: SpooledFile, job: Job, destination: SinkDestination) -> SpooledFile:
    """The file under a name that no other file has: with the time of the run in it if it must."""
    if not destination.exists(file.name):
        return file
    folder, slash, name = file.name.rpartition("/")
    stem, dot, ending = name.partition(".")
    fresh = f"{folder}{slash}{stem}_{job.created_at:%Y%m%dT%H%M%S%f}{dot}{ending}"
    if destination.exists(fresh):
        raise Failed(f"{file.name} and {fresh} are both there", hint="run the sink again")
    return replace(file, name=fresh)


def _version_of(job: Job) -> str:
    """The version whose rows a run writes: the one that somebody named, else whichever is live when it runs."""
    return str(job.parameters.get(DEPLOYMENT, LIVE))


def _texts(job: Job) -> Mapping[str, Parameter]:
    """The parameters of a run, and the time that it is for."""
    given = {name: str(value) for name, value in job.parameters.items() if name != DEPLOYMENT}
    return {JOB_TIMESTAMP: format_moment(job.due_at or job.created_at), **given}
