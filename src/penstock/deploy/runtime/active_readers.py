"""Which deployments are being read now.

In: queries as they begin and end, and other Iceberg readers, of which only the beginning is seen. Out: the ids of
deployments that are read. Invariant: the tables that a query began to read stay until it has ended, and those that
another reader was given until its lease has ended, whatever is promoted or retired meanwhile. A lease ends by itself.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from penstock.deploy.runtime.reader_lease_record import ReaderLeaseRecord


class ActiveReaders:
    """Counts the queries that read each deployment. Thread-safe. `idle` is called with a deployment's id when its last
    query ends."""

    def __init__(self, idle: Callable[[int], None], record: ReaderLeaseRecord | None = None):
        self._idle = idle
        self._record = record
        self._counts: Counter[int] = Counter()
        self._began: dict[object, float] = {}
        self._leases: dict[tuple[int, str], float] = {}
        """When each deployment and table is no longer leased, by the monotonic clock."""
        self._guard = threading.Lock()

    @property
    def read(self) -> frozenset[int]:
        """The ids of the deployments that a query reads, or another reader by a lease."""
        with self._guard:
            self._forget_ended()
            return frozenset(id for id, count in self._counts.items() if count) | {id for id, _ in self._leases}

    @property
    def knows_leases(self) -> bool:
        """Whether every lease that may still hold is known here: none of an earlier server's is left."""
        return self._record is None or self._record.earlier <= time.monotonic()

    @property
    def oldest(self) -> float | None:
        """When the query that has run for longest began, by the monotonic clock; None if none runs."""
        with self._guard:
            return min(self._began.values(), default=None)

    def lease(self, deployment: int, table: str, seconds: float) -> None:
        """Count a reader of a deployment's table from before it gets the table's files until `seconds` from now. Raises
        what the state store raises if that cannot be recorded for the next server."""
        until = time.monotonic() + seconds
        if self._record is not None:
            self._record.note(until)
        with self._guard:
            self._forget_ended()
            self._leases[deployment, table] = max(until, self._leases.get((deployment, table), until))

    def leases(self, table: str) -> bool:
        """Whether some lease of the table has not ended, as far as this server knows."""
        with self._guard:
            self._forget_ended()
            return any(leased == table for _, leased in self._leases)

    def may_lease(self, table: str) -> bool:
        """Whether some lease of the table may not have ended."""
        return not self.knows_leases or self.leases(table)

    @property
    def may_lease_any(self) -> bool:
        """Whether some lease of some table may not have ended."""
        with self._guard:
            self._forget_ended()
            return bool(self._leases) or not self.knows_leases

    def _forget_ended(self) -> None:
        now = time.monotonic()
        self._leases = {key: until for key, until in self._leases.items() if until > now}

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
