"""Write the entries of the call log in the background.

In: a `CallLog`. Out: nothing. Invariant: entries wait at most for one interval while the store takes them, and a
server that stops writes those that are left.
"""

from __future__ import annotations

from penstock.deploy.runtime.periodic_task import PeriodicTask
from penstock.state.logs.call_log import CallLog

INTERVAL_SECONDS = 1.0


class CallLogWriter(PeriodicTask):
    """A thread that writes the calls of the last second."""

    def __init__(self, calls: CallLog):
        super().__init__("call log", INTERVAL_SECONDS)
        self._calls = calls

    def run_once(self) -> None:
        self._calls.flush()

    def stop(self) -> None:
        """End the thread, and write what waits."""
        super().stop()
        self._calls.flush()
