"""Reads the catalog of a database.

In: a connection of `open_source`. Out: a `Catalog` of the tables of some schemas. Invariant: one statement reads all,
so that the tables are those of one moment.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from penstock.postgres.catalog.replicated_table import Catalog, QualifiedName
from penstock.postgres.catalog.source_connection import SourceConnection, source_errors
from penstock.postgres.catalog.table_snapshot import IS_TABLE, SNAPSHOT, SOURCE, parse_table

_READ = f"SELECT {SNAPSHOT}::text FROM {SOURCE} WHERE {IS_TABLE} AND n.nspname = ANY(%s) ORDER BY 1"
OWN_SCHEMA = "penstock"
"""The schema of what penstock keeps in the source; none of its tables is watched."""


def read_catalog(connection: SourceConnection, schemas: Sequence[str]) -> Catalog:
    """The tables of these schemas. Raises Failed, Unavailable."""
    cursor = connection.cursor()
    with source_errors("read the catalog"):
        cursor.execute(_READ, ([each for each in schemas if each != OWN_SCHEMA],))
        rows = cursor.fetchall()
    documents: list[dict[str, Any]] = [json.loads(cast(str, row[0])) for row in rows]
    return Catalog(tuple(sorted(map(parse_table, documents), key=lambda table: table.name)))


def read_position(connection: SourceConnection) -> str:
    """The LSN up to which Postgres has written its log, such as `0/15D68C8`."""
    cursor = connection.cursor()
    with source_errors("asked for the position of the log"):
        cursor.execute("SELECT pg_catalog.pg_current_wal_lsn()::text")
        row = cursor.fetchone()
    assert row is not None, "a SELECT without FROM has one row"
    return str(row[0])


def is_published(connection: SourceConnection, table: QualifiedName) -> bool:
    """Whether a publication has the table."""
    cursor = connection.cursor()
    with source_errors("looked for publications"):
        statement = "SELECT 1 FROM pg_catalog.pg_publication_tables WHERE schemaname = %s AND tablename = %s"
        cursor.execute(statement, (table.schema, table.name))
        return cursor.fetchone() is not None
