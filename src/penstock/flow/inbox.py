"""Take raw rows in: on disk and in the batch log before they are acknowledged.

In: lines of a data source's stream. Out: a `Kept` once they are durable. Called by deploy/ingest
for the Events API. Invariant: a body is in exactly one batch, or in none and the caller got an
error; a body whose idempotency key was taken before is in the batch it went to then.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from penstock.errors import Failed, PenstockError, TooLarge, Unavailable
from penstock.faults import reached
from penstock.flow.segments import write_segment
from penstock.model.manifest import ROWS_PER_BATCH
from penstock.state.batches import Batch, Batches

BYTES_PER_BATCH = 32 * 2**20


@dataclass(frozen=True, slots=True)
class Body:
    """The rows of one call, and its idempotency key."""

    lines: tuple[bytes, ...]
    key: str | None
    kept: Future[int]

    @property
    def size(self) -> int:
        return sum(map(len, self.lines)) + len(self.lines)


class Inbox:
    """One writer thread a stream: whatever waits while a batch is written goes into the next one
    (group commit), so the number of batches does not grow with the number of callers."""

    def __init__(self, folder: Path, batches: Batches, arrived: Callable[[Batch], None]):
        self._folder = folder
        self._batches = batches
        self._arrived = arrived
        self._queues: dict[str, queue.Queue[Body | None]] = {}
        self._threads: list[threading.Thread] = []
        self._guard = threading.Lock()
        self._closed = False

    def append(self, stream: str, lines: Sequence[bytes], key: str | None) -> int:
        """Keep the lines; returns the number of their batch when they are durable.

        Raises TooLarge, Unavailable while closing, Failed if they could not be kept (then none is).
        """
        if len(lines) > ROWS_PER_BATCH:
            raise TooLarge(f"{len(lines):,} rows in one call; at most {ROWS_PER_BATCH:,} are taken")
        body = Body(tuple(lines), key, Future())
        self._queue(stream).put(body)
        return body.kept.result()

    def close(self) -> None:
        """Keep what waits, then stop."""
        with self._guard:
            self._closed = True
            for waiting in self._queues.values():
                waiting.put(None)
        for thread in self._threads:
            thread.join()

    def _queue(self, stream: str) -> queue.Queue[Body | None]:
        with self._guard:
            if self._closed:
                raise Unavailable("the server is stopping")
            if stream not in self._queues:
                self._queues[stream] = queue.Queue()
                thread = threading.Thread(target=self._write, args=(stream,), name=f"inbox {stream}", daemon=True)
                self._threads.append(thread)
                thread.start()
            return self._queues[stream]

    def _write(self, stream: str) -> None:
        waiting = self._queues[stream]
        held: Body | None = None
        while True:
            first = held or waiting.get()
            if first is None:
                return
            group, held, closing = _group(first, waiting)
            self._keep(stream, group)
            if closing:
                return

    def _keep(self, stream: str, group: Sequence[Body]) -> None:
        try:
            batch = self._commit(stream, self._new(stream, group))
        except PenstockError as error:
            _fail(group, error)
        except Exception as error:  # any failure is the caller's answer; the writer goes on
            _fail(group, Failed(f"the rows could not be kept, none of them is: {error}"))
        else:
            for body in group:
                if not body.kept.done() and batch is not None:
                    body.kept.set_result(batch.number)

    def _new(self, stream: str, group: Sequence[Body]) -> list[Body]:
        """The bodies that are not there yet: a key seen before, or twice in the group, is once."""
        new: list[Body] = []
        keys: set[str] = set()
        for body in group:
            earlier = self._batches.with_key(stream, body.key) if body.key else None
            if earlier is not None:
                body.kept.set_result(earlier.number)
            elif body.key is None or body.key not in keys:
                keys |= {body.key} if body.key else set()
                new.append(body)
        return new

    def _commit(self, stream: str, bodies: Sequence[Body]) -> Batch | None:
        lines = [line for body in bodies for line in body.lines]
        if not lines:
            return None
        segment, size = write_segment(self._folder, stream, lines)
        reached("inbox.written")
        keys = [body.key for body in bodies if body.key]
        batch = self._batches.append(stream, segment, len(lines), size, datetime.now(timezone.utc), keys)
        reached("inbox.logged")
        self._arrived(batch)
        return batch


def _group(first: Body, waiting: queue.Queue[Body | None]) -> tuple[list[Body], Body | None, bool]:
    """What waits now, up to a batch's limits; one body too many is held over; None closes."""
    group, rows, size = [first], len(first.lines), first.size
    while True:
        try:
            body = waiting.get_nowait()
        except queue.Empty:
            return group, None, False
        if body is None:
            return group, None, True
        if rows + len(body.lines) > ROWS_PER_BATCH or size + body.size > BYTES_PER_BATCH:
            return group, body, False
        group.append(body)
        rows, size = rows + len(body.lines), size + body.size


def _fail(group: Sequence[Body], error: PenstockError) -> None:
    for body in group:
        if not body.kept.done():
            body.kept.set_exception(error)
