"""Read what may hang (a database, a disk, a JVM) so that whoever asks for it never waits longer than it wants to.

In: a function that reads. Out: `Reading`s. Invariant: a read that hangs occupies one thread and is not started a second
time; the last value stays known, with its age.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from typing import Generic, TypeVar

from penstock.errors import PenstockError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """What is known now."""

    value: T | None
    """The last value that was read; None if none was yet."""
    age: float
    """Seconds since it was read, or since the first try."""
    problem: str | None
    """Why there is no newer one; None if the last try succeeded in time."""


class SharedRead(Generic[T]):
    """A read that many may ask for at once: it runs once, in a thread of its own."""

    def __init__(self, name: str, read: Callable[[], T]):
        self._name = name
        self._read = read
        self._guard = threading.Lock()
        self._running: Future[T] | None = None
        self._value: T | None = None
        self._at = time.monotonic()
        self._problem: str | None = None

    def wait(self, seconds: float) -> Reading[T]:
        """Read, or join the read that runs, and wait for it at most so long."""
        began = time.monotonic()
        try:
            self.start().result(seconds)
        except FutureTimeout:
            return Reading(self._value, time.monotonic() - self._at, _no_answer(time.monotonic() - began))
        except Exception:  # `start` keeps it as the problem
            return self.known()
        return self.known()

    def known(self) -> Reading[T]:
        """The last value and the last problem, from memory."""
        return Reading(self._value, time.monotonic() - self._at, self._problem)

    def start(self) -> Future[T]:
        """Begin to read unless a read runs already."""
        with self._guard:
            if self._running is None or self._running.done():
                self._running = Future()
                name = f"read {self._name}"
                threading.Thread(target=self._run, args=(self._running,), name=name, daemon=True).start()
            return self._running

    def _run(self, future: Future[T]) -> None:
        try:
            value = self._read()
        except Exception as error:  # whatever it is, it is why there is no value
            self._problem = explain_problem(error)
            future.set_exception(error)
        else:
            self._value, self._at, self._problem = value, time.monotonic(), None
            future.set_result(value)


class BackgroundReading(Generic[T]):
    """Reads every `seconds`, and calls a value that is `patience` seconds overdue a problem."""

    def __init__(self, name: str, read: Callable[[], T], seconds: float, patience: float):
        self._shared = SharedRead(name, read)
        self._seconds = seconds
        self._patience = patience
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"reads {name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Begin no further read. A read that hangs is left behind: nothing may wait for it."""
        self._stop.set()

    @property
    def reading(self) -> Reading[T]:
        """From memory: takes no lock and asks nobody."""
        known = self._shared.known()
        if known.problem is None and known.age > self._seconds + self._patience:
            return Reading(known.value, known.age, _no_answer(known.age))
        return known

    def _run(self) -> None:
        while not self._stop.is_set():
            self._shared.start()
            self._stop.wait(self._seconds)


def explain_problem(error: BaseException) -> str:
    """A short sentence; details stay in the log."""
    return error.message if isinstance(error, PenstockError) else f"{type(error).__name__}: {str(error)[:300]}"


def _no_answer(seconds: float) -> str:
    return f"no answer for {seconds:.0f} s"
