"""Which tables this process appends to itself, and which by Spark.

In: a table's metadata. Out: why only Spark can write it, if that is so. Invariant: whatever is not known here is left
to Spark, so a table looks the same to every reader, whoever wrote its files.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyiceberg.io.pyarrow import sanitize_column_names
from pyiceberg.manifest import ManifestContent, ManifestFile
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.sorting import NullOrder, SortDirection, SortOrder

from penstock.lake.append.arrow_schema import UnknownColumnType, arrow_schema
from penstock.lake.append.transforms import has_partition_values, has_sort_values
from penstock.lake.storage.local_paths import local_path
from penstock.lake.tables.physical_tables import PROPERTIES

MOST_MANIFESTS = 100
"""From so many small manifests on Spark makes the next commit, which merges them. Source: Iceberg's
`commit.manifest.min-count-to-merge`."""
SMALL_MANIFEST = 2**20
MOST_COLUMNS = 100
"""Iceberg keeps metrics of so many columns of a table, unless a property names another one; PyIceberg of all."""
_MAY_DIFFER = "write.metadata.delete-after-commit.enabled"
"""Switched off for a table that shares files with a clone."""
MOST_FORMS = 4_096
_forms: dict[tuple[int, int, int], tuple[tuple[Schema, PartitionSpec, SortOrder], str | None]] = {}
"""What was found of columns and keys, by their identities; they are kept beside it, so that none is given twice."""


def why_only_spark(metadata: TableMetadata) -> str | None:
    """Why only Spark can write the table's files as Spark writes them; None if this process can."""
    if metadata.format_version != 2:
        return f"format version {metadata.format_version}"
    if local_path(metadata.location) is None:
        return "its files are not on this machine's disk"
    unknown = sorted(key for key, value in metadata.properties.items() if not _is_known(key, value))
    if unknown:
        return f"the property {unknown[0]}"
    return _why_form(metadata.schema(), metadata.spec(), metadata.sort_order())


def _why_form(schema: Schema, spec: PartitionSpec, order: SortOrder) -> str | None:
    """Known for the very same objects, which the next metadata has as well; to look takes long."""
    key = (id(schema), id(spec), id(order))
    known = _forms.get(key)
    if known is not None:
        return known[1]
    why = _why_columns(schema) or _why_keys(schema, spec, order)
    if len(_forms) >= MOST_FORMS:
        _forms.clear()
    _forms[key] = ((schema, spec, order), why)
    return why


def _is_known(key: str, value: str) -> bool:
    if key == _MAY_DIFFER or not key.startswith("write."):
        return True
    return PROPERTIES.get(key) == value


def _why_columns(schema: Schema) -> str | None:
    if len(schema.field_ids) > MOST_COLUMNS:
        return f"more than {MOST_COLUMNS} columns"
    if not all(map(str.isascii, schema.column_names)) or sanitize_column_names(schema) != schema:
        return "names of columns that are written otherwise in Parquet"
    if any(each.required for each in schema.fields):
        return "a column without nulls"
    try:
        arrow_schema(schema)
    except UnknownColumnType as error:
        return str(error)
    return None


def _why_keys(schema: Schema, spec: PartitionSpec, order: SortOrder) -> str | None:
    columns = {each.field_id: each.field_type for each in schema.fields}
    for part in spec.fields:
        of = columns.get(part.source_id)
        if of is None or not has_partition_values(part.transform, of):
            return f"the partition key {part.name}"
    for key in order.fields:
        of = columns.get(key.source_id)
        ascending = key.direction == SortDirection.ASC and key.null_order == NullOrder.NULLS_FIRST
        if of is None or not ascending or not has_sort_values(key.transform, of):
            return f"the sorting key {schema.find_column_name(key.source_id)}"
    return None


def needs_merge(metadata: TableMetadata, manifests: Sequence[ManifestFile]) -> bool:
    """Whether Spark is to make the next commit, so that it merges manifests."""
    small = (
        each
        for each in manifests
        if each.content == ManifestContent.DATA
        and each.partition_spec_id == metadata.default_spec_id
        and each.manifest_length < SMALL_MANIFEST
    )
    return sum(1 for _ in small) >= MOST_MANIFESTS
