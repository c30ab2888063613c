"""Where the tables of Postgres were on their chains of migrations, in the source's Postgres.

In: queries on the source. Out: marks by the OID of the table. Invariant: where the schema of a table fitted several
places of its chain and nothing said which of them it is, its mark is at the first one: what is written down then tells
when it moves on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.postgres.catalog.catalog_reader import OWN_SCHEMA
from penstock.postgres.catalog.replicated_table import ReplicatedTable
from penstock.postgres.catalog.source_connection import SourceQueries

MARKS = f"{OWN_SCHEMA}.migration_tables"
DEFINITION = f"""
CREATE SCHEMA IF NOT EXISTS {OWN_SCHEMA};
CREATE TABLE IF NOT EXISTS {MARKS} (oid int8 PRIMARY KEY, migration text, last_attnum int4 NOT NULL, columns json,
  others json);
ALTER TABLE {MARKS} ADD COLUMN IF NOT EXISTS columns json, ADD COLUMN IF NOT EXISTS others json;
"""
HAS_COLUMNS = f"""SELECT EXISTS (SELECT FROM pg_catalog.pg_attribute
  WHERE attrelid = pg_catalog.to_regclass('{MARKS}') AND attname = 'others')"""
"""Whether the table is there as this release makes it."""
TABLE_NAME, KEY = "\0", "\0\0"
"""What stands for the name of a table, and for its key, among the names of columns that were touched."""
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
    others: Mapping[str, str] = field(default_factory=dict)
    """The marks of the table's name, its key, and the labels of its columns by then; empty: not known."""

    @classmethod
    def of(cls, migration: str | None, table: ReplicatedTable) -> TableMark:
        """The mark of a table as it is now."""
        columns = {each.attnum: each.mark for each in table.columns if each.mark is not None}
        known = columns if len(columns) == len(table.columns) else None
        return cls(migration, table.last_attnum, known, table.marks)

    def touched(self, table: ReplicatedTable) -> frozenset[str] | None:
        """What was changed or added since: columns by their names of now, labels, the name and the key; None: not
        known. What somebody else may have touched, who gave a right or had all rows written anew, is not among them."""
        now, changed = table.by_attnum(), self._changed(table)
        if self.columns is None or "release" in changed or any(each.mark is None for each in now.values()):
            return None
        touched = {at: each.name for at, each in now.items() if each.mark != self.columns.get(at)}
        names = {name for at, name in touched.items() if f"about {at}" not in changed}
        labels = {labels_of(each.name) for at, each in now.items() if f"labels {at}" in changed}
        own = {
            thing
            for thing, each in ((TABLE_NAME, "name"), (KEY, "keys"))
            if each in changed and f"about {each}" not in changed
        }
        return frozenset(names | labels | own)

    def _changed(self, table: ReplicatedTable) -> frozenset[str]:
        """The marks that are others by now, of those that are known."""
        return frozenset(each for each, mark in table.marks.items() if self.others.get(each, mark) != mark)


def labels_of(column: str) -> str:
    """What stands for the labels of a column among the names of columns that were touched."""
    return f"\0{column}"


@dataclass(frozen=True, slots=True)
class SourceMemory:
    """What is known of the source from before."""

    marks: Mapping[int, TableMark] = field(default_factory=dict)
    """Where its tables were, by OID."""
    had: frozenset[str] = frozenset()
    """The migrations that it was seen with."""


def read_marks(source: SourceQueries) -> dict[int, TableMark]:
    """None before they are made, nor for a role that was let read the tables of an earlier release only."""
    if not source.rows(_IS_READABLE, MARKS)[0][0]:
        return {}
    later = ", ".join(f"pg_catalog.to_jsonb(m) ->> '{each}'" for each in ("columns", "others"))  # since its releases
    found = source.rows(f"SELECT oid, migration, last_attnum, {later} FROM {MARKS} m")
    return {
        int(oid): TableMark(of, int(attnum), _columns(columns), json.loads(others or "{}"))
        for oid, of, attnum, columns, others in found
    }


def _columns(text: str | None) -> Mapping[int, str] | None:
    return {int(at): str(each) for at, each in json.loads(text).items()} if text is not None else None


def write_marks(source: SourceQueries, marks: Mapping[int, TableMark]) -> None:
    """Write down where tables are now, where that is elsewhere."""
    known = read_marks(source)
    for oid, each in marks.items():
        if known.get(oid) != each:
            source.run(
                f"""INSERT INTO {MARKS} (oid, migration, last_attnum, columns, others) VALUES (%s, %s, %s, %s, %s)
                ON CONFLICT (oid) DO UPDATE SET migration = excluded.migration,
                  last_attnum = excluded.last_attnum, columns = excluded.columns, others = excluded.others""",
                *(oid, each.migration, each.last_attnum),
                json.dumps(dict(each.columns)) if each.columns is not None else None,
                json.dumps(dict(each.others)),
            )
