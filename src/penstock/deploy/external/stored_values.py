"""Values as columns are stored: Arrow's types, and the value of a type that a row does not have.

In: a ClickHouse type. Out: the Arrow type of what Spark reads as that type, and ClickHouse's default as a Python value.
Invariant: the Arrow type is that of `value_type`, and holds each value exactly.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa

from penstock.model import types as t
from penstock.model.types import Type, unwrap_type
from penstock.sql.expr.spark_types import value_type

_PLAIN: dict[str, pa.DataType] = {
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
    "STRING": pa.string(),
}
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_FIRST_DATE32 = -25567
"""1900-01-01 in days since 1970, the default of Date32."""


class UnsupportedValue(ValueError):
    """A value that the type of its column does not have here."""


def stored_arrow(of: Type) -> pa.DataType:
    """The Arrow type. Raises ValueError for a type that no file has."""
    match unwrap_type(of):
        case t.Array(inner):
            return pa.list_(stored_arrow(inner))
        case t.Map(key, inner):
            return pa.map_(stored_arrow(key), stored_arrow(inner))
        case t.Tuple(fields):
            return pa.struct([(name or f"_{at}", stored_arrow(inner)) for at, (name, inner) in enumerate(fields, 1)])
        case plain:
            name = value_type(plain)
    if decimal := _DECIMAL.fullmatch(name):
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    if name not in _PLAIN:
        raise ValueError(f"no file has values of the type {of}")
    return _PLAIN[name]


def default_value(of: Type) -> object:
    """ClickHouse's default of a type, as Python has the stored value: None if it may be NULL."""
    if t.is_nullable(of):
        return None
    match unwrap_type(of):
        case t.Tuple(fields):
            return {name or f"_{at}": default_value(inner) for at, (name, inner) in enumerate(fields, 1)}
        case t.Enum(_, values):
            return min(values, key=lambda pair: pair[1])[0]
        case t.FixedString(length):
            return "\0" * length
        case t.Date(wide=True):
            return _FIRST_DATE32
        case plain:
            return _DEFAULTS.get(type(plain), lambda: 0)() if not _is_decimal(plain) else Decimal(0)


_DEFAULTS: dict[type[Type], Callable[[], object]] = {
    t.Array: list,
    t.Map: list,
    t.String: str,
    t.Bool: bool,
    t.Float: float,
    t.UUID: lambda: "00000000-0000-0000-0000-000000000000",
    t.IPv4: lambda: "0.0.0.0",
    t.IPv6: lambda: "::",
    t.Json: lambda: "{}",
}


def _is_decimal(of: Type) -> bool:
    return pa.types.is_decimal(stored_arrow(of))
