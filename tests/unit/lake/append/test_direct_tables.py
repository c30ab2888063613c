"""Which tables this process writes itself: those of which it knows everything."""

from __future__ import annotations

import uuid

import pytest
from pyiceberg import types as t
from pyiceberg.manifest import ManifestContent, ManifestFile
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata, TableMetadataV2, new_table_metadata
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform, MonthTransform, TruncateTransform

from penstock.lake.append.direct_tables import MOST_COLUMNS, MOST_MANIFESTS, needs_merge, why_only_spark
from penstock.lake.tables.physical_tables import PROPERTIES, SHARED_FILES_PROPERTIES

COLUMNS = (
    t.NestedField(1, "id", t.LongType(), required=False),
    t.NestedField(2, "text", t.StringType(), required=False),
    t.NestedField(3, "at", t.TimestamptzType(), required=False),
    t.NestedField(4, "pair", t.StructType(t.NestedField(5, "x", t.DoubleType(), required=False)), required=False),
    t.NestedField(6, "f", t.DoubleType(), required=False),
)
MONTHS = PartitionSpec(PartitionField(3, 1000, MonthTransform(), "at_month"))
BY_TEXT = SortOrder(SortField(2, IdentityTransform()))


def metadata(
    fields: tuple[t.NestedField, ...] = COLUMNS,
    keys: tuple[PartitionSpec, SortOrder] = (MONTHS, BY_TEXT),
    location: str = "file:///w/table",
    properties: dict[str, str] | None = None,
) -> TableMetadata:
    given = PROPERTIES | (properties or {})
    return new_table_metadata(Schema(*fields), *keys, location, given, uuid.uuid4())


def test_a_table_as_penstock_makes_it_is_written() -> None:
    assert why_only_spark(metadata()) is None
    assert why_only_spark(metadata(location="/w/table")) is None
    assert why_only_spark(metadata(properties=SHARED_FILES_PROPERTIES)) is None
    assert why_only_spark(metadata(properties={"comment": "x", "penstock.clone-of": "y"})) is None


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"format-version": "3"}, "format version 3"),
        ({"format-version": "1"}, "format version 1"),
        ({"write.parquet.bloom-filter-enabled.column.id": "true"}, "the property write.parquet.bloom-filter"),
        ({"write.format.default": "orc"}, "the property write.format.default"),
        ({"write.parquet.compression-codec": "brotli"}, "the property write.parquet.compression-codec"),
        ({"write.metadata.metrics.default": "none"}, "the property write.metadata.metrics.default"),
        ({"write.object-storage.enabled": "true"}, "the property write.object-storage.enabled"),
    ],
)
def test_a_property_that_is_not_known(properties: dict[str, str], why: str) -> None:
    found = why_only_spark(metadata(properties=properties))
    assert found is not None
    assert found.startswith(why)


@pytest.mark.parametrize("of", [t.UUIDType(), t.FixedType(4), t.TimeType(), t.TimestampType()])
def test_a_type_that_is_not_known(of: t.IcebergType) -> None:
    inside = t.ListType(21, t.StructType(t.NestedField(22, "deep", of, required=False)), element_required=False)
    for each in (of, inside):
        found = why_only_spark(metadata((*COLUMNS, t.NestedField(20, "other", each, required=False))))
        assert found == f"{of} is written by Spark only"


def test_columns_that_are_not_known() -> None:
    assert why_only_spark(metadata((*COLUMNS, t.NestedField(9, "größe", t.LongType(), required=False)))) is not None
    assert why_only_spark(metadata((*COLUMNS, t.NestedField(9, "a.b", t.LongType(), required=False)))) is not None
    assert why_only_spark(metadata((*COLUMNS, t.NestedField(9, "n", t.LongType(), required=True)))) is not None
    many = [t.NestedField(10 + each, f"c{each}", t.LongType(), required=False) for each in range(MOST_COLUMNS)]
    assert why_only_spark(metadata((*COLUMNS, *many))) == f"more than {MOST_COLUMNS} columns"


@pytest.mark.parametrize(
    "field",
    [
        PartitionField(1, 1000, BucketTransform(8), "p"),
        PartitionField(2, 1000, TruncateTransform(3), "p"),
        PartitionField(6, 1000, IdentityTransform(), "p"),
        PartitionField(5, 1000, IdentityTransform(), "p"),
        PartitionField(1, 1000, DayTransform(), "p"),
    ],
)
def test_a_partition_key_that_is_not_known(field: PartitionField) -> None:
    spec = PartitionSpec(field)
    base = metadata()
    assert isinstance(base, TableMetadataV2)
    changed = base.model_copy(update={"partition_specs": [spec], "default_spec_id": spec.spec_id})
    assert why_only_spark(changed) == "the partition key p"


@pytest.mark.parametrize(
    "field",
    [
        SortField(2, IdentityTransform(), SortDirection.DESC, NullOrder.NULLS_FIRST),
        SortField(2, IdentityTransform(), SortDirection.ASC, NullOrder.NULLS_LAST),
        SortField(1, BucketTransform(4)),
        SortField(5, IdentityTransform()),
    ],
)
def test_a_sorting_key_that_is_not_known(field: SortField) -> None:
    found = why_only_spark(metadata(keys=(MONTHS, SortOrder(field))))
    assert found is not None
    assert found.startswith("the sorting key")


def test_files_elsewhere_are_spark_s() -> None:
    assert why_only_spark(metadata(location="s3a://bucket/table")) is not None


def _manifest(spec: int = 0, length: int = 5_000, content: ManifestContent = ManifestContent.DATA) -> ManifestFile:
    return ManifestFile.from_args(
        manifest_path="m", manifest_length=length, partition_spec_id=spec, content=content, added_snapshot_id=1
    )


def test_many_small_manifests_are_merged_by_spark() -> None:
    of = metadata()
    assert not needs_merge(of, [_manifest()] * (MOST_MANIFESTS - 1))
    assert needs_merge(of, [_manifest()] * MOST_MANIFESTS)
    others = [_manifest(spec=1), _manifest(length=2**23), _manifest(content=ManifestContent.DELETES)]
    assert not needs_merge(of, others * MOST_MANIFESTS), "Spark would not merge these"
