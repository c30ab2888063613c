"""The body of an answer in Arrow's streaming format, read as it arrives.

In: a function that gives the next bytes. Out: record batches. Invariant: an answer that ends before its end is an
error, never a shorter answer.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator

import pyarrow as pa

from penstock.client.client_error import ClientError, connection_error

_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"
"""What a stream ends with. Source: Apache Arrow, IPC streaming format."""


class _ArrivingBytes(io.RawIOBase):
    """A file whose bytes come when they are read; `last` are those at its end."""

    def __init__(self, pull: Callable[[], bytes]):
        super().__init__()
        self.last = b""
        self._pull, self._rest = pull, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            piece = self._pull()
            if not piece:
                return 0
            self.last = (self.last + piece)[-len(_END) :]
            self._rest = memoryview(piece)
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


class ArrowStream:
    """An answer: its schema, and its batches once. `pull` gives b"" at the end, and may raise ClientError."""

    def __init__(self, pull: Callable[[], bytes]):
        self._source = _ArrivingBytes(pull)
        try:
            self._reader = pa.ipc.open_stream(io.BufferedReader(self._source, 2**16))
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(error) from None
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
            if self._source.last != _END:
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
    return connection_error(f"the answer cannot be read: {error}", hint="is it a Penstock server of this version?")
