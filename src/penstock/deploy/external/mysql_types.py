"""Types of MySQL as types of ClickHouse, and how their values get into a Parquet file without being changed.

In: what MySQL's catalog says of a column, and its values as texts. Out: `MysqlColumn`, Arrow arrays. Invariant: a value
is taken exactly or refused, as a posted row's is: nothing is rounded, cut or wrapped around.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from penstock.deploy.external.stored_values import UnsupportedValue, stored_arrow
from penstock.flow.landing.value_parser import InvalidValue, value_converter
from penstock.model import types as t
from penstock.model.types import Type

_BITS = {"tinyint": 8, "smallint": 16, "mediumint": 32, "int": 32, "bigint": 64}
_TYPE = re.compile(r"([a-z0-9]+)(?:\(([^)]*)\))?(.*)", re.DOTALL)
_UNREADABLE = frozenset(
    """
    point linestring polygon geometry multipoint multilinestring multipolygon geometrycollection vector
    """.split()  # noqa: SIM905 - as types are listed elsewhere
)
_PLAIN: dict[str, tuple[Type, str]] = {
    "float": (t.Float(32), "{} + 0e0"),  # as a text it has six digits
    "double": (t.Float(64), "{} + 0e0"),
    "bit": (t.Int(64, signed=False), "{} + 0"),
    "year": (t.Int(16, signed=False), "{}"),
    "date": (t.Date(wide=True), "{}"),
}
"""By their names, the types that have no size, and what is selected so that the text of a value is all of it."""
_MOST_DIGITS = 38


@dataclass(frozen=True, slots=True)
class MysqlColumn:
    """A column of a table of MySQL."""

    name: str
    type: Type
    read_as: str = "{}"
    """What is selected, with the place of the column's name."""

    @property
    def arrow(self) -> pa.DataType:
        return stored_arrow(self.type)

    def with_nulls(self) -> MysqlColumn:
        return replace(self, type=t.Nullable(self.type))


def mysql_column(name: str, column_type: str) -> MysqlColumn | None:
    """The column of a type, as information_schema names it; None if there is no counterpart."""
    found = _TYPE.fullmatch(column_type.lower())
    if found is None or found[1] in _UNREADABLE:
        return None
    kind, size, unsigned = found[1], found[2] or "", "unsigned" in found[3]
    if kind in _BITS:
        return MysqlColumn(name, t.Int(_BITS[kind], signed=not unsigned))
    if kind in _PLAIN:
        return MysqlColumn(name, *_PLAIN[kind])
    of = _sized_type(kind, size)
    return MysqlColumn(name, of) if of is not None else None


def _sized_type(kind: str, size: str) -> Type | None:
    match kind:
        case "decimal":
            precision, scale = map(int, size.split(","))
            return t.Decimal(precision, scale) if precision <= _MOST_DIGITS else None
        case "datetime":
            return t.DateTime64(int(size or 0))
        case "timestamp":
            return t.DateTime64(int(size)) if size and size != "0" else t.DateTime()
        case _:
            return t.String()


def stored_column(column: MysqlColumn, values: Sequence[object]) -> pa.Array:
    """The values of a column. Raises UnsupportedValue."""
    convert = value_converter(column.type)
    try:
        return pa.array([None if each is None else convert(_text(each)) for each in values], column.arrow)
    except (InvalidValue, UnicodeError, pa.ArrowException, OverflowError) as error:
        raise UnsupportedValue(f"a value of the column `{column.name}` is no {column.type}: {error}") from error


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
