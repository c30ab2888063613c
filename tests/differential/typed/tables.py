"""The tables of every type in both engines.

In: the engines. Out: `w`, `tame` and `nil` in each. Invariant: the same values in the same rows.
"""

from __future__ import annotations

import pyarrow
from tests.differential.engines import ClickHouse, Spark
from tests.differential.typed.every_type import COLUMNS, TABLES, arrow_value, clickhouse_value

from penstock.sql.stored_types import spark_type


def create_tables(clickhouse: ClickHouse, spark: Spark) -> None:
    """Makes the tables and their rows."""
    _create_in_clickhouse(clickhouse)
    ddl = ", ".join(f"`{name}` {spark_type(column.type)}" for name, column in COLUMNS.items())
    rows = [{each.name: arrow_value(each.values[at], each.type) for each in COLUMNS.values()} for at in range(10)]
    # From Arrow: the rows are part of the plan, not a job of their own in each query, and maps keep their order.
    schema = spark.session.createDataFrame([], ddl).toArrow().schema
    frame = spark.session.createDataFrame(pyarrow.Table.from_pylist(rows, schema), ddl)
    for name, many in TABLES.items():
        frame.limit(many).createOrReplaceTempView(f"__all_{name}__")


def _create_in_clickhouse(clickhouse: ClickHouse) -> None:
    columns = ", ".join(f"`{name}` {column.written}" for name, column in COLUMNS.items())
    for name, many in TABLES.items():
        clickhouse.session.query(f"CREATE TABLE IF NOT EXISTS d.{name} ({columns}) ENGINE = Memory")
        rows = (
            ", ".join(clickhouse_value(each.values[at], each.type) for each in COLUMNS.values()) for at in range(many)
        )
        if many:
            clickhouse.session.query(f"INSERT INTO d.{name} VALUES {', '.join(f'({row})' for row in rows)}")
