"""Which deployments are being read now.

In: queries as they begin and end. Out: the ids of deployments that a query reads. Invariant: the tables that a query
began to read stay until it has ended, whatever is promoted or retired meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class ActiveReaders:
    """Counts the queries that read each deployment. Thread-safe. `idle` is called with a deployment's id when its last
    query ends."""

    def __init__(self, idle: Callable[[int], None]):
        self._idle = idle
        self._counts: Counter[int] = Counter()
        self._began: dict[object, float] = {}
        self._guard = threading.Lock()

    @property
    def read(self) -> frozenset[int]:
        """The ids of the deployments that a query reads."""
        with self._guard:
            return frozenset(id for id, count in self._counts.items() if count)

    @property
    def oldest(self) -> float | None:
        """When the query that has run for longest began, by the monotonic clock; None if none runs."""
        with self._guard:
            return min(self._began.values(), default=None)

    @contextmanager
    def reading(self, deployment: int) -> Iterator[None]:
        """Count a query of the deployment for the block: from before its tables are looked up until its last row is
        read."""
        query = object()
        with self._guard:
            self._counts[deployment] += 1
            self._began[query] = time.monotonic()
        try:
            yield
        finally:
            with self._guard:
                del self._began[query]
                self._counts[deployment] -= 1
                over = not self._counts[deployment]
                if over:
                    del self._counts[deployment]
            if over:
                self._idle(deployment)
