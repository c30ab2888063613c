"""Named moments at which a test can let the process die, as if the machine had lost its power.

In: the environment variable PENSTOCK_FAULT=<point>:<n>, read once at import, or `arm`. Out: the end of
the process (or, where a test said so, of every thread that gets to a point) the n-th time the point is
reached. Called right before and after each commit and each journal write. Invariant: does nothing
unless armed; only the chaos tests do.
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
)
"""`state.*` is every write of the state store, `lake.*` every change of a table."""


class Crashed(BaseException):
    """The process is dead, as far as this thread is concerned. No handler of errors catches it."""


@dataclass
class _Fault:
    """The n-th time `point` is reached, `die` is called. From then on every point is the end."""

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
    """Die the `at`-th time from now that `point` is reached: `die` is called once, and every thread that
    comes to any point from then on gets Crashed, so nothing more is written by this life."""
    global _armed  # noqa: PLW0603 - there is one life
    _armed = _Fault(point, at, die, itertools.count(1))


def disarm() -> bool:
    """A new life begins. Returns whether the last one died."""
    global _armed  # noqa: PLW0603
    died = _armed is not None and _armed.dead
    _armed = None
    return died


def reached(point: str) -> None:
    """Die here if a test says so."""
    fault = _armed
    if fault is None:
        return
    if not fault.dead and fault.point == point and next(fault.times) == fault.at:
        fault.dead = True
        fault.die()
    if fault.dead:
        raise Crashed(point)
