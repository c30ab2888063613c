"""Until when other Iceberg readers may use files that they were given, kept for the next server.

In: the ends of leases. Out: the last of them, in the state store. Invariant: what a server says of a lease is recorded
before a reader gets files by it, so the next server waits as well, in whatever folder it runs; but never longer than
the lease takes, whatever the clock says.
"""

from __future__ import annotations

import threading
import time

from penstock.state.reader_leases import LeaseEnd, ReaderLeases

SPARE = 0.1
"""The part of a lease that is recorded in advance: there are at most ten writes in the time of one lease."""


class ReaderLeaseRecord:
    """The record of one server. Thread-safe."""

    def __init__(self, stored: ReaderLeases, seconds: float):
        self._stored, self._seconds = stored, seconds * (1 + SPARE)
        self.earlier = time.monotonic() + _remaining(stored.read())
        """Until when a lease of an earlier server may hold, by the monotonic clock."""
        self._recorded = float("-inf")
        self._guard = threading.Lock()

    def note(self, until: float) -> None:
        """Record that a lease holds until a time of the monotonic clock. Raises what the state store raises: Fenced if
        another server has taken over."""
        with self._guard:
            if until <= self._recorded:
                return
            end = time.monotonic() + self._seconds
            self._stored.note(LeaseEnd(time.time() + self._seconds, self._seconds))
            self._recorded = end


def _remaining(last: LeaseEnd | None) -> float:
    return 0.0 if last is None else min(max(last.until - time.time(), 0.0), last.seconds)
