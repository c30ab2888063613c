"""Find the rows for which a step fails, by running parts of it.

In: the number of rows, in a fixed order, and a probe that says whether a selection of them fails. Out: `FailingRows`.
Invariant: a row is named only if it failed alone, twice, while no rows at all did not fail; or, where rows fail
together only (a sum that overflows), if the rows before it did not fail and those up to it did. So an outage, which
makes every selection fail or raises from the probe, names no row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

MOST_FAILING = 1_000
"""The most rows that are examined one by one; each takes about as many probes as its selection can be halved."""
SAMPLES = 16
"""If this many rows, spread over a selection of at least 64, fail each alone, all of its rows are taken to fail."""
SMALLEST_SAMPLED, LARGEST_UNEXAMINED = 64, 1_024

Selection: TypeAlias = Sequence[range]
"""The positions of rows, as ranges in ascending order."""
Probe: TypeAlias = Callable[[Selection], "str | None"]
"""Runs the step for these rows without writing: why it fails, None if it does not. It raises where the cause may be
something else than the rows."""


class UnstableFailure(Exception):
    """Rows failed and then did not: it is not the rows that decide."""

    def __init__(self) -> None:
        super().__init__("the step fails for some rows and, when it is tried again, not for the same ones")


@dataclass(slots=True)
class FailingRows:
    """The rows for which a step fails."""

    single: dict[int, str] = field(default_factory=dict)
    """The reason by position, of rows that were examined one by one."""
    rest: list[tuple[range, str]] = field(default_factory=list)
    """Ranges that fail, with the reason of one of their rows: they were too many to be examined one by one."""

    @property
    def reasons(self) -> Mapping[int, str]:
        """The reason of every row that must be left out, by position."""
        return {at: problem for rows, problem in self.rest for at in rows} | self.single


def find_failing_rows(count: int, probe: Probe, found: Callable[[int, str], object]) -> FailingRows:
    """The rows that must be left out so that the others do not fail; none if the step does not fail, or fails without
    any row. `found` is called for each row of `single` as soon as it is known. Raises UnstableFailure, and what `probe`
    and `found` raise."""
    failing = FailingRows()
    if probe(()) is not None:
        return failing
    for position, problem in _failing_alone(count, probe, failing):
        failing.single[position] = problem
        found(position, problem)
    while (together := probe(_others(count, failing))) is not None:
        position = _first_that_tips(count, failing, probe)
        failing.single[position] = together
        found(position, together)
    return failing


def _failing_alone(count: int, probe: Probe, failing: FailingRows) -> Iterator[tuple[int, str]]:
    """The rows that fail alone, each with the reason; `rest` gets the ranges that are too many to be examined."""
    waiting = [(range(count), False)]
    while waiting:
        rows, known_to_fail = waiting.pop()
        if not rows or (not known_to_fail and probe((rows,)) is None):
            continue
        if len(rows) == 1:
            problem = probe((rows,))
            if problem is not None and probe((rows,)) is None:
                raise UnstableFailure
            if problem is not None:
                yield rows.start, problem
            continue
        unexamined = len(failing.single) >= MOST_FAILING and len(rows) <= LARGEST_UNEXAMINED
        reason = probe((rows,)) if unexamined else _reason_of_all(rows, probe)
        if reason is not None:
            failing.rest.append((rows, reason))
        elif not unexamined:
            waiting += _halves(rows, probe)


def _halves(rows: range, probe: Probe) -> Iterator[tuple[range, bool]]:
    """The halves of a range that fails, the later one first, with whether each is known to fail."""
    middle = rows.start + len(rows) // 2
    first, second = range(rows.start, middle), range(middle, rows.stop)
    fails = probe((first,)) is not None
    yield second, not fails
    if fails:
        yield first, True


def _reason_of_all(rows: range, probe: Probe) -> str | None:
    """The reason why rows spread over a large range fail; None if one of them does not, or the range is small."""
    if len(rows) < SMALLEST_SAMPLED:
        return None
    problem = None
    for number in range(SAMPLES):
        at = rows.start + number * (len(rows) - 1) // (SAMPLES - 1)
        problem = probe((range(at, at + 1),))
        if problem is None:
            return None
    return problem


def _first_that_tips(count: int, failing: FailingRows, probe: Probe) -> int:
    """The last row of the shortest selection from the beginning that fails. Raises UnstableFailure."""
    low, high = 0, count  # the rows below `low` do not fail, those below `high` do
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if probe(_others(middle, failing)) is None else (low, middle)
    if high == 0 or high - 1 in failing.reasons:
        raise UnstableFailure
    return high - 1


def _others(count: int, failing: FailingRows) -> Selection:
    """The rows below `count` that are not known to fail."""
    known = [*(range(at, at + 1) for at in failing.single), *(rows for rows, _ in failing.rest)]
    others, start = [], 0
    for rows in sorted(known, key=lambda each: each.start):
        others.append(range(start, min(rows.start, count)))
        start = rows.stop
    others.append(range(start, count))
    return tuple(each for each in others if each)
