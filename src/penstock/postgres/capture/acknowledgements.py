"""How consumers behind a broker write down how far they are, in the source.

In: a DSN and a capture. Out: what the producer has published, and records. Invariants: a consumer is known before it
reads anything, and is one process; an acknowledged LSN never goes back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from penstock.errors import Unavailable
from penstock.model.cursor import Position
from penstock.postgres.application.consumer_records import ConsumerRecords
from penstock.postgres.application.delivery_records import (
    CaptureBeginning,
    ConsumerStop,
    DeliveryRecords,
    PublishedTable,
    SourceKey,
)
from penstock.postgres.capture.installation import check_setup
from penstock.postgres.capture.records import CaptureRecords
from penstock.postgres.capture.source_session import SourceSession
from penstock.postgres.catalog.source_connection import SourceConnection, SourceQueries


class SourceAcknowledgements:
    """The acknowledgements of one capture. Its methods raise Failed and Unavailable."""

    def __init__(self, dsn: str, capture: str, stores: Collection[str] = ()):
        """`stores` are those that the consumer takes rows to, by their names in the settings."""
        self._session, self._capture, self._stores = SourceSession(dsn, self._hold), capture, stores
        self._name: str | None = None

    def close(self) -> None:
        """Let go of the connection: another process may be the consumer."""
        self._session.close()

    def _hold(self, connection: SourceConnection) -> None:
        """Be the only process that is this consumer, as long as the connection lasts: a second one would pass over
        rows that the first is about to store, or store them too. Raises Unavailable while there is another one."""
        if self._name is None:
            return
        full = f"{self._capture}/{self._name}"
        queries = SourceQueries(connection, "took the lock of a consumer")
        lock = "SELECT pg_catalog.pg_try_advisory_lock(pg_catalog.hashtextextended(%s, 0))"
        if queries.rows(lock, f"penstock consumer {full}") != [(True,)]:
            raise Unavailable(f"another process is the consumer {full}: this one waits until it ends")

    def register(self, consumer: str, broker: str) -> None:
        """A consumer of a broker begins: from now on it is waited for. Raises NotFound without the capture, OtherSetup
        if another version has set it up."""
        self._name = consumer

        def work(connection: SourceConnection) -> None:
            check_setup(connection, CaptureRecords(connection, self._capture).capture())
            ConsumerRecords(connection).register(self._capture, consumer, broker, self._stores)
            self._deliveries(connection).note_going_on(consumer)

        self._session.run(work)

    def published(self, broker: str) -> Mapping[str, PublishedTable]:
        """How far each table is in a broker."""
        return self._session.run(lambda connection: self._deliveries(connection).published(broker))

    def acknowledge(self, consumer: str, store: str, lsn: int) -> None:
        """All changes of a table up to an LSN are in the consumer's store."""
        self._session.run(
            lambda connection: CaptureRecords(connection, self._capture).acknowledge(consumer, store, lsn)
        )

    def beginning(self, store: str) -> CaptureBeginning | None:
        """Where a table was captured, last; None: it is captured no more."""
        return self._session.run(lambda connection: self._deliveries(connection).beginning(store))

    def passed(self, consumer: str) -> Mapping[SourceKey, Position]:
        """Up to where a consumer has passed over messages, which moved no position of its store."""
        return self._session.run(lambda connection: self._deliveries(connection).passed(consumer))

    def note_passed(self, consumer: str, key: SourceKey, upto: Position) -> None:
        """A consumer has passed over messages up to a position."""
        self._session.run(lambda connection: self._deliveries(connection).note_passed(consumer, key, upto))

    def note_stop(self, stop: ConsumerStop) -> None:
        """A consumer does not take a table further."""
        self._session.run(lambda connection: self._deliveries(connection).note_stop(stop))

    def note_going_on(self, consumer: str, store: str) -> None:
        """A consumer takes a table further."""
        self._session.run(lambda connection: self._deliveries(connection).note_going_on(consumer, store))

    def _deliveries(self, connection: SourceConnection) -> DeliveryRecords:
        return DeliveryRecords(connection, self._capture)
