"""The stops of consumers at changes of tables, in the source's Postgres: whoever carries rows sees them before each new
form of rows.

In: a connection to the source. Out: frozen stops. Invariant: a stop is written down before Postgres changes, and lifted
after its store has; whoever stands at it says so itself.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from penstock.postgres.application.change_stop import ChangeStop
from penstock.postgres.catalog.catalog_reader import OWN_SCHEMA
from penstock.postgres.catalog.lsn import lsn_text
from penstock.postgres.catalog.source_connection import SourceConnection, SourceQueries

_TABLE = f"{OWN_SCHEMA}.migration_stops"
_DEFINITION = f"""
CREATE SCHEMA IF NOT EXISTS {OWN_SCHEMA};
CREATE TABLE IF NOT EXISTS {_TABLE} (
  store text, migration text, before json NOT NULL, after json NOT NULL, is_sure boolean NOT NULL,
  is_done boolean NOT NULL DEFAULT false, reached text[] NOT NULL DEFAULT '{{}}', behind pg_lsn, since json,
  seen pg_lsn, announced pg_lsn, PRIMARY KEY (store, migration));
"""
_LATER = {"behind": "pg_lsn", "since": "json", "seen": "pg_lsn", "announced": "pg_lsn"}
"""The columns that a table of an earlier release lacks."""
_HAS_LATER = """SELECT count(*) FROM pg_catalog.pg_attribute
  WHERE attrelid = pg_catalog.to_regclass(%s) AND attname = ANY(%s)"""
_PLACES = ", ".join(
    [f"(pg_catalog.to_jsonb(s) ->> '{each}')::pg_lsn - '0/0'::pg_lsn" for each in ("behind", "seen", "announced")]
    + ["coalesce(pg_catalog.to_jsonb(s) ->> 'since', '{}')"]
)
_NOW = "SELECT pg_catalog.pg_current_wal_insert_lsn() - '0/0'::pg_lsn"
_CAPTURED = f"{OWN_SCHEMA}.captured_tables"
_LOST = f"{OWN_SCHEMA}.lost_values"
UNREAD = "unread"
"""Why stores have other values: these rows are not read again."""


class StopRecords:
    """The stops of one source. Its methods raise Failed and Unavailable."""

    def __init__(self, connection: SourceConnection):
        self._source = SourceQueries(connection, "worked on the stops in the schema `penstock`")

    def make(self) -> None:
        """Make the table, or what of it is not there."""
        if not self._source.has_table(_TABLE):
            self._source.run(_DEFINITION)
        elif self._source.rows(_HAS_LATER, _TABLE, [*_LATER])[0][0] < len(_LATER):
            added = ", ".join(f"ADD COLUMN IF NOT EXISTS {each} {of}" for each, of in _LATER.items())
            self._source.run(f"ALTER TABLE {_TABLE} {added}")

    def of_stores(self, names: Collection[str]) -> list[ChangeStop]:
        """The stops of these stores, in the order of their migrations."""
        if not self._source.has_table(_TABLE):
            return []
        found = self._source.rows(
            f"""SELECT store, migration, before::text, after::text, is_sure, is_done, reached, {_PLACES} FROM {_TABLE} s
            WHERE store = ANY(%s) ORDER BY migration, store""",
            [*names],
        )
        return [_stop(row) for row in found]

    def stores(self) -> list[str]:
        """The stores that have stops."""
        if not self._source.has_table(_TABLE):
            return []
        return [str(row[0]) for row in self._source.rows(f"SELECT DISTINCT store FROM {_TABLE}")]

    def reached(self) -> list[ChangeStop]:
        """The stops at which consumers stand now."""
        return [each for each in self.of_stores(self.stores()) if each.reached and not each.is_done]

    def announce(self, stop: ChangeStop) -> None:
        """Write a stop down, or the forms that it has now, before Postgres has its change: rows of a new form that are
        committed by now are from before it."""
        now = int(self._source.rows(_NOW)[0][0])
        self._write(replace(stop, announced=now, since={each: stop.since.get(each, now) for each in stop.after}))

    def note_forms(self, stop: ChangeStop) -> None:
        """Write a stop down, or the forms that it has now, whose change Postgres may have."""
        # A release of before has not written down when it announced a stop, only the places of its forms.
        last = max([*stop.since.values(), *([] if stop.announced is None else [stop.announced])], default=None)
        found = {each: stop.since.get(each, last) for each in stop.after}
        self._write(replace(stop, since={each: at for each, at in found.items() if at is not None}))

    def _write(self, stop: ChangeStop) -> None:
        forms, since = (_forms(stop.before), _forms(stop.after), stop.is_sure), json.dumps(dict(stop.since))
        announced = lsn_text(stop.announced) if stop.announced is not None else None
        self._source.run(
            f"""INSERT INTO {_TABLE} (store, migration, before, after, is_sure, since, announced)
            VALUES (%s, %s, %s, %s, %s, %s, %s::pg_lsn)
            ON CONFLICT (store, migration) DO UPDATE SET before = excluded.before, after = excluded.after,
              is_sure = excluded.is_sure, since = excluded.since, announced = excluded.announced""",
            *(stop.store, stop.migration, *forms, since, announced),
        )

    def lift(self, store: str, migration: str, lsn: str | None) -> None:
        """The store has carried the change out: rows go on. Postgres was seen to have it at an LSN, if one is known."""
        assigned = "is_done = true, seen = least(seen, %s::pg_lsn)"
        self._source.run(f"UPDATE {_TABLE} SET {assigned} WHERE store = %s AND migration = %s", lsn, store, migration)

    def doubt(self, store: str, migration: str) -> None:
        """Rows on the wrong side of the change may be in the store: once it is carried out the table is read again."""
        self._source.run(
            f"UPDATE {_TABLE} SET is_sure = false WHERE store = %s AND migration = %s AND is_sure", store, migration
        )

    def forget(self, store: str, migration: str) -> None:
        """The migration was taken back in a store."""
        self._source.run(f"DELETE FROM {_TABLE} WHERE store = %s AND migration = %s", store, migration)

    def reach(self, stop: ChangeStop, consumer: str, lsn: str) -> None:
        """A consumer (CAPTURE/CONSUMER) stands at a stop, before rows from this LSN on."""
        added = "CASE WHEN %s = ANY(reached) THEN reached ELSE pg_catalog.array_append(reached, %s) END"
        self._source.run(
            f"""UPDATE {_TABLE} SET reached = {added}, behind = least(behind, %s::pg_lsn)
            WHERE store = %s AND migration = %s AND (NOT %s = ANY(reached) OR behind > %s::pg_lsn)""",
            *(consumer, consumer, lsn, stop.store, stop.migration, consumer, lsn),
        )

    def leave(self, consumer: str) -> None:
        """A consumer (CAPTURE/CONSUMER) stands nowhere any more."""
        if self._source.has_table(_TABLE):
            removed = "reached = pg_catalog.array_remove(reached, %s)"
            self._source.run(f"UPDATE {_TABLE} SET {removed} WHERE %s = ANY(reached)", consumer, consumer)

    def standing(self, migrations: Collection[str]) -> frozenset[str]:
        """The consumers that stand at one of these migrations, before any store."""
        if not self._source.has_table(_TABLE):
            return frozenset()
        found = self._source.rows(f"SELECT unnest(reached) FROM {_TABLE} WHERE migration = ANY(%s)", [*migrations])
        return frozenset(str(row[0]) for row in found)

    def read_again(self, table: int) -> None:
        """Let the captures of a table (by OID) read its rows again."""
        if self._source.has_table(_CAPTURED):
            assigned = "read_version = NULL, read_done = false"
            self._source.run(f"UPDATE {_CAPTURED} SET {assigned} WHERE oid = %s AND NOT insert_only", table)

    def note_unread(self, table: int, columns: Collection[str]) -> None:
        """The rows that a table (by OID) had have other values in these columns than stores: of captures that do not
        read it again that is written down, once."""
        if self._source.has_table(_LOST):
            for each in columns:
                self._source.run(
                    f"""INSERT INTO {_LOST} (capture, oid, column_name, reason, rows, upto)
                    SELECT capture, oid, %s, '{UNREAD}', 0, '{{}}' FROM {_CAPTURED} WHERE oid = %s AND insert_only
                    ON CONFLICT DO NOTHING""",
                    *(each, table),
                )

    def has_inserts_only(self, table: int) -> bool:
        """Whether a capture takes only the inserted rows of a table (by OID), which cannot be read again."""
        where = "WHERE oid = %s AND insert_only"
        return self._source.has_table(_CAPTURED) and bool(
            self._source.rows(f"SELECT 1 FROM {_CAPTURED} {where}", table)
        )


def _forms(forms: Collection[str]) -> str:
    return json.dumps(sorted(forms))


def _stop(row: tuple[Any, ...]) -> ChangeStop:
    store, migration, before, after, is_sure, is_done, reached, *places, since = row
    forms = frozenset(json.loads(before)), frozenset(json.loads(after))
    behind, seen, announced = (None if each is None else int(each) for each in places)
    found = ChangeStop(store, migration, *forms, is_sure, is_done, frozenset(reached))
    return replace(found, behind=behind, seen=seen, announced=announced, since=json.loads(since))
