"""Make new physical tables, whole: with their columns, partition key, sort order and properties in one commit.

In: a `Table` of a manifest. Out: an empty Iceberg table. Invariant: a table exists with all of this or not at all, so
after a crash one that is there needs nothing; one that is there already is left unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError

from penstock.crash_points import crash_point
from penstock.lake.spark.names import CATALOG, NAMESPACE
from penstock.lake.spark.session import Lake
from penstock.lake.tables.physical_tables import PROPERTIES, load_table
from penstock.model.manifest import REJECTS, SEQ, Table, Transform
from penstock.sql.spark_text import quote_identifier
from penstock.sql.stored_types import spark_type

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject


def create_table(lake: Lake, table: Table) -> None:
    """Create the table with its partition and sort order. An existing table is left unchanged.

    Iceberg's own library does it, since CREATE TABLE of Spark SQL has no sort order: a second commit would have to set
    it, and be made good after a crash between the two.
    """
    if load_table(lake, table.id) is not None:
        return
    jvm = lake.spark._jvm
    assert jvm is not None, "the session was opened here"
    schema = jvm.org.apache.iceberg.spark.SparkSchemaUtil.convert(
        jvm.org.apache.spark.sql.types.StructType.fromDDL(_columns_ddl(table))
    )
    catalog = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergCatalog(lake.spark._jsparkSession, CATALOG)
    builder = (
        catalog.buildTable(jvm.org.apache.iceberg.catalog.TableIdentifier.parse(f"{NAMESPACE}.{table.id}"), schema)
        .withPartitionSpec(_partition_spec(jvm, schema, table))
        .withSortOrder(_sort_order(jvm, schema, table))
    )
    for name, value in PROPERTIES.items():
        builder = builder.withProperty(name, value)
    crash_point("lake.before")
    try:
        builder.create()
    except Py4JJavaError as error:
        if "AlreadyExistsException" not in str(error.java_exception.getClass().getName()):
            raise
    crash_point("lake.after")


def _columns_ddl(table: Table) -> str:
    """The physical columns, and Penstock's own, as Spark DDL."""
    fields = [f"{quote_identifier(field.name)} {spark_type(field.type)}" for field in table.fields]
    hidden = [f"{SEQ} BIGINT"] + ([f"{REJECTS} STRING"] if table.lands else [])
    return ", ".join(fields + hidden)


def _partition_spec(jvm: JavaObject, schema: JavaObject, table: Table) -> JavaObject:
    builder = jvm.org.apache.iceberg.PartitionSpec.builderFor(schema)
    for key in table.partition:
        match key.kind:
            case "identity":
                builder = builder.identity(key.column)
            case "years":
                builder = builder.year(key.column)
            case "months":
                builder = builder.month(key.column)
            case "days":
                builder = builder.day(key.column)
            case "hours":
                builder = builder.hour(key.column)
    return builder.build()


def _sort_order(jvm: JavaObject, schema: JavaObject, table: Table) -> JavaObject:
    """The sort order that `WRITE LOCALLY ORDERED BY` sets: ascending, nulls first."""
    builder = jvm.org.apache.iceberg.SortOrder.builderFor(schema)
    for key in table.sort:
        builder = builder.asc(_sort_term(jvm, key), jvm.org.apache.iceberg.NullOrder.NULLS_FIRST)
    return builder.build()


def _sort_term(jvm: JavaObject, key: Transform) -> JavaObject:
    terms = jvm.org.apache.iceberg.expressions.Expressions
    match key.kind:
        case "identity":
            return terms.ref(key.column)
        case "years":
            return terms.year(key.column)
        case "months":
            return terms.month(key.column)
        case "days":
            return terms.day(key.column)
        case "hours":
            return terms.hour(key.column)
