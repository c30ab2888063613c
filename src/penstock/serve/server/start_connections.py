"""A start waits for a state store, and for a catalog, that do not answer.

In: the settings. Out: an open state store; a catalog that has answered. Invariant: what does not pass (a wrong
password, a wrong name) ends the start at once; while it waits, a warning says so on standard error each minute.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import Failed, Unavailable
from penstock.lake.spark.catalog import catalog_outage
from penstock.model.settings import Settings
from penstock.serve.server.caller_reports import report_waiting
from penstock.state.database import Database, connect_database, may_pass

PATIENCE = 600.0
"""Seconds for which a start waits for what does not answer."""
PAUSE, REPORT_PAUSE = 1.0, 60.0


def connect_patiently(url: str, seconds: float) -> Database:
    """Connect to the state store. While it is away this tries again for at most so long. Raises Failed, with the
    reason, after that, and at once for what does not pass."""
    waiting = _Waiting(time.monotonic() + seconds)
    while True:
        try:
            return connect_database(url)
        except Failed as error:
            passes = isinstance(error.__cause__, Unavailable) and may_pass(error.message)
            if not passes or waiting.is_over():
                raise
            waiting.report(error.message)
        time.sleep(PAUSE)


def await_catalog(settings: Settings, home: Path, seconds: float, show: Callable[[str], None]) -> None:
    """Wait until the catalog answers, for at most so long; `show` gets what is waited for. Raises Failed after that."""
    waiting = _Waiting(time.monotonic() + seconds)
    while (why := catalog_outage(settings, home)) is not None:
        message = f"the catalog does not answer: {why}"
        if waiting.is_over():
            raise Failed(message, hint="start the server again when it does; nothing was changed")
        show(f"waiting for the catalog, which does not answer: {why}")
        waiting.report(message)
        time.sleep(PAUSE)


@dataclass(slots=True)
class _Waiting:
    """How long it is still waited, and when that was last said."""

    end: float
    reported: float = float("-inf")

    def is_over(self) -> bool:
        return time.monotonic() > self.end

    def report(self, message: str) -> None:
        if time.monotonic() - self.reported > REPORT_PAUSE:
            self.reported = time.monotonic()
            minutes = (self.end - self.reported) / 60
            report_waiting(Unavailable(f"{message}; trying again for {minutes:.0f} minutes"))
