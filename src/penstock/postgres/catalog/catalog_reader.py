"""Reads the catalog of a database.

In: a connection of `open_source`. Out: a `Catalog` of the tables of some schemas. Invariant: one statement reads all,
so that the tables are those of one moment.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from penstock.postgres.catalog.replicated_table import Catalog, QualifiedName, ReplicatedTable
from penstock.postgres.catalog.source_connection import SourceConnection, source_errors
from penstock.postgres.catalog.table_snapshot import IS_TABLE, SNAPSHOT, SOURCE, Document, parse_table

_LABEL_MARKS = """(SELECT json_object_agg('labels ' || m.attnum, m.mark) FROM (
  SELECT a.attnum, md5(string_agg(e.oid || ' ' || e.xmin, ',' ORDER BY e.oid)) AS mark
  FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    JOIN pg_catalog.pg_enum e ON e.enumtypid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
  WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped GROUP BY 1) m)"""
_TABLE_MARKS = """json_build_object(
  'name', (SELECT t.xmin::text FROM pg_catalog.pg_type t WHERE t.oid = c.reltype),
  'keys', c.xmin || (SELECT coalesce(string_agg(' ' || coalesce(k.oid, i.indexrelid), '' ORDER BY i.indexrelid), '')
    FROM pg_catalog.pg_index i LEFT JOIN pg_catalog.pg_constraint k
      ON k.conindid = i.indexrelid AND k.conrelid = c.oid AND k.contype = 'p'
    WHERE i.indrelid = c.oid AND (i.indisprimary OR i.indisreplident)),
  'about name', c.relowner::text,
  'about keys', md5(ROW(c.relfilenode, c.reltablespace, c.relam, c.relowner, c.relacl, c.reloptions, c.relchecks,
    c.relhasrules, c.relhastriggers, c.relhassubclass, c.relrowsecurity, c.relforcerowsecurity,
    c.relpersistence)::text),
  'release', current_setting('server_version_num')::int / 10000)"""
# Changes that are given back leave a trace here: a table's type is renamed with it, a label is a row of its own. What
# else changes these rows of the catalog (a right, VACUUM FULL) is `about` them; another release writes all of them.
_COLUMN_MARKS = """(SELECT json_object_agg('about ' || a.attnum, md5(ROW(a.attacl, a.attstattarget, a.attoptions,
    a.attstorage, a.attcompression, a.atthasmissing, a.attinhcount, a.attislocal)::text))
  FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)"""
_READ = f"""SELECT {SNAPSHOT}::text, {_TABLE_MARKS}::text, coalesce({_LABEL_MARKS}::text, '{{}}'),
    coalesce({_COLUMN_MARKS}::text, '{{}}')
  FROM {SOURCE} WHERE {IS_TABLE} AND n.nspname = ANY(%s)"""
OWN_SCHEMA = "penstock"
"""The schema of what penstock keeps in the source; none of its tables is watched."""


def read_catalog(connection: SourceConnection, schemas: Sequence[str]) -> Catalog:
    """The tables of these schemas. Raises Failed, Unavailable."""
    cursor = connection.cursor()
    with source_errors("read the catalog"):
        cursor.execute(_READ, ([each for each in schemas if each != OWN_SCHEMA],))
        rows = cursor.fetchall()
    documents = [[json.loads(cast(str, each)) for each in row] for row in rows]
    tables = (_marked(*each) for each in documents)
    return Catalog(tuple(sorted(tables, key=lambda table: table.name)))


def _marked(document: Document, *marks: dict[str, object]) -> ReplicatedTable:
    found = {name: str(mark) for each in marks for name, mark in each.items()}
    return replace(parse_table(document), marks=found)


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
