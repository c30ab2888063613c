"""The Spark type and the default value of every ClickHouse type but aggregate states.

In: a ClickHouse type. Out: Spark DDL and SQL. Invariant: the Spark type holds every value of the ClickHouse type.
`sql/stored_types.py` adds aggregate states.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.model.json_documents.spark_functions import DYNAMIC_TYPE
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.sql.spark_text import quote_identifier, string_literal

FINE_TIME = "DECIMAL(20,9)"
"""How a DateTime64 of more than six digits is stored: the seconds since 1970 with all their digits."""


class StateHasNoValue(ValueError):
    """The state of an aggregate stands where a value is needed."""


def is_fine_time(of: Type) -> bool:
    """Whether a type (without Nullable around it) is a time that is finer than Spark's timestamps."""
    return isinstance(of, t.DateTime64) and of.precision > 6


def value_type(of: Type) -> str:
    """The Spark type in which values of the type are stored. Raises StateHasNoValue for an aggregate state."""
    match of:
        case t.Nullable(inner) | t.LowCardinality(inner) | t.SimpleAggregateFunction(_, inner):
            return value_type(inner)
        case t.Array(inner):
            return f"ARRAY<{value_type(inner)}>"
        case t.Map(key, value):
            return f"MAP<{value_type(key)}, {value_type(value)}>"
        case t.Tuple(fields):
            named = (
                f"{quote_identifier(name or f'_{place}')}: {value_type(inner)}"
                for place, (name, inner) in enumerate(fields, 1)
            )
            return f"STRUCT<{', '.join(named)}>" if fields else "VOID"
        case _:
            return _scalar_type(of)


def _scalar_type(of: Type) -> str:
    match of:
        case t.Int():
            return integer_type(of)
        case t.Float(bits):
            return "FLOAT" if bits == 32 else "DOUBLE"
        case t.Decimal(precision, scale):
            return f"DECIMAL({precision},{scale})"
        case t.Bool():
            return "BOOLEAN"
        case t.Date():
            return "DATE"
        case t.DateTime() | t.DateTime64():
            return FINE_TIME if is_fine_time(of) else "TIMESTAMP"
        case t.String() | t.FixedString() | t.UUID() | t.Enum() | t.Json() | t.IPv4() | t.IPv6():
            return "STRING"
        case t.Dynamic():
            return DYNAMIC_TYPE
        case _:
            raise StateHasNoValue(f"{of} is the state of an aggregate, and no value")


def integer_type(of: t.Int) -> str:
    """INT up to 16 bits and for Int32; BIGINT for UInt32 and Int64; a decimal for UInt64."""
    if of.high <= 2**31 - 1:
        return "INT"
    return "BIGINT" if of.high <= 2**63 - 1 else "DECIMAL(20,0)"


def value_default(of: Type) -> str:
    """ClickHouse's default value of the type in a column, as Spark SQL of exactly the type `value_type(of)`."""
    if is_nullable(of) or isinstance(of, t.Dynamic):
        return f"CAST(NULL AS {value_type(of)})"
    match of:
        case t.LowCardinality(inner) | t.SimpleAggregateFunction(_, inner):
            return value_default(inner)
        case t.Array() | t.Map():
            return f"CAST({'array()' if isinstance(of, t.Array) else 'map()'} AS {value_type(of)})"
        case t.Tuple(fields):
            parts = (
                f"{string_literal(name or f'_{place}')}, {value_default(inner)}"
                for place, (name, inner) in enumerate(fields, 1)
            )
            return f"named_struct({', '.join(parts)})"
        case _:
            return _scalar_default(of)


_SCALAR_DEFAULTS: dict[type[Type], str] = {
    t.Bool: "false",
    t.Date: "DATE'1970-01-01'",
    t.DateTime: "TIMESTAMP'1970-01-01 00:00:00'",
    t.DateTime64: "TIMESTAMP'1970-01-01 00:00:00'",
    t.UUID: "'00000000-0000-0000-0000-000000000000'",
    t.Json: "'{}'",
    t.IPv4: "'0.0.0.0'",
    t.IPv6: "'::'",
}


def function_default(of: Type) -> str:
    """What toDate32OrZero and other functions give for their type's default: of a Date32 the least value, though a
    column's is 1970-01-01."""
    return "DATE'1900-01-01'" if unwrap_type(of) == t.Date(wide=True) and not is_nullable(of) else value_default(of)


def missing_value(of: Type) -> str:
    """What stands for an element that an array, a map or a window has not: 0 in bytes. Of an Enum that is the value of
    the number 0; a column's default is the first value."""
    zero = next((name for name, number in of.values if number == 0), None) if isinstance(of, t.Enum) else None
    return value_default(of) if zero is None else string_literal(zero)


def _scalar_default(of: Type) -> str:
    match of:
        case t.Int() | t.Float() | t.Decimal():
            return f"CAST(0 AS {value_type(of)})"
        case t.DateTime64() if is_fine_time(of):
            return f"CAST(0 AS {FINE_TIME})"
        case t.FixedString(length):
            return f"repeat(chr(0), {length})"
        case t.Enum(_, values):
            return string_literal(min(values, key=lambda pair: pair[1])[0])
        case _:
            return _SCALAR_DEFAULTS.get(type(of), "''")
