from __future__ import annotations

import time

import pytest

from penstock.flow.inbox import arrivals as module
from penstock.flow.inbox.arrivals import Arrivals


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds since the start, which the test sets."""
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: 1000.0 + now[0])
    return now


def test_what_waits_is_counted_from_the_first_batch_that_is_missing(clock: list[float]) -> None:
    arrivals = Arrivals({})
    for number, at in ((1, 1.0), (2, 2.0), (3, 5.0)):
        clock[0] = at
        arrivals.add("s", number)
    clock[0] = 6.0
    assert [arrivals.seconds_waiting("s", after) for after in (0, 1, 2, 3)] == [5.0, 4.0, 1.0, 0.0]
    assert arrivals.heads == {"s": 3}
    assert arrivals.seconds_waiting("other", 0) == 0.0


def test_batches_from_before_the_start_wait_since_the_start(clock: list[float]) -> None:
    arrivals = Arrivals({"s": 7})
    clock[0] = 3.0
    arrivals.add("s", 8)
    clock[0] = 4.0
    assert arrivals.seconds_waiting("s", 5) == 4.0
    assert arrivals.seconds_waiting("s", 7) == 1.0


def test_what_is_forgotten_waits_since_the_start(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_REMEMBERED", 2)
    arrivals = Arrivals({})
    for number in range(1, 6):
        clock[0] += 1.0
        arrivals.add("s", number)
    assert arrivals.seconds_waiting("s", 1) == 5.0
    assert arrivals.seconds_waiting("s", 4) == 0.0


def test_a_clock_that_is_set_back_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    arrivals = Arrivals({})
    arrivals.add("s", 1)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert 0.0 <= arrivals.seconds_waiting("s", 0) < 60.0


def test_batches_that_were_logged_together_arrive_at_once(clock: list[float]) -> None:
    arrivals = Arrivals({"s": 1})
    clock[0] = 2.0
    arrivals.add("s", 5, count=3)
    clock[0] = 3.0
    assert arrivals.head("s") == 5
    assert [arrivals.seconds_waiting("s", after) for after in (2, 3, 4, 5)] == [1.0, 1.0, 1.0, 0.0]


def test_callers_that_announce_in_another_order_than_they_logged_are_sorted(clock: list[float]) -> None:
    arrivals = Arrivals({"s": 1})
    clock[0] = 1.0
    arrivals.add("s", 5)
    clock[0] = 2.0
    arrivals.add("s", 4, count=3)
    clock[0] = 3.0
    assert arrivals.head("s") == 5
    assert [arrivals.seconds_waiting("s", after) for after in (1, 2, 3, 4)] == [1.0, 1.0, 1.0, 2.0]
