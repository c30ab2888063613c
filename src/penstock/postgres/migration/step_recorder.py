"""Records every form that a table has while a command runs, by an event trigger in the database.

In: a connection to a development database, of a user who may make event triggers. Out: the forms of each table, in
order. Invariants: what a transaction did that was rolled back is not recorded; trigger and records are gone when the
block ends.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TypeAlias, cast

from penstock.errors import Forbidden, PenstockError
from penstock.postgres.catalog.replicated_table import ReplicatedTable
from penstock.postgres.catalog.source_connection import SPELLING, SourceConnection, source_errors
from penstock.postgres.catalog.table_snapshot import IS_TABLE, SNAPSHOT, SOURCE, parse_table

Forms: TypeAlias = "Mapping[int, Sequence[ReplicatedTable]]"
_SCHEMA = "penstock_observation"
_SETTINGS = " ".join(f"SET {name} = {value}" for name, value in SPELLING.items())
_SETUP = f"""
DROP SCHEMA IF EXISTS {_SCHEMA} CASCADE;
CREATE SCHEMA {_SCHEMA};
GRANT USAGE ON SCHEMA {_SCHEMA} TO PUBLIC;
CREATE TABLE {_SCHEMA}.forms (id bigserial PRIMARY KEY, form json NOT NULL);
CREATE FUNCTION {_SCHEMA}.record() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER {_SETTINGS} AS $f$
BEGIN
  INSERT INTO {_SCHEMA}.forms (form)
  SELECT {SNAPSHOT} FROM {SOURCE} WHERE {IS_TABLE} AND n.nspname <> '{_SCHEMA}' AND EXISTS (
    SELECT 1 FROM pg_catalog.pg_event_trigger_ddl_commands() AS done WHERE
      (done.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND done.objid = c.oid)
      OR (done.classid = 'pg_catalog.pg_type'::pg_catalog.regclass AND EXISTS (
        SELECT 1 FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.atttypid = done.objid)));
END $f$;
CREATE EVENT TRIGGER {_SCHEMA} ON ddl_command_end EXECUTE FUNCTION {_SCHEMA}.record();
"""
_TEARDOWN = f"DROP EVENT TRIGGER IF EXISTS {_SCHEMA}; DROP SCHEMA IF EXISTS {_SCHEMA} CASCADE"


class StepRecorder:
    """The records of one command; `works` is False where the database does not let the user make event triggers."""

    def __init__(self, connection: SourceConnection, *, works: bool):
        self._connection = connection
        self.works = works

    def forms(self) -> Forms:
        """The forms of each table, by OID, in the order of time. Raises Failed, Unavailable."""
        found: dict[int, list[ReplicatedTable]] = defaultdict(list)
        if not self.works:
            return found
        cursor = self._connection.cursor()
        with source_errors("read what the event trigger recorded"):
            cursor.execute(f"SELECT form::text FROM {_SCHEMA}.forms ORDER BY id")
            rows = cursor.fetchall()
        for row in rows:
            form = parse_table(json.loads(cast(str, row[0])))
            found[form.oid].append(form)
        return found


@contextmanager
def record_steps(connection: SourceConnection) -> Iterator[StepRecorder]:
    """A block in which the steps of commands are recorded, if the user of the connection may make event triggers."""
    works = True
    try:
        with source_errors("made the event trigger"):
            connection.cursor().execute(_SETUP)
    except Forbidden:
        works = False
    try:
        yield StepRecorder(connection, works=works)
    finally:
        if works:
            with suppress(PenstockError), source_errors("removed the event trigger"):
                connection.cursor().execute(_TEARDOWN)
