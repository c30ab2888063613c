"""The body of an answer in Arrow's streaming format, read as it arrives.

In: a function that gives the next bytes. Out: record batches. Invariant: an answer that ends before its end is an
error, never a shorter answer.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator

import pyarrow as pa

from penstock.client.client_error import OTHER_SERVER_HINT, ClientError, connection_error

_MARK, _NOTHING = b"\xff" * 4, b"\x00" * 4
"""What a message begins with, and the length that says there is none: a stream ends with both. They are read one by
one, so that values with the same bytes are told apart. Source: Apache Arrow, IPC streaming format."""


class _ArrivingBytes(io.RawIOBase):
    """A file whose bytes come when they are read; `first` are those at its beginning."""

    def __init__(self, pull: Callable[[], bytes]):
        super().__init__()
        self.first = b""
        self._pull, self._rest = pull, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            piece = self._pull()
            if not piece:
                return 0
            self.first = (self.first + piece)[: len(_MARK)] if len(self.first) < len(_MARK) else self.first
            self._rest = memoryview(piece)
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


class _WatchedReads(io.BufferedReader):
    """Knows the last two parts that were read."""

    last: tuple[bytes, bytes] = (b"", b"")

    def read(self, size: int | None = -1, /) -> bytes:
        part = super().read(size)
        if part:
            self.last = (self.last[1], part if len(part) <= len(_MARK) else b"")
        return part


class ArrowStream:
    """An answer: its schema, and its batches once. `pull` gives b"" at the end, and may raise ClientError."""

    def __init__(self, pull: Callable[[], bytes]):
        self._source = _ArrivingBytes(pull)
        self._parts = _WatchedReads(self._source, 2**16)
        try:
            self._reader = pa.ipc.open_stream(self._parts)
        except (pa.ArrowException, OSError) as error:
            made = _unreadable(error)
            made.may_pass = made.may_pass and _MARK.startswith(self._source.first)
            raise made from None
        self.schema: pa.Schema = self._reader.schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The batches. Raises ClientError."""
        while True:
            batch = self.next_batch()
            if batch is None:
                return
            yield batch

    def next_batch(self) -> pa.RecordBatch | None:
        """The next batch; None at the end. Raises ClientError."""
        try:
            return self._reader.read_next_batch()
        except StopIteration:
            if self._parts.last != (_MARK, _NOTHING):
                raise _cut_off() from None
            return None
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(error) from None


def _cut_off() -> ClientError:
    return connection_error("the answer ended before its end", hint="ask again", code="no-server")


def _unreadable(error: Exception) -> ClientError:
    """The error behind one of Arrow: what the connection raised, or a body that is no stream of Arrow."""
    cause = error.__context__ or error.__cause__
    if isinstance(cause, ClientError):
        return cause
    return connection_error(f"the answer cannot be read: {error}", hint=OTHER_SERVER_HINT)
