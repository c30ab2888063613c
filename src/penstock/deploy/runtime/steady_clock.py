"""The time of day for what deletes by age: a clock that is set forward makes nothing old.

In: the machine's two clocks. Out: a time. Invariant: from one look to the next it goes on by no more than this process
has run meanwhile. That the clock was wrong when the process began shows only once it is set right, so nothing is old
before the process has run for a while.
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone

SETTLED_SECONDS = 3_600.0
"""How long a machine may take to set its clock after a boot."""


class SteadyClock:
    """Begins with the process that uses it, which has to run for `settles` seconds until the clock is trusted."""

    def __init__(self, settles: float = SETTLED_SECONDS) -> None:
        self._settles = settles
        self._began = time.monotonic()
        self._first = datetime.now(timezone.utc)

    def now(self) -> datetime:
        """The earliest that the time of day can be, by this look at the machine's clock and by those before it."""
        passed = timedelta(seconds=time.monotonic() - self._began)
        self._first = min(self._first, datetime.now(timezone.utc) - passed)
        return self._first + passed

    def is_settled(self) -> bool:
        """Whether the process has run for long enough to trust it."""
        return time.monotonic() - self._began >= self._settles
