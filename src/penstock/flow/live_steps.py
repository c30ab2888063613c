"""How many steps of live run at a time: some, and more while some of them take long.

In: the steps of the live and the previous version as they begin and end, with times of the monotonic clock. Out: how
long the next one waits. Invariant: at most `at_a_time` of the steps that run are younger than LONG_SECONDS, so more
threads than cores do not make all steps slower; and as long as a thread is left, slow views hold up no other flow for
longer than that. Not thread-safe: the scheduler holds its lock.
"""

from __future__ import annotations

LONG_SECONDS = 2.0
"""A step that has run for so long counts no more."""
THREADS_A_STEP = 3
"""So many threads for each of the steps that may begin together: two of three may be in long steps."""


class LiveSteps:
    """The steps that run, by the table they write."""

    def __init__(self, at_a_time: int):
        self._at_a_time = at_a_time
        self._began: dict[str, float] = {}

    def begin(self, table: str, now: float) -> None:
        self._began[table] = now

    def end(self, table: str) -> None:
        """Without effect for a table of other steps."""
        self._began.pop(table, None)

    def seconds_until_next(self, now: float) -> float:
        """Seconds until another step may begin if none of those that run ends before; 0 if it may now."""
        young = sorted(began for began in self._began.values() if now - began < LONG_SECONDS)
        if len(young) < self._at_a_time:
            return 0.0
        return young[len(young) - self._at_a_time] + LONG_SECONDS - now
