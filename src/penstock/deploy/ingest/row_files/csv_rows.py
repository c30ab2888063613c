"""Rows of a CSV file as JSON rows.

In: a file or its bytes (RFC 4180: values in double quotes may hold delimiters, line breaks and doubled quotes), and the
landing of its data source. Out: lines of JSON. Invariants: `\\N` and an empty value without quotes are NULL or absent,
`""` is an empty text; a row that has too many or too few values, or is not UTF-8, is in the quarantine as it was sent.
"""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias

import orjson
import pyarrow as pa
from pyarrow import csv as arrow_csv

from penstock.deploy.external.clickhouse_literals import literals_as_json
from penstock.deploy.ingest.row_files.row_placement import (
    ABSENT,
    RowPlacement,
    all_columns,
    place_columns,
    unreadable_row,
)
from penstock.errors import InvalidRequest
from penstock.model.manifest import Landing
from penstock.model.types import Array, Bool, FixedString, Json, Map, String, Tuple, Type, is_nullable, unwrap_type

NULL = "\\N"
MARK = b"\xef\xbb\xbf"
"""Some programs begin a text in UTF-8 with it."""
BLOCK_BYTES = 4 * 2**20
"""The most bytes of a record of a file. Arrow reads up to 32 blocks ahead, and these are in memory."""
SLICE_ROWS = 8_192
"""Rows whose values are in memory at once."""
LONGEST_VALUE = 2**25
_DELIMITERS = (",", ";", "\t", "|")
Converter: TypeAlias = Callable[["str | None"], object]


@dataclass(frozen=True, slots=True)
class CsvForm:
    """How a CSV file is written."""

    delimiter: str = ","
    has_header: bool | None = None
    """Whether the first record has names; None: it does if at least half of its values are names of columns."""
    repeats_first: bool = False
    """Whether the first record is that of the whole file, repeated before a later part of it."""


def csv_rows(
    content: bytes | Path, landing: Landing, name: str, form: CsvForm, others: Sequence[Landing] = ()
) -> Iterator[bytes]:
    """The rows of a file, in its order; `others` are the landings of other versions than live. Raises InvalidRequest
    if it has no columns that are known, or is no CSV."""
    first, broken = _first_record(content, form), deque[_BrokenRecord]()
    has_names = has_header(content, landing, form)
    names = first if has_names else _names_in_order(first, landing, name, form.delimiter)
    placement = place_columns(landing, names, name, others)
    converters = [_converter(column.type) for column in placement.columns]
    left_out, number = int(has_names or form.repeats_first), 0
    for batch in _read_batches(content, len(first), form, broken):
        for start in range(0, batch.num_rows, SLICE_ROWS):
            part = batch.slice(start, SLICE_ROWS)
            columns = [part.column(column.at).to_pylist() for column in placement.columns]
            for values in zip(*columns, strict=True):
                number += 1
                while broken and broken[0].number <= number:
                    yield unreadable_row(broken.popleft().text)
                    number += 1
                if number > left_out:
                    yield _row(placement, converters, values)
        while broken and broken[0].number == number + 1:
            yield unreadable_row(broken.popleft().text)
            number += 1
    yield from (unreadable_row(each.text) for each in broken)


@dataclass(frozen=True, slots=True)
class _BrokenRecord:
    """A record with too many or too few values."""

    number: int
    """Which record of the file it is, from 1."""
    text: str


def has_header(content: bytes | Path, landing: Landing, form: CsvForm) -> bool:
    """Whether the first record of a file has names. Raises InvalidRequest for an empty file."""
    return form.has_header if form.has_header is not None else _is_header(_first_record(content, form), landing)


def _opened(content: bytes | Path) -> BinaryIO:
    """The file, after the mark that it may begin with."""
    file = io.BytesIO(content) if isinstance(content, bytes) else content.open("rb")
    if file.read(len(MARK)) != MARK:
        file.seek(0)
    return file


def _read_batches(
    content: bytes | Path, width: int, form: CsvForm, broken: deque[_BrokenRecord]
) -> Iterator[pa.RecordBatch]:
    """All records of so many values; each other one goes to `broken`, some blocks before its turn."""

    def keep(row: arrow_csv.InvalidRow) -> str:
        broken.append(_BrokenRecord(int(row.number), str(row.text)))  # known as Arrow reads with one thread
        return "skip"

    names = [f"c{at}" for at in range(width)]
    parse = arrow_csv.ParseOptions(delimiter=form.delimiter, newlines_in_values=True, invalid_row_handler=keep)
    convert = arrow_csv.ConvertOptions(
        column_types={each: pa.binary() for each in names},
        null_values=[NULL, ""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    # A record does not go on from one block to the next but one: a body, whose size is limited, is one block.
    block = max(len(content), 1) if isinstance(content, bytes) else BLOCK_BYTES
    read = arrow_csv.ReadOptions(column_names=names, block_size=block, use_threads=False)
    try:
        with _opened(content) as file:
            yield from arrow_csv.open_csv(file, read, parse, convert)
    except pa.ArrowInvalid as error:
        if "straddl" in str(error):
            raise InvalidRequest(f"a record has more than {BLOCK_BYTES // 2**20} MiB") from error
        raise InvalidRequest(f"the file is no CSV: {error}") from error


def _first_record(content: bytes | Path, form: CsvForm) -> list[str]:
    """Raises InvalidRequest for an empty file."""
    csv.field_size_limit(LONGEST_VALUE)
    try:
        with io.TextIOWrapper(_opened(content), "utf-8", errors="replace", newline="") as text:
            found = next((record for record in csv.reader(text, delimiter=form.delimiter) if record), None)
    except csv.Error as error:
        raise InvalidRequest(f"the file is no CSV: {error}") from error
    if found is None:
        raise InvalidRequest("the file has no rows", hint="send one record a line")
    return [each.strip() for each in found]


def _is_header(record: Sequence[str], landing: Landing) -> bool:
    known = frozenset(all_columns(landing))
    named = sum(each in known for each in record)
    return named > 0 and 2 * named >= len(record)


def _names_in_order(record: Sequence[str], landing: Landing, name: str, delimiter: str) -> list[str]:
    """The names of the columns of a file without a header. Raises InvalidRequest if it has not one value for each."""
    names = all_columns(landing)
    if len(names) != len(record):
        values = "1 value" if len(record) == 1 else f"{len(record)} values"
        message = f"the first record has {values}, and `{name}` has {len(names)} columns"
        raise InvalidRequest(message, hint=_width_hint(record, landing, delimiter))
    return names


def _width_hint(record: Sequence[str], landing: Landing, delimiter: str) -> str:
    """What to do about a first record of another width than the table: often it has another delimiter."""
    names, line = all_columns(landing), delimiter.join(record)
    for other in (each for each in _DELIMITERS if each != delimiter):
        parts = [each.strip() for each in line.split(other)]
        if len(parts) > 1 and (len(parts) == len(names) or _is_header(parts, landing)):
            seen = f"its values seem to be divided by {other!r}"
            return f"{seen}: name that as the delimiter (--delimiter, over HTTP dialect_delimiter)"
    return f"a header names those of the file: {', '.join(names[:10])}"


def _row(placement: RowPlacement, converters: Sequence[Converter], values: Sequence[bytes | None]) -> bytes:
    try:
        texts = [value.decode() if value is not None else None for value in values]
    except UnicodeDecodeError:
        shown = [value.decode(errors="backslashreplace") if value is not None else NULL for value in values]
        return unreadable_row(",".join(shown))
    return placement.row([convert(text) for convert, text in zip(converters, texts, strict=True)])


def _converter(of: Type) -> Converter:
    """Turns the text of a value, None for NULL, into a value of JSON."""
    plain = unwrap_type(of)
    # An empty text is a text; of other types, and where NULL is possible, no value is one.
    empty: object = "" if isinstance(plain, (String, FixedString)) and not is_nullable(of) else ABSENT
    match plain:
        case Bool():
            convert: Callable[[str], object] = _bool
        case Array() | Map() | Tuple() | Json():
            convert = _nested
        case _:
            convert = str
    return lambda text: empty if text is None else convert(text)


def _bool(text: str) -> object:
    return {"1": True, "0": False}.get(text, text)


def _nested(text: str) -> object:
    """The value of JSON that a text is: as JSON, or as ClickHouse writes arrays, maps and tuples (`['a', NULL]`)."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    try:
        return orjson.loads(literals_as_json(text))
    except orjson.JSONDecodeError:
        return text
