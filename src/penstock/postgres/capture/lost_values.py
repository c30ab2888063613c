"""Values of rows that could not be had any more when the row was delivered, or that a migration changed in rows that
are not read again: what somebody is told of.

In: the rows of a package. Out: `penstock.lost_values` in the source, and sentences for `cdc status`. Invariant: it is
written down before the rows are delivered, so that no row is without a value and nobody knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.model.cursor import Position
from penstock.postgres.application.stop_records import UNREAD
from penstock.postgres.capture.unchanged_values import Reason
from penstock.postgres.catalog.catalog_reader import OWN_SCHEMA
from penstock.postgres.catalog.source_connection import SourceConnection, source_errors

TABLE = f"{OWN_SCHEMA}.lost_values"
DEFINITION = f"""
CREATE TABLE IF NOT EXISTS {TABLE} (
  capture text NOT NULL, oid int8 NOT NULL, column_name text NOT NULL, reason text NOT NULL, rows int8 NOT NULL,
  upto numeric[] NOT NULL, at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (capture, oid, column_name, reason),
  FOREIGN KEY (capture, oid) REFERENCES {OWN_SCHEMA}.captured_tables ON DELETE CASCADE);
"""
# A package that is delivered again after a kill is counted once.
_NOTE = f"""INSERT INTO {TABLE} AS l (capture, oid, column_name, reason, rows, upto)
  SELECT capture, oid, %s, %s, %s, %s::numeric[] FROM {OWN_SCHEMA}.captured_tables WHERE capture = %s AND oid = %s
  FOR KEY SHARE ON CONFLICT (capture, oid, column_name, reason) DO UPDATE
  SET rows = l.rows + excluded.rows, upto = excluded.upto, at = now() WHERE l.upto < excluded.upto"""
_WHY: Mapping[str, str] = {
    "dropped": "Postgres had dropped the column before the rows were read, and nobody has these values any more",
    "changed": "the column had changed before the rows were read; the table is read again, which brings the values of "
    "now",
}


def note_lost(
    connection: SourceConnection,
    table: tuple[str, int],
    upto: Position,
    rows: Mapping[tuple[str, Reason], int],
) -> None:
    """Write down how many rows of a capture's table (by OID), up to a position, are without a value of which column.
    Raises Failed, Unavailable."""
    place = "{" + ",".join(map(str, upto)) + "}"
    for (column, reason), count in rows.items():
        with source_errors("noted values that are lost"):
            connection.cursor().execute(_NOTE, (column, reason, count, place, *table))


def lost_alarms(connection: SourceConnection, capture: str) -> list[str]:
    """What of a capture's values could not be had."""
    with source_errors("asked for values that are lost"):
        cursor = connection.cursor()
        cursor.execute("SELECT 1 WHERE pg_catalog.to_regclass(%s) IS NOT NULL", (TABLE,))
        if not cursor.fetchall():
            return []
        cursor.execute(
            f"""SELECT t.schema_name || '.' || t.table_name, l.column_name, l.reason, l.rows
            FROM {TABLE} l JOIN {OWN_SCHEMA}.captured_tables t USING (capture, oid)
            WHERE l.capture = %s ORDER BY 1, 2, 3""",
            (capture,),
        )
        found: list[tuple[Any, ...]] = cursor.fetchall()
    return [_alarm(*each) for each in found]


def _alarm(table: str, column: str, reason: str, rows: int) -> str:
    if reason == UNREAD:
        return (
            f"rows of {table} that were there when a migration changed `{column}` have other values in Postgres than "
            "in the stores: a table that is captured with --insert-only is not read again. Put them right there "
            f"(`DELETE FROM {TABLE}` when that is done)"
        )
    return (
        f"{rows} rows of {table} were delivered without a large value of `{column}` that an UPDATE had left as it was: "
        f"{_WHY[reason]} (`DELETE FROM {TABLE}` when you have seen it)"
    )
