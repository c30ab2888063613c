"""A Parquet file on this machine as a table that one query may read.

In: the file, and the columns it has. Out: the name of a temporary view. Invariant: the view has a name of its own, is
seen by every session of this Spark only, and is gone when its block ends.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from penstock.lake.spark.session import Lake
from penstock.model.types import Type
from penstock.sql.spark_text import quote_identifier
from penstock.sql.stored_types import spark_type


@contextmanager
def file_table(lake: Lake, columns: Mapping[str, Type], path: Path) -> Iterator[str]:
    """The name, as Spark SQL, under which the rows of the file can be read in the block."""
    name = f"file_{uuid.uuid4().hex}"
    schema = ", ".join(f"{quote_identifier(column)} {spark_type(of)}" for column, of in columns.items())
    lake.spark.read.schema(schema).parquet(path.absolute().as_uri()).createGlobalTempView(name)
    try:
        yield f"global_temp.{name}"
    finally:
        lake.spark.catalog.dropGlobalTempView(name)
