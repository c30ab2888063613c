"""The queries and copies that run on Spark now, of which some may have to end because memory is short.

In: a block of code that is one query. Out: the one to cancel. Invariant: steps of flows are not among them, so they are
never cancelled for the memory that a query takes. Thread-safe.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(eq=False, slots=True)
class RunningQuery:
    """A query, or a copy, that runs."""

    began: float = field(default_factory=time.monotonic)
    chosen: threading.Event = field(default_factory=threading.Event)
    """Set once it is to be cancelled."""


class RunningQueries:
    """Those of one Spark."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._running: list[RunningQuery] = []

    @contextmanager
    def running(self) -> Iterator[RunningQuery]:
        """The block is a query."""
        query = RunningQuery()
        with self._guard:
            self._running.append(query)
        try:
            yield query
        finally:
            with self._guard:
                self._running.remove(query)

    def choose(self, before: float) -> RunningQuery | None:
        """The query that is to end so that others have memory, of those that began before a time (of the monotonic
        clock); None if all were chosen already. It is the one that has run longest: the JVM does not tell what a task
        holds, most queries end within a second, and one that fills the memory takes many."""
        with self._guard:
            found = min(self._choosable(before), key=lambda each: each.began, default=None)
            if found is not None:
                found.chosen.set()
            return found

    def can_choose(self, before: float) -> bool:
        """Whether `choose` would find one."""
        with self._guard:
            return bool(self._choosable(before))

    def _choosable(self, before: float) -> list[RunningQuery]:
        return [each for each in self._running if each.began <= before and not each.chosen.is_set()]


QUERIES = RunningQueries()
"""Those of this process, which has one Spark."""
