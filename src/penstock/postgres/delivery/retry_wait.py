"""How long to wait before something that is away is tried again.

In: when a try begins and fails. Out: seconds. Invariant: failures one after another have longer and longer pauses, and
a try that lasted is no failure of that kind: whatever was away had come back.
"""

from __future__ import annotations

import time
from collections.abc import Callable

LEAST_PAUSE, MOST_PAUSE = 0.1, 5.0


class RetryWait:
    """The pauses between the tries of one process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._next, self._began = LEAST_PAUSE, clock()

    def begin(self) -> None:
        """A try begins."""
        self._began = self._clock()

    def end(self) -> None:
        """It ended well."""
        self._next = LEAST_PAUSE

    def fail(self) -> float:
        """It failed; returns how long to wait now."""
        if self._clock() - self._began > MOST_PAUSE:
            self._next = LEAST_PAUSE
        found, self._next = self._next, min(2 * self._next, MOST_PAUSE)
        return found
