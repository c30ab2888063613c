"""Where the tables of Postgres were on their chains of migrations when that was sure, in the source's Postgres.

In: queries on the source. Out: marks by the OID of the table. Invariant: a mark is only written where the schema of the
table fitted one place of its chain, or a mark of before said which of them it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.postgres.catalog.catalog_reader import OWN_SCHEMA
from penstock.postgres.catalog.source_connection import SourceQueries

MARKS = f"{OWN_SCHEMA}.migration_tables"
DEFINITION = f"""
CREATE SCHEMA IF NOT EXISTS {OWN_SCHEMA};
CREATE TABLE IF NOT EXISTS {MARKS} (oid int8 PRIMARY KEY, migration text, last_attnum int4 NOT NULL);
"""
_IS_READABLE = "SELECT coalesce(pg_catalog.has_table_privilege(pg_catalog.to_regclass(%s), 'SELECT'), false)"


@dataclass(frozen=True, slots=True)
class TableMark:
    """A table at a place of its chain."""

    migration: str | None
    """The last one that it had; None: none of them."""
    last_attnum: int
    """The greatest attnum that was given to a column of it by then: each column that is added takes the next one, and
    none is given twice."""


def read_marks(source: SourceQueries) -> dict[int, TableMark]:
    """None before they are made, nor for a role that was let read the tables of an earlier release only."""
    if not source.rows(_IS_READABLE, MARKS)[0][0]:
        return {}
    found = source.rows(f"SELECT oid, migration, last_attnum FROM {MARKS}")
    return {int(oid): TableMark(migration, int(attnum)) for oid, migration, attnum in found}


def write_marks(source: SourceQueries, marks: Mapping[int, TableMark]) -> None:
    """Write down where tables are now, where that is elsewhere."""
    known = read_marks(source)
    for oid, each in marks.items():
        if known.get(oid) != each:
            source.run(
                f"""INSERT INTO {MARKS} (oid, migration, last_attnum) VALUES (%s, %s, %s)
                ON CONFLICT (oid) DO UPDATE SET migration = excluded.migration, last_attnum = excluded.last_attnum""",
                *(oid, each.migration, each.last_attnum),
            )
