"""When batches arrived, as far as this server knows.

In: batch numbers as they are logged. Out: the last batch of each stream, and how long a batch has waited. Invariant:
time is measured by a monotonic clock; a batch that existed when the server started counts from then.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import deque
from collections.abc import Mapping

MAX_REMEMBERED = 50_000
"""Batches remembered per stream; the wait of older ones is counted from the server's start."""


class Arrivals:
    """Thread-safe: one thread per stream adds batches, and readers get a consistent, possibly slightly old value."""

    def __init__(self, heads: Mapping[str, int]):
        self._began = time.monotonic()
        self._heads = dict(heads)
        self._times: dict[str, deque[tuple[int, float]]] = {}

    def add(self, stream: str, batch: int) -> None:
        self._times.setdefault(stream, deque(maxlen=MAX_REMEMBERED)).append((batch, time.monotonic()))
        self._heads[stream] = max(batch, self._heads.get(stream, 0))

    @property
    def heads(self) -> Mapping[str, int]:
        """The last batch of each stream."""
        return dict(self._heads)

    def head(self, stream: str) -> int:
        return self._heads.get(stream, 0)

    def seconds_waiting(self, stream: str, after: int) -> float:
        """Seconds since the first batch after batch `after` arrived; 0 if there is none."""
        if self.head(stream) <= after:
            return 0.0
        times = tuple(self._times.get(stream, ()))
        position = bisect_right(times, after, key=lambda each: each[0])
        known = position < len(times) and times[position][0] == after + 1
        return time.monotonic() - (times[position][1] if known else self._began)
