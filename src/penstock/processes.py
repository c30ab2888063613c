"""Tell a process from a later one with the same id.

In: a process. Out: a number that is its own until the machine starts again. Called by deploy/owner, copies and
cli/down. Invariant: it does not change when the clock is set.
"""

from __future__ import annotations

from pathlib import Path

import psutil

PROC = Path("/proc")
START_TIME_FIELD = 19
"""The place of `starttime` after the name in brackets. Source: proc(5), /proc/pid/stat."""


def start_time(process: psutil.Process) -> float:
    """Ticks from the machine's start to the process's on Linux; elsewhere the time of its start in
    seconds. Raises NoSuchProcess."""
    stat = PROC / str(process.pid) / "stat"
    if not (PROC / "self" / "stat").exists():
        return float(process.create_time())
    try:
        return float(stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[START_TIME_FIELD])
    except OSError:
        raise psutil.NoSuchProcess(process.pid) from None


def find_process(id: int, since: float) -> psutil.Process | None:
    """The process with this id that `started` so, if it still runs."""
    try:
        found = psutil.Process(id)
        return found if start_time(found) == since and not _is_zombie(found) else None
    except psutil.NoSuchProcess:
        return None


def has_ended(id: int) -> bool:
    """Whether a child of this process has ended."""
    try:
        return _is_zombie(psutil.Process(id))
    except psutil.NoSuchProcess:
        return True


def _is_zombie(process: psutil.Process) -> bool:
    return bool(process.status() == psutil.STATUS_ZOMBIE)
