"""A task that a thread of its own repeats at a fixed interval.

In: a name, an interval in seconds, and a subclass that says what to do. Out: nothing. Invariant: an exception is
written to the log and ends no thread; the task runs again at the next interval.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod

log = logging.getLogger("penstock.deploy")


class PeriodicTask(ABC):
    """Subclasses say what `look` does."""

    def __init__(self, name: str, seconds: float):
        self._seconds = seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @abstractmethod
    def look(self) -> object:
        """Once; called by the thread, and by whoever wants to know now."""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Waits for a look that is under way."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self._seconds):
            try:
                self.look()
            except Exception:  # the store or the catalog may be away for a while
                log.exception("%s: a look failed", self._thread.name)
