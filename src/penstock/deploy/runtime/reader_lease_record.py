"""Until when other Iceberg readers may use files that they were given, kept for the next server.

In: the ends of leases. Out: a file with the last of them. Invariant: what a server says of a lease is on disk before a
reader gets files by it, so the next server in this folder waits as well; but never longer than one lease takes,
whatever the clock says.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

from penstock.lake.storage.durable_writes import replace_file

SPARE = 0.1
"""The part of a lease that is recorded in advance: there are at most ten writes in the time of one lease."""


class ReaderLeaseRecord:
    """The record in one folder. Thread-safe."""

    def __init__(self, path: Path, seconds: float):
        self._path, self._seconds = path, seconds * (1 + SPARE)
        self.earlier = time.monotonic() + self._remaining()
        """Until when a lease of an earlier server may hold, by the monotonic clock."""
        self._recorded = float("-inf")
        self._guard = threading.Lock()

    def _remaining(self) -> float:
        try:
            until = float(self._path.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return 0.0
        return min(max(until - time.time(), 0.0), self._seconds)

    def note(self, until: float) -> None:
        """Record that a lease holds until a time of the monotonic clock. Raises OSError."""
        with self._guard:
            if until <= self._recorded:
                return
            end = time.monotonic() + self._seconds
            with replace_file(self._path, 0o600) as file:
                file.write(str(time.time() + self._seconds).encode("ascii"))
            self._recorded = end
