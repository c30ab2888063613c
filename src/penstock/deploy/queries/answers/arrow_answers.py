"""Results of queries as files of Parquet and as streams of Arrow, piece by piece.

In: the columns and rows of a result. Out: the body as pieces, each made when it is asked for. Invariants: a value keeps
all its digits; what Arrow has no type for is a text, as JSON shows it.
"""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Protocol, TypeAlias

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.deploy.queries.answers.json_values import (
    check_levels,
    entries_of,
    items_of,
    json_converter,
    text_for_non_finite,
)
from penstock.model import types as t

_UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1}
"""How many microseconds the units of times have."""
FINE_TIME = pa.decimal128(20, 9)
"""Times finer than microseconds: seconds since 1970, as readers of open tables see them. Nanoseconds in 64 bits end in
2262, a DateTime64(7) in 2299."""
GROUP_ROWS = 10_000
MOST_LEVELS = 48
"""The levels that a type has at most. Source: Arrow takes 64, its reader of Parquet 100 groups, and an array is two."""


@dataclass(frozen=True, slots=True)
class ArrowColumn:
    """How Arrow has the values of a type; `convert` takes a Python value that is not NULL."""

    type: pa.DataType
    convert: Callable[[object], object]


class _Writer(Protocol):
    def write_batch(self, batch: pa.RecordBatch) -> None: ...
    def close(self) -> None: ...


Columns: TypeAlias = Sequence[tuple[str, t.Type]]
Rows: TypeAlias = Sequence[Sequence[object]]


def write_parquet(columns: Columns, rows: Rows, compression: str = "snappy") -> Iterator[bytes]:
    """A file of Parquet, with a row group for every GROUP_ROWS rows."""
    yield from _written(columns, rows, partial(pq.ParquetWriter, compression=compression))


def write_arrow(columns: Columns, rows: Rows) -> Iterator[bytes]:
    """Arrow's streaming format."""
    yield from _written(columns, rows, pa.ipc.new_stream)


def _written(columns: Columns, rows: Rows, open_writer: Callable[[io.BytesIO, pa.Schema], _Writer]) -> Iterator[bytes]:
    check_levels(columns, MOST_LEVELS)
    arrow = [arrow_column(of) for _, of in columns]
    fields = [
        pa.field(name, column.type, metadata={"clickhouse.type": str(of)})
        for (name, of), column in zip(columns, arrow, strict=True)
    ]
    schema, sink = pa.schema(fields), _Pieces()
    writer = open_writer(sink, schema)
    for start in range(0, len(rows), GROUP_ROWS):
        writer.write_batch(_batch(schema, arrow, rows[start : start + GROUP_ROWS]))
        yield sink.take()
    writer.close()
    yield sink.take()


class _Pieces(io.BytesIO):
    """A file of which what was written since the last look is taken away; positions go on."""

    def __init__(self) -> None:
        super().__init__()
        self._taken = 0

    def tell(self) -> int:
        return self._taken + super().tell()

    def take(self) -> bytes:
        piece = self.getvalue()
        self._taken += len(piece)
        self.seek(0)
        self.truncate()
        return piece


def _batch(schema: pa.Schema, columns: Sequence[ArrowColumn], rows: Rows) -> pa.RecordBatch:
    arrays = []
    for position, column in enumerate(columns):
        values = [_convert(column, row[position]) for row in rows]
        arrays.append(pa.array(values, column.type))
    return pa.record_batch(arrays, schema=schema)


def arrow_column(of: t.Type) -> ArrowColumn:  # noqa: C901, PLR0911 - one case a kind of type
    """How Arrow has the values of a type."""
    match t.unwrap_type(of):
        case t.Int(bits, signed):
            return ArrowColumn(pa.type_for_alias(f"{'' if signed else 'u'}int{bits}"), _integer)
        case t.Float(bits):
            return ArrowColumn(pa.float32() if bits == 32 else pa.float64(), _same)
        case t.Decimal(precision, scale):
            return ArrowColumn(pa.decimal128(precision, scale), _same)
        case t.Bool():
            return ArrowColumn(pa.bool_(), _same)
        case t.Date():
            return ArrowColumn(pa.date32(), _same)
        case t.DateTime(zone):
            return _time_column("s", zone)
        case t.DateTime64(precision, _) if precision > 6:
            return ArrowColumn(FINE_TIME, _same)
        case t.DateTime64(precision, zone):
            return _time_column("s" if precision == 0 else "ms" if precision <= 3 else "us", zone)
        case t.Tuple(()) as empty:  # Parquet has none without fields; NULL is of this type, too
            return ArrowColumn(pa.string(), _text_converter(empty))
        case t.Array() | t.Tuple() | t.Map() as nested:
            return _nested_column(nested)
        case plain:
            return ArrowColumn(pa.string(), _text_converter(plain))


def _time_column(unit: str, zone: str | None) -> ArrowColumn:
    return ArrowColumn(pa.timestamp(unit, zone or "UTC"), _moment_converter(unit))


def _nested_column(of: t.Array | t.Tuple | t.Map) -> ArrowColumn:
    match of:
        case t.Array(inner):
            item = arrow_column(inner)
            return ArrowColumn(pa.list_(item.type), lambda value: [_convert(item, each) for each in items_of(value)])
        case t.Map(key, inner):
            keys, values = arrow_column(key), arrow_column(inner)
            return ArrowColumn(
                pa.map_(keys.type, values.type),
                lambda value: [(_convert(keys, k), _convert(values, v)) for k, v in entries_of(value)],
            )
        case t.Tuple(fields):
            named = [(name or str(at), arrow_column(inner)) for at, (name, inner) in enumerate(fields, 1)]
            return ArrowColumn(
                pa.struct([(name, column.type) for name, column in named]),
                lambda value: {
                    name: _convert(column, each) for (name, column), each in zip(named, items_of(value), strict=True)
                },
            )


def _convert(column: ArrowColumn, value: object) -> object:
    return None if value is None else column.convert(value)


def _same(value: object) -> object:
    return value


def _integer(value: object) -> object:
    return int(value) if isinstance(value, Decimal) else value


def _moment_converter(unit: str) -> Callable[[object], object]:
    """Without what is finer than the unit, as JSON shows it. A moment without a zone is in UTC, as the server's Spark
    is."""
    microseconds = _UNITS[unit]

    def moment(value: object) -> object:
        if not isinstance(value, dt.datetime):
            return value
        whole = value.replace(microsecond=value.microsecond // microseconds * microseconds)
        return whole if whole.tzinfo else whole.replace(tzinfo=dt.timezone.utc)

    return moment


def _text_converter(of: t.Type) -> Callable[[object], object]:
    show = json_converter(of, text_for_non_finite)

    def text(value: object) -> object:
        shown = show(value)
        return shown if isinstance(shown, str) else orjson.dumps(shown).decode()

    return text
