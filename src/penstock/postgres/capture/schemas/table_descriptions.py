"""How the catalog described the captured tables at places of the log.

In: a connection, messages of the event trigger, and looks at the catalog. Out: the description before a change, and the
one after it. Invariants: a description that counts as the one before a change was true at a place before it, and one
after it at a place after it; what is noted is kept in the source before the place in the log is confirmed, so that a
producer that begins again knows it; what was loaded of a table is of the capture of it that was loaded with it.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from penstock.postgres.capture.schemas.column_numbers import TableDescription
from penstock.postgres.catalog.catalog_reader import OWN_SCHEMA
from penstock.postgres.catalog.lsn import lsn_text, parse_lsn
from penstock.postgres.catalog.replicated_table import ReplicatedTable
from penstock.postgres.catalog.source_connection import SourceConnection, SourceQueries
from penstock.postgres.catalog.table_snapshot import IS_TABLE, SNAPSHOT, SOURCE, parse_table

EVENT_TRIGGERS = ("penstock_tables", "penstock_drops")
"""They write the description of a table into the log, in the transaction that changes it."""
TABLE = f"{OWN_SCHEMA}.table_descriptions"
DEFINITION = f"""
CREATE TABLE IF NOT EXISTS {TABLE} (
  capture text NOT NULL, oid int8 NOT NULL, begins pg_lsn NOT NULL, seen pg_lsn NOT NULL,
  is_followed boolean NOT NULL, document text NOT NULL, PRIMARY KEY (capture, oid, begins, seen),
  FOREIGN KEY (capture, oid) REFERENCES {OWN_SCHEMA}.captured_tables ON DELETE CASCADE);
"""
_FOLLOWED = """(SELECT count(*) = 2 FROM pg_catalog.pg_event_trigger
  WHERE evtname = ANY(%s) AND evtenabled IN ('O', 'A'))"""
_LOOK = f"""SELECT {SNAPSHOT}::text, pg_catalog.pg_current_wal_insert_lsn()::text, {_FOLLOWED}
  FROM {SOURCE} WHERE {IS_TABLE} AND c.oid = ANY(%s::oid[])"""
_NOTE = f"""INSERT INTO {TABLE} (capture, oid, begins, seen, is_followed, document)
  SELECT t.capture, t.oid, v.* FROM {OWN_SCHEMA}.captured_tables t,
    (VALUES (%s::pg_lsn, %s::pg_lsn, %s, %s)) AS v WHERE t.capture = %s AND t.oid = %s FOR KEY SHARE OF t
  ON CONFLICT DO NOTHING RETURNING 1"""
# In one statement: a table may be removed and added at any moment.
_LOAD = f"""SELECT t.oid, t.since - '0/0'::pg_lsn, v.document, v.begins::text, v.seen::text, v.is_followed
  FROM {OWN_SCHEMA}.captured_tables t LEFT JOIN {TABLE} v USING (capture, oid) WHERE t.capture = %s"""
_OLD = f"""DELETE FROM {TABLE} v USING pg_catalog.pg_replication_slots s, {OWN_SCHEMA}.captures c
  WHERE c.name = v.capture AND s.slot_name = c.slot AND v.capture = %s AND v.begins < (
    SELECT max(n.begins) FROM {TABLE} n WHERE n.capture = v.capture AND n.oid = v.oid AND n.seen <= s.restart_lsn)"""


class TableDescriptions:
    """The descriptions of the tables of one capture. Its methods raise Failed and Unavailable."""

    def __init__(self, connection: SourceConnection, capture: str):
        self._connection, self._capture = connection, capture
        self._descriptions: dict[int, list[TableDescription]] = {}
        self._since: dict[int, int | None] = {}
        """The LSN at which each table was captured of which something was loaded."""
        self._looked: dict[int, tuple[str, bool]] = {}
        """What was seen of each table when it was last looked at."""

    def load(self) -> None:
        """Read what is kept, and forget what no change can be from before of any more: Postgres sends none from before
        the slot's restart_lsn."""
        self._rows(f"{_OLD} RETURNING 1", self._capture)
        for oid, since, document, begins, seen, is_followed in self._rows(_LOAD, self._capture):
            self._since[oid] = None if since is None else int(since)
            if document is not None:
                self._take(TableDescription(_parsed(document), parse_lsn(begins), parse_lsn(seen), is_followed))

    def is_of_former(self, oid: int, since: int | None) -> bool:
        """Whether what was loaded of a table is from before it was removed, and added again at this LSN."""
        return oid in self._since and self._since[oid] != since

    def note_message(self, document: dict[str, Any], lsn: int) -> None:
        """The event trigger wrote at this LSN how it described a table. Raises ValueError, KeyError or TypeError for
        what is no description."""
        table = parse_table(document)
        # A trigger of an earlier release says less, and nothing of columns that went with their type.
        description = TableDescription(table, lsn, lsn, table.last_attnum > 0)
        known = self.before(table.oid, lsn)
        if known is None or not _same(known, description):
            self._note(description, json.dumps(document))

    def look(self, oids: Collection[int]) -> None:
        """Note how the catalog describes these tables now, where that is something else than before."""
        begins = parse_lsn(str(self._rows("SELECT pg_catalog.pg_current_wal_insert_lsn()::text")[0][0]))
        for document, seen, is_followed in self._rows(_LOOK, list(EVENT_TRIGGERS), list(oids)):
            table = _parsed(document)
            if self._looked.get(table.oid) != (document, is_followed):
                self._looked[table.oid] = document, is_followed
                description = TableDescription(table, begins, parse_lsn(seen), is_followed)
                known = self._descriptions.get(table.oid)
                if not known or not _same(known[-1], description):
                    self._note(description, document)

    def before(self, oid: int, lsn: int) -> TableDescription | None:
        """The last description from before a change."""
        found = [each for each in self._descriptions.get(oid, ()) if each.seen <= lsn]
        return found[-1] if found else None

    def after(self, oid: int, lsn: int) -> TableDescription | None:
        """The first description from after a change."""
        return next((each for each in self._descriptions.get(oid, ()) if each.begins > lsn), None)

    def first(self, oid: int) -> TableDescription | None:
        """The earliest description that is kept."""
        return next(iter(self._descriptions.get(oid, ())), None)

    def last(self, oid: int) -> TableDescription | None:
        """The latest description."""
        return next(reversed(self._descriptions.get(oid, [])), None)

    def _note(self, description: TableDescription, document: str) -> None:
        values = (lsn_text(description.begins), lsn_text(description.seen), description.is_followed, document)
        self._rows(_NOTE, *values, self._capture, description.table.oid)
        self._take(description)

    def _take(self, description: TableDescription) -> None:
        of = self._descriptions.setdefault(description.table.oid, [])
        of.append(description)
        of.sort(key=lambda each: (each.begins, each.seen))

    def _rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return SourceQueries(self._connection, "noted how the tables are described").rows(statement, *values)


def _parsed(document: str) -> ReplicatedTable:
    return parse_table(json.loads(document))


def _same(one: TableDescription, other: TableDescription) -> bool:
    """Whether two descriptions are the same in all that tells columns from each other."""
    return _essence(one) == _essence(other)


def _essence(of: TableDescription) -> tuple[object, ...]:
    table, marks = replace(of.table, relfilenode=0), [(each.attnum, each.mark) for each in of.table.columns]
    return table, marks, table.last_attnum, table.generated, of.is_followed
