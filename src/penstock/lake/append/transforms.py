"""Values of partition and sort keys over Arrow columns.

In: an Iceberg transform and a column. Out: its values, as Iceberg stores them: years, months, days and hours since
1970. Invariant: a moment before 1970 belongs to the period in which it is, not to the next one. Source: Iceberg's
specification, "Partition Transforms".
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg import types as t
from pyiceberg.transforms import (
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    YearTransform,
)

_MICROS_PER_HOUR = 3_600_000_000
_LONG_AGO_HOURS = 24 * 3_650_000
"""Whole hours and days that are added before a division, which cuts off towards zero, and taken off after it."""
_KEY_TYPES = (
    t.BooleanType,
    t.IntegerType,
    t.LongType,
    t.DateType,
    t.TimestamptzType,
    t.DecimalType,
    t.StringType,
)
_SORT_TYPES = (*_KEY_TYPES, t.FloatType, t.DoubleType, t.BinaryType)


def has_partition_values(transform: Transform, of: t.IcebergType) -> bool:
    """Whether `transform_values` gives the partitions of a column of this type."""
    return (isinstance(transform, IdentityTransform) and isinstance(of, _KEY_TYPES)) or _is_period(transform, of)


def has_sort_values(transform: Transform, of: t.IcebergType) -> bool:
    """Whether `transform_values` gives what rows are sorted by."""
    return (isinstance(transform, IdentityTransform) and isinstance(of, _SORT_TYPES)) or _is_period(transform, of)


def _is_period(transform: Transform, of: t.IcebergType) -> bool:
    if isinstance(transform, HourTransform):
        return isinstance(of, t.TimestamptzType)
    return isinstance(transform, (YearTransform, MonthTransform, DayTransform)) and isinstance(
        of, (t.TimestamptzType, t.DateType)
    )


def transform_values(transform: Transform, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values of a transform that has some for the column's type."""
    match transform:
        case IdentityTransform():
            return column
        case YearTransform():
            return pc.cast(pc.subtract(pc.year(column), 1970), pa.int32())
        case MonthTransform():
            months = pc.add(pc.multiply(pc.subtract(pc.year(column), 1970), 12), pc.subtract(pc.month(column), 1))
            return pc.cast(months, pa.int32())
        case DayTransform() if pa.types.is_date(column.type):
            return pc.cast(column, pa.int32())
        case DayTransform():
            return _periods(column, 24)
        case HourTransform():
            return _periods(column, 1)
        case _:
            raise ValueError(f"{transform} is computed by Spark only")


def _periods(column: pa.ChunkedArray, hours: int) -> pa.ChunkedArray:
    shifted = pc.add(pc.cast(column, pa.int64()), _LONG_AGO_HOURS * _MICROS_PER_HOUR)
    return pc.cast(pc.subtract(pc.divide(shifted, hours * _MICROS_PER_HOUR), _LONG_AGO_HOURS // hours), pa.int32())


def stored_values(column: pa.ChunkedArray) -> list[object]:
    """The values of a partition key as PyIceberg writes them into a manifest: dates and times as numbers."""
    if pa.types.is_date(column.type):
        column = pc.cast(column, pa.int32())
    elif pa.types.is_timestamp(column.type):
        column = pc.cast(column, pa.int64())
    return list(column.to_pylist())
