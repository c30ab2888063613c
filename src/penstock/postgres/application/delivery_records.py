"""How far the rows of a capture were sent and stored, in the source's Postgres: what makes a hole between a producer
and a store visible, whichever broker the rows went through.

In: a connection to the source, and a capture. Out: positions as frozen records. Invariants: what was sent is written
down before the slot forgets it, so that what comes next can say behind which rows it is, also where the destination is
another one or was emptied; it never goes back, unless the table is captured anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from penstock.model.cursor import Position
from penstock.postgres.catalog.catalog_reader import OWN_SCHEMA
from penstock.postgres.catalog.source_connection import SourceConnection, SourceQueries

DEFINITION = f"""
CREATE TABLE IF NOT EXISTS {OWN_SCHEMA}.delivered (
  capture text NOT NULL REFERENCES {OWN_SCHEMA}.captures ON DELETE CASCADE, store text NOT NULL,
  source text NOT NULL, upto numeric[], PRIMARY KEY (capture, store, source));
CREATE TABLE IF NOT EXISTS {OWN_SCHEMA}.passed (
  capture text NOT NULL REFERENCES {OWN_SCHEMA}.captures ON DELETE CASCADE, consumer text NOT NULL,
  store text NOT NULL, source text NOT NULL, upto numeric[] NOT NULL, PRIMARY KEY (capture, consumer, store, source));
CREATE TABLE IF NOT EXISTS {OWN_SCHEMA}.consumer_stops (
  capture text NOT NULL REFERENCES {OWN_SCHEMA}.captures ON DELETE CASCADE, consumer text NOT NULL,
  store text NOT NULL, code text NOT NULL, problem text NOT NULL, at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (capture, consumer, store));
DO $do$ BEGIN
  IF EXISTS (SELECT FROM pg_catalog.pg_attribute WHERE attrelid = '{OWN_SCHEMA}.delivered'::pg_catalog.regclass
      AND attname = 'rows_upto' AND NOT attisdropped) THEN
    UPDATE {OWN_SCHEMA}.delivered SET upto = rows_upto;  -- behind a TRUNCATE of before no store's position is
    ALTER TABLE {OWN_SCHEMA}.delivered DROP COLUMN rows_upto;
  END IF;
END $do$;
"""
TABLES = ("delivered", "passed", "consumer_stops")
SourceKey: TypeAlias = "tuple[str, str]"
"""The name of a table in the stores, and a source of its rows."""


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """How far a table is in a broker."""

    lsn: int
    """All its changes up to this LSN are there."""
    sent: Mapping[str, Position | None]
    """By source, how far it was sent by then, or a little later: a store that has these has all of them."""


@dataclass(frozen=True, slots=True)
class CaptureBeginning:
    """Where a table was captured, or captured anew."""

    lsn: int | None
    """None: before that was noted."""
    is_read: bool
    """Whether the rows that it had then are read, so that changes of before are not needed."""


@dataclass(frozen=True, slots=True)
class ConsumerStop:
    """A table that a consumer does not take further."""

    consumer: str
    store: str
    code: str
    problem: str


class DeliveryRecords:
    """The deliveries of one capture. Its methods raise Failed and Unavailable."""

    def __init__(self, connection: SourceConnection, capture: str):
        self._source = SourceQueries(connection, "worked on what was delivered, in the schema `penstock`")
        self._capture = capture

    def sent(self, store: str) -> dict[str, Position | None]:
        """By source, how far a table was sent; None: nothing was."""
        statement = f"SELECT source, upto FROM {OWN_SCHEMA}.delivered WHERE capture = %s AND store = %s"
        return {source: _position(upto) for source, upto in self._source.rows(statement, self._capture, store)}

    def note_sent(self, sent: Iterable[tuple[SourceKey, Position | None]]) -> None:
        """So far tables were sent by now."""
        rows = [(self._capture, *key, _array(upto)) for key, upto in sent]
        places = ", ".join(["(%s, %s, %s, %s::numeric[])"] * len(rows))
        self._source.run(
            f"""INSERT INTO {OWN_SCHEMA}.delivered AS d (capture, store, source, upto) VALUES {places}
            ON CONFLICT (capture, store, source) DO UPDATE SET upto = greatest(d.upto, excluded.upto)""",
            *(value for row in rows for value in row),
        )

    def published(self, broker: str) -> dict[str, PublishedTable]:
        """How far each table is in a broker, by its name in the stores. Of what was sent before a table was captured
        anew nothing has to be stored."""
        found = self._source.rows(
            f"""SELECT p.store, p.lsn - '0/0'::pg_lsn,
              CASE WHEN NOT t.insert_only THEN t.since - '0/0'::pg_lsn END, d.source, d.upto
            FROM {OWN_SCHEMA}.published p
              JOIN {OWN_SCHEMA}.captured_tables t ON t.capture = p.capture AND t.store = p.store
              JOIN {OWN_SCHEMA}.delivered d ON d.capture = p.capture AND d.store = p.store
            WHERE p.capture = %s AND p.broker = %s""",
            self._capture,
            broker,
        )
        tables: dict[str, PublishedTable] = {}
        for store, lsn, since, source, upto in found:
            known = tables.setdefault(store, PublishedTable(int(lsn), {}))
            tables[store] = PublishedTable(known.lsn, {**known.sent, source: _behind(_position(upto), since)})
        return tables

    def beginning(self, store: str) -> CaptureBeginning | None:
        """Where a table was captured, last; None: it is captured no more."""
        statement = f"""SELECT since - '0/0'::pg_lsn, NOT insert_only FROM {OWN_SCHEMA}.captured_tables
          WHERE capture = %s AND store = %s"""
        found = self._source.rows(statement, self._capture, store)
        return next((CaptureBeginning(None if lsn is None else int(lsn), is_read) for lsn, is_read in found), None)

    def passed(self, consumer: str) -> dict[SourceKey, Position]:
        """Up to where a consumer has passed over messages, which moved no position of its store."""
        statement = f"SELECT store, source, upto FROM {OWN_SCHEMA}.passed WHERE capture = %s AND consumer = %s"
        found = self._source.rows(statement, self._capture, consumer)
        return {(store, source): tuple(map(int, upto)) for store, source, upto in found}

    def note_passed(self, consumer: str, key: SourceKey, upto: Position) -> None:
        """A consumer has passed over messages up to a position."""
        self._source.run(
            f"""INSERT INTO {OWN_SCHEMA}.passed AS p (capture, consumer, store, source, upto)
            VALUES (%s, %s, %s, %s, %s::numeric[]) ON CONFLICT (capture, consumer, store, source) DO UPDATE
            SET upto = greatest(p.upto, excluded.upto)""",
            *(self._capture, consumer, *key, _array(upto)),
        )

    def note_stop(self, stop: ConsumerStop) -> None:
        """A consumer does not take a table further."""
        self._source.run(
            f"""INSERT INTO {OWN_SCHEMA}.consumer_stops (capture, consumer, store, code, problem)
            VALUES (%s, %s, %s, %s, %s) ON CONFLICT (capture, consumer, store) DO UPDATE
            SET code = excluded.code, problem = excluded.problem""",
            *(self._capture, stop.consumer, stop.store, stop.code, stop.problem),
        )

    def note_going_on(self, consumer: str, store: str | None = None) -> None:
        """A consumer takes a table, or all of them, further."""
        statement = f"""DELETE FROM {OWN_SCHEMA}.consumer_stops
          WHERE capture = %s AND consumer = %s AND coalesce(store = %s, true)"""
        self._source.run(statement, self._capture, consumer, store)

    def stops(self) -> list[ConsumerStop]:
        """The tables that consumers do not take further; none before setup has made the table."""
        if not self._source.has_table(f"{OWN_SCHEMA}.consumer_stops"):
            return []
        statement = f"""SELECT consumer, store, code, problem FROM {OWN_SCHEMA}.consumer_stops
          WHERE capture = %s ORDER BY 1, 2"""
        return [ConsumerStop(*row) for row in self._source.rows(statement, self._capture)]

    def forget_consumer(self, consumer: str) -> None:
        """A consumer is gone for good."""
        for table in ("passed", "consumer_stops"):
            statement = f"DELETE FROM {OWN_SCHEMA}.{table} WHERE capture = %s AND consumer = %s"
            self._source.run(statement, self._capture, consumer)


def latest(one: Position | None, other: Position | None) -> Position | None:
    """The later one of two positions; None is before all of them."""
    return max((each for each in (one, other) if each is not None), default=None)


def _behind(position: Position | None, lsn: int | None) -> Position | None:
    """A position that is behind an LSN; None if it is not."""
    return position if position is not None and (lsn is None or position[0] > lsn) else None


def _array(position: Position | None) -> str | None:
    return "{" + ",".join(map(str, position)) + "}" if position is not None else None


def _position(array: Iterable[Any] | None) -> Position | None:
    return tuple(map(int, array)) if array is not None else None
