"""Rows of an answer as values of Python, by the types of their columns.

In: record batches, whose fields name the type of ClickHouse. Out: dicts, or models. Invariant: a value is as exact as
the answer: times have the zone of their column, decimals all their digits, and a time that is finer than those of
Python is a text in UTC.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator
from decimal import Context, Decimal
from ipaddress import IPv4Address, IPv6Address
from typing import Any, TypeAlias
from uuid import UUID

import pyarrow as pa
from pydantic import BaseModel, ValidationError

from penstock.client.client_error import ClientError
from penstock.client.rows.row_lines import shape_of, shown_validation_error
from penstock.errors import Problem
from penstock.model import types as t
from penstock.parse.column_types import parse_type
from penstock.parse.lexer import InvalidSyntax

Row: TypeAlias = dict[str, Any]
Converter: TypeAlias = Callable[[Any], Any]
_EPOCH = dt.datetime(1970, 1, 1)
_TYPE = b"clickhouse.type"
_EXACT = Context(prec=40)


class RowReader:
    """Reads the rows of batches of one schema, as dicts or as models. Raises ClientError if two columns have a name."""

    def __init__(self, schema: pa.Schema):
        names = schema.names
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            hint = "give one of them another name with AS"
            raise ClientError(f"the answer has the column `{twice}` twice", hint=hint, code="wrong-usage")
        self._names = names
        self._converters = [_field_converter(each) for each in schema]
        self._read = 0

    def rows(self, batch: pa.RecordBatch) -> Iterator[Row]:
        """The rows of a batch as dicts."""
        given = zip(self._converters, (each.to_pylist() for each in batch.columns), strict=True)
        columns = [[_converted(convert, value) for value in values] if convert else values for convert, values in given]
        for values in zip(*columns, strict=True):
            yield dict(zip(self._names, values, strict=True))

    def models(self, batch: pa.RecordBatch, model: type[BaseModel]) -> Iterator[BaseModel]:
        """The rows of a batch as models. Raises ClientError for a row that is none."""
        shape = shape_of(model)
        for row in self.rows(batch):
            try:
                yield shape.to_model(row)
            except ValidationError as error:
                message = f"row {self._read} (from 0) is no {model.__name__}: {shown_validation_error(error)}"
                hint = "rename columns with AS, or give the fields the types of the columns"
                problem = Problem("differs-from-model", message, hint=hint)
                raise ClientError(message, [problem], hint=hint, code=problem.code) from None
            self._read += 1


def _field_converter(field: pa.Field) -> Converter | None:
    """What changes the values of a column; None if they stay as they are."""
    written = (field.metadata or {}).get(_TYPE, b"").decode()
    try:
        return _converter(parse_type(written)) if written else None
    except InvalidSyntax:
        return None


def _converter(of: t.Type) -> Converter | None:  # noqa: PLR0911 - one case a kind of type
    match t.unwrap_type(of):
        case t.UUID():
            return UUID
        case t.IPv4():
            return IPv4Address
        case t.IPv6():
            return IPv6Address
        case t.Json():
            return json.loads
        case t.DateTime64(precision, _) if precision > 6:
            return _fine_time
        case t.Array(inner):
            return _list_converter(_converter(inner))
        case t.Map(key, inner):
            return _map_converter(_converter(key), _converter(inner))
        case t.Tuple(fields):
            return _tuple_converter(fields)
        case _:
            return None


def _list_converter(inner: Converter | None) -> Converter | None:
    return None if inner is None else lambda values: [_converted(inner, each) for each in values]


def _map_converter(key: Converter | None, inner: Converter | None) -> Converter:
    return lambda pairs: {_converted(key, name): _converted(inner, value) for name, value in pairs}


def _tuple_converter(fields: tuple[tuple[str | None, t.Type], ...]) -> Converter | None:
    """A Tuple without names is a tuple; one of no parts is a text."""
    if not fields:
        return None
    parts = [_converter(inner) for _, inner in fields]
    if any(name is None for name, _ in fields):
        return lambda value: tuple(map(_converted, parts, value.values()))
    return lambda value: dict(zip(value, map(_converted, parts, value.values()), strict=True))


def _converted(convert: Converter | None, value: Any) -> Any:
    return value if convert is None or value is None else convert(value)


def _fine_time(value: Decimal) -> str:
    seconds, nanoseconds = divmod(int(value.scaleb(9, _EXACT)), 10**9)
    return f"{_EPOCH + dt.timedelta(seconds=seconds)}.{nanoseconds:09d}Z"
