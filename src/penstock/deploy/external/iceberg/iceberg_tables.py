"""Reads Iceberg tables of others for one run of a copy.

In: the tables that its SQL names, and which columns it uses. Out: their columns, and their rows in Parquet files beside
the job's. Invariants: columns and rows are those of the same snapshot, the newest when the run first asked; a row that
a delete file deletes is not read, and what PyIceberg cannot read is refused; files are read row group by row group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.io.pyarrow import (
    _combine_positional_deletes,
    _get_column_projection_values,
    _to_requested_schema,
    pyarrow_to_schema,
)
from pyiceberg.manifest import FileFormat
from pyiceberg.schema import Schema, prune_columns
from pyiceberg.table import FileScanTask, StaticTable
from pyiceberg.types import ListType, MapType

from penstock.deploy.external.arrow_columns import UnreadableColumn, stored_array
from penstock.deploy.external.iceberg.column_types import column_type
from penstock.deploy.external.iceberg.table_metadata import newest_metadata
from penstock.deploy.external.iceberg.table_objects import TableObjects
from penstock.deploy.external.stored_values import UnsupportedValue, stored_arrow
from penstock.deploy.external.table_file import TableFile
from penstock.deploy.external.web_client import UnreadableSource, WebClient
from penstock.errors import Failed
from penstock.lake.spark.cancellation import WorkCancelled, raise_if_stopped
from penstock.model.external_tables import ExternalColumns, IcebergTable, UnreadableTable
from penstock.model.types import Type
from penstock.sql.query import ExternalRead

BATCH_ROWS = 8_192


@dataclass(frozen=True, slots=True)
class _Found:
    """A table as it was when the run first asked."""

    objects: TableObjects
    table: StaticTable
    columns: ExternalColumns


class IcebergTables:
    """The tables that one copy reads. Files on this machine are named after `path`."""

    def __init__(self, path: Path, stops: Callable[[], bool], client: WebClient):
        self._path, self._stops, self._client = path, stops, client
        self._found: dict[IcebergTable, _Found] = {}
        self._written: list[Path] = []

    def close(self) -> None:
        """Remove all files."""
        for path in self._written:
            path.unlink(missing_ok=True)

    def columns(self, table: IcebergTable) -> ExternalColumns:
        """The columns of a table. Raises UnreadableTable, WorkCancelled, OSError."""
        try:
            with _naming(table):
                return self._find(table).columns
        except UnreadableSource as error:
            raise UnreadableTable(f"`{table.function}` cannot read {error}") from None

    def read(self, wanted: ExternalRead) -> TableFile:
        """Write the used columns of the rows to a file. Raises Failed, WorkCancelled, OSError."""
        table = wanted.table
        assert isinstance(table, IcebergTable), "others are read by others"
        target = self._new_file()
        try:
            with _naming(table):
                found = self._find(table)
                shown = _columns_to_read(found.columns.types, wanted.columns)
                rows = self._write(found, shown, target)
        except UnreadableSource as error:
            raise Failed(f"`{table.function}` cannot read {error}", hint="no row was appended") from None
        return TableFile(target, shown, rows)

    def _find(self, table: IcebergTable) -> _Found:
        if table not in self._found:
            objects = TableObjects(self._client, table, self._new_file)
            key, metadata = newest_metadata(self._client, table, objects)
            objects.set_location(metadata.location)
            static = StaticTable(("table",), metadata, key, objects, NoopCatalog("none"))
            self._found[table] = _Found(objects, static, _columns(static.schema()))
        return self._found[table]

    def _write(self, found: _Found, shown: Mapping[str, Type], target: Path) -> int:
        schema = pa.schema([(name, stored_arrow(of)) for name, of in shown.items()])
        rows = 0
        with pq.ParquetWriter(target, schema) as writer:
            for task in found.table.scan().plan_files():
                for batch in _batches(found, task, [*shown]):
                    raise_if_stopped(self._stops)
                    arrays = [_column(batch, name, of) for name, of in shown.items()]
                    writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
                    rows += batch.num_rows
                found.objects.drop(task.file.file_path)
        return rows

    def _new_file(self) -> Path:
        path = self._path.with_name(f"{self._path.name}.iceberg{len(self._written)}")
        self._written.append(path)
        return path


def _columns(schema: Schema) -> ExternalColumns:
    types: dict[str, Type] = {}
    unreadable: dict[str, str] = {}
    for field in schema.fields:
        try:
            types[field.name] = column_type(field)
        except UnreadableColumn as error:
            unreadable[field.name] = str(error)
    return ExternalColumns(types, unreadable)


def _columns_to_read(types: Mapping[str, Type], used: frozenset[str]) -> dict[str, Type]:
    """The used columns; any, if none is: rows cannot be counted without one. Raises UnreadableSource."""
    found = {name: of for name, of in types.items() if name in used} or dict([*types.items()][:1])
    if not found:
        raise UnreadableSource("no column of it can be read")
    return found


def _batches(found: _Found, task: FileScanTask, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows of a file without those that are deleted, with the table's columns of today. Raises UnreadableSource."""
    if task.file.file_format != FileFormat.PARQUET:
        raise UnreadableSource(f"it has files of the format {task.file.file_format.value}, and Parquet can be read")
    metadata = found.table.metadata
    schema = Schema(*(each for each in found.table.schema().fields if each.name in names))
    ids = {each for each in schema.field_ids if not isinstance(schema.find_type(each), (MapType, ListType))}
    deleted = _deleted_rows(found.objects, task)
    with pq.ParquetFile(found.objects.fetch(found.objects.key_of(task.file.file_path))) as opened:
        mapping, version = metadata.name_mapping(), metadata.format_version
        in_file = pyarrow_to_schema(opened.schema_arrow, mapping, format_version=version)
        spec = metadata.specs().get(task.file.spec_id)
        fixed = _get_column_projection_values(task.file, schema, found.table.schema(), spec, in_file.field_ids)
        pruned = prune_columns(in_file, ids, select_full_types=False)
        row = 0
        # Without a column of the file there is nothing that says how many rows there are.
        columns = [each.name for each in pruned.columns] or opened.schema_arrow.names[:1]
        for batch in opened.iter_batches(BATCH_ROWS, columns=columns, use_threads=False):
            first, row = row, row + batch.num_rows
            kept = batch
            if deleted:
                kept = batch.take(_combine_positional_deletes(deleted, first, row))
            yield _to_requested_schema(
                schema, pruned, kept, projected_missing_fields=fixed, allow_timestamp_tz_mismatch=True
            )


def _deleted_rows(objects: TableObjects, task: FileScanTask) -> list[pa.ChunkedArray]:
    """The numbers of the rows of a file that are deleted. Raises UnreadableSource."""
    numbers: list[pa.Array] = []
    for each in task.delete_files:
        if each.file_format != FileFormat.PARQUET:
            raise UnreadableSource(f"it has delete files of the format {each.file_format.value}, which are not read")
        with pq.ParquetFile(objects.fetch(objects.key_of(each.file_path))) as opened:
            for batch in opened.iter_batches(columns=["file_path", "pos"]):
                own = pc.equal(batch.column("file_path"), task.file.file_path)
                numbers.append(batch.column("pos").filter(own).cast(pa.int64()))
    return [pa.chunked_array(numbers)] if numbers else []


def _column(batch: pa.RecordBatch, name: str, of: Type) -> pa.Array:
    try:
        return stored_array(batch.column(name), of)
    except UnsupportedValue as error:
        raise UnreadableSource(f"a value of the column `{name}` cannot be kept: {error}") from None


@contextmanager
def _naming(table: IcebergTable) -> Iterator[None]:
    """A block in which what cannot be read is this table, also where PyIceberg and Arrow say so by any error."""
    shown = f"{table.bucket.name}/{table.place} at {table.bucket.endpoint}"
    try:
        yield
    except UnreadableSource as error:
        raise UnreadableSource(f"{shown}: {error}") from None
    except (WorkCancelled, Failed, MemoryError):
        raise
    except Exception as error:  # a table of others may be broken in any way
        if isinstance(error, OSError) and error.errno is not None:
            raise  # of this machine's disk
        if "equality deletes" in str(error):
            hint = "rewrite its data files (Spark: `rewrite_data_files`), and run the copy again"
            raise UnreadableSource(f"{shown}: it has equality deletes, which are not read; {hint}") from None
        told = (str(error).strip() or type(error).__name__).splitlines()[0][:300]
        raise UnreadableSource(f"{shown}: the table cannot be read: {told}") from None
