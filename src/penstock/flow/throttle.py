"""Throttle the reading of histories: within a rate, and slower while live lags.

In: what each step of a history read, and how long live's rows wait. Out: whether the next step may begin.
Invariant: a step is never cut short; if it read more than the rate allows, the pause after it is longer, so the rate
holds on average.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

LAG_VALID_SECONDS = 0.5
"""Seconds for which the measured lag of live is used before it is measured again."""
REST_FACTOR = 9.0
"""While live lags, a history pauses this many times as long as its last step took: it slows down to a tenth, and does
not starve if live never catches up."""


@dataclass(frozen=True, slots=True)
class BackfillRate:
    """How fast histories are read."""

    bytes_per_second: int | None = None
    """The most bytes of source files read a second; None: no limit."""
    yield_after: float = 10.0
    """The seconds that live's rows may wait before histories slow down."""


class BackfillThrottle:
    """The throttle of one server. Thread-safe."""

    def __init__(self, rate: BackfillRate, live_lag: Callable[[], float]):
        self._rate = rate
        self._live_lag = live_lag
        self._free_at = 0.0
        self._last = (0.0, 0.0)
        self._looked = (-1e9, False)
        self._guard = threading.Lock()

    def may_start(self) -> bool:
        """Whether a step of a history may begin now."""
        now = time.monotonic()
        with self._guard:
            ended, took = self._last
            if now < self._free_at:
                return False
        return now >= ended + REST_FACTOR * took or not self.gives_way_to_live()

    def record_step(self, size: int, seconds: float) -> None:
        """Record that a step of `size` bytes and `seconds` seconds has just ended."""
        now, rate = time.monotonic(), self._rate.bytes_per_second
        with self._guard:
            self._last = (now, seconds)
            if rate is not None:
                self._free_at = max(self._free_at, now - seconds) + size / rate

    def gives_way_to_live(self) -> bool:
        """Whether live lags so much that histories slow down."""
        looked, found = self._looked
        if time.monotonic() - looked > LAG_VALID_SECONDS:
            found = self._live_lag() > self._rate.yield_after
            self._looked = (time.monotonic(), found)
        return found
