"""Wait for a condition instead of for a time."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(
    holds: Callable[[], object], seconds: float = 60.0, explain: Callable[[], object] = str, pause: float = 0.05
) -> None:
    """Ask again and again until `holds` is true. Raises AssertionError with what `explain` gives after `seconds`."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, explain()
        time.sleep(pause)
