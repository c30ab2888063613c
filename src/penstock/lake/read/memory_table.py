"""Rows of this process as a table that one query may read.

In: columns and rows. Out: the name of a temporary view. Invariant: the view has a name of its own, is seen by every
session of this Spark only, and is gone when its block ends.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal

from penstock.lake.spark.session import Lake
from penstock.model.types import Type
from penstock.sql.spark_text import quote_identifier
from penstock.sql.stored_types import spark_type


@contextmanager
def memory_table(lake: Lake, columns: Sequence[tuple[str, Type]], rows: Sequence[tuple[object, ...]]) -> Iterator[str]:
    """The name, as Spark SQL, under which the rows can be read in the block."""
    name = f"service_{uuid.uuid4().hex}"
    # Spark takes a DECIMAL from nothing but a Decimal.
    numbers = [place for place, (_, of) in enumerate(columns) if spark_type(of).startswith("DECIMAL")]
    schema = ", ".join(f"{quote_identifier(column)} {spark_type(of)}" for column, of in columns)
    lake.spark.createDataFrame([_with_decimals(row, numbers) for row in rows], schema).createGlobalTempView(name)
    try:
        yield f"global_temp.{name}"
    finally:
        lake.spark.catalog.dropGlobalTempView(name)


def _with_decimals(row: tuple[object, ...], places: Sequence[int]) -> tuple[object, ...]:
    if not places:
        return row
    values = list(row)
    for place in places:
        values[place] = Decimal(str(values[place])) if values[place] is not None else None
    return tuple(values)
