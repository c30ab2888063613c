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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import Literal, TypeAlias

from cronsim import CronSim

from penstock.crash_points import crash_point
from penstock.deploy.external.packed_streams import packing_of
from penstock.deploy.external.paths.disk_errors import AWAY_ERRNOS
from penstock.deploy.ingest.event_ingestion import EventIngestion, Receipt
from penstock.deploy.ingest.imports.file_group import (
    MOST_FILES,
    MOST_UNPACKED,
    FileGroup,
    ReadFile,
    read_file_group,
)
from penstock.deploy.ingest.imports.file_places import FilePlace, MissingFile, PlacedFile, UnusableFile
from penstock.deploy.ingest.imports.file_rows import FileReader, format_of, unpack_file
from penstock.deploy.ingest.row_files.file_ingestion import parts_of_rows
from penstock.errors import Failed, Fenced, NotFound, Overloaded, PenstockError, StorageFull, Unavailable
from penstock.flow.inbox.writer import DISK_FULL_ERRNOS
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
PATIENT_SECONDS = 30.0
"""For how long somebody who asks for a look waits for files that are still being written."""
AWAY = "away "
"""Before the mark of a file that was gone when it was to be read: once it is found again, it is taken."""
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
    reached_by: tuple[tuple[str, str], ...] = field(repr=False)
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
    most_bytes: int
    """The most bytes of a file, unpacked."""


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
    served: int = 0
    """The last request to look for files after which a look has begun and ended."""

    def as_json(self) -> dict[str, object]:
        return {
            "datasource": self.datasource,
            "place": self.address,
            "schedule": self.schedule,
            "state": self.state,
            "reason": self.reason,
            "looks": self.looks,
            "failed": self.failed,
            "served": self.served,
        }


class FileImport:
    """A thread that takes the files of one data source."""

    def __init__(self, wanted: ImportPlace, parts: ImportParts, before: FileImport | None = None):
        """`before` is the import whose place this one takes: what somebody has asked of it is still to be done."""
        self.wanted = wanted
        self._parts = parts
        self._state: State = "idle"
        self._reason: str | None = None
        self._looks = self._failed = 0
        self._requests: int = before._requests if before is not None else 0
        self._served: int = before._served if before is not None else 0
        """How often somebody has asked for a look, and the last request that was served."""
        self._patient_until: float | None = None
        self._due = self._first_due()
        self._known: dict[str, ImportedFile] | None = None
        self._alone_upto = 0
        """The number of the last file that is taken by itself, although it is small."""
        self._guard = threading.Lock()
        self._stop, self._wake = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"files of {wanted.datasource}", daemon=True)
        self._thread.start()

    @property
    def status(self) -> ImportStatus:
        wanted = self.wanted
        return ImportStatus(
            wanted.datasource,
            wanted.address,
            wanted.schedule,
            self._state,
            self._reason,
            self._looks,
            self._failed,
            self._served,
        )

    @property
    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    def look_now(self) -> int:
        """Ask the thread to look for files, whatever their schedule says. Returns the number of the request."""
        with self._guard:
            self._requests += 1
            self._wake.set()
            return self._requests

    def try_again(self) -> int:
        """Let files wait that could not be read, but for other names of those that were taken meanwhile. Returns how
        many these are."""
        files, stream = self._parts.files, self.wanted.stream
        known = files.known(stream)
        failed = [each for each in known.values() if each.state == "failed"]
        moved = self._moved([_as_found(each) for each in failed if not each.rows], known)
        for each in failed:
            if each.address in moved:
                files.change(stream, each.number, state="moved", error=moved[each.address])
        again = [each.number for each in failed if each.address not in moved]
        files.try_again(stream, again)
        return len(again)

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
                if self._served == self._requests:
                    self._wake.wait(max(min(self._due - time.monotonic(), LOOK_SECONDS), 0.0))
                self._wake.clear()
                continue
            except (Fenced, WorkCancelled):  # another server has taken over, or this one stops
                return
            except PenstockError as error:
                self._wait_for(error.with_hint())
            except Exception as error:
                log.exception("the files of `%s` could not be taken", self.wanted.datasource)
                self._wait_for(f"an unexpected error ({type(error).__name__}), which the log of the server has")
            self._wake.wait(pause)
            self._wake.clear()
            pause = min(2 * pause, LONGEST_PAUSE)

    def _wait_for(self, reason: str) -> None:
        if self._reason != reason:
            log.warning("the files of `%s` wait: %s", self.wanted.datasource, reason)
        self._state, self._reason = "waiting", reason

    def _take_all(self) -> None:
        """Look for files if it is time, and take those that are there."""
        self._end_together()
        with self._guard:
            request = self._requests
        if request > self._served or time.monotonic() >= self._due:
            self._state = "looking"
            if self._look():
                self._served = request
        while (file := self._parts.files.next(self.wanted.stream)) is not None:
            raise_if_stopped(self._stop.is_set)
            self._state = "reading"
            small = self._read_file_group(file)
            if small is not None:
                self._take_together(small)
            else:
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

    def _look(self) -> bool:
        """Write down the files that are new, and those that are no longer what was found. Returns whether that was all:
        somebody who has asked waits some seconds for files that are still being written."""
        files, stream, began = self._parts.files, self.wanted.stream, time.monotonic()
        known = self._known if self._known is not None else dict(files.known(stream))
        placed, is_asked = list[PlacedFile](), self._requests > self._served
        taken = self.wanted.schedule == ONCE and not self._looks and any(map(self.wanted.place.owns, known))
        if is_asked or not taken:  # else a server before this one has looked
            placed = [each for each in self.wanted.place.files() if self._is_recent_enough(each)]
        fresh = [each for each in placed if not each.is_settled and each.found.address not in known]
        # What `@once` takes is what is there when it first finds files: all of it, or it looks again.
        found = [] if self.wanted.schedule == ONCE and fresh else [each for each in placed if each.is_settled]
        found.sort(key=lambda each: (each.modified or _LONG_AGO, each.found.address))
        changed = [each.found for each in found if _is_changed(known.get(each.found.address), each.found)]
        new = [each.found for each in found if each.found.address not in known]
        moved = self._moved([*changed, *new], known) if changed or new else {}
        if changed:
            self._note_changes(changed, moved)
        if new:
            files.add(stream, new, moved)
        self._known = dict(files.known(stream)) if changed or new else known
        self._looks += 1
        self._due = self._next_due(time.monotonic() - began)
        if self.wanted.schedule == ONCE and any(map(self.wanted.place.owns, self._known)) and not fresh:
            self._due = float("inf")
        return not is_asked or self._is_over(fresh)

    def _moved(self, found: Sequence[FoundFile], known: Mapping[str, ImportedFile]) -> Mapping[str, str]:
        """Those of some files that are other names of files whose rows are stored, with the reason: a file that is
        moved within its place would be taken twice. What was put into a file after it was taken is none of its rows."""
        if not self.wanted.place.marks_are_unique:
            return {}
        taken, moved = dict[str, str](), dict[str, str]()
        if {each.mark for each in found} & {_as_found(each).mark for each in known.values()}:
            now = self._parts.files.known(self.wanted.stream).values()  # `known` may be of the last look
            taken = {_as_found(each).mark: each.address for each in now if each.has_own_rows}
        for each in found:
            before = taken.setdefault(each.mark, each.address)
            if before != each.address:
                moved[each.address] = f"it is {before} under another name, and not taken again; if not, `touch` it"
        return moved

    def _is_over(self, fresh: Sequence[PlacedFile]) -> bool:
        """Whether a look that somebody has asked for ends, although files are still being written."""
        now = time.monotonic()
        if self._patient_until is None:
            self._patient_until = now + PATIENT_SECONDS
        if fresh and now < self._patient_until:
            self._stop.wait(FIRST_PAUSE)
            return False
        self._patient_until = None
        return True

    def _is_recent_enough(self, file: PlacedFile) -> bool:
        since = self.wanted.since
        return since is None or file.modified is None or file.modified >= since

    def _note_changes(self, changed: Sequence[FoundFile], moved: Mapping[str, str]) -> None:
        """Files that have other contents than when they were found; `moved` are other names of taken ones."""
        files, stream = self._parts.files, self.wanted.stream
        known = files.known(stream)
        for found in changed:
            now = known[found.address]
            goes_on = not now.rows or now.mark == AWAY + found.mark
            if not now.rows and found.address in moved:
                files.change(stream, now.number, state="moved", mark=found.mark, error=moved[found.address])
            elif now.state in ("waiting", "failed", "moved") and goes_on:
                files.change(stream, now.number, mark=found.mark)
                if now.state == "moved":
                    files.change(stream, now.number, state="failed")
                files.try_again(stream, [now.number])
            elif now.state == "done":
                log.warning("%s was replaced after `%s` had taken it", found.address, self.wanted.datasource)
                text = "it was replaced after it was taken, and is not taken again: give other rows another name"
                files.change(stream, now.number, state="changed", mark=found.mark, error=text)

    def _take(self, file: ImportedFile) -> None:
        """Store the rows of a file that are not stored yet."""
        files, stream = self._parts.files, self.wanted.stream
        folder = self._parts.folder / stream
        try:
            files.change(stream, file.number, state="reading")
            self._store_file(file, folder)
            files.change(stream, file.number, state="done", error=None)
        except UnusableFile as error:
            self._give_up(file, str(error))
            if isinstance(error, MissingFile):
                self._note_away(file)
        except OSError as error:
            if (later := _error_for_a_while(error, file)) is not None:
                raise later from error
            self._give_up(file, f"it cannot be read: {error.strerror or error}")
        except (PenstockError, WorkCancelled):
            raise
        except Exception as error:
            log.exception("%s could not be taken", file.address)
            self._give_up(file, f"an unexpected error ({type(error).__name__}), which the log of the server has")
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _give_up(self, file: ImportedFile, reason: str) -> None:
        """The file has failed; how many of its rows are stored is written down, also of those that were stored right
        before the server ended, which then count as rows that fit."""
        files, stream = self._parts.files, self.wanted.stream
        log.warning("`%s` cannot take %s: %s", self.wanted.datasource, file.address, reason)
        now = files.get(stream, file.number)
        stored = self._stored_position()
        missing = stored[1] - now.rows if stored is not None and stored[0] == file.number else 0
        rows = now.successful_rows + max(missing, 0)
        header = now.has_header if rows or now.quarantined_rows else None  # it may be mended, or its data source
        mark = file.mark.removeprefix(AWAY)
        files.give_up(stream, replace(now, mark=mark, successful_rows=rows, has_header=header), reason)

    def _note_away(self, file: ImportedFile) -> None:
        """The file is not there; a look that finds it again sees another mark."""
        self._parts.files.change(self.wanted.stream, file.number, mark=AWAY + file.mark.removeprefix(AWAY))
        self._known = None

    def _stored_position(self) -> Position | None:
        found = self._parts.positions.find(self.wanted.stream, [SOURCE]).get(SOURCE)
        return found.position if found is not None else None

    def _store_file(self, file: ImportedFile, folder: Path) -> None:
        reader, opened = self._open(file, folder, self._check_size)
        if reader.format == "csv" and file.has_header is None:
            # Decided once: another version might know other names, and the count of rows would be another one.
            file = replace(file, has_header=reader.begins_with_names(self._landings()[0]))
            self._parts.files.change(self.wanted.stream, file.number, has_header=file.has_header)
        self._store_rows(file, replace(reader, has_header=file.has_header), opened)

    def _open(self, file: ImportedFile, folder: Path, check: Callable[[int], None]) -> tuple[FileReader, Path]:
        """What reads a file, and what was fetched of it; `check` is called with how many bytes are unpacked by then,
        and may raise."""
        wanted = self.wanted
        if not wanted.place.owns(file.address):
            raise UnusableFile("its data source names another place now")
        folder.mkdir(parents=True, exist_ok=True)
        form = format_of(file.address, wanted.format)
        opened, encoding = wanted.place.fetch(_as_found(file), folder / "raw")
        packing = packing_of("auto", file.address, encoding)
        content = unpack_file(opened, packing, folder / "unpacked", check)
        return FileReader(content, form, wanted.datasource), opened

    def _read_file_group(self, first: ImportedFile) -> FileGroup | None:
        """The first files that wait and are small, if they are several."""
        reached, landings = self._stored_position() or (0, 0), self._landings()
        folder = self._parts.folder / self.wanted.stream
        alone_upto = max(self._alone_upto, reached[0])  # up to there, rows may be stored whose answer was lost
        if first.state != "waiting" or first.number <= alone_upto or not self._is_small(first):
            return None
        try:
            waiting = self._parts.files.waiting(self.wanted.stream, MOST_FILES)
            found = read_file_group(waiting, lambda each: self._read_small(each, landings, folder))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return found if self._landings() == landings else None

    def _is_small(self, file: ImportedFile) -> bool:
        place = self.wanted.place
        begun = file.rows or file.mark.startswith(AWAY)
        return not begun and place.owns(file.address) and place.is_small(_as_found(file))

    def _read_small(self, file: ImportedFile, landings: Sequence[Landing], folder: Path) -> ReadFile | None:
        """A small file with its rows; None if it has none, or more than can be stored at once."""
        raise_if_stopped(self._stop.is_set)
        if not self._is_small(file):
            return None
        reader, opened = self._open(file, folder, _check_small)
        if reader.format == "csv" and file.has_header is None:
            file = replace(file, has_header=reader.begins_with_names(landings[0]))
        parts = parts_of_rows(replace(reader, has_header=file.has_header).rows(landings))
        lines = next(parts, [])
        if not lines or next(parts, None) is not None or not self.wanted.place.is_unchanged(_as_found(file), opened):
            return None
        rejected = self._parts.ingestion.count_rejected(self.wanted.datasource, lines)
        counted = replace(file, successful_rows=len(lines) - rejected, quarantined_rows=rejected)
        return ReadFile(counted, lines)

    def _take_together(self, small: FileGroup) -> None:
        """Store the rows of small files at once. How many each has is written down before, so that it is known of all
        of them when the position of the stream says that they are stored."""
        self._parts.files.begin_together(self.wanted.stream, small.files)
        last, position = small.files[-1], self._stored_position()
        try:
            self._append(small.lines, SourceSpan(SOURCE, position, (last.number, last.rows)))
        except UnusableFile as error:
            log.info("files of `%s` are taken one by one: %s", self.wanted.datasource, error)
            self._alone_upto = last.number
        self._end_together()
        crash_point("import.part_noted")

    def _end_together(self) -> None:
        """Files whose rows were being stored at once are done, or wait again."""
        self._parts.files.end_together(self.wanted.stream, (self._stored_position() or (0, 0))[0])

    def _store_rows(self, file: ImportedFile, reader: FileReader, opened: Path) -> None:
        """Store the rows of a file; `opened` is what was fetched."""
        place, found = self.wanted.place, _as_found(file)
        at, is_whole = self._count_stored(file, reader.rows(self._landings())), False
        while not is_whole:
            landings = self._landings()
            rows = reader.rows(landings)
            self._pass_over(rows, at.rows)
            for part in parts_of_rows(rows):
                if not place.is_unchanged(found, opened):
                    raise UnusableFile(f"it was replaced while it was read, after {at.rows:,} of its rows were stored")
                if self._landings() != landings:
                    break  # other versions run, which may read other columns of the file
                at = self._store_part(file, at, part)
                crash_point("import.part_noted")
            else:
                is_whole = True

    def _check_size(self, size: int) -> None:
        """Whether so many bytes of a file may be unpacked. Raises UnusableFile, StorageFull, WorkCancelled."""
        raise_if_stopped(self._stop.is_set)
        if size > self._parts.most_bytes:
            most = self._parts.most_bytes
            raise UnusableFile(f"it has more than {most} bytes unpacked (`max_read_bytes` in [copies])")
        if shutil.disk_usage(self._parts.folder).free < self._parts.min_free_bytes:
            raise StorageFull("the disk of the inbox has too little room to unpack a file")

    def _landings(self) -> Sequence[Landing]:
        return self._parts.ingestion.landings_of(self.wanted.datasource)

    def _count_stored(self, file: ImportedFile, rows: Iterator[bytes]) -> _At:
        """Pass over the rows of a file that are stored; those that are stored and were not counted are."""
        position = self._stored_position()
        reached = position[1] if position is not None and position[0] == file.number else file.rows
        self._pass_over(rows, file.rows)
        at = _At(file.successful_rows, file.quarantined_rows, position)
        for part in parts_of_rows(islice(rows, reached - file.rows)):
            rejected = self._parts.ingestion.count_rejected(self.wanted.datasource, part)
            at = at.after(len(part) - rejected, rejected, position)
            self._note(file, at)
        return at

    def _pass_over(self, rows: Iterator[bytes], count: int) -> None:
        """Read rows that are stored. Raises WorkCancelled if the server stops meanwhile."""
        for _ in islice(rows, count):
            raise_if_stopped(self._stop.is_set)

    def _store_part(self, file: ImportedFile, at: _At, part: Sequence[bytes]) -> _At:
        """Store rows of a file, and write down how far it is stored."""
        upto = (file.number, at.rows + len(part))
        try:
            receipt = self._append(part, SourceSpan(SOURCE, at.position, upto))
        except UnusableFile as error:
            raise UnusableFile(f"rows {at.rows + 1:,} to {upto[1]:,} cannot be stored: {error}") from None
        at = at.after(receipt.successful_rows, receipt.quarantined_rows, upto)
        self._note(file, at)
        return at

    def _append(self, lines: Sequence[bytes], span: SourceSpan) -> Receipt:
        """Store rows, however long the inbox has no room, unless other versions run by then, which may read other
        columns of a file. Raises UnusableFile if it does not take them."""
        landings = self._landings()
        while True:
            raise_if_stopped(self._stop.is_set)
            try:
                receipt = self._parts.ingestion.append_file_rows(self.wanted.datasource, lines, span)
                break
            except (Overloaded, StorageFull) as error:
                self._wait_for(error.message)
                self._stop.wait(FIRST_PAUSE)
                if self._landings() != landings:
                    raise Unavailable("other versions run than those that the rows were read for") from None
            except (Fenced, Unavailable, NotFound, OtherPosition, Failed):
                raise  # where it goes on is looked at again
            except PenstockError as error:
                raise UnusableFile(error.message) from None
        self._state, self._reason = "reading", None
        crash_point("import.part_stored")
        return receipt

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


def _error_for_a_while(error: OSError, file: ImportedFile) -> PenstockError | None:
    """What to wait for, if an error is none of the file."""
    said = error.strerror or str(error)
    if error.errno in DISK_FULL_ERRNOS:
        return StorageFull(f"a file cannot be kept while it is read: {said}")
    return Unavailable(f"{file.address} cannot be read now: {said}") if error.errno in AWAY_ERRNOS else None


def _as_found(file: ImportedFile) -> FoundFile:
    """As its place had it."""
    return FoundFile(file.address, file.mark.removeprefix(AWAY))


def _check_small(size: int) -> None:
    """Raises UnusableFile if a small file has more than MOST_UNPACKED bytes unpacked: it is taken by itself then."""
    if size > MOST_UNPACKED:
        raise UnusableFile("it is not small")


def _is_changed(before: ImportedFile | None, found: FoundFile) -> bool:
    return before is not None and bool(found.mark and before.mark) and before.mark != found.mark


_LONG_AGO = datetime(1970, 1, 1, tzinfo=timezone.utc)
