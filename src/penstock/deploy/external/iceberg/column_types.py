"""Columns of Iceberg tables as columns of ClickHouse.

In: a field of Iceberg. Out: the type that ClickHouse gives it. Invariant: a column without a counterpart is named, and
never read as something else. Source: ClickHouse's documentation of the table engine `Iceberg` (tests compare with it).
"""

from __future__ import annotations

from pyiceberg import types as iceberg
from pyiceberg.types import IcebergType, NestedField

from penstock.deploy.external.arrow_columns import UnreadableColumn
from penstock.model import types as t
from penstock.model.types import Type

_PLAIN: dict[type[IcebergType], Type] = {
    iceberg.BooleanType: t.Bool(),
    iceberg.IntegerType: t.Int(32),
    iceberg.LongType: t.Int(64),
    iceberg.FloatType: t.Float(32),
    iceberg.DoubleType: t.Float(64),
    iceberg.DateType: t.Date(wide=True),
    iceberg.TimestampType: t.DateTime64(6),
    iceberg.TimestamptzType: t.DateTime64(6, "UTC"),
    iceberg.StringType: t.String(),
    iceberg.BinaryType: t.String(),
    iceberg.UUIDType: t.UUID(),
}


def column_type(field: NestedField) -> Type:
    """The type that ClickHouse gives a column. Raises UnreadableColumn."""
    match field.field_type:
        case iceberg.ListType() as of:
            return t.Array(column_type(of.element_field))
        case iceberg.MapType() as of:
            return t.Map(column_type(of.key_field), column_type(of.value_field))
        case iceberg.StructType() as of if of.fields:
            return t.Tuple(tuple((each.name, column_type(each)) for each in of.fields))
        case iceberg.FixedType() as of:
            plain: Type | None = t.FixedString(len(of))
        case iceberg.DecimalType() as of:
            plain = t.Decimal(of.precision, of.scale)
        case of:
            plain = _PLAIN.get(type(of))
    if plain is None:
        raise UnreadableColumn(f"is of the type {field.field_type} in the table, which has no counterpart here")
    return t.Nullable(plain) if field.optional else plain
