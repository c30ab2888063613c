"""A task that a thread of its own repeats at a fixed interval.

In: a name, an interval in seconds, and a subclass that says what to do. Out: nothing. Invariant: an exception is
written to the log and ends no thread; the task runs again at the next interval.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from penstock.errors import PenstockError

log = logging.getLogger("penstock.deploy")


class PeriodicTask(ABC):
    """A thread that calls `run_once` every `seconds` seconds. Subclasses implement `run_once`."""

    def __init__(self, name: str, seconds: float):
        self._seconds = seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @abstractmethod
    def run_once(self) -> object:
        """Do the task once. The thread calls it; it may be called at other times too."""

    def try_each(self, runs: Mapping[str, Callable[[], object]]) -> None:
        """Call them all: one that fails is written to the log by its name, and delays no other."""
        for what, run in runs.items():
            if self._stop.is_set():
                return
            try:
                run()
            except PenstockError as error:
                log.warning("%s: %s: %s", self._thread.name, what, error.message)
            except Exception:
                log.exception("%s: %s failed", self._thread.name, what)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread; waits for a run that has begun."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self._seconds):
            try:
                self.run_once()
            except Exception:  # the store or the catalog may be away for a while
                log.exception("%s: a run failed", self._thread.name)
