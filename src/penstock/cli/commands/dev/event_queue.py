"""What happens while `penstock dev` runs: saves, keys, and what becomes of work in other threads.

In: events of threads, and the bytes of a keyboard. Out: one event at a time, for the main thread. Invariant: waiting
costs no time of the processor, and a signal ends it, whichever thread it reaches.
"""

from __future__ import annotations

import os
import re
import select
import signal
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TypeAlias, Union

from penstock.cli.json_documents import Json
from penstock.errors import PenstockError

_SEQUENCE = re.compile(rb"\x1b(?:\[[0-9;?]*[ -/]?[@-~]|O.|.)?", re.DOTALL)
"""What a key sends that is no character, such as an arrow."""
ENDED = "\x04"
"""What Ctrl-D sends; also the key of a keyboard that is gone."""


@dataclass(frozen=True, slots=True)
class SavedFiles:
    """Files were saved, renamed or removed."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PressedKey:
    """A key was pressed."""

    key: str


@dataclass(frozen=True, slots=True)
class WorkProgress:
    """How far the work in another thread is."""

    text: str


@dataclass(frozen=True, slots=True)
class WorkEnd:
    """The work in another thread has ended, with a deployment or an error."""

    made: Json | None
    error: PenstockError | None
    report: Callable[[Json], str]
    """What is said of the deployment."""


Event: TypeAlias = Union[SavedFiles, PressedKey, WorkProgress, WorkEnd]


class EventQueue:
    """The events in the order in which they happened."""

    def __init__(self, keyboard: int | None = None):
        self._keyboard = keyboard
        """The file that gives keys; None: nobody is there who could press any."""
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._keys: deque[str] = deque()
        self._heard, self._bell = os.pipe()
        os.set_blocking(self._heard, False)
        os.set_blocking(self._bell, False)

    def put(self, event: Event) -> None:
        """Add an event; any thread may."""
        self._events.put(event)
        self._ring()

    def wait(self) -> Event:
        """The next event."""
        while True:
            if self._keys:
                return PressedKey(self._keys.popleft())
            try:
                return self._events.get_nowait()
            except Empty:
                self._listen()

    def close(self) -> None:
        """Release its files. Threads that are still there may go on adding events."""
        heard, bell, self._heard, self._bell = self._heard, self._bell, -1, -1
        os.close(bell)
        os.close(heard)

    def _ring(self) -> None:
        try:
            os.write(self._bell, b"!")
        except OSError:
            return  # it rings already, or nobody listens any more

    def _listen(self) -> None:
        sources = [self._heard] if self._keyboard is None else [self._heard, self._keyboard]
        # A signal may reach another thread, or this one just before it waits: only the bell then ends the wait.
        earlier = signal.set_wakeup_fd(self._bell, warn_on_full_buffer=False)
        try:
            ready, _, _ = select.select(sources, [], [])
        finally:
            signal.set_wakeup_fd(earlier)
        if self._heard in ready:
            os.read(self._heard, 4096)
        if self._keyboard is not None and self._keyboard in ready:
            self._read_keys(self._keyboard)

    def _read_keys(self, keyboard: int) -> None:
        try:
            given = os.read(keyboard, 256)
        except OSError:  # the terminal was closed
            given = b""
        self._keys.extend(_SEQUENCE.sub(b"", given).decode("utf-8", "ignore") if given else ENDED)
