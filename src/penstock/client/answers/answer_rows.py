"""What an answer is read as: rows, models, or a table of Arrow.

In: an `ArrowStream`. Out: rows one after the other, or all at once. Invariant: the same functions read for the client
with and the one without asyncio.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pydantic import BaseModel

from penstock.client.answers.arrow_stream import ArrowStream
from penstock.client.answers.row_values import RowReader


def batch_reader(schema: pa.Schema, model: type[BaseModel] | None) -> Callable[[pa.RecordBatch], Iterator[Any]]:
    """What reads the rows of batches of a schema, as dicts or as models."""
    reader = RowReader(schema)
    return reader.rows if model is None else lambda batch: reader.models(batch, model)


def read_rows(stream: ArrowStream, model: type[BaseModel] | None) -> Iterator[Any]:
    """The rows of an answer as they arrive."""
    read = batch_reader(stream.schema, model)
    for batch in stream.batches():
        yield from read(batch)


def read_table(stream: ArrowStream) -> pa.Table:
    """The whole answer."""
    return pa.Table.from_batches(stream.batches(), stream.schema)
