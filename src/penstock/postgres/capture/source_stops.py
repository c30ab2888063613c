"""The stops of one consumer, as the source has them.

In: a connection to the source, the names of a store in the settings, and a capture. Out: what keeps rows from the
store. Invariant: the source is asked each time.
"""

from __future__ import annotations

from collections.abc import Collection

from penstock.postgres.application.change_stop import ChangeStop, RowPlaces, stop_of
from penstock.postgres.application.stop_records import StopRecords
from penstock.postgres.capture.records import CaptureRecords
from penstock.postgres.capture.source_session import SourceSession
from penstock.postgres.catalog.lsn import lsn_text


class SourceStops:
    """The stops before a store. Its methods raise Failed and Unavailable."""

    def __init__(self, dsn: str, capture: str, stores: Collection[str]):
        self._session, self._capture, self._stores = SourceSession(dsn), capture, stores

    def stop_of(self, form: str, places: RowPlaces) -> ChangeStop | None:
        """What keeps rows of a form from the store."""
        return stop_of(self._session.run(lambda source: StopRecords(source).of_stores(self._stores)), form, places)

    def reach(self, stop: ChangeStop, consumer: str, lsn: int) -> None:
        """A consumer stands at a stop, before rows from an LSN on."""
        name = f"{self._capture}/{consumer}"
        self._session.run(lambda source: StopRecords(source).reach(stop, name, lsn_text(lsn)))

    def doubt(self, stop: ChangeStop) -> None:
        """Rows that wait at a stop may be from before its change, or are in the store already."""
        self._session.run(lambda source: StopRecords(source).doubt(stop.store, stop.migration))

    def read_again(self, store: str) -> None:
        """Let a table, by its name in the stores, be read again."""
        self._session.run(lambda source: CaptureRecords(source, self._capture).read_again(store))
