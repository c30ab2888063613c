"""Numbered rows that are posted, one body after the other, while a test does something else."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping

from waiting import wait_until

ROWS = 20
"""Rows of a body."""


class Posting:
    """Posts rows from the beginning of the block to its end; `posted` says how many were acknowledged."""

    def __init__(self, post: Callable[[bytes], object], row: Callable[[int], Mapping[str, object]]):
        self.posted = 0
        self._post, self._row = post, row
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Posting:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def wait_for(self, more: int = 100) -> None:
        """Wait until so many more rows were posted."""
        then = self.posted
        wait_until(lambda: self.posted >= then + more)

    def some(self, count: int) -> None:
        """Post so many rows at once."""
        rows = (self._row(self.posted + each) for each in range(count))
        self._post("\n".join(map(json.dumps, rows)).encode())
        self.posted += count

    def _run(self) -> None:
        while not self._stop.wait(0.05):
            self.some(ROWS)
