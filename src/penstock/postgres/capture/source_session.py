"""A connection to the source that is kept, and made anew after it broke.

In: a DSN and pieces of work. Out: their results. Invariant: after an error the next piece of work has a new connection.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from penstock.errors import PenstockError
from penstock.postgres.catalog.source_connection import SourceConnection, open_source

T = TypeVar("T")


class SourceSession:
    """One connection at a time, of one thread. `begin` is the first thing that is done with each."""

    def __init__(self, dsn: str, begin: Callable[[SourceConnection], None] = lambda _: None):
        self._dsn, self._begin = dsn, begin
        self._connection: SourceConnection | None = None

    def run(self, work: Callable[[SourceConnection], T]) -> T:
        """The result of a piece of work. Raises what it raises, and what `open_source` raises."""
        is_new = self._connection is None
        if self._connection is None:
            self._connection = open_source(self._dsn)
        try:
            if is_new:
                self._begin(self._connection)
            return work(self._connection)
        except PenstockError:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
