"""How consumers behind a broker write down how far they are, in the source.

In: a DSN and a capture. Out: what the producer has published, and records. Invariants: a consumer is known before it
reads anything; an acknowledged LSN never goes back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

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
from penstock.postgres.catalog.source_connection import SourceConnection


class SourceAcknowledgements:
    """The acknowledgements of one capture. Its methods raise Failed and Unavailable."""

    def __init__(self, dsn: str, capture: str, stores: Collection[str] = ()):
        """`stores` are those that the consumer takes rows to, by their names in the settings."""
        self._session, self._capture, self._stores = SourceSession(dsn), capture, stores

    def register(self, consumer: str, broker: str) -> None:
        """A consumer of a broker begins: from now on it is waited for. Raises NotFound without the capture, OtherSetup
        if another version has set it up."""

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
        """Where a table was captured, last; None: that is not known."""
        return self._session.run(lambda connection: self._deliveries(connection).beginning(store))

    def passed(self, consumer: str) -> Mapping[SourceKey, Position]:
        """Up to where a consumer is with messages that do not move its store's position."""
        return self._session.run(lambda connection: self._deliveries(connection).passed(consumer))

    def note_passed(self, consumer: str, key: SourceKey, upto: Position) -> None:
        """A consumer has carried out a TRUNCATE."""
        self._session.run(lambda connection: self._deliveries(connection).note_passed(consumer, key, upto))

    def note_stop(self, stop: ConsumerStop) -> None:
        """A consumer does not take a table further."""
        self._session.run(lambda connection: self._deliveries(connection).note_stop(stop))

    def note_going_on(self, consumer: str, store: str) -> None:
        """A consumer takes a table further."""
        self._session.run(lambda connection: self._deliveries(connection).note_going_on(consumer, store))

    def _deliveries(self, connection: SourceConnection) -> DeliveryRecords:
        return DeliveryRecords(connection, self._capture)
