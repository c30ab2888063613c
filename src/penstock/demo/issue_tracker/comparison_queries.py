"""Every table of each store compared with Postgres, at the end of the log.

In: a stage whose application has ended. Out: a `StoreComparison` for each table and view of each store. Invariant:
columns are those that Postgres has now.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import psycopg2

from penstock.demo.client import DemoClient
from penstock.demo.issue_tracker.scenario import statement
from penstock.demo.issue_tracker.stage import TABLES, TrackerStage
from penstock.demo.issue_tracker.store_comparison import (
    ComparedTable,
    Line,
    StoreComparison,
    compare_table,
    value_text,
)

KEYS = {"issue_labels": ("issue_id", "label_id")}
VIEW, VIEW_COLUMNS = "issue_titles", ("id", "title", "state")
TWICE_IN_PENSTOCK = """SELECT count() AS n FROM (SELECT cdc_commit_lsn, cdc_ordinal FROM {table}
  WHERE cdc_version != cdc_commit_lsn GROUP BY cdc_commit_lsn, cdc_ordinal HAVING count() > 1)"""
TWICE_IN_CLICKHOUSE = "SELECT count() - uniqExact(cdc_source, cdc_position) AS n FROM tracker.{table}"


def compare_stores(stage: TrackerStage) -> Iterator[StoreComparison]:
    """Each comparison as soon as it is made."""
    client = DemoClient(stage.server.url, stage.server.token) if stage.server is not None else None
    with psycopg2.connect(stage.dsn()) as connection, connection.cursor() as cursor:
        cursor.execute("SET timezone = 'UTC'")
        for name in (*TABLES, VIEW):
            columns = _columns(cursor, name) if name != VIEW else VIEW_COLUMNS
            shown = ", ".join(columns)
            cursor.execute(f"SELECT {shown} FROM {name if name != VIEW else 'issues'}")
            expected: list[Line] = [tuple(map(value_text, row)) for row in cursor.fetchall()]
            key = len(KEYS.get(name, ("id",)))
            if client is not None:
                found = [
                    tuple(map(value_text, row.values())) for row in client.sql(f"SELECT {shown} FROM {name} FINAL")
                ]
                twice = 0 if name == VIEW else int(client.sql(TWICE_IN_PENSTOCK.format(table=name))[0]["n"])
                yield compare_table(ComparedTable("live", name, columns, key), expected, found, twice)
            rows = _clickhouse(stage, f"SELECT {shown} FROM tracker.{name} FINAL")
            twice = 0 if name == VIEW else int(str(_clickhouse(stage, TWICE_IN_CLICKHOUSE.format(table=name))[0][0]))
            found = [tuple(map(value_text, row)) for row in rows]
            yield compare_table(ComparedTable("warehouse", name, columns, key), expected, found, twice)
    connection.close()


def _columns(cursor: psycopg2.extensions.cursor, table: str) -> tuple[str, ...]:
    cursor.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_name = %s ORDER BY column_name IN "
        "('id', 'issue_id', 'label_id') DESC, ordinal_position",
        (table,),
    )
    names = [row[0] for row in cursor.fetchall()]
    key = KEYS.get(table, ("id",))
    return (*key, *(each for each in names if each not in key))


def _clickhouse(stage: TrackerStage, query: str) -> list[list[object]]:
    rows: list[list[object]] = json.loads(statement(stage, f"{query} FORMAT JSONCompact").text)["data"]
    return rows
