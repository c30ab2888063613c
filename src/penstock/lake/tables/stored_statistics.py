"""What the manifests of a table's current snapshot say of the values in its columns.

In: a table. Out: `StoredValues`. Invariants: a column counts as known only if every data file counts its values and its
NULLs, since a file without these may lack the column, or Iceberg may not have kept them; bounds are read only of types
of which Iceberg keeps them whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile, ManifestContent
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.types import DateType, DecimalType, IcebergType, IntegerType, LongType, NestedField

from penstock.lake.spark.session import Lake
from penstock.lake.tables import physical_tables
from penstock.model.stored_values import StoredColumn, StoredValues


def stored_values(lake: Lake, table: str) -> StoredValues:
    """What is known of the values of a table as it is now. Raises DamagedTable, and OSError for a manifest that cannot
    be read."""
    found = physical_tables.load_table(lake, table)
    if found is None:
        return StoredValues(0)
    snapshot = found.current_snapshot()
    if snapshot is None:
        return _known_columns(found.schema().fields, ())
    return _values_of_snapshot(lake, table, snapshot.snapshot_id, found.metadata.current_schema_id)


@lru_cache(maxsize=32)
def _values_of_snapshot(lake: Lake, table: str, snapshot: int, schema: int) -> StoredValues:
    """Cached: neither a snapshot nor a schema ever changes."""
    found = physical_tables.load_table(lake, table)
    at = found.snapshot_by_id(snapshot) if found is not None else None
    if found is None or at is None:
        return StoredValues(0)
    return _known_columns(found.schemas()[schema].fields, tuple(_data_files(found, at)))


def _known_columns(fields: Sequence[NestedField], files: Sequence[DataFile]) -> StoredValues:
    known = {field.name: _column_of_files(field, files) for field in fields if field.field_type.is_primitive}
    return StoredValues(len(files), {name: each for name, each in known.items() if each is not None})


def _data_files(table: Table, snapshot: Snapshot) -> Iterator[DataFile]:
    for manifest in snapshot.manifests(table.io):
        if manifest.content == ManifestContent.DATA:
            for entry in manifest.fetch_manifest_entry(table.io):
                if entry.data_file.record_count:
                    yield entry.data_file


def _column_of_files(field: NestedField, files: Sequence[DataFile]) -> StoredColumn | None:
    """What the files say together; None if one of them does not count the column."""
    rows = nulls = 0
    lows: list[int | None] = []
    highs: list[int | None] = []
    id = field.field_id
    for file in files:
        values, missing = (file.value_counts or {}).get(id), (file.null_value_counts or {}).get(id)
        if values != file.record_count or missing is None:
            return None
        rows, nulls = rows + values, nulls + missing
        if missing < values:
            lows.append(_whole_number(field.field_type, (file.lower_bounds or {}).get(id)))
            highs.append(_whole_number(field.field_type, (file.upper_bounds or {}).get(id)))
    return StoredColumn(rows, nulls, _least(lows), _greatest(highs))


def _least(found: Sequence[int | None]) -> int | None:
    known = [each for each in found if each is not None]
    return min(known) if known and len(known) == len(found) else None


def _greatest(found: Sequence[int | None]) -> int | None:
    known = [each for each in found if each is not None]
    return max(known) if known and len(known) == len(found) else None


def _whole_number(of: IcebergType, bound: bytes | None) -> int | None:
    """A bound as a whole number; None where there is none, or it is of a type that Iceberg may cut, such as a text, or
    that has values beside its numbers (NaN)."""
    if bound is None:
        return None
    match of:
        case IntegerType() | LongType() | DateType():
            return int(from_bytes(of, bound))
        case DecimalType():
            return int.from_bytes(bound, "big", signed=True)
        case _:
            return None
