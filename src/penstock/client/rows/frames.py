"""Tables of other libraries as record batches of Arrow, a part at a time.

In: Arrow's tables, batches and readers, DataFrames of pandas and Spark, and whatever gives a stream of Arrow. Out:
record batches. Invariants: neither pandas nor Spark is imported; a DataFrame of Spark is never collected whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, cast

import pyarrow as pa

from penstock.client.client_error import ClientError
from penstock.client.rows.pandas_frames import (
    PandasFrame,
    PandasRows,
    as_pandas_frame,
    column_names,
    frame_rows,
    frame_table,
)
from penstock.client.rows.row_shape import RowShape
from penstock.errors import did_you_mean

ROWS_AT_ONCE = 8_192


class _SparkRow(Protocol):
    def __getitem__(self, at: int) -> bytes: ...


class _SparkFrame(Protocol):
    """What is used of a DataFrame of Spark, with or without Spark Connect."""

    columns: list[str]

    def mapInArrow(self, function: object, schema: str) -> _SparkFrame: ...  # noqa: N802
    def toLocalIterator(self) -> Iterator[_SparkRow]: ...  # noqa: N802


def record_batches(rows: object) -> Iterator[pa.RecordBatch] | None:
    """The rows as record batches; None if they are no table of another library. Raises ClientError."""
    if isinstance(rows, pa.RecordBatch):
        return iter((rows,))
    if isinstance(rows, pa.Table):
        return iter(rows.to_batches(max_chunksize=ROWS_AT_ONCE))
    if isinstance(rows, pa.RecordBatchReader):
        return iter(rows)
    kind = type(rows)
    if kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark."):
        return _spark_batches(cast(_SparkFrame, rows))
    frame = as_pandas_frame(rows)
    if frame is not None:
        return _pandas_batches(frame)
    if hasattr(rows, "__arrow_c_stream__"):
        return _stream_batches(rows)
    return None


def rows_with_dicts(rows: object, shape: RowShape | None) -> PandasRows | None:
    """The rows of a DataFrame of pandas that has dicts in it, which no table can have as they are; None for all else.
    Raises ClientError."""
    frame = as_pandas_frame(rows)
    if frame is None:
        return None
    names = column_names(frame)
    check_columns(names, None)
    found = frame_rows(frame)
    if found is None:
        return None
    check_columns(names, shape)
    keys = {field.name: field.key for field in shape.fields} if shape is not None else {}
    return PandasRows({keys.get(name, name): values for name, values in found.columns.items()})


def _stream_batches(rows: object) -> Iterator[pa.RecordBatch]:
    try:
        return iter(pa.RecordBatchReader.from_stream(rows))
    except (pa.ArrowException, TypeError) as error:  # one column, such as a Series
        message = f"a {type(rows).__name__} is no table: {error}"
        raise ClientError(message, hint="give its column a name: pa.table({'name': …})", code="wrong-usage") from None


def check_columns(names: Sequence[str], shape: RowShape | None) -> None:
    """Raises ClientError for columns of one name, and for one that the model of the table does not have."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ClientError(f"the rows have the column `{twice}` twice", code="wrong-usage")
    known = {field.name for field in shape.fields} if shape is not None else set(names)
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None and shape is not None:
        message = f"{shape.model.__name__} has no column `{unknown}`"
        hint = did_you_mean(unknown, known) or "leave it out, or write InsertOptions(validate=False)"
        raise ClientError(message, hint=hint, code="wrong-usage")


def refuse_durations(fields: Iterable[pa.Field], place: str = "") -> None:
    """Raises ClientError for a column of durations, or with durations inside: no column has them, and the number of
    their units would be stored."""
    for field in fields:
        found, of = f"{place}{field.name}", field.type
        of = of.value_type if pa.types.is_dictionary(of) else of
        if pa.types.is_duration(of):
            hint = "give a number of the unit that you mean"
            raise ClientError(f"the column `{found}` has durations, which no table has", hint=hint, code="wrong-usage")
        refuse_durations((of.field(at) for at in range(of.num_fields)), f"{found}.")


def _pandas_batches(frame: PandasFrame) -> Iterator[pa.RecordBatch]:
    check_columns(column_names(frame), None)
    return iter(frame_table(frame).to_batches(max_chunksize=ROWS_AT_ONCE))


def _spark_batches(frame: _SparkFrame) -> Iterator[pa.RecordBatch]:
    """Partition after partition: each is packed where it is, and comes as a few thousand rows at a time."""
    check_columns(frame.columns, None)
    for row in frame.mapInArrow(_packing_function(), "packed binary").toLocalIterator():
        with pa.ipc.open_stream(bytes(row[0])) as reader:
            yield from reader


def _packing_function() -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What runs in Spark's workers, which need PyArrow and nothing of this package: it is sent to them as it stands,
    and so names nothing of this module."""
    pyarrow, most = pa, ROWS_AT_ONCE

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for start in range(0, batch.num_rows, most):
                sink = pyarrow.BufferOutputStream()
                with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
                    writer.write_batch(batch.slice(start, most))
                packed = pyarrow.array([sink.getvalue().to_pybytes()], pyarrow.binary())
                yield pyarrow.record_batch([packed], names=["packed"])

    return pack
