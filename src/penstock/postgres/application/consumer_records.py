"""The consumers of captures, in the source's Postgres: who takes rows to which store, and how far each is.

In: a connection to the source. Out: a table's consumers as frozen records. Invariants: a consumer is written down
before it reads anything, so that it is waited for from its first moment on; what a producer has put into a broker is
apart from what a consumer has stored, and releases nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from penstock.postgres.application.table_consumers import ConsumerPosition, TableConsumers
from penstock.postgres.catalog.catalog_reader import OWN_SCHEMA
from penstock.postgres.catalog.source_connection import SourceConnection, SourceQueries

DEFINITION = f"""
CREATE TABLE IF NOT EXISTS {OWN_SCHEMA}.consumers (
  capture text NOT NULL REFERENCES {OWN_SCHEMA}.captures ON DELETE CASCADE, consumer text NOT NULL, broker text,
  stores text[] NOT NULL, started_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (capture, consumer));
CREATE TABLE IF NOT EXISTS {OWN_SCHEMA}.published (
  capture text NOT NULL REFERENCES {OWN_SCHEMA}.captures ON DELETE CASCADE, broker text NOT NULL,
  store text NOT NULL, lsn pg_lsn NOT NULL, at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (capture, broker, store));
DELETE FROM {OWN_SCHEMA}.acknowledged a WHERE a.consumer IN ('nats', 'kafka') AND NOT EXISTS (
  SELECT FROM {OWN_SCHEMA}.consumers c WHERE c.capture = a.capture AND c.consumer = a.consumer);
"""
FORMER_BROKERS = frozenset({"nats", "kafka"})
"""Under these names producers of before acknowledged what they had put into a broker, as if it were a consumer."""
_Key: TypeAlias = "tuple[str, str]"
"""A capture, and the name of a consumer of it."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """Who was seen behind some captures."""

    captures: tuple[str, ...]
    acknowledging: Mapping[_Key, float]
    """Who has acknowledged something, and how many seconds ago."""
    registered: Sequence[tuple[Any, ...]]
    """Capture, name, broker, stores and seconds since its start."""


class ConsumerRecords:
    """The consumers of one source. Its methods raise Failed and Unavailable."""

    def __init__(self, connection: SourceConnection):
        self._source = SourceQueries(connection, "worked on the consumers in the schema `penstock`")

    def register(self, capture: str, consumer: str, broker: str | None, stores: Collection[str]) -> None:
        """A consumer begins, behind a broker or, if None, fed by the producer itself; `stores` are those that it takes
        rows to, by their names in the settings."""
        self._source.run(
            f"""INSERT INTO {OWN_SCHEMA}.consumers (capture, consumer, broker, stores) VALUES (%s, %s, %s, %s)
            ON CONFLICT (capture, consumer) DO UPDATE SET
              broker = excluded.broker, stores = excluded.stores, started_at = now()""",
            *(capture, consumer, broker, sorted(stores)),
        )

    def begin_route(self, capture: str, broker: str | None) -> None:
        """The producer delivers to this broker, or, if None, to a store: nothing is published elsewhere any more."""
        statement = f"DELETE FROM {OWN_SCHEMA}.published WHERE capture = %s AND broker IS DISTINCT FROM %s"
        self._source.run(statement, capture, broker)

    def publish(self, capture: str, broker: str, store: str, lsn: str) -> None:
        """All changes of a table up to an LSN are in the broker."""
        self._source.run(
            f"""INSERT INTO {OWN_SCHEMA}.published (capture, broker, store, lsn) VALUES (%s, %s, %s, %s::pg_lsn)
            ON CONFLICT (capture, broker, store) DO UPDATE SET lsn = excluded.lsn, at = now()
            WHERE published.lsn < excluded.lsn""",
            *(capture, broker, store, lsn),
        )

    def of_capture(self, capture: str) -> dict[str, frozenset[str]]:
        """The consumers of a capture, with the stores that each takes rows to: those that registered, and those of
        before, which only acknowledged."""
        return {each: stores for (_, each), (stores, _) in sorted(_known(self._seen([capture])).items())}

    def broker_of(self, capture: str) -> str | None:
        """The broker that a capture delivers to; None: none is known."""
        return self._brokers(self._seen([capture]))[capture]

    def forget(self, capture: str, consumer: str) -> None:
        """A consumer is gone for good."""
        for table in ("consumers", "acknowledged"):
            self._source.run(
                f"DELETE FROM {OWN_SCHEMA}.{table} WHERE capture = %s AND consumer = %s", capture, consumer
            )

    def of_table(self, table: int, lsn: str) -> TableConsumers:
        """The consumers of a table (by OID), with who of them has acknowledged an LSN."""
        if not self._is_there("acknowledged"):
            return TableConsumers((), {})
        captures = [
            str(row[0])
            for row in self._source.rows(
                f"SELECT capture FROM {OWN_SCHEMA}.captured_tables WHERE oid = %s ORDER BY 1", table
            )
        ]
        acknowledged = {
            (capture, consumer): (at, bool(passed))
            for capture, consumer, at, passed in self._source.rows(
                f"""SELECT a.capture, a.consumer, a.lsn::text, a.lsn >= %s::pg_lsn FROM {OWN_SCHEMA}.acknowledged a
                JOIN {OWN_SCHEMA}.captured_tables t ON t.capture = a.capture AND t.store = a.store WHERE t.oid = %s""",
                lsn,
                table,
            )
        }
        seen = self._seen(captures)
        known = [
            ConsumerPosition(*key, *acknowledged.get(key, (None, False)), stores, seconds)
            for key, (stores, seconds) in sorted(_known(seen).items())
        ]
        return TableConsumers(tuple(known), self._brokers(seen))

    def _seen(self, captures: Sequence[str]) -> _Seen:
        return _Seen(tuple(captures), self._acknowledging(captures), self._registered(captures))

    def _brokers(self, seen: _Seen) -> dict[str, str | None]:
        """The broker of each capture; None: none is known."""
        found: dict[str, str | None] = dict.fromkeys(seen.captures)
        own_names = {(of, each) for of, each, *_ in seen.registered}
        for of, each in seen.acknowledging:
            if each in FORMER_BROKERS and (of, each) not in own_names:
                found[of] = each
        for of, _, broker, *_ in seen.registered:
            found[of] = broker or found[of]
        if self._is_there("published"):
            statement = f"SELECT DISTINCT capture, broker FROM {OWN_SCHEMA}.published WHERE capture = ANY(%s)"
            found |= self._source.rows(statement, [*seen.captures])
        return found

    def _acknowledging(self, captures: Sequence[str]) -> dict[_Key, float]:
        statement = f"""SELECT capture, consumer, extract(epoch FROM clock_timestamp() - max(at))::float8
          FROM {OWN_SCHEMA}.acknowledged WHERE capture = ANY(%s) GROUP BY 1, 2"""
        return {(str(of), str(each)): float(seconds) for of, each, seconds in self._source.rows(statement, [*captures])}

    def _registered(self, captures: Sequence[str]) -> list[tuple[Any, ...]]:
        """None before setup has made the table."""
        if not self._is_there("consumers"):
            return []
        statement = f"""SELECT capture, consumer, broker, stores,
          extract(epoch FROM clock_timestamp() - started_at)::float8
          FROM {OWN_SCHEMA}.consumers WHERE capture = ANY(%s) ORDER BY 1, 2"""
        return self._source.rows(statement, [*captures])

    def _is_there(self, table: str) -> bool:
        return self._source.has_table(f"{OWN_SCHEMA}.{table}")


def _known(seen: _Seen) -> dict[_Key, tuple[frozenset[str], float]]:
    """Of each consumer the stores that it takes rows to, and how many seconds ago it was heard of."""
    heard = seen.acknowledging
    found = {each: (frozenset[str](), age) for each, age in heard.items() if each[1] not in FORMER_BROKERS}
    for of, each, _, stores, age in seen.registered:
        found[of, each] = (frozenset(stores), min(age, heard.get((of, each), age)))
    return found
