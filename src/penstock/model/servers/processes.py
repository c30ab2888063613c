"""Tell a process apart from a later one that got the same process id.

In: a process. Out: its start time, which together with the id identifies it until the machine restarts.
Invariant: on Linux the result does not change when the clock is set.
"""

from __future__ import annotations

from pathlib import Path

import psutil

PROC = Path("/proc")
START_TIME_FIELD = 19
"""Index of `starttime` among the fields after the process name in brackets. Source: proc(5), /proc/pid/stat."""


def start_time(process: psutil.Process) -> float:
    """When the process started: on Linux in clock ticks since the machine started, elsewhere in seconds since 1970.
    Raises NoSuchProcess."""
    stat = PROC / str(process.pid) / "stat"
    if not (PROC / "self" / "stat").exists():
        return float(process.create_time())
    try:
        return float(stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[START_TIME_FIELD])
    except OSError:
        raise psutil.NoSuchProcess(process.pid) from None


def find_process(id: int, since: float) -> psutil.Process | None:
    """The running process with this id and start time (see `start_time`); None if it has ended."""
    try:
        found = psutil.Process(id)
        return found if start_time(found) == since and not _is_zombie(found) else None
    except psutil.NoSuchProcess:
        return None


def has_ended(id: int) -> bool:
    """Whether the process, a child of this one, has ended."""
    try:
        return _is_zombie(psutil.Process(id))
    except psutil.NoSuchProcess:
        return True


def _is_zombie(process: psutil.Process) -> bool:
    return bool(process.status() == psutil.STATUS_ZOMBIE)
