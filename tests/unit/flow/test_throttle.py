from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.flow import throttle as module
from penstock.flow.throttle import LAG_VALID_SECONDS, REST_FACTOR, BackfillRate, BackfillThrottle


class Clock:
    now = 1000.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module.time, "monotonic", lambda: made.now)
    return made


def test_without_a_limit_and_without_lag_it_is_always_open(clock: Clock) -> None:
    pace = BackfillThrottle(BackfillRate(), lambda: 0.0)
    pace.record_step(10**12, 1.0)
    assert pace.may_start()


def test_a_step_is_followed_by_the_rest_that_keeps_the_rate(clock: Clock) -> None:
    pace = BackfillThrottle(BackfillRate(bytes_per_second=100), lambda: 0.0)
    clock.now += 2.0
    pace.record_step(1000, 2.0)
    assert not pace.may_start()
    clock.now += 7.9
    assert not pace.may_start()
    clock.now += 0.2
    assert pace.may_start()


@given(st.lists(st.tuples(st.integers(0, 10_000), st.floats(0.01, 5.0)), min_size=1, max_size=30))
def test_over_any_steps_the_rate_holds(steps: list[tuple[int, float]]) -> None:
    clock, patch = Clock(), pytest.MonkeyPatch()
    patch.setattr(module.time, "monotonic", lambda: clock.now)
    try:
        began, read, pace = clock.now, 0, BackfillThrottle(BackfillRate(bytes_per_second=1000), lambda: 0.0)
        for size, seconds in steps:
            while not pace.may_start():
                clock.now += 0.01
            # Before each step, what was read so far was read at the rate or slower.
            assert read <= 1000 * (clock.now - began) + 1
            clock.now += seconds
            pace.record_step(size, seconds)
            read += size
    finally:
        patch.undo()


def test_while_live_lags_it_slows_to_a_tenth_and_does_not_stop(clock: Clock) -> None:
    lag = [60.0]
    pace = BackfillThrottle(BackfillRate(yield_after=10.0), lambda: lag[0])
    clock.now += 3.0
    pace.record_step(1, 3.0)
    assert not pace.may_start()
    clock.now += REST_FACTOR * 3.0 - 0.1
    assert not pace.may_start()
    clock.now += 0.2
    assert pace.may_start()
    pace.record_step(1, 3.0)
    lag[0] = 0.0
    clock.now += LAG_VALID_SECONDS + 0.1
    assert pace.may_start()
