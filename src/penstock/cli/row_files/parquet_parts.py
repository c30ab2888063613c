"""A Parquet file divided into several, for bodies of limited size.

In: an opened file. Out: the bytes of Parquet files with the same rows, in their order. Invariant: a part has the
columns and the Arrow types of the file, so that the server reads the same values from it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa
from pyarrow import parquet

from penstock.errors import InvalidRequest

ROWS_AT_ONCE = 8_192


def divide_parquet(file: BinaryIO, most: int) -> Iterator[bytes]:
    """Files of about so many bytes, one at least. Raises InvalidRequest if the file is damaged."""
    try:
        source = parquet.ParquetFile(file)
        schema = source.schema_arrow
        pieces = (piece for batch in source.iter_batches(ROWS_AT_ONCE) for piece in _pieces(batch, most))
        piece = next(pieces, None)
        while True:
            packed = io.BytesIO()
            with parquet.ParquetWriter(packed, schema, compression="zstd", version="2.6") as writer:
                while piece is not None:
                    writer.write_batch(piece)
                    piece = next(pieces, None)
                    if packed.tell() >= most:
                        break
            yield packed.getvalue()
            if piece is None:
                return
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidRequest(f"the Parquet file is damaged: {reason}") from error


def _pieces(batch: pa.RecordBatch, most: int) -> Iterator[pa.RecordBatch]:
    """The rows of a batch, few enough at a time that they cannot be much more than so many bytes."""
    rows = max(1, batch.num_rows * most // max(batch.nbytes, 1))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)
