"""What a capture keeps in the source's Postgres, in the schema `penstock`: which tables it has, how far reading them
has come, what stops one, and which LSN each consumer has acknowledged.

In: a connection of `open_source`. Out: frozen records. Invariant: positions of rows are not here but in the stores;
what is here is either repeated after a kill without harm, or written before what it announces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import Conflict, NotFound, did_you_mean
from penstock.model.cursor import Position
from penstock.postgres.application import delivery_records
from penstock.postgres.capture.lost_values import note_lost
from penstock.postgres.capture.unchanged_values import Reason
from penstock.postgres.catalog.catalog_reader import OWN_SCHEMA
from penstock.postgres.catalog.lsn import lsn_text
from penstock.postgres.catalog.replicated_table import QualifiedName
from penstock.postgres.catalog.source_connection import SourceConnection, SourceQueries

DEFINITIONS = f"""
CREATE SCHEMA IF NOT EXISTS {OWN_SCHEMA};
CREATE TABLE IF NOT EXISTS {OWN_SCHEMA}.captures (
  name text PRIMARY KEY, id text NOT NULL, slot text NOT NULL, publication text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(), setup_version int4 NOT NULL DEFAULT 0);
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_attribute
    WHERE attrelid = '{OWN_SCHEMA}.captures'::regclass AND attname = 'setup_version') THEN
    ALTER TABLE {OWN_SCHEMA}.captures ADD COLUMN setup_version int4 NOT NULL DEFAULT 0;
  END IF;
END $$;
CREATE TABLE IF NOT EXISTS {OWN_SCHEMA}.captured_tables (
  capture text NOT NULL REFERENCES {OWN_SCHEMA}.captures ON DELETE CASCADE, oid int8 NOT NULL,
  schema_name text NOT NULL, table_name text NOT NULL, store text NOT NULL, insert_only boolean NOT NULL,
  files text NOT NULL, problem text, problem_code text, problem_since timestamptz, problem_lsn pg_lsn,
  set_aside int8 NOT NULL DEFAULT 0, read_version pg_lsn, read_wait xid8, read_part int4 NOT NULL DEFAULT 0,
  read_from text[], read_upto text[], read_rows int8 NOT NULL DEFAULT 0, read_done boolean NOT NULL DEFAULT false,
  since pg_lsn, PRIMARY KEY (capture, oid), UNIQUE (capture, store));
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_attribute
    WHERE attrelid = '{OWN_SCHEMA}.captured_tables'::regclass AND attname = 'since') THEN
    ALTER TABLE {OWN_SCHEMA}.captured_tables ADD COLUMN since pg_lsn;
  END IF;
END $$;
CREATE TABLE IF NOT EXISTS {OWN_SCHEMA}.acknowledged (
  capture text NOT NULL REFERENCES {OWN_SCHEMA}.captures ON DELETE CASCADE, consumer text NOT NULL,
  store text NOT NULL, lsn pg_lsn NOT NULL, at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (capture, consumer, store));
"""
_PROGRESS = ("acknowledged", "published", *delivery_records.TABLES)
"""The tables that say how far each captured table is."""
# Captures of before have no column `setup_version`.
_CAPTURES = f"""SELECT name, id, slot, publication,
  coalesce((pg_catalog.to_jsonb(c) ->> 'setup_version')::int4, 0) FROM {OWN_SCHEMA}.captures c"""
_ATTRIBUTES = """WITH RECURSIVE types (oid) AS (
  SELECT a.atttypid FROM pg_catalog.pg_attribute a
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.atttypid >= 16384  -- made by somebody
  UNION SELECT i.oid FROM types o CROSS JOIN LATERAL (
    SELECT * FROM pg_catalog.pg_type y WHERE y.oid = o.oid OFFSET 0) t CROSS JOIN LATERAL (
    SELECT t.typelem WHERE t.typcategory = 'A' UNION ALL SELECT t.typbasetype WHERE t.typtype = 'd'
    UNION ALL SELECT b.atttypid FROM pg_catalog.pg_attribute b
      WHERE t.typtype = 'c' AND b.attrelid = t.typrelid AND b.attnum > 0 AND NOT b.attisdropped
        AND b.atttypid >= 16384) i (oid))
  SELECT ' ' || md5(string_agg(concat_ws(' ', b.attrelid, b.attnum, b.attisdropped), ',' ORDER BY b.attrelid, b.attnum))
  FROM types o CROSS JOIN LATERAL (
    SELECT * FROM pg_catalog.pg_type y WHERE y.oid = o.oid AND y.typtype = 'c' OFFSET 0) t CROSS JOIN LATERAL (
    SELECT * FROM pg_catalog.pg_attribute d WHERE d.attrelid = t.typrelid AND d.attnum > 0 OFFSET 0) b"""
# OFFSET 0: each type is looked up by its OID. Postgres expects hundreds, and would read the catalog for each table.
FILES = f"""(coalesce((
    SELECT string_agg(p.relid::oid::text || ':' || pg_catalog.pg_relation_filenode(p.relid)::text, ','
      ORDER BY p.relid::oid) FROM pg_catalog.pg_partition_tree(c.oid) p WHERE p.isleaf), c.relfilenode::text)
  || coalesce(({_ATTRIBUTES}), ''))"""
"""SQL of the files of a table, whose row of pg_class is `c`: others mean that Postgres wrote all rows anew. Behind them
are the attributes of its composite types: with others every row has another text, though Postgres writes none."""


@dataclass(frozen=True, slots=True)
class CaptureRecord:
    """A capture: one slot, one publication."""

    name: str
    id: str
    """Made with the slot: positions in the stores belong to it."""
    slot: str
    publication: str
    setup_version: int
    """Of what was set up for it (`installation`)."""

    @property
    def publications(self) -> tuple[str, str]:
        """That of tables with a key, and that of tables of which only inserted rows are taken."""
        return self.publication, f"{self.publication}_inserts"

    @property
    def source(self) -> str:
        """What the stores know its rows by."""
        return f"{self.name}/{self.id}"

    @property
    def read_source(self) -> str:
        """What the stores know the rows by that were read from its tables."""
        return f"{self.source}/read"


@dataclass(frozen=True, slots=True)
class ReadProgress:
    """How far reading a table has come."""

    version: int | None
    """The LSN that rows get as their version; None: it has not begun."""
    wait: int | None
    """Rows are read once all transactions before this one are over."""
    part: int
    """The part that is under way or was the last."""
    after: tuple[str, ...] | None
    """The key behind which it goes on; None: at the beginning."""
    upto: tuple[str, ...] | None
    """The last key of the part that is under way."""
    rows: int
    done: bool


@dataclass(frozen=True, slots=True)
class CapturedTable:
    """A table of a capture."""

    oid: int
    name: QualifiedName
    store: str
    insert_only: bool
    files: str
    files_now: str | None
    """None: the table is gone."""
    name_now: QualifiedName
    """What it is called by now; if it is gone, what it was called."""
    problem: str | None
    set_aside: int
    read: ReadProgress
    since: int | None
    """The LSN at which it was captured, last; None: before that was noted."""

    def is_before(self, lsn: int) -> bool:
        """Whether a change at an LSN is from before it was captured: reading it brings what the change made."""
        return self.since is not None and lsn < self.since and not self.insert_only


class CaptureRecords:
    """The records of one capture. Its methods raise Failed and Unavailable."""

    def __init__(self, connection: SourceConnection, name: str):
        self._source = SourceQueries(connection, "worked on its records in the source")
        self._name = name

    def capture(self) -> CaptureRecord:
        """Raises NotFound before `cdc setup`."""
        known = self._source.rows("SELECT to_regclass(%s)", f"{OWN_SCHEMA}.captures")
        names: list[str] = []
        if known[0][0] is not None:
            for row in self._source.rows(_CAPTURES):
                if row[0] == self._name:
                    return CaptureRecord(*row)
                names.append(row[0])
        hint = did_you_mean(self._name, names) or "`penstock cdc setup` makes it"
        raise NotFound(f"this Postgres has no capture `{self._name}`", hint=hint)

    def begin(self, slot: str, publication: str, id: str) -> None:
        """A capture is made, or made anew with a new slot: its tables are read again."""
        self._source.run(
            f"""INSERT INTO {OWN_SCHEMA}.captures (name, id, slot, publication) VALUES (%s, %s, %s, %s)
            ON CONFLICT (name) DO UPDATE SET id = excluded.id, created_at = now()""",
            *(self._name, id, slot, publication),
        )
        again = """read_version = NULL, read_done = insert_only, since = pg_catalog.pg_current_wal_insert_lsn(),
          problem = NULL, problem_code = NULL, problem_since = NULL"""
        self._source.run(f"UPDATE {OWN_SCHEMA}.captured_tables SET {again} WHERE capture = %s", self._name)
        for each in _PROGRESS:
            self._source.run(f"DELETE FROM {OWN_SCHEMA}.{each} WHERE capture = %s", self._name)

    def note_setup(self, version: int) -> None:
        """All that a version of setup makes is there."""
        self._source.run(f"UPDATE {OWN_SCHEMA}.captures SET setup_version = %s WHERE name = %s", version, self._name)

    def end(self) -> None:
        """Forget the capture."""
        self._source.run(f"DELETE FROM {OWN_SCHEMA}.captures WHERE name = %s", self._name)

    def tables(self) -> tuple[CapturedTable, ...]:
        """Its tables by name, with the files that they have now."""
        found = self._source.rows(
            f"""SELECT t.oid, t.schema_name, t.table_name, t.store, t.insert_only, t.files, {FILES},
              coalesce(n.nspname, t.schema_name), coalesce(c.relname, t.table_name), t.problem,
              t.set_aside, t.read_version - '0/0'::pg_lsn, t.read_wait::text, t.read_part, t.read_from, t.read_upto,
              t.read_rows, t.read_done,
              (pg_catalog.to_jsonb(t) ->> 'since')::pg_lsn - '0/0'::pg_lsn
            FROM {OWN_SCHEMA}.captured_tables t LEFT JOIN pg_catalog.pg_class c ON c.oid = t.oid::oid
              LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE t.capture = %s ORDER BY 2, 3""",
            self._name,
        )
        return tuple(map(_captured_table, found))

    def add_table(self, name: QualifiedName, store: str, insert_only: bool) -> int:  # noqa: FBT001
        """Returns the OID of the table. Raises NotFound if it is gone, Conflict if another table has the name in the
        stores."""
        taken = [
            row[0]
            for row in self._source.rows(
                f"SELECT store FROM {OWN_SCHEMA}.captured_tables WHERE capture = %s AND store = %s", self._name, store
            )
        ]
        if taken:
            raise Conflict(
                f"`{store}` has the rows of another table already", hint="give this one another name: schema.table=NAME"
            )
        added = self._source.rows(
            f"""INSERT INTO {OWN_SCHEMA}.captured_tables
              (capture, oid, schema_name, table_name, store, insert_only, files, read_done, since)
            SELECT %s, c.oid, n.nspname, c.relname, %s, %s, {FILES}, %s, pg_catalog.pg_current_wal_insert_lsn()
            FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = %s AND c.relname = %s RETURNING oid""",
            *(self._name, store, insert_only, insert_only, name.schema, name.name),
        )
        if not added:
            raise NotFound(f"the table {name} is gone")
        return int(added[0][0])

    def remove_table(self, oid: int) -> None:
        """Forget a table, how far it was sent and who has acknowledged it."""
        this = f"(SELECT store FROM {OWN_SCHEMA}.captured_tables WHERE capture = %s AND oid = %s)"
        for each in _PROGRESS:
            statement = f"DELETE FROM {OWN_SCHEMA}.{each} WHERE capture = %s AND store IN {this}"
            self._source.run(statement, self._name, self._name, oid)
        self._source.run(f"DELETE FROM {OWN_SCHEMA}.captured_tables WHERE capture = %s AND oid = %s", self._name, oid)

    def begin_read(self, table: CapturedTable) -> None:
        """Read a table from its beginning, as it is now. All changes before its version are over once no transaction
        of now is under way: the place in the log is taken first, and which transactions there are after it."""
        self._set(table, "read_version = pg_catalog.pg_current_wal_insert_lsn(), read_wait = NULL, read_done = false")
        self._set(table, "read_from = NULL, read_upto = NULL, read_rows = 0, read_part = 0")
        self._set(table, "read_wait = pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())")

    def note_files(self, table: CapturedTable) -> None:
        """Rows are in other files: they are to be read again."""
        self._set(table, "files = %s, read_version = NULL, read_done = false", table.files_now)

    def read_later(self, table: CapturedTable, lsn: int) -> None:
        """Read a table again unless it is, or was, read at a version above this LSN."""
        this = "WHERE capture = %s AND oid = %s AND read_version <= %s::pg_lsn AND NOT insert_only"
        statement = f"UPDATE {OWN_SCHEMA}.captured_tables SET read_version = NULL, read_done = false {this}"
        self._source.run(statement, self._name, table.oid, lsn_text(lsn))

    def read_again(self, store: str) -> None:
        """Read a table again, by its name in the stores."""
        this = "WHERE capture = %s AND store = %s AND NOT insert_only"
        statement = f"UPDATE {OWN_SCHEMA}.captured_tables SET read_version = NULL, read_done = false {this}"
        self._source.run(statement, self._name, store)

    def note_lost(self, table: CapturedTable, upto: Position, rows: Mapping[tuple[str, Reason], int]) -> None:
        """So many rows of a table are without a value of which column."""
        note_lost(self._source.connection, (self._name, table.oid), upto, rows)

    def is_over(self, transaction: int) -> bool:
        """Whether all transactions before this one are over."""
        statement = "SELECT pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())::text"
        return int(self._source.rows(statement)[0][0]) >= transaction

    def intend_part(self, table: CapturedTable, part: int, upto: Sequence[str]) -> None:
        """Before a part is delivered: its last key, so that a restart reads the same rows."""
        self._set_read(table, "read_part = %s, read_upto = %s", part, list(upto))

    def finish_part(self, table: CapturedTable, rows: int) -> None:
        """The part is delivered."""
        self._set_read(table, "read_from = read_upto, read_upto = NULL, read_rows = read_rows + %s", rows)

    def finish_read(self, table: CapturedTable) -> None:
        self._set_read(table, "read_done = true")

    def note_problem(self, table: CapturedTable, code: str | None, problem: str | None, lsn: int = 0) -> None:
        """What stops a table, at which LSN; None: nothing does."""
        since = "coalesce(problem_since, now())" if problem else "NULL"
        assigned = f"problem = %s, problem_code = %s, problem_lsn = %s::pg_lsn, problem_since = {since}"
        self._set(table, assigned, problem, code, lsn_text(lsn) if problem else None)

    def note_set_aside(self, table: CapturedTable, rows: int) -> None:
        """So many more rows were set aside by the store."""
        self._set(table, "set_aside = set_aside + %s", rows)

    def acknowledge(self, consumer: str, store: str, lsn: int) -> None:
        """All changes of a table up to this LSN are in the consumer's store."""
        self._source.run(
            f"""INSERT INTO {OWN_SCHEMA}.acknowledged (capture, consumer, store, lsn) VALUES (%s, %s, %s, %s::pg_lsn)
            ON CONFLICT (capture, consumer, store) DO UPDATE SET lsn = excluded.lsn, at = now()
            WHERE acknowledged.lsn < excluded.lsn""",
            *(self._name, consumer, store, lsn_text(lsn)),
        )

    def _set(self, table: CapturedTable, assigned: str, *values: object) -> None:
        this = "WHERE capture = %s AND oid = %s"
        self._source.run(f"UPDATE {OWN_SCHEMA}.captured_tables SET {assigned} {this}", *values, self._name, table.oid)

    def _set_read(self, table: CapturedTable, assigned: str, *values: object) -> None:
        """Unless somebody has wanted meanwhile that the table is read again: that reading begins anew."""
        this = "WHERE capture = %s AND oid = %s AND read_version = %s::pg_lsn"
        version = lsn_text(table.read.version or 0)
        self._source.run(
            f"UPDATE {OWN_SCHEMA}.captured_tables SET {assigned} {this}", *values, self._name, table.oid, version
        )


def _captured_table(row: tuple[Any, ...]) -> CapturedTable:
    oid, schema, name, store, insert_only, files, files_now, *rest = row
    schema_now, name_now, problem, aside, version, wait, part, after, upto, rows, done, since = rest
    read = ReadProgress(
        int(version) if version is not None else None,
        int(wait) if wait is not None else None,
        part,
        tuple(after) if after is not None else None,
        tuple(upto) if upto is not None else None,
        rows,
        done,
    )
    name, now = QualifiedName(schema, name), QualifiedName(schema_now, name_now)
    place = int(since) if since is not None else None
    return CapturedTable(oid, name, store, insert_only, files, files_now, now, problem, aside, read, place)
