"""The time of a plan is told by steps of this server that read enough rows, or not at all."""

from __future__ import annotations

from penstock.deploy.lifecycle.time_estimate import ENOUGH_ROWS, MOST_STEPS, TimeEstimate, estimate_time
from penstock.state.logs.operations import Operation


def estimate(rows: int | None, *steps: Operation) -> TimeEstimate:
    return estimate_time(rows, lambda limit: steps[:limit])


def fill(rows: int, seconds: float, kind: str = "materialization", result: str = "ok") -> Operation:
    return Operation(kind, "t", read_rows=rows, elapsed_time=seconds, result=result)


def test_the_rate_is_that_of_all_rows_by_all_seconds() -> None:
    found = estimate(1_000_000, fill(10_000, 1), fill(90_000, 4, "deployment_backfill"))
    assert found.seconds == 50
    assert "at 20,000 rows/s as in the last 2 steps" in found.basis


def test_small_failed_and_other_steps_tell_nothing() -> None:
    others = (
        fill(ENOUGH_ROWS - 1, 1),
        fill(50_000, 1, "append"),
        fill(50_000, 1, result="error"),
        fill(50_000, 0),
    )
    assert estimate(5, *others).seconds is None
    assert estimate(20_000, *others, fill(10_000, 2)).seconds == 4


def test_only_the_newest_steps_count() -> None:
    steps = [fill(10_000, 1)] * MOST_STEPS + [fill(10_000, 1000)]
    assert estimate(10_000, *steps).seconds == 1


def test_nothing_takes_no_time_and_the_unknown_is_not_guessed() -> None:
    assert estimate(0).seconds == 0
    assert estimate(None, fill(10_000, 1)).seconds is None
