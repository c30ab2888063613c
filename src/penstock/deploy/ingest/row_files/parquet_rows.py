"""Rows of a Parquet file as JSON rows.

In: a file or its bytes, and the landing of its data source. Out: lines of JSON, some thousand rows in memory at a time.
Invariant: every value is written exactly (decimals and times with all their digits, integers of 64 bits); a time
without a zone is one of UTC, as ClickHouse reads it, unless the file says that it is one of its column's zone.
"""

from __future__ import annotations

import datetime as dt
import decimal
import io
import math
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import orjson
import pyarrow as pa
from pyarrow import parquet

from penstock.deploy.ingest.row_files.row_placement import RowPlacement, place_columns, unreadable_row
from penstock.errors import InvalidRequest
from penstock.model.manifest import Landing
from penstock.model.types import Array, Json, Map, Tuple, Type, unwrap_type

BATCH_ROWS = 512
"""Rows whose values are in memory at once: a small file may have large ones."""
READ_BYTES = 2**20
MAGIC = b"PAR1"
"""What a file begins and ends with."""
Converter: TypeAlias = Callable[[object], object]
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
EPOCH = dt.datetime(1970, 1, 1)
_MILLISECONDS_A_DAY = 86_400_000
_UTC = "Z"


def parquet_rows(content: bytes | Path, landing: Landing, name: str, others: Sequence[Landing] = ()) -> Iterator[bytes]:
    """The rows of a file, in its order; `others` are the landings of other versions than live. Raises InvalidRequest if
    it is damaged, or has no column that is known."""
    try:
        source = io.BytesIO(content) if isinstance(content, bytes) else content
        # With a buffer of a limited size a column is read by its pages, and not whole for each group of rows.
        file = parquet.ParquetFile(source, pre_buffer=False, buffer_size=READ_BYTES)
        schema = file.schema_arrow
        placement = place_columns(landing, schema.names, name, others)
        live = {each.name for each in landing.columns}
        for column in placement.columns:
            if column.name in live and _has_struct_for_map(schema.field(column.at).type, column.type):
                raise _struct_for_map(column.name)
        naive = "" if (schema.metadata or {}).get(b"penstock.naive") == b"column" else _UTC
        converters = [
            _column_converter(schema.field(column.at).type, column.type, naive) for column in placement.columns
        ]
        wanted = list(dict.fromkeys(column.name for column in placement.columns))
        for batch in file.iter_batches(BATCH_ROWS, columns=wanted, use_threads=False):
            yield from _batch_rows(batch, placement, converters)
    except (pa.ArrowException, OSError, OverflowError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        if _is_cut_off(content):
            reason = "it is cut off, since it begins as one and does not end as one"
        raise InvalidRequest(f"the body is no Parquet file that can be read: {reason}") from error


def _is_cut_off(content: bytes | Path) -> bool:
    if isinstance(content, bytes):
        return content.startswith(MAGIC) and not content.endswith(MAGIC)
    with content.open("rb") as file:
        begins = file.read(len(MAGIC)) == MAGIC
        file.seek(-min(len(MAGIC), content.stat().st_size), io.SEEK_END)
        return begins and file.read() != MAGIC


def _has_struct_for_map(of: pa.DataType, wanted: Type) -> bool:
    """Whether there is a struct where the column has a Map: all of its rows have all of its keys, and nothing says
    whether one of them is NULL or was never there."""
    match unwrap_type(wanted):
        case Map(_, inner):
            return bool(pa.types.is_struct(of)) or (pa.types.is_map(of) and _has_struct_for_map(of.item_type, inner))
        case Array(inner):
            return hasattr(of, "value_type") and _has_struct_for_map(of.value_type, inner)
        case Tuple(fields) if pa.types.is_struct(of):
            parts = ((of.get_field_index(part or f"_{at}"), inner) for at, (part, inner) in enumerate(fields, 1))
            return any(found >= 0 and _has_struct_for_map(of.field(found).type, inner) for found, inner in parts)
        case _:
            return False


def _struct_for_map(name: str) -> InvalidRequest:
    message = f"the column `{name}` is a Map, and the file has a struct there, in which each row has all keys"
    return InvalidRequest(message, hint="write it as a map, such as pa.map_(pa.string(), pa.string())")


def _batch_rows(batch: pa.RecordBatch, placement: RowPlacement, converters: list[Converter]) -> Iterator[bytes]:
    named = dict(zip(batch.schema.names, batch.columns, strict=True))
    columns = [_plain_array(named[column.name]).to_pylist() for column in placement.columns]
    for values in zip(*columns, strict=True):
        yield _row(values, placement, converters)


def _row(values: Sequence[object], placement: RowPlacement, converters: list[Converter]) -> bytes:
    given = zip(converters, values, strict=True)
    try:
        return placement.row([convert(value) if value is not None else None for convert, value in given])
    except UnicodeDecodeError:  # no column can hold bytes that are no text
        return unreadable_row(str(values))


def _plain_array(array: pa.Array) -> pa.Array:
    """The array with whole numbers in the place of times, which Python has with fewer digits."""
    return array.cast(_plain_type(array.type))


def _plain_type(of: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(of) or pa.types.is_time(of) or pa.types.is_duration(of) or pa.types.is_date64(of):
        return pa.int32() if pa.types.is_time32(of) else pa.int64()
    if pa.types.is_date32(of):
        return pa.int32()
    if pa.types.is_dictionary(of):
        return _plain_type(of.value_type)
    if pa.types.is_map(of):
        return pa.map_(_plain_type(of.key_type), _plain_type(of.item_type))
    if pa.types.is_struct(of):
        return pa.struct([each.with_type(_plain_type(each.type)) for each in of])
    if pa.types.is_large_list(of):
        return pa.large_list(_plain_type(of.value_type))
    if pa.types.is_list(of) or pa.types.is_fixed_size_list(of):
        return pa.list_(_plain_type(of.value_type))
    return of


def _column_converter(of: pa.DataType, wanted: Type, naive: str) -> Converter:
    """A column of the type JSON takes texts too, which are how a Parquet file has documents of any form. A struct for a
    Map of a version that is not live is a text, which that version alone rejects."""
    if _has_struct_for_map(of, wanted):
        return lambda value: "a struct, in which each row has all keys"
    convert = _converter(of, naive)
    return (lambda value: _document(convert(value))) if isinstance(unwrap_type(wanted), Json) else convert


def _document(value: object) -> object:
    """The value of JSON that a text is; what is no text, or no JSON, stays as it is."""
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value


def _converter(of: pa.DataType, naive: str) -> Converter:
    """Turns a Python value of an Arrow type, whose times are whole numbers, into a value of JSON; `naive` is the zone
    that is written of times without one."""
    if isinstance(of, pa.BaseExtensionType):
        return _plain
    if pa.types.is_temporal(of) and not pa.types.is_duration(of) and not pa.types.is_interval(of):
        return _time_converter(of, naive)
    if pa.types.is_dictionary(of):
        return _converter(of.value_type, naive)
    if pa.types.is_map(of):
        return _map_converter(_converter(of.key_type, naive), _converter(of.item_type, naive))
    if pa.types.is_struct(of):
        return _struct_converter({each.name: _converter(each.type, naive) for each in of})
    if pa.types.is_list(of) or pa.types.is_large_list(of) or pa.types.is_fixed_size_list(of):
        inner = _converter(of.value_type, naive)
        return lambda value: [inner(each) if each is not None else None for each in _list(value)]
    return _plain


def _time_converter(of: pa.DataType, naive: str) -> Converter:
    if pa.types.is_timestamp(of):
        zone = naive if of.tz is None else _UTC
        return lambda value: _time_text(value, _PER_SECOND[of.unit], zone)
    if pa.types.is_time(of):
        return lambda value: _time_text(value, _PER_SECOND[of.unit], "")[11:]
    return lambda value: _day_text(value, 1 if pa.types.is_date32(of) else _MILLISECONDS_A_DAY)


def _plain(value: object) -> object:
    """A value that is no list and no time."""
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case decimal.Decimal():
            return format(value, "f")
        case bytes():
            return value.decode()
        case dt.date() | uuid.UUID():
            return str(value)
        case None | bool() | int() | float() | str():
            return value
        case _:
            return str(value)


def _time_text(value: object, per_second: int, zone: str) -> str:
    """A time as text with all its digits."""
    assert isinstance(value, int), "times were made whole numbers"
    seconds, rest = divmod(value, per_second)
    digits = len(str(per_second)) - 1
    fraction = f".{rest:0{digits}d}" if rest else ""
    try:
        return f"{EPOCH + dt.timedelta(seconds=seconds)}{fraction}{zone}"
    except OverflowError:
        return f"{seconds} seconds since 1970"


def _day_text(value: object, per_day: int) -> str:
    """A day as text; one beyond the calendar, which no column has, as a text that is none."""
    assert isinstance(value, int), "days were made whole numbers"
    try:
        return str((EPOCH + dt.timedelta(days=value // per_day)).date())
    except OverflowError:
        return f"{value // per_day} days since 1970"


def _list(value: object) -> list[object]:
    assert isinstance(value, list), "Arrow has a list there"
    return value


def _map_converter(key: Converter, item: Converter) -> Converter:
    def convert(value: object) -> object:
        found: dict[str, object] = {}
        for pair in _list(value):
            assert isinstance(pair, tuple), "Arrow has pairs there"
            name = key(pair[0])
            found[name if isinstance(name, str) else str(name)] = item(pair[1]) if pair[1] is not None else None
        return found

    return convert


def _struct_converter(fields: dict[str, Converter]) -> Converter:
    def convert(value: object) -> object:
        assert isinstance(value, dict), "Arrow has a value for each field there"
        return {name: fields[name](each) if each is not None else None for name, each in value.items()}

    return convert
