from __future__ import annotations

import logging
import threading

import pytest

from penstock.deploy.runtime.periodic_task import PeriodicTask


class Looks(PeriodicTask):
    """Fails every second time."""

    def __init__(self) -> None:
        super().__init__("looks", 0.01)
        self.count = 0
        self.enough = threading.Event()

    def run_once(self) -> None:
        self.count += 1
        if self.count >= 5:
            self.enough.set()
        if self.count % 2:
            raise OSError("away")


def test_it_looks_again_and_again_whatever_comes_of_it(caplog: pytest.LogCaptureFixture) -> None:
    looks = Looks()
    with caplog.at_level(logging.ERROR):
        looks.start()
        assert looks.enough.wait(60)
        looks.stop()
    seen = looks.count
    assert any("looks: a run failed" in record.message for record in caplog.records)
    assert not looks.enough.wait(0.05) or looks.count == seen
