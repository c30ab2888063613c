"""How consumers behind a broker write down how far they are, in the source.

In: a DSN and a capture. Out: what the producer has published, and records. Invariant: an acknowledged LSN never goes
back.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.postgres.capture.records import CaptureRecords
from penstock.postgres.capture.source_session import SourceSession
from penstock.postgres.capture.status import acknowledged_lsns


class SourceAcknowledgements:
    """The acknowledgements of one capture. Its methods raise Failed and Unavailable."""

    def __init__(self, dsn: str, capture: str):
        self._session, self._capture = SourceSession(dsn), capture

    def published(self, broker: str) -> Mapping[str, int]:
        """For each table, the LSN up to which the producer has published all its changes."""
        return self._session.run(lambda connection: acknowledged_lsns(connection, self._capture, broker))

    def acknowledge(self, consumer: str, store: str, lsn: int) -> None:
        """All changes of a table up to an LSN are in the consumer's store."""
        self._session.run(
            lambda connection: CaptureRecords(connection, self._capture).acknowledge(consumer, store, lsn)
        )
