"""Where the tables of Postgres were on their chains of migrations when that was sure, in the source's Postgres.

In: queries on the source. Out: marks by the OID of the table. Invariant: a mark is only written where the schema of the
table fitted one place of its chain, or a mark of before said which of them it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.postgres.catalog.catalog_reader import OWN_SCHEMA
from penstock.postgres.catalog.replicated_table import ReplicatedTable
from penstock.postgres.catalog.source_connection import SourceQueries

MARKS = f"{OWN_SCHEMA}.migration_tables"
DEFINITION = f"""
CREATE SCHEMA IF NOT EXISTS {OWN_SCHEMA};
CREATE TABLE IF NOT EXISTS {MARKS} (oid int8 PRIMARY KEY, migration text, last_attnum int4 NOT NULL, columns json);
ALTER TABLE {MARKS} ADD COLUMN IF NOT EXISTS columns json;
"""
HAS_COLUMNS = f"""SELECT EXISTS (SELECT FROM pg_catalog.pg_attribute
  WHERE attrelid = pg_catalog.to_regclass('{MARKS}') AND attname = 'columns')"""
"""Whether the table is there as this release makes it."""
_IS_READABLE = "SELECT coalesce(pg_catalog.has_table_privilege(pg_catalog.to_regclass(%s), 'SELECT'), false)"


@dataclass(frozen=True, slots=True)
class TableMark:
    """A table at a place of its chain."""

    migration: str | None
    """The last one that it had; None: none of them."""
    last_attnum: int
    """The greatest attnum that was given to a column of it by then: each column that is added takes the next one, and
    none is given twice."""
    columns: Mapping[int, str] | None = None
    """By attnum the transaction that had last changed the description of each column by then; None: not known."""

    @classmethod
    def of(cls, migration: str | None, table: ReplicatedTable) -> TableMark:
        """The mark of a table as it is now."""
        columns = {each.attnum: each.mark for each in table.columns if each.mark is not None}
        return cls(migration, table.last_attnum, columns if len(columns) == len(table.columns) else None)

    def touched(self, table: ReplicatedTable) -> frozenset[str] | None:
        """The columns that were changed or added since, by their names of now; None: not known."""
        now = table.by_attnum()
        if self.columns is None or any(each.mark is None for each in now.values()):
            return None
        return frozenset(each.name for at, each in now.items() if each.mark != self.columns.get(at))


def read_marks(source: SourceQueries) -> dict[int, TableMark]:
    """None before they are made, nor for a role that was let read the tables of an earlier release only."""
    if not source.rows(_IS_READABLE, MARKS)[0][0]:
        return {}
    columns = "pg_catalog.to_jsonb(m) ->> 'columns'"  # a table of an earlier release lacks it
    found = source.rows(f"SELECT oid, migration, last_attnum, {columns} FROM {MARKS} m")
    return {int(oid): TableMark(of, int(attnum), _columns(text)) for oid, of, attnum, text in found}


def _columns(text: str | None) -> Mapping[int, str] | None:
    return {int(at): str(each) for at, each in json.loads(text).items()} if text is not None else None


def write_marks(source: SourceQueries, marks: Mapping[int, TableMark]) -> None:
    """Write down where tables are now, where that is elsewhere."""
    known = read_marks(source)
    for oid, each in marks.items():
        if known.get(oid) != each:
            source.run(
                f"""INSERT INTO {MARKS} (oid, migration, last_attnum, columns) VALUES (%s, %s, %s, %s)
                ON CONFLICT (oid) DO UPDATE SET migration = excluded.migration,
                  last_attnum = excluded.last_attnum, columns = excluded.columns""",
                *(oid, each.migration, each.last_attnum),
                json.dumps(dict(each.columns)) if each.columns is not None else None,
            )
