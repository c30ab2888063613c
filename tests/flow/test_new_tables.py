"""A table that Iceberg's library makes is the one that CREATE TABLE and ALTER TABLE of Spark SQL make."""

from __future__ import annotations

import pytest

from penstock.lake.spark.names import qualified_table
from penstock.lake.spark.session import Lake
from penstock.lake.tables import physical_tables
from penstock.lake.tables.new_tables import create_table
from penstock.lake.tables.snapshots import read_snapshots
from penstock.model.manifest import Field, Table, Transform
from penstock.model.types import Array, DateTime, Decimal, Int, LowCardinality, Map, Nullable, String, Tuple
from penstock.sql.spark_text import quote_identifier
from penstock.sql.stored_types import spark_type

FIELDS = (
    Field("id", Int(64)),
    Field("ID", Nullable(Int(32))),
    Field("a.b", String()),
    Field("back`tick", LowCardinality(String())),
    Field("größe", Decimal(20, 3)),
    Field("at", DateTime()),
    Field("many", Array(Nullable(Int(16)))),
    Field("by", Map(String(), Array(Int(8)))),
    Field("pair", Tuple((("x", Int(32)), ("y z", String())))),
)
TABLES = [
    Table("creation__plain", FIELDS),
    Table("creation__landed", FIELDS, lands=True),
    Table(
        "creation__keys",
        FIELDS,
        (Transform("months", "at"), Transform("identity", "back`tick")),
        (Transform("identity", "ID"), Transform("identity", "größe"), Transform("days", "at")),
        lands=True,
    ),
    Table("creation__hours", FIELDS, (Transform("hours", "at"),), (Transform("years", "at"),)),
    Table("creation__days", FIELDS, (Transform("days", "at"),), (Transform("hours", "at"), Transform("months", "at"))),
    Table("creation__years", FIELDS, (Transform("years", "at"),), (Transform("identity", "id"),)),
]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.id)
def test_a_table_is_made_whole(lake: Lake, table: Table) -> None:
    create_table(lake, table)
    create_table(lake, table)
    reference = f"{table.id}__sql"
    _create_by_sql(lake, table, reference)
    made, expected = (physical_tables.load_table(lake, each) for each in (table.id, reference))
    assert made is not None
    assert expected is not None
    assert made.schema() == expected.schema()
    assert made.spec() == expected.spec()
    assert made.sort_order() == expected.sort_order()
    assert made.metadata.format_version == expected.metadata.format_version
    assert made.properties == {key: value for key, value in expected.properties.items() if key != "owner"}
    assert made.location() == expected.location().removesuffix("__sql")
    assert read_snapshots(lake, table.id).current is None
    assert not made.metadata.metadata_log, "one commit, whatever the table has"


def _create_by_sql(lake: Lake, table: Table, name: str) -> None:
    columns = [f"{quote_identifier(field.name)} {spark_type(field.type)}" for field in table.fields]
    columns += ["_seq BIGINT"] + (["_rejects STRING"] if table.lands else [])
    parts = ", ".join(
        quote_identifier(key.column) if key.kind == "identity" else f"{key.kind}({quote_identifier(key.column)})"
        for key in table.partition
    )
    properties = ", ".join(f"'{key}'='{value}'" for key, value in physical_tables.PROPERTIES.items())
    lake.spark.sql(
        f"CREATE TABLE {qualified_table(name)} ({', '.join(columns)}) USING iceberg"
        f"{f' PARTITIONED BY ({parts})' if parts else ''} TBLPROPERTIES ({properties})"
    )
    if table.sort:
        physical_tables.set_sort_order(lake, name, table.sort)
