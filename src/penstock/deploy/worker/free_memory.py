"""How much memory a process may still take, on this machine and in this container.

In: nothing. Out: bytes. Invariant: never more than the limit of the container leaves, where there is one.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import psutil

CONTROL_GROUP = Path("/sys/fs/cgroup")
LIMITS = (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"))
"""The limit of a control group and what is used of it, in the second version of control groups and in the first."""


def free_memory() -> int:
    """The bytes that are free."""
    return min([int(psutil.virtual_memory().available), *_left_in_container()])


def _left_in_container() -> list[int]:
    left = []
    for limit, used in LIMITS:
        with suppress(OSError, ValueError):  # no such group, or `max`: no limit
            left.append(int((CONTROL_GROUP / limit).read_text()) - int((CONTROL_GROUP / used).read_text()))
    return left
