"""How long a plan takes, by the rates of this server's own steps.

In: the rows that a plan moves, and the latest operations. Out: seconds and what they rest on. Invariant: where no step
has read enough rows to tell a rate there is no estimate: small steps cost what a start costs, whatever they read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from penstock.state.logs.operations import Operation

ENOUGH_ROWS = 10_000
"""A step that reads fewer rows tells what a step costs, and not what a row does."""
MOST_STEPS = 50
"""The newest of such steps tell the rate."""
MOST_OPERATIONS = 2_000
_FILLS = ("materialization", "deployment_backfill")


@dataclass(frozen=True, slots=True)
class TimeEstimate:
    """About how long something takes."""

    seconds: float | None
    """None: it cannot be said."""
    basis: str
    """What it rests on, or why there is none."""

    def as_json(self) -> dict[str, object]:
        return {"seconds": self.seconds, "basis": self.basis}


def estimate_time(rows: int | None, recent: Callable[[int], Iterable[Operation]]) -> TimeEstimate:
    """The time in which this server reads so many rows to fill tables. `recent` gives the latest operations, newest
    first."""
    if rows == 0:
        return TimeEstimate(0.0, "no row moves")
    if rows is None:
        return TimeEstimate(None, "how many rows move is not known")
    steps = [each for each in recent(MOST_OPERATIONS) if _tells_rate(each)][:MOST_STEPS]
    if not steps:
        return TimeEstimate(None, f"no step of this server has read {ENOUGH_ROWS:,} rows yet")
    rate = sum(each.read_rows for each in steps) / sum(each.elapsed_time for each in steps)
    last = f"the last {len(steps)} steps" if len(steps) > 1 else "the last step"
    return TimeEstimate(
        rows / rate, f"at {rate:,.0f} rows/s as in {last} of this server that read {ENOUGH_ROWS:,} rows or more"
    )


def _tells_rate(step: Operation) -> bool:
    is_fill = step.event_type in _FILLS and step.result == "ok"
    return is_fill and step.read_rows >= ENOUGH_ROWS and step.elapsed_time > 0
