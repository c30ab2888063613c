"""Find the rows for which a step fails, by running parts of it.

In: the number of rows, in a fixed order, and a probe that says whether a selection of them fails. Out: the rows that
fail, with the reasons. Invariant: a row is named only if it failed alone, twice, while no rows at all did not fail; or,
where rows fail together only (a sum that overflows), if the rows before it did not fail and those up to it did. So an
outage, which makes every selection fail or raises from the probe, names no row, and no row is named for its neighbours.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

TURN_SECONDS = 60.0
"""A search that takes longer ends with the next row that it finds, and goes on when the step is tried again: the step
holds its table meanwhile."""

Selection: TypeAlias = Sequence[range]
"""The positions of rows, as ranges in ascending order."""
Probe: TypeAlias = Callable[[Selection], "str | None"]
"""Runs the step for these rows without writing: why it fails, None if it does not. It raises where the cause may be
something else than the rows."""


class RetryLater(Exception):
    """A step failed, and there is a reason to try it again after so many seconds; only its flow waits."""

    def __init__(self, message: str, seconds: float):
        super().__init__(message)
        self.seconds = seconds


class SearchUnfinished(RetryLater):
    """Some of the failing rows were found, and there may be more of them."""

    def __init__(self, found: int, problem: str):
        super().__init__(
            f"{found} more rows fail, and others may; they are looked for. The last reason: {problem}", 1.0
        )


class UnstableFailure(Exception):
    """Rows failed and then did not: it is not the rows that decide."""

    def __init__(self) -> None:
        super().__init__("the step fails for some rows and, when it is tried again, not for the same ones")


def find_failing_rows(
    count: int, probe: Probe, found: Callable[[int, str], object], turn_seconds: float = TURN_SECONDS
) -> Mapping[int, str]:
    """The rows, by position, that must be left out so that the others do not fail, with the reasons; none if the step
    does not fail, or fails without any row. `found` is called for each as soon as it is known. Raises SearchUnfinished
    with the first row that is found after `turn_seconds`, UnstableFailure, and what `probe` and `found` raise."""
    failing: dict[int, str] = {}
    end = time.monotonic() + turn_seconds

    def keep(position: int, problem: str) -> None:
        failing[position] = problem
        found(position, problem)
        if time.monotonic() > end:
            raise SearchUnfinished(len(failing), problem)

    if probe(()) is not None:
        return failing
    for position, problem in _failing_alone(count, probe):
        keep(position, problem)
    while (together := probe(_others(count, failing))) is not None:
        keep(_first_that_tips(count, failing, probe), together)
    return failing


def samples_that_fail(count: int, samples: int, probe: Probe) -> str | None:
    """Why rows that are spread over all `count` fail, each alone; None if one of them does not, or if the step fails
    without any row."""
    if probe(()) is not None:
        return None
    problem = None
    for number in range(samples):
        at = number * (count - 1) // max(samples - 1, 1)
        problem = probe((range(at, at + 1),))
        if problem is None:
            return None
    return problem


def _failing_alone(count: int, probe: Probe) -> Iterator[tuple[int, str]]:
    """The rows that fail alone, each with the reason."""
    waiting = [_Part(range(count))]
    while waiting:
        part = waiting.pop()
        problem = part.problem
        if problem is None and (not part.must_fail or len(part.rows) == 1):
            problem = probe((part.rows,)) if part.rows else None
            if problem is None:
                continue
        if len(part.rows) > 1:
            waiting += _halves(part.rows, probe)
        elif problem is not None:
            if probe((part.rows,)) is None:
                raise UnstableFailure
            yield part.rows.start, problem


@dataclass(frozen=True, slots=True)
class _Part:
    """A range of rows."""

    rows: range
    problem: str | None = None
    """Why it failed; None if it was not tried."""
    must_fail: bool = False
    """Whether it fails, unless rows fail together only: the rest of what failed did not."""


def _halves(rows: range, probe: Probe) -> Iterator[_Part]:
    """The halves of a range that fails, the later one first."""
    middle = rows.start + len(rows) // 2
    first, second = range(rows.start, middle), range(middle, rows.stop)
    problem = probe((first,))
    yield _Part(second, must_fail=problem is None)
    if problem is not None:
        yield _Part(first, problem)


def _first_that_tips(count: int, failing: Mapping[int, str], probe: Probe) -> int:
    """The last row of the shortest selection from the beginning that fails. Raises UnstableFailure."""
    low, high = 0, count  # the rows below `low` do not fail, those below `high` do
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if probe(_others(middle, failing)) is None else (low, middle)
    if high == 0 or high - 1 in failing:
        raise UnstableFailure
    return high - 1


def _others(count: int, failing: Mapping[int, str]) -> Selection:
    """The rows below `count` that are not known to fail."""
    others, start = [], 0
    for at in sorted(failing):
        others.append(range(start, min(at, count)))
        start = at + 1
    others.append(range(start, count))
    return tuple(each for each in others if each)
