"""An Iceberg schema as an Arrow schema, with the ids that its Parquet files need.

In: a schema, or a type. Out: the Arrow type in which Spark writes the same Parquet columns. Invariant: every column,
and every part of a nested one, has its field id; a type that is not known here is refused, never guessed.
"""

from __future__ import annotations

import pyarrow as pa
from pyiceberg import types as t
from pyiceberg.schema import Schema

_FIELD_ID = b"PARQUET:field_id"
_PLAIN: dict[type[t.IcebergType], pa.DataType] = {
    t.BooleanType: pa.bool_(),
    t.IntegerType: pa.int32(),
    t.LongType: pa.int64(),
    t.FloatType: pa.float32(),
    t.DoubleType: pa.float64(),
    t.DateType: pa.date32(),
    t.TimestamptzType: pa.timestamp("us", "UTC"),
    t.StringType: pa.string(),
    t.BinaryType: pa.binary(),
}


class UnknownColumnType(TypeError):
    """A type that only Spark writes."""


def arrow_schema(schema: Schema) -> pa.Schema:
    """The columns of a table. Raises UnknownColumnType."""
    return pa.schema([_field(each) for each in schema.fields])


def arrow_type(of: t.IcebergType) -> pa.DataType:
    """Raises UnknownColumnType."""
    match of:
        case t.DecimalType():
            return pa.decimal128(of.precision, of.scale)
        case t.StructType():
            return pa.struct([_field(each) for each in of.fields])
        case t.ListType():
            return pa.list_(_field(of.element_field))
        case t.MapType():
            return pa.map_(_field(of.key_field), _field(of.value_field))
        case _ if type(of) in _PLAIN:
            return _PLAIN[type(of)]
        case _:
            raise UnknownColumnType(f"{of} is written by Spark only")


def same_values(one: pa.DataType, other: pa.DataType) -> bool:
    """Whether values of one type are those of the other, as they are. How the parts of lists and maps are called, and
    whether they may be null, makes no difference."""
    if one.id != other.id or one.num_fields != other.num_fields:
        return False
    if pa.types.is_struct(one):
        named = [one.field(at).name for at in range(one.num_fields)]
        if named != [other.field(at).name for at in range(other.num_fields)]:
            return False
    elif not one.num_fields:
        return bool(one == other)
    parts = (_parts(each) for each in (one, other))
    return all(same_values(mine, theirs) for mine, theirs in zip(*parts, strict=True))


def _parts(of: pa.DataType) -> list[pa.DataType]:
    if pa.types.is_map(of):
        return [of.key_type, of.item_type]
    return [of.field(at).type for at in range(of.num_fields)]


def _field(field: t.NestedField) -> pa.Field:
    metadata = {_FIELD_ID: str(field.field_id).encode()}
    return pa.field(field.name, arrow_type(field.field_type), nullable=not field.required, metadata=metadata)
