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
_TIMES_OF_COLUMNS = {"penstock.naive": "column"}
"""Says of Parquet that a time without a zone is of its column's, as in lines; without it, it is one of UTC."""
_EMPTY_STRUCTS = "a column of empty dicts alone has no fields: give it the type pa.map_(pa.string(), …)"
_PIECE_ROWS = 100
"""A table is taken in pieces of so many rows, counted from its first, however its record batches divide it."""


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
    """Collects record batches until a batch is full; a piece that is too large is divided."""

    def __init__(self, limits: BatchLimits):
        self._limits = limits
        self._piece_rows = min(_PIECE_ROWS, limits.rows)
        self._piece: list[pa.RecordBatch] = []
        self._missing = self._piece_rows
        """The rows that the piece still takes."""
        self._parts: list[pa.RecordBatch] = []
        self._rows = self._size = self._number = 0

    def add(self, batch: pa.RecordBatch) -> Iterator[RowBatch]:
        """Take a record batch; gives the batches that are full."""
        start = 0
        while start < batch.num_rows:
            part = batch.slice(start, self._missing)
            self._piece.append(part)
            self._missing -= part.num_rows
            start += part.num_rows
            if not self._missing:
                yield from self._add_piece()

    def finish(self) -> Iterator[RowBatch]:
        """The last batches; none if there were no rows."""
        yield from self._add_piece()
        if self._parts:
            yield self._take(is_last=True)

    def _add_piece(self) -> Iterator[RowBatch]:
        whole = _join(self._piece) if self._piece else ()
        self._piece, self._missing = [], self._piece_rows
        for part, size in (found for piece in whole for found in self._divide(piece)):
            is_full = self._rows + part.num_rows > self._limits.rows or self._size + size > self._limits.bytes
            if self._parts and is_full:
                yield self._take(is_last=False)
            self._parts.append(part)
            self._rows += part.num_rows
            self._size += size

    def _divide(self, piece: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Parts that a batch can have, each with its size: that of its values, whatever else its buffers hold."""
        size = pa.ipc.get_record_batch_size(piece)
        if piece.num_rows == 1 or size <= self._limits.bytes:
            yield piece, size
            return
        half = piece.num_rows // 2
        yield from self._divide(piece.slice(0, half))
        yield from self._divide(piece.slice(half))

    def _take(self, *, is_last: bool) -> RowBatch:
        made = RowBatch(self._number, self._rows, _write_parquet(self._parts), "parquet", is_last)
        self._parts, self._rows, self._size = [], 0, 0
        self._number += 1
        return made


def _join(parts: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """The same rows with each value in its place. Raises ClientError."""
    try:
        plain = [pa.record_batch([*map(_in_place, each.columns)], names=each.schema.names) for each in parts]
        return pa.Table.from_batches(plain).combine_chunks().to_batches()
    except (pa.ArrowException, NotImplementedError) as error:
        raise ClientError(f"these columns cannot be sent: {error}", code="wrong-usage") from None


def _in_place(column: pa.Array) -> pa.Array:
    """The column without a dictionary or shared texts, all of which every part of the column would have with it."""
    if pa.types.is_dictionary(column.type):
        return column.dictionary_decode()
    if pa.types.is_string_view(column.type):
        return column.cast(pa.string())
    return column.cast(pa.binary()) if pa.types.is_binary_view(column.type) else column


def _write_parquet(parts: list[pa.RecordBatch]) -> bytes:
    sink = io.BytesIO()
    try:
        table = pa.Table.from_batches(parts).replace_schema_metadata(_TIMES_OF_COLUMNS)
        parquet.write_table(table, sink, compression="zstd", version="2.6")
    except (pa.ArrowException, NotImplementedError) as error:
        raise ClientError(f"these columns cannot be sent: {error}", hint=_EMPTY_STRUCTS, code="wrong-usage") from None
    return sink.getvalue()
