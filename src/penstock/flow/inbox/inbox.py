"""The inbox: raw rows are on disk and in the batch log before they are acknowledged.

In: lines of a stream. Out: the number of their batch, once they are durable. Invariant: a body is in exactly one
batch, or in none and the caller got an error; a body with an idempotency key that is known (`state/batch_keys.py`) is
answered with the batch of the first body, or refused if its rows are others; so is one whose source has come further
(`state/positions/stream_positions.py`).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path

from penstock.errors import Failed, InvalidRequest, TooLarge, Unavailable
from penstock.flow.inbox.admission import Admission, Backlog
from penstock.flow.inbox.message_batches import TopicMessages, store_messages
from penstock.flow.inbox.replacement import ReplacementStore
from penstock.flow.inbox.segment_cleanup import remove_unlogged_segments
from penstock.flow.inbox.segments import Segments
from penstock.flow.inbox.writer import RequestBody, StreamWriter, storage_error
from penstock.model.cursor import SourceSpan
from penstock.model.manifest import ROWS_PER_BATCH
from penstock.model.settings import InboxSettings
from penstock.state.batch_keys import BodyKey
from penstock.state.batches import Batch, BatchLog
from penstock.state.database import answer_within

DEFAULT_SETTINGS = InboxSettings()
ADMISSION_SECONDS = 3.0
"""How long a post waits for the store to say how much waits already, if that was never known."""
log = logging.getLogger("penstock.flow")


class Inbox:
    """The inbox of the server that owns the batch log. Opening it removes segments that an earlier server left
    unlogged."""

    def __init__(
        self,
        folder: Path,
        batches: BatchLog,
        arrived: Callable[[Batch], None],
        settings: InboxSettings = DEFAULT_SETTINGS,
        landed: Callable[[str], int] | None = None,
    ):
        """`landed(stream)` is the last batch present in all tables fed by the stream; without it the backlog has no
        limit."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._batches = batches
        self._arrived = arrived
        self._backlog = Backlog(batches, landed) if landed is not None else None
        self._admission = Admission(folder, settings, self._backlog)
        self._segments = Segments(folder)
        self._replacements = ReplacementStore(self._segments, batches, self._admission)
        self._writers: dict[str, StreamWriter] = {}
        self._guard = threading.Lock()
        self._closed = False
        try:
            remove_unlogged_segments(folder, batches)
        except OSError as error:  # they only take up space; the next start tries again
            log.warning(
                "unlogged files of the previous server stay in the inbox; the next start tries again",
                exc_info=error,
            )

    def append(self, stream: str, lines: Sequence[bytes], key: str | None, span: SourceSpan | None = None) -> int:
        """Store the lines, and return the number of their batch once they are durable; of lines whose source has come
        further, the number of the batch with its last rows. `span` says which rows of a source they are.

        Raises InvalidRequest without lines, TooLarge, StorageFull, Overloaded, Unavailable while closing,
        OtherPosition if they do not follow what is stored of their source, Failed if they could not be stored; then
        none of them is.
        """
        if not lines:
            raise InvalidRequest("there are no rows to keep")
        if len(lines) > ROWS_PER_BATCH:
            raise TooLarge(f"{len(lines):,} rows in one call; at most {ROWS_PER_BATCH:,} are taken")
        body = RequestBody(tuple(lines), key, Future(), span)
        with answer_within(ADMISSION_SECONDS):
            self._admission.admit(stream, body.size)
        self._writer(stream).put(body)
        return body.batch_number.result()

    def replace(self, stream: str, lines: Iterable[bytes], key: BodyKey, span: SourceSpan | None = None) -> int:
        """Store the lines as those that take the place of all earlier rows of the stream. Returns the number of their
        last batch, once all are durable. `key` is their idempotency key; with `span`, which says which rows of a source
        they are, its position counts instead.

        Raises StorageFull, Overloaded, Conflict, Unavailable, Failed; then none of them is stored, except that after
        Unavailable all of them may be: the same call again tells."""
        return self._store(stream, lambda: self._replacements.store(stream, lines, key, span))

    def remove(self, stream: str, removal: bytes, key: BodyKey) -> int:
        """Store a removal (`flow/landing/removal.py`) of rows that the stream has had by now. Returns the number of its
        batch. Raises what `replace` raises."""
        return self._store(stream, lambda: self._replacements.store_removal(stream, removal, key))

    def append_messages(self, stream: str, messages: TopicMessages) -> Batch:
        """Store messages of a topic with the positions after them. Raises Conflict if they do not follow what was read
        of it before, and what `replace` raises; after Unavailable they may be stored: the positions tell."""
        self._writer(stream)  # Raises Unavailable while closing, and Failed if the stream's folder is missing
        with answer_within(ADMISSION_SECONDS):
            self._admission.admit(stream, messages.size)
        try:
            made = store_messages(self._segments, self._batches, stream, messages)
        except OSError as error:
            raise storage_error(error) from error
        self._arrived(made)
        return made

    def _store(self, stream: str, store: Callable[[], tuple[int, Batch | None]]) -> int:
        self._writer(stream)  # Raises Unavailable while closing, and Failed if the stream's folder is missing
        with answer_within(ADMISSION_SECONDS):
            self._admission.admit(stream, 0)
        try:
            number, last = store()
        except OSError as error:
            raise storage_error(error) from error
        if last is not None:
            self._arrived(last)
        return number

    def waiting_bytes(self, above: int) -> Mapping[str, int]:
        """How many bytes of each stream that was posted to are not in every table yet, as of its last post; what was
        more than `above` bytes then is counted now. Raises Unavailable."""
        return self._backlog.waiting_bytes(above) if self._backlog is not None else {}

    def close(self) -> None:
        """Store the waiting bodies, then stop."""
        with self._guard:
            self._closed = True
            writers = tuple(self._writers.values())
        for writer in writers:
            writer.close()

    def _writer(self, stream: str) -> StreamWriter:
        with self._guard:
            if self._closed:
                raise Unavailable("the server is stopping")
            writer = self._writers.get(stream)
            if writer is None or writer.ended:
                self._check_folder(stream)
                writer = self._writers[stream] = StreamWriter(stream, self._segments, self._batches, self._arrived)
            return writer

    def _check_folder(self, stream: str) -> None:
        """Raises Failed if the stream's folder is missing while batches wait in it: a disk that is not mounted would
        look as if all segments were lost."""
        if (self._folder / stream).exists() or self._backlog is None:
            return
        waiting = self._backlog.bytes(stream)
        if waiting:
            raise Failed(
                f"the folder of `{stream}` is missing in the inbox, with {waiting:,} bytes that its tables do not have",
                hint="mount its disk again; to give these rows up, create an empty folder in its place",
            )
