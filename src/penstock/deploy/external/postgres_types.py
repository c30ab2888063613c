"""Types of Postgres as types of ClickHouse, and how their values get into a Parquet file without being changed.

In: what Postgres' catalog says of a column, and its values. Out: `PostgresColumn`, Arrow arrays. Invariant: a value is
taken exactly or refused: nothing is rounded, cut or wrapped around. A type without a counterpart is its text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

import pyarrow as pa

from penstock.deploy.external.stored_values import UnsupportedValue
from penstock.model import types as t
from penstock.model.types import Type

_SCALARS: dict[str, Type] = {
    "smallint": t.Int(16),
    "integer": t.Int(32),
    "bigint": t.Int(64),
    "oid": t.Int(64),
    "real": t.Float(32),
    "double precision": t.Float(64),
    "boolean": t.Bool(),
    "date": t.Date(wide=True),
    "uuid": t.UUID(),
}
"""The types of the same values, by the names that Postgres gives them."""
_TIME = re.compile(r"timestamp(?:\(\d\))? with(?:out)? time zone")
_NUMERIC = re.compile(r"numeric(?:\((\d+),(-?\d+)\))?")
_ANY_NUMERIC = t.Decimal(38, 19)
"""Of a `numeric` without a precision, as in ClickHouse."""
_MOST_DIGITS = 38
_FIRST_YEAR, _LAST_YEAR = 1900, 2299
"""Of the times and days that ClickHouse's types have."""


class UnsupportedType(ValueError):
    """No type of ClickHouse has all values of a type of Postgres."""


@dataclass(frozen=True, slots=True)
class PostgresColumn:
    """A column of a table of Postgres."""

    name: str
    type: Type
    cast: str
    """The type that Postgres converts it to, so that the driver reads all of it; empty: it is read as it is."""
    arrow: pa.DataType


def postgres_column(name: str, type_name: str) -> PostgresColumn:
    """The column of a type, as `format_type` names it, that may be NULL. Raises UnsupportedType."""
    element = type_name.removesuffix("[]")
    of = _scalar(element)
    cast = "int8" if element == "oid" else "text" if isinstance(of, (t.String, t.UUID)) else ""
    if element != type_name:
        return PostgresColumn(name, t.Array(t.Nullable(of)), cast and f"{cast}[]", pa.list_(_arrow(of)))
    return PostgresColumn(name, t.Nullable(of), cast, _arrow(of))


def without_nulls(column: PostgresColumn) -> PostgresColumn:
    """The column, if it is never NULL."""
    return replace(column, type=column.type.of) if isinstance(column.type, t.Nullable) else column


def _scalar(name: str) -> Type:
    if _TIME.fullmatch(name):
        return t.DateTime64(6)
    found = _NUMERIC.fullmatch(name)
    if found is None:
        return _SCALARS.get(name, t.String())
    if found.group(1) is None:
        return _ANY_NUMERIC
    precision, scale = int(found.group(1)), int(found.group(2))
    if precision > _MOST_DIGITS or not 0 <= scale <= precision:
        raise UnsupportedType(f"is of type {name}, and a Decimal has at most {_MOST_DIGITS} digits")
    return t.Decimal(precision, scale)


def _arrow(of: Type) -> pa.DataType:
    match of:
        case t.Int(bits):
            return {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[bits]
        case t.Float(bits):
            return pa.float32() if bits == 32 else pa.float64()
        case t.Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case t.Bool():
            return pa.bool_()
        case t.Date():
            return pa.date32()
        case t.DateTime64():
            return pa.timestamp("us", "UTC")
        case _:
            return pa.string()


def arrow_values(column: PostgresColumn, values: Sequence[object]) -> pa.Array:
    """The values of a column. Raises UnsupportedValue."""
    given = [_EMPTY if each is None else each for each in values] if isinstance(column.type, t.Array) else values
    try:
        _check_years(given)
        return pa.array(given, column.arrow)
    except (pa.ArrowException, OverflowError, UnicodeError, UnsupportedValue) as error:
        raise UnsupportedValue(f"a value of the column `{column.name}` is no {column.type}: {error}") from error


_EMPTY: tuple[object, ...] = ()
"""Stands for an array that is NULL: there is no Nullable(Array) in ClickHouse."""


def _check_years(values: Sequence[object]) -> None:
    """Raises UnsupportedValue for a day or time that ClickHouse's types do not have, such as Postgres' infinity."""
    for value in values:
        if isinstance(value, date) and not _FIRST_YEAR <= value.year <= _LAST_YEAR:
            raise UnsupportedValue(f"the years from {_FIRST_YEAR} to {_LAST_YEAR} can be kept, not {value.isoformat()}")
        if isinstance(value, (list, tuple)):
            _check_years(value)
