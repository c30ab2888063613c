"""Arrow rows as the Parquet files that Spark would write of them.

In: a table and its rows, with the table's columns. Out: a file for each partition, and Iceberg's entry for it, with
the same metrics. Invariant: the rows of a file are in the table's sort order, nulls first; every column has its field
id.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg import types as t
from pyiceberg.io.pyarrow import (
    MetricModeTypes,
    MetricsMode,
    StatisticsCollector,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table as IcebergTable
from pyiceberg.typedef import Record

from penstock.lake.append.local_files import LocalFiles
from penstock.lake.append.transforms import stored_values, transform_values

BOUND_LENGTH = 16
"""Characters and bytes of a bound. Source: Iceberg's `write.metadata.metrics.default`."""


def write_data_files(table: IcebergTable, rows: pa.Table, files: LocalFiles) -> list[DataFile]:
    """Write the rows. Raises OSError."""
    write = uuid.uuid4()
    parts = _partitions(table, _sorted(table, rows)) if rows.num_rows else iter(())
    return [
        _write_file(table, part, (key, f"{position:05d}-0-{write}.parquet"), files)
        for position, (key, part) in enumerate(parts)
    ]


def _sorted(table: IcebergTable, rows: pa.Table) -> pa.Table:
    schema, order = table.schema(), table.sort_order()
    keys: list[pa.ChunkedArray] = []
    for field in order.fields:
        values = transform_values(field.transform, rows.column(schema.find_field(field.source_id).name))
        keys.append(values.is_valid())  # false comes first
        if pa.types.is_floating(values.type):
            keys.append(pc.is_nan(values))  # Spark has NaN after all numbers, Arrow beside the nulls
        keys.append(values)
    if not keys:
        return rows
    names = [f"{position}" for position in range(len(keys))]
    by = pc.sort_indices(pa.table(keys, names), sort_keys=[(name, "ascending") for name in names])
    return rows.take(by)


def _partitions(table: IcebergTable, rows: pa.Table) -> Iterator[tuple[Record, pa.Table]]:
    """The rows of each partition, in their order."""
    spec, schema = table.spec(), table.schema()
    if spec.is_unpartitioned():
        yield Record(), rows
        return
    columns = [
        transform_values(field.transform, rows.column(schema.find_field(field.source_id).name)) for field in spec.fields
    ]
    names = [f"{position}" for position in range(len(columns))]
    keys = pa.table(columns, names)
    found = keys.group_by(names, use_threads=False).aggregate([])
    stored = [stored_values(found.column(name)) for name in names]
    for position in range(found.num_rows):
        key = Record(*(each[position] for each in stored))
        same = [_equal(keys.column(name), found.column(name)[position]) for name in names]
        yield key, rows if found.num_rows == 1 else rows.filter(reduce(pc.and_, same))


def _equal(column: pa.ChunkedArray, value: pa.Scalar) -> pa.ChunkedArray:
    return pc.equal(column, value).fill_null(False) if value.is_valid else column.is_null()


def _write_file(table: IcebergTable, rows: pa.Table, place: tuple[Record, str], files: LocalFiles) -> DataFile:
    key, name = place
    folder = f"{table.spec().partition_to_path(key, table.schema())}/" if len(key) else ""
    location = table.location_provider().new_data_location(f"{folder}{name}")
    sink = pa.BufferOutputStream()
    found: list[pq.FileMetaData] = []
    pq.write_table(
        rows,
        sink,
        compression=table.properties.get("write.parquet.compression-codec", "zstd"),
        compression_level=3,
        store_decimal_as_integer=True,
        store_schema=False,
        metadata_collector=found,
    )
    content = sink.getvalue()
    files.write(location, memoryview(content))
    ids, leaves = parquet_path_to_id_mapping(table.schema()), list(_leaves(table.schema().fields))
    plan = _metrics_plan(ids.values(), leaves)
    statistics = data_file_statistics_from_parquet_metadata(found[0], plan, ids).to_serialized_dict()
    return DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=location,
        file_format=FileFormat.PARQUET,
        partition=key,
        file_size_in_bytes=len(content),
        sort_order_id=table.metadata.default_sort_order_id,
        spec_id=table.metadata.default_spec_id,
        equality_ids=None,
        key_metadata=None,
        **{**statistics, "nan_value_counts": _nan_counts(leaves, rows)},
    )


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A column of a Parquet file that is not part of a list or a map. Iceberg keeps bounds of no other."""

    path: tuple[str, ...]
    field: t.NestedField

    def values(self, rows: pa.Table) -> pa.ChunkedArray:
        column = rows.column(self.path[0])
        return pc.struct_field(column, self.path[1:]) if len(self.path) > 1 else column


def _leaves(fields: Sequence[t.NestedField], above: tuple[str, ...] = ()) -> Iterator[_Leaf]:
    for field in fields:
        if isinstance(field.field_type, t.StructType):
            yield from _leaves(field.field_type.fields, (*above, field.name))
        elif not isinstance(field.field_type, (t.ListType, t.MapType)):
            yield _Leaf((*above, field.name), field)


def _metrics_plan(ids: Iterable[int], leaves: Sequence[_Leaf]) -> dict[int, StatisticsCollector]:
    """What is kept of each column: of the parts of lists and maps the size only."""
    plan = {each: StatisticsCollector(each, t.StringType(), MetricsMode(MetricModeTypes.NONE), "") for each in ids}
    for leaf in leaves:
        field, is_cut = leaf.field, isinstance(leaf.field.field_type, (t.StringType, t.BinaryType))
        mode = MetricsMode(MetricModeTypes.TRUNCATE, BOUND_LENGTH) if is_cut else MetricsMode(MetricModeTypes.FULL)
        plan[field.field_id] = StatisticsCollector(field.field_id, field.field_type, mode, ".".join(leaf.path))  # type: ignore[arg-type]
    return plan


def _nan_counts(leaves: Sequence[_Leaf], rows: pa.Table) -> Mapping[int, int]:
    """By field id, how many values of a column are NaN."""
    floats = (each for each in leaves if isinstance(each.field.field_type, (t.FloatType, t.DoubleType)))
    return {each.field.field_id: pc.sum(pc.is_nan(each.values(rows))).as_py() or 0 for each in floats}
