"""Bodies of bounded size, made of lines or of Arrow's record batches as they come.

In: lines, or record batches. Out: `RowBatch`, whenever the next row would be too much for it. Invariant: where a batch
ends depends on nothing but the rows and the limits, so that the same rows make the same batches again.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
import zstandard
from pyarrow import parquet

from penstock.client.client_error import ClientError
from penstock.client.rows.sendable_values import UnsendableValue

MOST_BYTES, MOST_ROWS = 32 * 2**20, 2**20
"""The server's limits of a body."""
_PACKED_FROM = 1_024
"""Smaller bodies are sent as they are."""


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """The most rows and bytes of a batch, before it is packed."""

    rows: int = 50_000
    bytes: int = 4 * 2**20

    def __post_init__(self) -> None:
        if not 1 <= self.rows <= MOST_ROWS or not 1 <= self.bytes <= MOST_BYTES:
            raise ValueError(f"a batch has 1 to {MOST_ROWS} rows and 1 to {MOST_BYTES} bytes")


@dataclass(frozen=True, slots=True)
class RowBatch:
    """A body with its rows."""

    number: int
    rows: int
    content: bytes
    form: Literal["ndjson", "parquet"]
    is_last: bool

    def packed(self) -> tuple[bytes, dict[str, str]]:
        """The content as it is sent, and the headers that say so. Parquet is packed already."""
        if self.form == "parquet" or len(self.content) < _PACKED_FROM:
            return self.content, {}
        return zstandard.ZstdCompressor().compress(self.content), {"Content-Encoding": "zstd"}


class LineCollector:
    """Collects lines until a batch is full."""

    def __init__(self, limits: BatchLimits):
        self._limits = limits
        self._content = bytearray()  # not a list: each line of orjson holds a kilobyte
        self._rows = self._number = 0

    def add(self, line: bytes) -> RowBatch | None:
        """Take a line; gives the batch before it, if the line begins another. Raises UnsendableValue."""
        if len(line) >= MOST_BYTES:
            raise UnsendableValue(f"the row has {len(line):,} bytes as JSON, more than a body may have")
        is_full = self._rows >= self._limits.rows or len(self._content) + len(line) + 1 > self._limits.bytes
        done = self._take(is_last=False) if self._rows and is_full else None
        self._content += line
        self._content += b"\n"
        self._rows += 1
        return done

    def finish(self) -> RowBatch | None:
        """The last batch; None if there were no rows."""
        return self._take(is_last=True) if self._rows else None

    def _take(self, *, is_last: bool) -> RowBatch:
        made = RowBatch(self._number, self._rows, bytes(self._content), "ndjson", is_last)
        self._content.clear()
        self._rows = 0
        self._number += 1
        return made


class FrameCollector:
    """Collects record batches until a batch is full; one that is too large is divided."""

    def __init__(self, limits: BatchLimits):
        self._limits = limits
        self._parts: list[pa.RecordBatch] = []
        self._rows = self._size = self._number = 0

    def add(self, batch: pa.RecordBatch) -> Iterator[RowBatch]:
        """Take a record batch; gives the batches that are full."""
        for part in self._divide(batch):
            is_full = self._rows + part.num_rows > self._limits.rows or self._size + part.nbytes > self._limits.bytes
            if self._parts and is_full:
                yield self._take(is_last=False)
            self._parts.append(part)
            self._rows += part.num_rows
            self._size += part.nbytes

    def finish(self) -> RowBatch | None:
        """The last batch; None if there were no rows."""
        return self._take(is_last=True) if self._parts else None

    def _divide(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if batch.num_rows == 0:
            return
        if batch.num_rows == 1 or (batch.num_rows <= self._limits.rows and batch.nbytes <= self._limits.bytes):
            yield batch
            return
        half = batch.num_rows // 2
        yield from self._divide(batch.slice(0, half))
        yield from self._divide(batch.slice(half))

    def _take(self, *, is_last: bool) -> RowBatch:
        made = RowBatch(self._number, self._rows, _write_parquet(self._parts), "parquet", is_last)
        self._parts, self._rows, self._size = [], 0, 0
        self._number += 1
        return made


def _write_parquet(parts: list[pa.RecordBatch]) -> bytes:
    sink = io.BytesIO()
    try:
        table = pa.Table.from_batches(parts)
        parquet.write_table(table, sink, compression="zstd", version="2.6")
    except (pa.ArrowException, NotImplementedError) as error:
        raise ClientError(f"these columns cannot be sent: {error}", code="wrong-usage") from None
    return sink.getvalue()
