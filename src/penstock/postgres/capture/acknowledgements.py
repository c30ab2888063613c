"""How consumers behind a broker write down how far they are, in the source.

In: a DSN and a capture. Out: what the producer has published, and records. Invariant: a connection that broke is made
anew by the next call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from penstock.errors import PenstockError
from penstock.postgres.capture.records import CaptureRecords
from penstock.postgres.capture.status import acknowledged_lsns
from penstock.postgres.catalog.source_connection import SourceConnection, open_source

T = TypeVar("T")


class SourceAcknowledgements:
    """The acknowledgements of one capture. Its methods raise Failed and Unavailable."""

    def __init__(self, dsn: str, capture: str):
        self._dsn, self._capture = dsn, capture
        self._connection: SourceConnection | None = None

    def published(self, broker: str) -> Mapping[str, int]:
        """For each table, the LSN up to which the producer has published all its changes."""
        return self._with(lambda connection: acknowledged_lsns(connection, self._capture, broker))

    def acknowledge(self, consumer: str, store: str, lsn: int) -> None:
        """All changes of a table up to an LSN are in the consumer's store."""
        self._with(lambda connection: CaptureRecords(connection, self._capture).acknowledge(consumer, store, lsn))

    def _with(self, work: Callable[[SourceConnection], T]) -> T:
        if self._connection is None:
            self._connection = open_source(self._dsn)
        try:
            return work(self._connection)
        except PenstockError:
            self._connection.close()
            self._connection = None
            raise
