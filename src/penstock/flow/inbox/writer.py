"""The writer of one stream: a thread that turns waiting request bodies into batches (group commit).

In: bodies. Out: batches, each on disk and in the log. Invariant: every caller gets an answer, whatever ends the
thread; a body is acknowledged only if the log names the file it is in.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone

from penstock.crash_points import crash_point
from penstock.errors import Conflict, Failed, Fenced, PenstockError, StorageFull, Unavailable
from penstock.flow.inbox.segments import Segment, Segments
from penstock.model.cursor import Position, SourceSpan
from penstock.model.manifest import ROWS_PER_BATCH
from penstock.state.batch_keys import BodyKey, ReusedKey
from penstock.state.batches import Batch, BatchLog
from penstock.state.database import answer_within
from penstock.state.positions.stream_positions import OtherPosition

BYTES_PER_BATCH = 32 * 2**20
DISK_FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
ANSWER_SECONDS = 10.0
"""A body waits at most so long for a store that does not answer, the time in the queue included."""
LEAST_SECONDS = 1.0
"""For what waited longer, because much was posted, the store gets this long to answer."""
ASK_AGAIN_SECONDS = 5.0
"""Seconds between two questions whether a batch was logged whose answer was lost."""
GATHER_SECONDS = 0.01
"""A body waits at most so long for as many others as the batch before had: the callers of these, who post again."""
log = logging.getLogger("penstock.flow")


@dataclass(frozen=True, slots=True)
class RequestBody:
    """The rows of one call."""

    lines: tuple[bytes, ...]
    key: str | None
    """The idempotency key of the call."""
    batch_number: Future[int]
    """Will hold the number of the batch, or the error."""
    span: SourceSpan | None = None
    """Which rows of a source they are."""

    arrived: float = field(default_factory=time.monotonic)
    """When it was posted, in seconds of the monotonic clock."""

    @property
    def size(self) -> int:
        return sum(map(len, self.lines)) + len(self.lines)

    @property
    def digest(self) -> str:
        """SHA-256 of the rows in hexadecimal, however they were compressed on the way."""
        found = hashlib.sha256()
        for line in self.lines:
            found.update(line + b"\n")
        return found.hexdigest()


class StreamWriter:
    """Bodies that arrive while a batch is written go into the next one together (group commit), so the number of
    batches does not grow with the number of callers."""

    def __init__(self, stream: str, segments: Segments, batches: BatchLog, arrived: Callable[[Batch], None]):
        self._stream = stream
        self._segments = segments
        self._batches = batches
        self._arrived = arrived
        self._waiting: queue.Queue[RequestBody | None] = queue.Queue()
        self._group: list[RequestBody] = []
        self._held: RequestBody | None = None
        self._together = 1
        """How many bodies the last batch had."""
        self._unsure: list[str] = []
        self._guard = threading.Lock()
        self._ended = False
        self._thread = threading.Thread(target=self._run, name=f"inbox {stream}", daemon=True)
        self._thread.start()

    @property
    def ended(self) -> bool:
        return self._ended

    def put(self, body: RequestBody) -> None:
        """Store the body with the next batch: its `batch_number` will hold the number of the batch, or an error. Raises
        Unavailable if the writer has ended."""
        with self._guard:
            if self._ended:
                raise _writer_ended(self._stream)
            self._waiting.put(body)

    def close(self) -> None:
        """Store the waiting bodies, then stop."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            while self._next():
                pass
        except BaseException as error:  # whatever the error is, no caller may wait for a dead thread
            log.error("the writer of %s ended", self._stream, exc_info=error)
        finally:
            self._end()

    def _end(self) -> None:
        with self._guard:
            self._ended = True
            unanswered = [*self._group, self._held]
            while not self._waiting.empty():
                unanswered.append(self._waiting.get_nowait())
        _fail_bodies([body for body in unanswered if body is not None], _writer_ended(self._stream))

    def _next(self) -> bool:
        """Store one group of bodies. Returns False if the writer is closing."""
        first = self._held or self._receive()
        if first is None:
            return False
        self._group, self._held = [first], None
        closing = self._gather(len(first.lines), first.size)
        self._together = len(self._group)
        self._keep(self._group)
        self._group = []
        return not closing

    def _receive(self) -> RequestBody | None:
        """The next body; None if the writer is closing. While there is none, it is asked for batches whose answer was
        lost: one that was logged must land, since its rows are answered if they are posted again."""
        while self._unsure:
            with suppress(queue.Empty):
                return self._waiting.get(timeout=ASK_AGAIN_SECONDS)
            self._announce_unsure()
        return self._waiting.get()

    def _announce_unsure(self) -> None:
        while self._unsure:
            try:
                with answer_within(LEAST_SECONDS):
                    found = self._batches.find(self._stream, self._unsure[0])
            except PenstockError:
                return  # the store is still away
            self._unsure.pop(0)
            if found is not None:
                self._announce(found)

    def _gather(self, rows: int, size: int) -> bool:
        """Add waiting bodies to the group, up to the limits of a batch; one body too many is kept for the next group.
        Returns whether the writer is closing."""
        until = self._group[0].arrived + GATHER_SECONDS
        while True:
            try:
                body = self._waiting.get(timeout=self._patience(until))
            except queue.Empty:
                return False
            if body is None:
                return True
            rows, size = rows + len(body.lines), size + body.size
            if rows > ROWS_PER_BATCH or size > BYTES_PER_BATCH:
                self._held = body
                return False
            self._group.append(body)

    def _patience(self, until: float) -> float:
        """Seconds to wait for one more body. A caller that posts alone never waits for others."""
        return max(until - time.monotonic(), 0.0) if len(self._group) < self._together else 0.0

    def _keep(self, group: Sequence[RequestBody]) -> None:
        waited = time.monotonic() - min(body.arrived for body in group)
        try:
            with answer_within(max(ANSWER_SECONDS - waited, LEAST_SECONDS)):
                new = self._new(group)
                number = self._commit(new).number if new else 0
        except PenstockError as error:
            _fail_bodies(group, error)
        except OSError as error:
            _fail_bodies(group, storage_error(error))
        except Exception as error:  # the callers get the failure; the writer continues
            log.error("rows of %s could not be kept", self._stream, exc_info=error)
            _fail_bodies(group, Failed(f"the rows could not be kept: {error}"))
        else:
            for body in group:
                if not body.batch_number.done():
                    body.batch_number.set_result(number)

    def _new(self, group: Sequence[RequestBody]) -> list[RequestBody]:
        """The bodies that are not stored yet. A body whose key was used before, also within the group, is not stored
        again; one whose key was used for other rows gets ReusedKey. So with sources: see `_following`."""
        group = self._following(group)
        keys = {body.key for body in group if body.key is not None}
        known = self._batches.keys.find(self._stream, keys) if keys else {}
        new: list[RequestBody] = []
        digests: dict[str, str] = {}
        for body in group:
            if body.key is None:
                new.append(body)
            elif (earlier := known.get(body.key)) is not None:
                if earlier.digest in (None, body.digest):
                    body.batch_number.set_result(earlier.number)
                else:
                    body.batch_number.set_exception(ReusedKey(body.key))
            elif body.key not in digests:
                digests[body.key] = body.digest
                new.append(body)
            elif digests[body.key] != body.digest:
                body.batch_number.set_exception(ReusedKey(body.key))
        return new

    def _following(self, group: Sequence[RequestBody]) -> Sequence[RequestBody]:
        """The bodies without those whose source has come as far already; one that begins elsewhere than where its
        source is gets OtherPosition. At most one body of each source is stored with a batch: the others are sent
        again, since rows of a source are sent one after the other."""
        sources = {body.span.source for body in group if body.span is not None}
        stored = self._batches.positions.find(self._stream, sources) if sources else {}
        following: list[RequestBody] = []
        moving: set[str] = set()
        for body in group:
            span = body.span
            if span is None:
                following.append(body)
                continue
            known = stored.get(span.source)
            at: Position | None = known.position if known is not None else None
            if known is not None and span.upto <= known.position:
                body.batch_number.set_result(known.number)
            elif span.after != at or span.source in moving:
                body.batch_number.set_exception(OtherPosition(span, at))
            else:
                moving.add(span.source)
                following.append(body)
        return following

    def _commit(self, bodies: Sequence[RequestBody]) -> Batch:
        segment = self._segments.write(self._stream, [line for body in bodies for line in body.lines])
        crash_point("inbox.written")
        batch = self._log(segment, bodies)
        crash_point("inbox.logged")
        self._announce(batch)
        return batch

    def _announce(self, batch: Batch) -> None:
        try:
            self._arrived(batch)
        except Exception as error:  # the rows are stored, even if the announcement fails
            log.error("batch %d of %s was not announced", batch.number, self._stream, exc_info=error)

    def _log(self, segment: Segment, bodies: Sequence[RequestBody]) -> Batch:
        rows = sum(len(body.lines) for body in bodies)
        keys = [BodyKey(body.key, body.digest) for body in bodies if body.key is not None]
        spans = [body.span for body in bodies if body.span is not None]
        name, size, digest = segment.name, segment.bytes, segment.digest
        try:
            return self._batches.append(
                self._stream, name, rows, size, datetime.now(timezone.utc), keys, digest, spans=spans
            )
        except (Conflict, StorageFull, Fenced):
            self._segments.remove(segment.name)
            raise
        except Exception:
            # The answer was lost, but perhaps not the commit. The file stays; if the log does not name it, the next
            # start removes it.
            self._unsure.append(segment.name)
            found = self._batches.find(self._stream, segment.name)
            self._unsure.remove(segment.name)
            if found is None:
                raise
            return found


def storage_error(error: OSError) -> PenstockError:
    """What a caller is told whose rows could not be written."""
    if error.errno in DISK_FULL_ERRNOS:
        return StorageFull("the disk of the inbox is full, none of the rows is kept")
    return Failed(f"the rows could not be kept, none of them is: {error}")


def _writer_ended(stream: str) -> Unavailable:
    return Unavailable(f"the writer of `{stream}` has ended; it is not known whether the rows are kept")


def _fail_bodies(group: Sequence[RequestBody], error: PenstockError) -> None:
    for body in group:
        if not body.batch_number.done():
            body.batch_number.set_exception(error)
