"""Named points in the code at which a chaos test can let the process die, as if the machine had lost its power.

In: the environment variable PENSTOCK_FAULT=<point>:<n>, read once at import, or a call of `arm`. Out: the n-th time
the point is reached the process ends or, where the test chose so, every thread that reaches any point ends.
There is a point before and after every commit and journal write. Invariant: nothing happens unless a test armed it.
"""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass

POINTS = (
    "state.before",
    "state.after",
    "lake.before",
    "lake.after",
    "append.written",
    "landing.committed",
    "quarantine.committed",
    "view.committed",
    "copy.committed",
    "settle.committed",
    "rewrite.written",
    "rewrite.committed",
    "orphans.before",
    "trim.logged",
    "step.intended",
    "step.ran",
    "step.journalled",
    "step.undone",
    "activate.bound",
    "promote.held",
    "promote.swapped",
    "inbox.written",
    "inbox.logged",
    "copy.spooled",
    "copy.appended",
    "copy.settled",
    "rows.removed",
    "rebuild.deleted",
    "rebuild.begun",
)
"""The known points. `state.*` surround every write of the state store, `lake.*` every change of a table."""

CAPTURE_POINTS = (
    "cdc.received",
    "cdc.before-delivery",
    "cdc.delivered",
    "cdc.part-intended",
    "cdc.part-delivered",
)
"""The points of `penstock cdc run`."""
KEEPING_POINTS = ("cdc.kept", "cdc.replayed")
"""The points where rows are kept whose store lacks a column, and of their replay."""
IMPORT_POINTS = ("import.part_stored", "import.part_noted")
"""The points of files that data sources take: behind a part of the rows, and behind its entry in the store."""
STORE_POINTS = ("cdc.before-insert", "cdc.inserted")
"""The points of a delivery into ClickHouse."""
MIGRATION_POINTS = ("migration.carried-out", "migration.noted")
"""The points of `penstock migrations apply`: behind a step, and behind its entry in the journal."""


class Crashed(BaseException):
    """The process counts as dead for this thread. A BaseException, so that no error handler catches it."""


@dataclass
class _Fault:
    """An armed crash: `die` is called the `at`-th time `point` is reached; from then on every point raises Crashed."""

    point: str
    at: int
    die: Callable[[], None]
    times: Iterator[int]
    dead: bool = False


def _kill_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _load_from_environment() -> _Fault | None:
    point, _, count = os.environ.get("PENSTOCK_FAULT", "").partition(":")
    return _Fault(point, int(count or 1), _kill_process, itertools.count(1)) if point else None


_armed: _Fault | None = _load_from_environment()


def arm(point: str, at: int, die: Callable[[], None]) -> None:
    """Crash the `at`-th time from now that `point` is reached: `die` is called once, and from then on every thread
    that reaches any point gets Crashed, so this run of the server writes nothing more."""
    global _armed  # noqa: PLW0603 - one fault a process
    _armed = _Fault(point, at, die, itertools.count(1))


def disarm() -> bool:
    """Forget the armed fault. Returns whether it had crashed."""
    global _armed  # noqa: PLW0603
    died = _armed is not None and _armed.dead
    _armed = None
    return died


def crash_point(point: str) -> None:
    """Crash here if a test armed this point. Raises Crashed."""
    fault = _armed
    if fault is None:
        return
    if not fault.dead and fault.point == point and next(fault.times) == fault.at:
        fault.dead = True
        fault.die()
    if fault.dead:
        raise Crashed(point)
