"""When batches arrived, as far as this server knows.

In: batch numbers as they are logged. Out: the last batch of each stream, and how long a batch has waited. Invariant:
time is measured by a monotonic clock; a batch that existed when the server started counts from then.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Mapping

MAX_REMEMBERED = 50_000
"""Batches remembered per stream; the wait of older ones is counted from the server's start."""


class Arrivals:
    """Thread-safe; readers get a consistent, possibly slightly old value."""

    def __init__(self, heads: Mapping[str, int]):
        self._began = time.monotonic()
        self._heads = dict(heads)
        self._times: dict[str, deque[tuple[int, float]]] = {}
        self._guard = threading.Lock()

    def add(self, stream: str, batch: int, count: int = 1) -> None:
        """Of `count` batches that were logged together, `batch` is the last one; the head passes them at once."""
        with self._guard:
            now, times = time.monotonic(), self._times.get(stream, deque(maxlen=MAX_REMEMBERED))
            new = [(number, now) for number in range(batch - count + 1, batch + 1)]
            if times and times[-1][0] >= new[0][0]:  # of two callers the one that logged first comes second
                new = sorted({**dict(new), **dict(times)}.items())
                times = deque(maxlen=MAX_REMEMBERED)
            times.extend(new)
            self._times[stream] = times
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
