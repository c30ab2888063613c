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
    """One connection at a time, of one thread."""

    def __init__(self, dsn: str):
        self._dsn = dsn
        self._connection: SourceConnection | None = None

    def run(self, work: Callable[[SourceConnection], T]) -> T:
        """The result of a piece of work. Raises what it raises, and what `open_source` raises."""
        if self._connection is None:
            self._connection = open_source(self._dsn)
        try:
            return work(self._connection)
        except PenstockError:
            self._connection.close()
            self._connection = None
            raise
