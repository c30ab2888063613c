"""The journal of migrations, in the source's Postgres: every step of a deployment reaches it, from any machine.

In: a connection to the source. Out: records, positions of the log, a table's consumers. Invariants: a
record is committed before the next step begins; one process at a time works on migrations (an advisory lock of the
session, which ends with it).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from penstock.errors import Conflict
from penstock.postgres.application.consumer_records import ConsumerRecords
from penstock.postgres.application.phase_record import PhaseKey, PhaseRecord, parse_record
from penstock.postgres.application.table_consumers import TableConsumers
from penstock.postgres.application.table_marks import (
    DEFINITION,
    HAS_COLUMNS,
    SourceMemory,
    TableMark,
    read_marks,
    write_marks,
)
from penstock.postgres.catalog.catalog_reader import OWN_SCHEMA
from penstock.postgres.catalog.replicated_table import QualifiedName
from penstock.postgres.catalog.source_connection import SourceConnection, SourceQueries
from penstock.postgres.migration.operation import Phase

_DEFINITIONS = f"""
CREATE SCHEMA IF NOT EXISTS {OWN_SCHEMA};
CREATE TABLE IF NOT EXISTS {OWN_SCHEMA}.migration_phases (
  store text, migration text, phase text, record json NOT NULL, at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (store, migration, phase));
CREATE TABLE IF NOT EXISTS {OWN_SCHEMA}.migration_positions (
  migration text PRIMARY KEY, lsn pg_lsn NOT NULL, at timestamptz NOT NULL DEFAULT now());
"""
_EXISTS = f"SELECT to_regclass('{OWN_SCHEMA}.migration_phases') IS NOT NULL"
_END = "pg_catalog.pg_current_wal_insert_lsn()"
_LOCK = 7_202_611_260_018
"""The key of the advisory lock: any number that nobody else uses."""


class SourceJournal:
    """Records in the schema `penstock` of the source."""

    def __init__(self, connection: SourceConnection):
        self._source = SourceQueries(connection, "worked on its journal in the schema `penstock`")
        self._exists = bool(self._source.rows(_EXISTS)[0][0])

    def take_lock(self) -> None:
        """Be the one process that works on migrations, until the connection ends. Raises Conflict."""
        if not self._exists or not self._source.rows(HAS_COLUMNS)[0][0]:
            self._source.run(_DEFINITIONS + DEFINITION)
            self._exists = True
        ((taken,),) = self._source.rows("SELECT pg_try_advisory_lock(%s)", _LOCK)
        if not taken:
            hint = "wait for it to end; `penstock migrations status` shows how far it is"
            raise Conflict("another process is applying migrations", hint=hint)

    def load(self, key: PhaseKey) -> PhaseRecord | None:
        where = "WHERE store = %s AND migration = %s AND phase = %s"
        found = self._own(f"SELECT record::text FROM {OWN_SCHEMA}.migration_phases {where}", *_parts(key))
        return parse_record(key, json.loads(found[0][0])) if found else None

    def save(self, record: PhaseRecord) -> None:
        self._source.rows(
            f"""INSERT INTO {OWN_SCHEMA}.migration_phases (store, migration, phase, record) VALUES (%s, %s, %s, %s)
            ON CONFLICT (store, migration, phase) DO UPDATE SET record = excluded.record, at = now() RETURNING 1""",
            *_parts(record.key),
            json.dumps(record.as_json()),
        )

    def remove(self, key: PhaseKey) -> None:
        where = "WHERE store = %s AND migration = %s AND phase = %s"
        self._source.rows(f"DELETE FROM {OWN_SCHEMA}.migration_phases {where} RETURNING 1", *_parts(key))

    def records(self) -> Sequence[PhaseRecord]:
        found = self._own(f"SELECT store, migration, phase, record::text FROM {OWN_SCHEMA}.migration_phases")
        return [
            parse_record(PhaseKey(store, migration, Phase(phase)), json.loads(text))
            for store, migration, phase, text in found
        ]

    def position_of(self, migration: str) -> str:
        """The LSN by which Postgres had the migration: where the log was when that was first seen, with what is not
        written to the disk yet (`synchronous_commit = off`)."""
        ((lsn,),) = self._source.rows(
            f"""INSERT INTO {OWN_SCHEMA}.migration_positions (migration, lsn) VALUES (%s, {_END})
            ON CONFLICT (migration) DO UPDATE SET migration = excluded.migration RETURNING lsn::text""",
            migration,
        )
        return str(lsn)

    def has_position(self, migration: str) -> bool:
        """Whether it was seen that Postgres had the migration."""
        return bool(self._own(f"SELECT 1 FROM {OWN_SCHEMA}.migration_positions WHERE migration = %s", migration))

    def forget_positions(self, migrations: Collection[str]) -> None:
        """Postgres does not have these migrations (any more): once it has them again, it is by another LSN."""
        if self._exists:
            where = "WHERE migration = ANY(%s) RETURNING 1"
            self._source.rows(f"DELETE FROM {OWN_SCHEMA}.migration_positions {where}", [*migrations])

    def seconds_since(self, migration: str) -> float:
        """How long ago it was first seen that Postgres has the migration."""
        age = "extract(epoch FROM clock_timestamp() - at)::float8"
        found = self._own(f"SELECT {age} FROM {OWN_SCHEMA}.migration_positions WHERE migration = %s", migration)
        return float(found[0][0]) if found else 0.0

    def memory(self) -> SourceMemory:
        """What is known of the source from before."""
        seen = self._own(f"SELECT migration FROM {OWN_SCHEMA}.migration_positions")
        return SourceMemory(read_marks(self._source), frozenset(str(row[0]) for row in seen))

    def note_marks(self, marks: Mapping[int, TableMark]) -> None:
        """Tables are there now. The caller has the lock."""
        write_marks(self._source, marks)

    def end(self) -> str:
        """The LSN at the end of the log."""
        ((lsn,),) = self._source.rows(f"SELECT {_END}::text")
        return str(lsn)

    def consumers(self, table: int, lsn: str) -> TableConsumers:
        """The consumers of a table (by OID), as the captures of this source know them."""
        return ConsumerRecords(self._source.connection).of_table(table, lsn)

    def is_captured(self, names: Iterable[QualifiedName]) -> bool:
        """Whether a capture has a table of one of these names, which may be gone."""
        captured = f"{OWN_SCHEMA}.captured_tables"
        if not self._source.has_table(captured):
            return False
        found = self._source.rows(f"SELECT schema_name, table_name FROM {captured}")
        return not {QualifiedName(schema, name) for schema, name in found}.isdisjoint(names)

    def _own(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of the journal's own tables; none before these are made."""
        return self._source.rows(statement, *values) if self._exists else []


def _parts(key: PhaseKey) -> tuple[str, str, str]:
    return (key.store, key.migration, key.phase.value)
