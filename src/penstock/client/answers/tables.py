"""Whole answers as tables of other libraries.

In: a table of Arrow. Out: a DataFrame of pandas or Spark. Invariants: a library that is not installed is a clear error;
no integer becomes a float, and what Spark has no type for gets a wider one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

import pyarrow as pa

from penstock.client.client_error import ClientError
from penstock.errors import Problem

if TYPE_CHECKING:
    from pandas import DataFrame  # noqa: TID251 only the name


class SparkSession(Protocol):
    """What is used of a session of Spark."""

    def createDataFrame(self, data: Any) -> Any: ...  # noqa: N802


def to_pandas(table: pa.Table) -> DataFrame:
    """A DataFrame of pandas; a column of whole numbers with NULL is one of objects, as floats would lose digits."""
    try:
        return cast("DataFrame", table.to_pandas(integer_object_nulls=True))
    except ImportError:
        message = "pandas is not installed"
        problem = Problem("missing-package", message, hint="install pandas, or ask for rows or for Arrow")
        raise ClientError(message, [problem], hint=problem.hint, code=problem.code) from None


def to_spark(table: pa.Table, session: SparkSession) -> Any:
    """A DataFrame of Spark."""
    wanted = pa.schema([field.with_type(_spark_type(field.type)) for field in table.schema])
    # In one piece: of several, Spark takes none that come after an empty one.
    return session.createDataFrame(table.cast(wanted).combine_chunks())


def _spark_type(of: pa.DataType) -> pa.DataType:
    """A type of Spark that has every value of this one: Spark has signed integers, and times of microseconds."""
    if pa.types.is_unsigned_integer(of):
        return _SIGNED[of.bit_width]
    if pa.types.is_timestamp(of):
        return pa.timestamp("us", of.tz)
    if pa.types.is_list(of):
        return pa.list_(of.value_field.with_type(_spark_type(of.value_type)))
    if pa.types.is_map(of):
        return pa.map_(_spark_type(of.key_type), _spark_type(of.item_type))
    if pa.types.is_struct(of):
        return pa.struct([each.with_type(_spark_type(each.type)) for each in of])
    return of


_SIGNED = {8: pa.int16(), 16: pa.int32(), 32: pa.int64(), 64: pa.decimal128(20, 0)}
"""By the bits of an unsigned integer."""
