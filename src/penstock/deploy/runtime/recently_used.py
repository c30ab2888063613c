"""Values that are costly to make, kept while they are among those used last.

In: the id of a deployment, whose files never change, and a function that makes its value. Out: the value. Invariant: at
most `most` are kept. Thread-safe; two callers at once may both make a value, of which one is kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

V = TypeVar("V")


class RecentlyUsed(Generic[V]):
    """Values by the id of their deployment."""

    def __init__(self, most: int):
        self._most = most
        self._values: dict[int, V] = {}
        self._guard = threading.Lock()

    def get(self, id: int, make: Callable[[], V]) -> V:
        """The value of an id, made if it is not kept. Raises what `make` raises."""
        with self._guard:
            if id in self._values:
                self._values[id] = self._values.pop(id)  # to the end, as the one used last
                return self._values[id]
        made = make()
        with self._guard:
            self._values[id] = made
            while len(self._values) > self._most:
                del self._values[next(iter(self._values))]
        return made
