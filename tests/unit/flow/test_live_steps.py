"""Few steps at a time, and more while some of them take long."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.flow.live_steps import LONG_SECONDS, LiveSteps


def test_a_step_waits_for_a_place_or_until_another_takes_long() -> None:
    steps = LiveSteps(2)
    steps.begin("a", 10.0)
    assert steps.seconds_until_next(10.5) == 0
    steps.begin("b", 10.5)
    assert steps.seconds_until_next(11.0) == 10.0 + LONG_SECONDS - 11.0
    steps.end("b")
    assert steps.seconds_until_next(11.0) == 0
    steps.begin("c", 11.0)
    assert steps.seconds_until_next(10.0 + LONG_SECONDS) == 0
    steps.end("of a version that is not live")


@given(st.integers(1, 4), st.lists(st.floats(0, 10), max_size=12), st.floats(10, 14))
def test_after_the_wait_a_step_may_begin(at_a_time: int, began: list[float], now: float) -> None:
    steps = LiveSteps(at_a_time)
    for number, at in enumerate(began):
        steps.begin(str(number), at)
    wait = steps.seconds_until_next(now)
    assert 0 <= wait <= LONG_SECONDS
    assert (wait == 0) == (sum(now - at < LONG_SECONDS for at in began) < at_a_time)
    assert steps.seconds_until_next(now + wait + 1e-6) == 0
