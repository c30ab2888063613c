"""Takes the files of one data source into the inbox, for as long as the data source is there.

In: where its files are, and how far its stream has got. Out: batches of their rows. Invariants: rows are stored
together with how many of which file they are, so that a row is stored once, whatever ends the server when; a file that
cannot be read is said to have failed, with the reason, and holds up no other; what is out of reach is tried again.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import Literal, TypeAlias

from cronsim import CronSim

from penstock.crash_points import crash_point
from penstock.deploy.ingest.event_ingestion import EventIngestion
from penstock.deploy.ingest.imports.file_places import FilePlace, PlacedFile, UnusableFile
from penstock.deploy.ingest.imports.file_rows import FileReader, format_of, unpack_file
from penstock.deploy.ingest.row_files.file_ingestion import parts_of_rows
from penstock.errors import Fenced, NotFound, Overloaded, PenstockError, StorageFull, Unavailable
from penstock.lake.spark.cancellation import WorkCancelled, raise_if_stopped
from penstock.model.cursor import Position, SourceSpan
from penstock.model.datasource import AUTO, ON_DEMAND, ONCE, FileRowFormat
from penstock.model.manifest import Landing
from penstock.state.positions.imported_files import FoundFile, ImportedFile, ImportedFiles
from penstock.state.positions.stream_positions import OtherPosition, StreamPositions

SOURCE = "files"
"""The source of the rows of a stream that come from files; its position is the number of a file and how many of its
rows are stored."""
LOOK_SECONDS, LOOK_SHARE = 10.0, 20
"""Seconds between two looks of `@auto`; more where a look takes long: so many times as long."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
"""Seconds before what failed is tried again; the pauses double."""
State: TypeAlias = Literal["idle", "looking", "reading", "waiting"]
log = logging.getLogger("penstock.deploy")


@dataclass(frozen=True, slots=True)
class ImportPlace:
    """What a data source takes."""

    datasource: str
    stream: str
    address: str
    schedule: str
    format: FileRowFormat | None
    since: datetime | None
    reached_by: tuple[tuple[str, str], ...]
    place: FilePlace = field(compare=False)


@dataclass(frozen=True, slots=True)
class ImportParts:
    """The parts of the pipeline that imports use."""

    ingestion: EventIngestion
    files: ImportedFiles
    positions: StreamPositions
    folder: Path
    """Where files are while they are read."""
    min_free_bytes: int


@dataclass(frozen=True, slots=True)
class ImportStatus:
    """How the files of a data source are taken."""

    datasource: str
    address: str
    schedule: str
    state: State
    reason: str | None = None
    """Why it waits."""
    looks: int = 0
    """How often the place was looked at since the server started."""
    failed: int = 0
    """Files that cannot be read."""

    def as_json(self) -> dict[str, object]:
        return {
            "datasource": self.datasource,
            "place": self.address,
            "schedule": self.schedule,
            "state": self.state,
            "reason": self.reason,
            "looks": self.looks,
            "failed": self.failed,
        }


class FileImport:
    """A thread that takes the files of one data source."""

    def __init__(self, wanted: ImportPlace, parts: ImportParts):
        self.wanted = wanted
        self._parts = parts
        self._state: State = "idle"
        self._reason: str | None = None
        self._looks = self._failed = 0
        self._asked = False
        self._due = self._first_due()
        self._known: dict[str, ImportedFile] | None = None
        self._stop, self._wake = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"files of {wanted.datasource}", daemon=True)
        self._thread.start()

    @property
    def status(self) -> ImportStatus:
        wanted = self.wanted
        return ImportStatus(wanted.datasource, wanted.address, wanted.schedule, self._state, self._reason, self._looks)

    @property
    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    def look_now(self) -> None:
        """Ask the thread to look for files, whatever their schedule says."""
        self._asked = True
        self._wake.set()

    def end(self) -> None:
        """Ask the thread to end."""
        self._stop.set()
        self._wake.set()

    def join(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        pause = FIRST_PAUSE
        while not self._stop.is_set():
            try:
                self._take_all()
                pause = FIRST_PAUSE
                self._wake.wait(max(min(self._due - time.monotonic(), LOOK_SECONDS), 0.0))
                self._wake.clear()
                continue
            except (Fenced, WorkCancelled):  # another server has taken over, or this one stops
                return
            except PenstockError as error:
                self._wait_for(error.message)
            except Exception as error:
                log.exception("the files of `%s` could not be taken", self.wanted.datasource)
                self._wait_for(f"an unexpected error: {error!r}"[:300])
            self._wake.wait(pause)
            self._wake.clear()
            pause = min(2 * pause, LONGEST_PAUSE)

    def _wait_for(self, reason: str) -> None:
        if self._reason != reason:
            log.warning("the files of `%s` wait: %s", self.wanted.datasource, reason)
        self._state, self._reason = "waiting", reason

    def _take_all(self) -> None:
        """Look for files if it is time, and take those that are there."""
        if self._asked or time.monotonic() >= self._due:
            self._state = "looking"
            self._asked = False
            try:
                self._look()
            except BaseException:
                self._asked = True  # a look that failed is one that is still to be done
                raise
        while (file := self._parts.files.next(self.wanted.stream)) is not None:
            raise_if_stopped(self._stop.is_set)
            self._state = "reading"
            self._take(file)
        self._failed = self._parts.files.counts(self.wanted.stream).get("failed", 0)
        self._state, self._reason = "idle", None

    def _first_due(self) -> float:
        """When files are looked for first, by the clock that does not jump."""
        if self.wanted.schedule in (AUTO, ONCE):
            return time.monotonic()
        return self._next_due(0.0)

    def _next_due(self, took: float) -> float:
        """When files are looked for again after a look that took so many seconds."""
        schedule, now = self.wanted.schedule, datetime.now(timezone.utc)
        if schedule in (AUTO, ONCE):
            return time.monotonic() + max(LOOK_SECONDS, LOOK_SHARE * took)
        if schedule == ON_DEMAND:
            return float("inf")
        return time.monotonic() + (next(CronSim(schedule, now)) - now).total_seconds()

    def _look(self) -> None:
        """Write down the files that are new, and those that are no longer what was found."""
        files, stream, began = self._parts.files, self.wanted.stream, time.monotonic()
        known = self._known if self._known is not None else dict(files.known(stream))
        if self.wanted.schedule == ONCE and known and not self._looks:
            found: list[PlacedFile] = []  # a server before this one has looked
        else:
            found = [each for each in self.wanted.place.files() if self._is_recent_enough(each)]
        found.sort(key=lambda each: (each.modified or _LONG_AGO, each.found.address))
        for each in found:
            before = known.get(each.found.address)
            if before is not None and each.found.mark and before.mark and before.mark != each.found.mark:
                self._note_change(before, each.found)
        files.add(stream, [each.found for each in found if each.found.address not in known])
        self._known = dict(files.known(stream))
        self._looks += 1
        self._due = self._next_due(time.monotonic() - began)
        if self.wanted.schedule == ONCE and self._known:
            self._due = float("inf")

    def _is_recent_enough(self, file: PlacedFile) -> bool:
        since = self.wanted.since
        return since is None or file.modified is None or file.modified >= since

    def _note_change(self, before: ImportedFile, found: FoundFile) -> None:
        """A file that has other contents than when it was found."""
        files, stream = self._parts.files, self.wanted.stream
        now = files.known(stream)[found.address]
        if now.state == "waiting" and not now.rows:
            files.change(stream, now.number, mark=found.mark)
        elif now.state == "failed" and not now.rows:
            files.change(stream, now.number, mark=found.mark)
            files.try_again(stream, [now.number])
        elif now.state == "done":
            log.warning("%s was replaced after `%s` had taken it", found.address, self.wanted.datasource)
            text = "it was replaced after it was taken, and is not taken again: give other rows another name"
            files.change(stream, now.number, state="changed", mark=found.mark, error=text)

    def _take(self, file: ImportedFile) -> None:
        """Store the rows of a file that are not stored yet."""
        files, stream = self._parts.files, self.wanted.stream
        folder = self._parts.folder / stream
        folder.mkdir(parents=True, exist_ok=True)
        try:
            files.change(stream, file.number, state="reading")
            self._store_file(file, folder)
            files.change(stream, file.number, state="done", error=None)
        except UnusableFile as error:
            log.warning("`%s` cannot take %s: %s", self.wanted.datasource, file.address, error)
            files.change(stream, file.number, state="failed", error=str(error))
        except OSError as error:
            raise StorageFull(f"a file cannot be kept while it is read: {error.strerror or error}") from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _store_file(self, file: ImportedFile, folder: Path) -> None:
        wanted = self.wanted
        form = format_of(file.address, wanted.format)
        found = FoundFile(file.address, file.mark)
        name = file.address.rpartition("/")[2][-100:]
        opened, encoding = wanted.place.fetch(found, folder / f"raw-{name}")
        content = unpack_file(opened, encoding, folder / "unpacked", self._has_room)
        reader = FileReader(content, form, wanted.datasource)
        if form == "csv" and file.has_header is None:
            # Decided once: another version might know other names, and the count of rows would be another one.
            file = replace(file, has_header=reader.begins_with_names(self._landings()[0]))
            self._parts.files.change(wanted.stream, file.number, has_header=file.has_header)
        reader = replace(reader, has_header=file.has_header)
        at, is_whole = self._count_stored(file, reader.rows(self._landings())), False
        while not is_whole:
            landings = self._landings()
            rows = islice(reader.rows(landings), at.rows, None)
            for part in parts_of_rows(rows):
                if not wanted.place.is_unchanged(found, opened):
                    raise UnusableFile(f"it was replaced while it was read, after {at.rows:,} of its rows were stored")
                if self._landings() != landings:
                    break  # other versions run, which may read other columns of the file
                at = self._store_part(file, at, part)
                crash_point("import.part_noted")
            else:
                is_whole = True

    def _has_room(self) -> bool:
        return shutil.disk_usage(self._parts.folder).free > self._parts.min_free_bytes

    def _landings(self) -> Sequence[Landing]:
        return self._parts.ingestion.landings_of(self.wanted.datasource)

    def _count_stored(self, file: ImportedFile, rows: Iterator[bytes]) -> _At:
        """Pass over the rows of a file that are stored; those that are stored and were not counted are."""
        stored = self._parts.positions.find(self.wanted.stream, [SOURCE]).get(SOURCE)
        position = stored.position if stored is not None else None
        reached = position[1] if position is not None and position[0] == file.number else file.rows
        for _ in islice(rows, file.rows):
            raise_if_stopped(self._stop.is_set)
        at = _At(file.successful_rows, file.quarantined_rows, position)
        for part in parts_of_rows(islice(rows, reached - file.rows)):
            rejected = self._parts.ingestion.count_rejected(self.wanted.datasource, part)
            at = at.after(len(part) - rejected, rejected, position)
            self._note(file, at)
        return at

    def _store_part(self, file: ImportedFile, at: _At, part: Sequence[bytes]) -> _At:
        """Store rows, however long the inbox has no room."""
        upto = (file.number, at.rows + len(part))
        span = SourceSpan(SOURCE, at.position, upto)
        while True:
            raise_if_stopped(self._stop.is_set)
            try:
                receipt = self._parts.ingestion.append_file_rows(self.wanted.datasource, part, span)
                break
            except (Overloaded, StorageFull) as error:
                self._wait_for(error.message)
                self._stop.wait(FIRST_PAUSE)
            except (Fenced, Unavailable, NotFound, OtherPosition):
                raise  # where it goes on is looked at again
            except PenstockError as error:
                raise UnusableFile(f"rows {at.rows + 1:,} to {upto[1]:,} cannot be stored: {error.message}") from None
        self._state, self._reason = "reading", None
        crash_point("import.part_stored")
        at = at.after(receipt.successful_rows, receipt.quarantined_rows, upto)
        self._note(file, at)
        return at

    def _note(self, file: ImportedFile, at: _At) -> None:
        counts = {"successful_rows": at.successful_rows, "quarantined_rows": at.quarantined_rows}
        self._parts.files.change(self.wanted.stream, file.number, **counts)


@dataclass(frozen=True, slots=True)
class _At:
    """How far a file is stored, and the position of its stream."""

    successful_rows: int
    quarantined_rows: int
    position: Position | None

    @property
    def rows(self) -> int:
        return self.successful_rows + self.quarantined_rows

    def after(self, successful: int, quarantined: int, position: Position | None) -> _At:
        return _At(self.successful_rows + successful, self.quarantined_rows + quarantined, position)


_LONG_AGO = datetime(1970, 1, 1, tzinfo=timezone.utc)
