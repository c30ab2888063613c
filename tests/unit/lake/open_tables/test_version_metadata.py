"""What a version's metadata has of the physical table's, and what PyIceberg makes of it."""

from __future__ import annotations

from collections.abc import Mapping

import orjson
from pyiceberg.table.metadata import TableMetadataUtil
from pyiceberg.table.snapshots import Operation

from penstock.lake.open_tables.shown_columns import Json, ShownColumn
from penstock.lake.open_tables.version_metadata import OpenTable, physical_fields, version_metadata

STRUCT: Json = {"type": "struct", "fields": [{"id": 11, "name": "x", "required": False, "type": "long"}]}
FILE = "file:///w/penstock/visits__d1/metadata/00002.metadata.json"
PHYSICAL: Mapping[str, Json] = {
    "format-version": 2,
    "table-uuid": "00000000-0000-0000-0000-000000000001",
    "location": "file:///w/penstock/visits__d1",
    "last-sequence-number": 4,
    "last-updated-ms": 1_700_000_000_000,
    "last-column-id": 11,
    "current-schema-id": 1,
    "schemas": [
        {"type": "struct", "schema-id": 0, "fields": []},
        {
            "type": "struct",
            "schema-id": 1,
            "fields": [
                {"id": 1, "name": "at", "required": False, "type": "timestamptz"},
                {"id": 2, "name": "path", "required": False, "type": "string"},
                {"id": 3, "name": "place__2", "required": False, "type": STRUCT},
                {"id": 4, "name": "_seq", "required": False, "type": "long"},
                {"id": 5, "name": "_rejects", "required": False, "type": "string"},
                {"id": 6, "name": "country", "required": False, "type": "string"},
            ],
        },
    ],
    "default-spec-id": 1,
    "last-partition-id": 1001,
    "partition-specs": [
        {"spec-id": 0, "fields": []},
        {
            "spec-id": 1,
            "fields": [
                {"name": "at_month", "transform": "month", "source-id": 1, "field-id": 1000},
                {"name": "path", "transform": "identity", "source-id": 2, "field-id": 1001},
            ],
        },
    ],
    "default-sort-order-id": 1,
    "sort-orders": [
        {
            "order-id": 1,
            "fields": [{"transform": "identity", "source-id": 2, "direction": "asc", "null-order": "nulls-first"}],
        }
    ],
    "properties": {"write.distribution-mode": "none"},
    "current-snapshot-id": 8,
    "refs": {"main": {"snapshot-id": 8, "type": "branch"}, "penstock-squashed-7": {"snapshot-id": 9, "type": "branch"}},
    "snapshots": [
        {
            "snapshot-id": id,
            "parent-snapshot-id": id - 1,
            "sequence-number": id,
            "timestamp-ms": 1_700_000_000_000,
            "manifest-list": f"file:///w/{id}.avro",
            "summary": {"operation": "append", "added-records": "3", "penstock.cursor.landing.visits": "3"},
            "schema-id": 1,
        }
        for id in (7, 8, 9)
    ],
    "metadata-log": [{"timestamp-ms": 1, "metadata-file": "file:///w/old.json"}],
}
COLUMNS = (
    ShownColumn("moment", 1, "DateTime"),
    ShownColumn("url", 2, "String"),
    ShownColumn("place", 3, "Tuple(x Int64)"),
)


def made(*columns: ShownColumn, shows_rows: bool = True, physical: Mapping[str, Json] = PHYSICAL) -> Mapping[str, Json]:
    table = OpenTable("7ce7b5b0-0000-5000-8000-000000000002", columns, {"penstock.deployment": "3"}, shows_rows)
    return version_metadata(physical, FILE, table).document


def test_only_logical_names_of_shown_columns_are_in_it() -> None:
    text = orjson.dumps(made(*COLUMNS)).decode()
    for hidden in ("_seq", "_rejects", "country", "place__2", "at_month", '"path"', "penstock.cursor", "old.json"):
        assert hidden not in text
    found = TableMetadataUtil.parse_raw(text)
    assert found.format_version == 2
    assert [(field.field_id, field.name) for field in found.schema().fields] == [
        (1, "moment"),
        (2, "url"),
        (3, "place"),
    ]
    assert str(found.schema().find_field("place.x").field_type) == "long"
    assert [field.name for field in found.spec().fields] == ["moment_month", "url"]


def test_one_snapshot_is_in_it_and_reads_by_the_same_schema() -> None:
    found = TableMetadataUtil.parse_raw(orjson.dumps(made(*COLUMNS)).decode())
    assert [(each.snapshot_id, each.manifest_list) for each in found.snapshots] == [(8, "file:///w/8.avro")]
    assert found.snapshots[0].parent_snapshot_id is None
    summary = found.snapshots[0].summary
    assert summary is not None
    assert summary.operation == Operation.OVERWRITE, "a stream would begin with its rows alone"
    assert found.snapshots[0].schema_id == found.current_schema_id
    assert {name: ref.snapshot_id for name, ref in found.refs.items()} == {"main": 8}


def test_a_default_makes_it_version_3() -> None:
    found = TableMetadataUtil.parse_raw(orjson.dumps(made(*COLUMNS, ShownColumn("c", 6, "String", "none"))).decode())
    assert found.format_version == 3
    assert found.schema().find_field("c").initial_default == "none"


def test_a_spec_without_one_of_its_columns_has_no_fields() -> None:
    found = TableMetadataUtil.parse_raw(orjson.dumps(made(COLUMNS[1])).decode())
    assert [(spec.spec_id, len(spec.fields)) for spec in found.partition_specs] == [(0, 0), (1, 0)]


def test_a_partition_field_never_has_the_name_of_another_column() -> None:
    columns = (*COLUMNS[:2], ShownColumn("moment_month", 6, "String"))
    found = TableMetadataUtil.parse_raw(orjson.dumps(made(*columns)).decode())
    assert [field.name for field in found.spec().fields] == ["moment_month_2", "url"]


def test_a_table_without_rows_has_no_snapshot() -> None:
    hidden = made(*COLUMNS, shows_rows=False)
    empty = made(*COLUMNS, physical={**PHYSICAL, "current-snapshot-id": None, "snapshots": [], "refs": {}})
    assert hidden == empty
    assert TableMetadataUtil.parse_raw(orjson.dumps(empty).decode()).current_snapshot() is None


def test_metadata_has_a_name_of_its_own() -> None:
    table = OpenTable("7ce7b5b0-0000-5000-8000-000000000002", COLUMNS, {})
    first = version_metadata(PHYSICAL, FILE, table)
    assert first == version_metadata(PHYSICAL, FILE, table)
    assert first.location.startswith("file:///w/penstock/visits__d1/metadata/version-")
    assert first.location.endswith("/../00002.metadata.json"), "Hadoop finds the physical table's file there"
    assert first.location != version_metadata({**PHYSICAL, "last-updated-ms": 1_700_000_000_001}, FILE, table).location


def test_physical_fields_are_those_of_the_current_schema() -> None:
    assert physical_fields(PHYSICAL) == {"at": 1, "path": 2, "place__2": 3, "_seq": 4, "_rejects": 5, "country": 6}
