"""Rows of one file of any format, as record batches of stored values.

In: a file on this machine, its format, and the columns that are used. Out: record batches. Invariants: some thousand
rows are in memory at a time; what is wrong in the file is an UnreadableSource that names the row and the column.
"""

from __future__ import annotations

import codecs
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.deploy.external.arrow_columns import (
    UnreadableColumn,
    inferred_type,
    is_same_type,
    stored_array,
)
from penstock.deploy.external.packed_streams import PACKING_ERRORS, unpacked_parts
from penstock.deploy.external.stored_values import UnsupportedValue, stored_arrow
from penstock.deploy.external.text_records import BrokenFile, Record, csv_records, json_objects, tsv_records
from penstock.deploy.external.text_values import Columns, InvalidRecord, JsonReader, read_record, text_reader
from penstock.deploy.external.web_client import UnreadableSource
from penstock.errors import did_you_mean
from penstock.model.external_tables import ExternalColumns, FileFormat, Packing
from penstock.model.types import Type

BATCH_ROWS = 8_192
_MARK = "\ufeff"
"""Some programs begin a text with it."""


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file that was fetched."""

    path: Path
    format: FileFormat
    packing: Packing
    most_bytes: int
    """Unpacked."""


def file_batches(file: LocalFile, columns: Columns, used: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The used columns of the rows of a file. Raises UnreadableSource."""
    wanted = [(name, of) for name, of in columns if name in used]
    if file.format == "Parquet":
        return _parquet_batches(file, wanted)
    return _text_batches(file, columns, wanted)


def parquet_columns(file: LocalFile) -> ExternalColumns:
    """The columns that a Parquet file says it has. Raises UnreadableSource."""
    found: dict[str, Type] = {}
    unreadable: dict[str, str] = {}
    for field in _open_parquet(file).schema_arrow:
        try:
            found[field.name] = inferred_type(field)
        except UnreadableColumn as error:
            unreadable[field.name] = str(error)
    return ExternalColumns(found, unreadable)


def _open_parquet(file: LocalFile) -> pq.ParquetFile:
    if file.packing != "none":
        raise UnreadableSource("a Parquet file that is packed as a whole is not read; its columns are packed inside")
    try:
        return pq.ParquetFile(file.path)
    except (pa.ArrowException, OSError) as error:
        raise UnreadableSource(f"it is no whole Parquet file: {_first_line(error)}") from None


def _parquet_batches(file: LocalFile, wanted: Columns) -> Iterator[pa.RecordBatch]:
    opened = _open_parquet(file)
    schema = opened.schema_arrow
    for name, of in wanted:
        _check_column(schema, name, of)
    stored = pa.schema([(name, stored_arrow(of)) for name, of in wanted])
    try:
        for batch in opened.iter_batches(BATCH_ROWS, columns=[name for name, _ in wanted], use_threads=False):
            arrays = [_column(batch, name, of) for name, of in wanted]
            # Without a column there is nothing else that says how many rows there are.
            yield pa.RecordBatch.from_arrays(arrays, schema=stored) if wanted else _no_columns(batch.num_rows)
    except (pa.ArrowException, OSError) as error:
        raise UnreadableSource(f"the Parquet file is damaged: {_first_line(error)}") from None


def _check_column(schema: pa.Schema, name: str, of: Type) -> None:
    """Raises UnreadableSource for a column that a file does not have, or has with another type."""
    places = schema.get_all_field_indices(name)
    if len(places) != 1:
        hint = did_you_mean(name, schema.names) if not places else None
        raise UnreadableSource(
            f"the file has {'no column' if not places else 'more than one column'} `{name}`"
            + (f"; {hint}" if hint else "")
        )
    try:
        inferred = inferred_type(schema.field(places[0]))
    except UnreadableColumn as error:
        raise UnreadableSource(f"the column `{name}` {error}") from None
    if not is_same_type(of, inferred):
        raise UnreadableSource(
            f"the column `{name}` is {inferred} in the file, and {of} was expected; convert it in the SELECT"
        )


def _column(batch: pa.RecordBatch, name: str, of: Type) -> pa.Array:
    try:
        return stored_array(batch.column(name), of)
    except UnsupportedValue as error:
        raise UnreadableSource(f"a value of the column `{name}` cannot be kept: {error}") from None


def _no_columns(rows: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))


def _text_batches(file: LocalFile, columns: Columns, wanted: Columns) -> Iterator[pa.RecordBatch]:
    parts = _decoded_parts(file)
    rows = JsonRows(wanted).rows(parts) if file.format == "JSONEachRow" else _record_rows(file, columns, wanted, parts)
    stored = pa.schema([(name, stored_arrow(of)) for name, of in wanted])
    number = 0
    while True:
        chunk: list[dict[str, object]] = []
        try:
            for row in itertools.islice(rows, BATCH_ROWS):
                chunk.append(row)
        except InvalidRecord as error:
            raise UnreadableSource(f"row {number + len(chunk) + 1}: {error}") from None
        except BrokenFile as error:
            raise UnreadableSource(f"behind row {number + len(chunk)}: {error}") from None
        except PACKING_ERRORS as error:
            raise UnreadableSource(f"it cannot be unpacked: {_first_line(error)}") from None
        if not chunk:
            return
        number += len(chunk)
        if not wanted:
            yield _no_columns(len(chunk))
            continue
        yield pa.RecordBatch.from_arrays(
            [pa.array([row[field.name] for row in chunk], field.type) for field in stored], schema=stored
        )


@dataclass(frozen=True, slots=True)
class JsonRows:
    """The rows of a file of JSON objects."""

    columns: Columns

    def rows(self, parts: Iterator[str]) -> Iterator[dict[str, object]]:
        return map(JsonReader(self.columns).row, json_objects(parts))


def _decoded_parts(file: LocalFile) -> Iterator[str]:
    """The text of a file. Raises BrokenFile for bytes that are none, UnreadableSource for too many."""
    decoder, left = codecs.getincrementaldecoder("utf-8")(), file.most_bytes
    try:
        for part in unpacked_parts(file.path, file.packing):
            left -= len(part)
            if left < 0:
                raise UnreadableSource(
                    f"it has more than {file.most_bytes} bytes unpacked (`max_read_bytes` in [copies])"
                )
            yield decoder.decode(part)
        yield decoder.decode(b"", True)
    except UnicodeDecodeError as error:
        raise BrokenFile(
            f"the bytes {error.object[error.start : error.start + 4].hex(' ')} are no UTF-8 text"
        ) from None


def _record_rows(
    file: LocalFile, columns: Columns, wanted: Columns, parts: Iterator[str]
) -> Iterator[dict[str, object]]:
    """The rows of a file of records."""
    named = file.format.endswith("WithNames")
    records = (
        csv_records(_without_mark(parts) if named else parts) if file.format.startswith("CSV") else tsv_records(parts)
    )
    first = next(records, None)
    if first is None:
        return
    names = [name for name, _ in columns]
    has_header = named or _is_header(first, names)
    header = _check_header(first, names) if has_header else names
    readers = [(name, header.index(name) if name in header else -1, text_reader(of)) for name, of in wanted]
    for record in records if has_header else itertools.chain([first], records):
        if len(record) != len(header):
            raise InvalidRecord(f"it has {len(record)} values, and {len(header)} were expected")
        yield read_record(readers, record)


def _without_mark(parts: Iterator[str]) -> Iterator[str]:
    yield next(parts, "").removeprefix(_MARK)
    yield from parts


def _is_header(first: Record, names: Sequence[str]) -> bool:
    """Whether the first record of a file has names, by ClickHouse's rule: all of them are those of columns, or the
    other way around."""
    given = {each for each in first if each is not None}
    return len(given) == len(first) and (given <= set(names) or set(names) <= given)


def _check_header(first: Record, names: Sequence[str]) -> list[str]:
    """The names in a header. Raises BrokenFile if one stands twice, or none is known."""
    header = [each or "" for each in first]
    twice = next((each for each in header if header.count(each) > 1), None)
    if twice is not None:
        raise BrokenFile(f"the header has `{twice}` twice")
    if not set(header) & set(names):
        hint = did_you_mean(names[0], header)
        raise BrokenFile(
            f"the header has none of the columns of the structure; {hint or 'it begins with ' + header[0]}"
        )
    return header


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
