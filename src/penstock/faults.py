"""Named moments at which a test can let the process die, as if the machine had lost its power.

In: the environment variable PENSTOCK_FAULT=<point>:<n>, read once at import. Out: SIGKILL to the own
process the n-th time the point is reached. Called right before and after each commit and each
journal write. Invariant: does nothing unless the variable is set; only the chaos tests set it.
"""

from __future__ import annotations

import itertools
import os
import signal

POINTS = (
    "landing.committed",
    "quarantine.committed",
    "view.committed",
    "copy.committed",
    "step.intended",
    "step.ran",
    "step.journalled",
    "activate.bound",
    "promote.held",
    "promote.swapped",
    "inbox.written",
    "inbox.logged",
)

_point, _, _count = os.environ.get("PENSTOCK_FAULT", "").partition(":")
_times = itertools.count(1)


def reached(point: str) -> None:
    """Die here if the environment says so."""
    if point == _point and next(_times) == int(_count or 1):
        os.kill(os.getpid(), signal.SIGKILL)
