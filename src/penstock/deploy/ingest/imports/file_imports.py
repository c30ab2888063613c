"""The files that data sources take: one import for each, as the running versions say.

In: the datafiles of the running versions. Out: imports. Invariants: a stream has one import, however many versions land
its batches, and the live version says how; a data source whose files cannot be taken is shown with the reason.
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.deploy.connections.connection_values import ConnectionValues, fill_secrets
from penstock.deploy.ingest.imports.file_import import FileImport, ImportParts, ImportPlace, ImportStatus
from penstock.deploy.ingest.imports.file_places import BucketPlace, FilePlace, FolderPlace
from penstock.deploy.runtime.periodic_task import PeriodicTask
from penstock.deploy.runtime.project_cache import ProjectCache
from penstock.deploy.runtime.running_deployments import DeploymentBoard, landed_sources
from penstock.errors import Conflict, InvalidRequest, NotFound, PenstockError, did_you_mean
from penstock.model.datasource import DataSource, FileSource
from penstock.model.settings import Settings
from penstock.parse.project_loader import LoadedProject
from penstock.state.positions.imported_files import ImportedFile

PAUSE = 1.0
log = logging.getLogger("penstock.deploy")


@dataclass(frozen=True, slots=True)
class _Refused:
    """A data source whose files cannot be taken."""

    stream: str
    status: ImportStatus


@dataclass(frozen=True, slots=True)
class ImportReport:
    """How the files of a data source are taken, how many there are by state, and the latest of them."""

    status: ImportStatus
    counts: Mapping[str, int]
    files: tuple[ImportedFile, ...]

    def as_json(self) -> dict[str, object]:
        files = [each.as_json() for each in self.files]
        return {**self.status.as_json(), "counts": dict(self.counts), "files": files}


class FileImports(PeriodicTask):
    """Looks once a second at what the running versions take."""

    def __init__(
        self,
        board: DeploymentBoard,
        projects: ProjectCache,
        parts: ImportParts,
        settings: Settings,
        secrets: Mapping[str, str],
    ):
        super().__init__("files", PAUSE)
        self._board, self._projects, self._parts = board, projects, parts
        self._settings, self._secrets = settings, secrets
        self._imports: dict[str, FileImport] = {}
        """By stream."""
        self._refused: dict[str, _Refused] = {}
        """By stream, the data sources whose files cannot be taken."""
        self._seen: tuple[tuple[int, str], ...] = ()
        self._guard = threading.Lock()

    def start(self) -> None:
        """Start; what a server before has left of files that it read is removed."""
        shutil.rmtree(self._parts.folder, ignore_errors=True)
        super().start()

    def stop(self) -> None:
        super().stop()
        running = tuple(self._imports.values())
        for each in running:
            each.end()
        for each in running:
            each.join()

    def run_once(self) -> None:
        """Start and end imports, if the running versions are others than before."""
        seen = tuple((each.id, each.state) for each in self._board.running.complete)
        if seen == self._seen and not any(each.has_ended for each in self._imports.values()):
            return
        wanted, refused = self._find_wanted()
        over = {at: each for at, each in self._imports.items() if wanted.get(at) != each.wanted or each.has_ended}
        for each in over.values():
            each.end()
        for stream, each in over.items():
            each.join()
            with self._guard:
                del self._imports[stream]
        for stream, files in wanted.items():
            if stream not in self._imports and not self._stop.is_set():
                with self._guard:
                    self._imports[stream] = FileImport(files, self._parts, over.get(stream))
        with self._guard:
            self._refused, self._seen = refused, seen

    def statuses(self) -> tuple[ImportStatus, ...]:
        """How the files of each data source are taken."""
        with self._guard:
            found = [each.status for each in self._refused.values()]
            found += [each.status for each in self._imports.values()]
        return tuple(sorted(found, key=lambda each: each.datasource))

    def files(self, name: str, limit: int) -> ImportReport:
        """The files of a data source. Raises NotFound."""
        stream, status = self._find(name)
        latest = self._parts.files.latest(stream, limit)
        return ImportReport(status, self._parts.files.counts(stream), tuple(latest))

    def look_now(self, name: str) -> int:
        """Look for the files of a data source, whatever its schedule says. Returns the number of the request, which the
        status has once it is `served`. Raises NotFound, Conflict if its files cannot be taken."""
        return self._running(name).look_now()

    def try_again(self, name: str) -> int:
        """Let the files of a data source wait that could not be read. Returns how many these are. Raises NotFound,
        Conflict if its files cannot be taken."""
        return self._running(name).try_again()

    def _running(self, name: str) -> FileImport:
        stream, status = self._find(name)
        with self._guard:
            running = self._imports.get(stream)
        if running is None:
            raise Conflict(f"the files of `{name}` cannot be taken: {status.reason}")
        return running

    def _find(self, name: str) -> tuple[str, ImportStatus]:
        with self._guard:
            found = {each.status.datasource: (each.stream, each.status) for each in self._refused.values()}
            found |= {each.wanted.datasource: (stream, each.status) for stream, each in self._imports.items()}
        if name not in found:
            hint = did_you_mean(name, found) or "IMPORT_BUCKET_URI says where its files are; deploy it first"
            raise NotFound(f"`{name}` takes no files", hint=hint)
        return found[name]

    def _find_wanted(self) -> tuple[dict[str, ImportPlace], dict[str, _Refused]]:
        """By stream, what is to be taken, and what cannot be."""
        wanted: dict[str, ImportPlace] = {}
        refused: dict[str, _Refused] = {}
        decided = set[str]()
        for deployment in self._board.running.complete:
            try:
                loaded = self._projects.load(deployment)
            except PenstockError as error:
                log.warning("the files of deployment %d are not taken: %s", deployment.id, error.message)
                continue
            for source, stream in landed_sources(loaded, deployment):
                if stream in decided:
                    continue
                decided.add(stream)
                if source.files is None:
                    continue
                try:
                    wanted[stream] = self._wanted(loaded, source, source.files, stream)
                except PenstockError as error:
                    files = source.files
                    status = ImportStatus(source.name, files.place, files.schedule, "waiting", error.with_hint())
                    refused[stream] = _Refused(stream, status)
                    log.warning("`%s` takes no files: %s", source.name, error.with_hint())
        return wanted, refused

    def _wanted(self, loaded: LoadedProject, source: DataSource, files: FileSource, stream: str) -> ImportPlace:
        connection = loaded.connections.get(files.connection)
        if connection is None or connection.kind not in ("s3", "file"):
            raise InvalidRequest(f"there is no connection `{files.connection}` of TYPE s3 or file")
        address = fill_secrets(files.place, self._secrets)
        place = self._place(ConnectionValues(connection, self._secrets), address)
        return ImportPlace(
            source.name, stream, files.place, files.schedule, files.format, files.since, connection.options, place
        )

    def _place(self, values: ConnectionValues, address: str) -> FilePlace:
        if values.connection.kind == "file":
            if not address.startswith("file:///"):
                hint = "write IMPORT_BUCKET_URI file:///folder/*.csv, or name a connection of TYPE s3"
                raise InvalidRequest("IMPORT_BUCKET_URI is no folder of this machine", hint=hint)
            return FolderPlace(address, self._settings.imports.folders)
        return BucketPlace(values, address, self._settings.copies, self._stop.is_set)
