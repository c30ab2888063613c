"""Physical tables: alter, clone and drop them.

In: `Field` and `Transform` values of a manifest. Out: changed Iceberg metadata; no row is moved. Invariant:
every function can run again after a crash and leads to the same table.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from gzip import BadGzipFile
from typing import Literal

from py4j.protocol import Py4JJavaError
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError, ValidationError
from pyiceberg.table import Table as IcebergTable
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random

from penstock.crash_points import crash_point
from penstock.errors import Failed
from penstock.lake.spark.names import NAMESPACE, UNMOVED, qualified_table
from penstock.lake.spark.session import Lake
from penstock.model.manifest import SEQ, Field, Transform
from penstock.sql.spark_text import quote_identifier, string_literal
from penstock.sql.stored_types import spark_type

MAX_TRIES = 20
LATER_PROPERTIES = {
    # Iceberg keeps metrics of a table's first hundred columns, and `_seq` is the last one.
    f"write.metadata.metrics.column.{SEQ}": "full",
    # Each commit writes the list of all snapshots anew, whose entries are much alike.
    "write.metadata.compression-codec": "gzip",
}
"""Those that tables of former releases were made without."""
PROPERTIES = {
    **LATER_PROPERTIES,
    "format-version": "2",
    # Steps are small: a shuffle before the write costs more than it gives.
    "write.distribution-mode": "none",
    "write.spark.fanout.enabled": "true",
    "write.parquet.compression-codec": "zstd",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "5",
    "commit.retry.num-retries": "10",
    # Steps write small files; a query packs many of them into one task.
    "read.split.open-file-cost": "262144",
}

SHARED_FILES_PROPERTIES = {"gc.enabled": "false", "write.metadata.delete-after-commit.enabled": "false"}


class DamagedTable(Failed):
    """A table is in the catalog, and its metadata file is missing or cannot be read."""

    code = "damaged-table"

    def __init__(self, table: str, why: str):
        super().__init__(
            f"the metadata of the table {table} cannot be read: {why}",
            hint="only this table and those fed from it stop: put the file back from a backup, or deploy the data"
            " source under another name, or without it",
        )
        self.why = why


def load_table(lake: Lake, table: str) -> IcebergTable | None:
    """The table with its current metadata, by PyIceberg; None if it does not exist. Raises DamagedTable."""
    return find_table(lake.catalog, table)


_UNMOVED = (
    "a file of it was damaged when its folder was moved or restored; server.log names it. Once it is put back, the next"
    " start of the server goes on with the table"
)


def find_table(catalog: Catalog, table: str) -> IcebergTable | None:
    """The same of any catalog."""
    try:
        return catalog.load_table((NAMESPACE, table))
    except NoSuchTableError:
        return None
    except (FileNotFoundError, IsADirectoryError) as error:
        raise DamagedTable(table, _UNMOVED if UNMOVED in str(error) else f"its file is missing: {error}") from error
    except (ValueError, ValidationError, EOFError, BadGzipFile, zlib.error):
        # It is no JSON, no text, not unpacked, or no description of a table. The end of a file is no cause to show: for
        # whoever looks at causes, a connection to Spark would have ended.
        raise DamagedTable(table, "the newest file of its metadata folder is empty or damaged") from None


def add_fields(lake: Lake, table: str, fields: Sequence[Field]) -> None:
    """Add physical columns; existing ones are left unchanged."""
    there = _column_names(lake, table)
    new = [field for field in fields if field.name not in there]
    if new:
        columns = ", ".join(f"{quote_identifier(field.name)} {spark_type(field.type)}" for field in new)
        run_ddl(lake, f"ALTER TABLE {qualified_table(table)} ADD COLUMNS ({columns})")


def drop_field(lake: Lake, table: str, field: str) -> None:
    """Drop a physical column that no binding uses. A column of a present or former partition or sorting key stays,
    because Iceberg's files and metadata refer to it."""
    found = load_table(lake, table)
    if found is None or field not in found.schema().column_names:
        return
    metadata = found.metadata
    keys = [part.source_id for spec in metadata.partition_specs for part in spec.fields]
    keys += [part.source_id for order in metadata.sort_orders for part in order.fields]
    if found.schema().find_field(field).field_id not in keys:
        run_ddl(lake, f"ALTER TABLE {qualified_table(table)} DROP COLUMN {quote_identifier(field)}")


def widen_field(lake: Lake, table: str, field: Field) -> None:
    """Widen a physical column to the stored type of `field`: int to long, float to double, or a wider decimal, which
    Iceberg does without touching data (Iceberg spec, "Schema Evolution")."""
    have = lake.spark.table(qualified_table(table)).schema[field.name].dataType.simpleString()
    want = spark_type(field.type)
    if have.upper() != want.upper():
        run_ddl(lake, f"ALTER TABLE {qualified_table(table)} ALTER COLUMN {quote_identifier(field.name)} TYPE {want}")


def set_sort_order(lake: Lake, table: str, sort: Sequence[Transform]) -> None:
    """Set the sort order of rows in files that are written from now on."""
    order = f"LOCALLY ORDERED BY {', '.join(map(_render_transform, sort))}" if sort else "UNORDERED"
    run_ddl(lake, f"ALTER TABLE {qualified_table(table)} WRITE {order}")


def set_partition_key(lake: Lake, table: str, partition: Sequence[Transform]) -> None:
    """Set the partition key of files that are written from now on; existing files keep theirs."""
    have = _current_partition(lake, table)
    want = tuple(map(_render_transform, partition))
    for gone in [each for each in have if each not in want]:
        run_ddl(lake, f"ALTER TABLE {qualified_table(table)} DROP PARTITION FIELD {gone}")
    for new in [each for each in want if each not in have]:
        run_ddl(lake, f"ALTER TABLE {qualified_table(table)} ADD PARTITION FIELD {new}")


def clone_table(lake: Lake, table: str, clone: str) -> None:
    """Create a table with the same snapshots and files; later writes go to one of the two only. No row is copied.

    Both tables keep the files that they share: neither deletes data or metadata files from now on.
    """
    original = load_table(lake, table)
    if original is None or load_table(lake, clone) is not None:
        return
    shared = SHARED_FILES_PROPERTIES
    run_ddl(lake, f"ALTER TABLE {qualified_table(table)} SET TBLPROPERTIES ({_property_list(shared)})")
    crash_point("lake.before")
    lake.catalog.register_table((NAMESPACE, clone), original.refresh().metadata_location)
    crash_point("lake.after")
    own = _property_list({**shared, "penstock.clone-of": table})
    run_ddl(lake, f"ALTER TABLE {qualified_table(clone)} SET TBLPROPERTIES ({own})")


def _property_list(properties: Mapping[str, str]) -> str:
    """What stands in the parentheses of TBLPROPERTIES."""
    return ", ".join(f"{string_literal(key)}={string_literal(value)}" for key, value in properties.items())


def drop_table(lake: Lake, table: str) -> None:
    """Drop the table and its files; of a table that shares files with a clone, only the table."""
    found = load_table(lake, table)
    if found is not None:
        purge = "" if found.properties.get("gc.enabled") == "false" else " PURGE"
        run_ddl(lake, f"DROP TABLE IF EXISTS {qualified_table(table)}{purge}")


def run_ddl(lake: Lake, sql: str) -> None:
    """Run a statement that changes a table, and again if another commit, such as one of maintenance, came in between:
    Iceberg does not put changes of a schema or of tags behind it (apache/iceberg#8254)."""
    for attempt in Retrying(
        retry=retry_if_exception(came_second),
        stop=stop_after_attempt(MAX_TRIES),
        wait=wait_random(0.0, 0.2),
        reraise=True,
    ):
        with attempt:
            crash_point("lake.before")
            lake.spark.sql(sql)
    crash_point("lake.after")


def came_second(error: BaseException) -> bool:
    """Whether Iceberg refused a commit because another one came before it."""
    return isinstance(error, Py4JJavaError) and "CommitFailedException" in str(
        error.java_exception.getClass().getName()
    )


def list_tables(lake: Lake) -> tuple[str, ...]:
    """Every physical table of the warehouse."""
    return tuple(sorted(identifier[-1] for identifier in lake.catalog.list_tables(NAMESPACE)))


def _column_names(lake: Lake, table: str) -> set[str]:
    found = load_table(lake, table)
    return set() if found is None else set(found.schema().column_names)


def _current_partition(lake: Lake, table: str) -> tuple[str, ...]:
    found = load_table(lake, table)
    if found is None:
        return ()
    schema = found.schema()
    # Iceberg names transforms in the singular (day, month), Spark's functions in the plural.
    return tuple(
        _render_transform(
            Transform(_TRANSFORM_KINDS[str(field.transform)], schema.find_column_name(field.source_id) or "")
        )
        for field in found.spec().fields
        if str(field.transform) in _TRANSFORM_KINDS
    )


_TRANSFORM_KINDS: Mapping[str, Literal["identity", "years", "months", "days", "hours"]] = {
    "identity": "identity",
    "year": "years",
    "month": "months",
    "day": "days",
    "hour": "hours",
}


def _render_transform(transform: Transform) -> str:
    column = quote_identifier(transform.column)
    return column if transform.kind == "identity" else f"{transform.kind}({column})"
