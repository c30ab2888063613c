"""The bytes that many calls may hold in memory together.

In: sizes, as bytes are taken into memory and given back. Out: the error of whoever would exceed the limit. Invariant:
what is held is never more than the limit, and nobody waits for room.
"""

from __future__ import annotations

import threading

from penstock.errors import Overloaded


class ByteBudget:
    """Thread-safe; `message` and `hint` are what the caller is told that comes too late."""

    def __init__(self, most_bytes: int, message: str, hint: str):
        self.most_bytes = most_bytes
        self._message, self._hint = message, hint
        self._guard = threading.Lock()  # held for one addition only
        self._held = 0

    @property
    def held(self) -> int:
        """The bytes in memory now."""
        return self._held

    def take(self, size: int) -> None:
        """Count these bytes. Raises Overloaded if there would be too many."""
        with self._guard:
            if self._held + size > self.most_bytes:
                raise Overloaded(self._message, hint=self._hint)
            self._held += size

    def give_back(self, size: int) -> None:
        with self._guard:
            self._held -= size
