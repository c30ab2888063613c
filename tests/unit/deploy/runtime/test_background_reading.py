from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from penstock.deploy.runtime.background_reading import BackgroundReading, SharedRead
from penstock.errors import Unavailable
from waiting import wait_until


class Source:
    """What is read: a count, an error, or nothing for as long as `gate` is closed."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.error: Exception | None = None
        self.reads = 0

    def read(self) -> int:
        self.reads += 1
        assert self.gate.wait(60)
        if self.error is not None:
            raise self.error
        return self.reads


@pytest.fixture
def source() -> Iterator[Source]:
    made = Source()
    yield made
    made.gate.set()


def test_a_read_that_answers(source: Source) -> None:
    found = SharedRead("x", source.read).wait(30)
    assert (found.value, found.problem) == (1, None)


def test_a_read_that_hangs_is_not_waited_for_and_runs_once(source: Source) -> None:
    shared = SharedRead("x", source.read)
    assert shared.wait(30).value == 1
    source.gate.clear()
    for _ in range(5):
        found = shared.wait(0.01)
        assert found.value == 1, "the last value stays"
        assert found.problem is not None
    assert source.reads == 2, "the read that hangs is joined"
    source.gate.set()
    wait_until(lambda: shared.wait(30).problem is None)


def test_an_error_keeps_the_last_value(source: Source) -> None:
    shared = SharedRead("x", source.read)
    shared.wait(30)
    source.error = Unavailable("the state store does not answer")
    found = shared.wait(30)
    assert (found.value, found.problem) == (1, "the state store does not answer")
    source.error = None
    assert shared.wait(30).problem is None


def test_a_reading_in_the_background_is_overdue_while_it_hangs(source: Source) -> None:
    reading = BackgroundReading("x", source.read, seconds=0.01, patience=0.05)
    reading.start()
    wait_until(lambda: reading.reading.value is not None and reading.reading.problem is None)
    source.gate.clear()
    wait_until(lambda: reading.reading.problem is not None)
    assert reading.reading.value is not None
    source.gate.set()
    wait_until(lambda: reading.reading.problem is None)
    source.error = ZeroDivisionError("nothing")
    wait_until(lambda: reading.reading.problem == "ZeroDivisionError: nothing")
    reading.stop()
