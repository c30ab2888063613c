"""How long a process waits for what is away."""

from __future__ import annotations

from penstock.postgres.delivery.retry_wait import MOST_PAUSE, RetryWait


def test_pauses_grow_until_something_lasted_or_ended_well() -> None:
    now = [0.0]
    pause = RetryWait(lambda: now[0])

    def fail_after(seconds: float) -> float:
        pause.begin()
        now[0] += seconds
        return pause.fail()

    assert [fail_after(0) for _ in range(8)] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, MOST_PAUSE, MOST_PAUSE]
    assert fail_after(MOST_PAUSE) == MOST_PAUSE
    assert [fail_after(3600), fail_after(1)] == [0.1, 0.2], "the server was there for an hour"
    pause.end()
    assert fail_after(0) == 0.1
