"""A machine whose clock can be set, for what deletes by age."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone

import pytest

from penstock.deploy.runtime import steady_clock


class SetClock:
    """`passed` is the time that really passes, in seconds; `wrong` is how far the time of day is ahead of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.passed, self.wrong = 1_000.0, timedelta()
        self._began = datetime.now(timezone.utc) - timedelta(seconds=self.passed)
        monkeypatch.setattr(time, "monotonic", lambda: self.passed)
        monkeypatch.setattr(steady_clock, "datetime", self)

    def now(self, zone: timezone) -> datetime:
        return self._began.astimezone(zone) + timedelta(seconds=self.passed) + self.wrong
