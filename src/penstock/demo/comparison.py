"""Found rows compared with expected rows.

In: expected and found lines. Out: a `ResultDifference`. Invariant: counts must be equal; floating-point values may
differ in their last digits only, because the value of a sum depends on its order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from penstock.demo.expected_results import Cell, Key, Line

TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class ResultDifference:
    """`rows` of `expected` were found; `lost` and `doubled` count the rows posted that are missing
    or there twice, `differing` the lines whose values are wrong."""

    rows: int = 0
    expected: int = 0
    lost: int = 0
    doubled: int = 0
    differing: int = 0

    def __add__(self, other: ResultDifference) -> ResultDifference:
        return ResultDifference(
            self.rows + other.rows,
            self.expected + other.expected,
            self.lost + other.lost,
            self.doubled + other.doubled,
            self.differing + other.differing,
        )

    @property
    def equal(self) -> bool:
        return self.lost == self.doubled == self.differing == 0


@dataclass(frozen=True, slots=True)
class RoundedValue:
    """A value of which the endpoint shows so many digits."""

    value: float | None
    digits: int


def compare_rows(expected: Iterable[Line], found: Iterable[Line]) -> ResultDifference:
    """Compare lines as a multiset. A wrong line is one missing and one extra line: it counts as differing."""
    wanted, there = Counter(expected), Counter(found)
    missing, extra = (wanted - there).total(), (there - wanted).total()
    wrong = min(missing, extra)
    return ResultDifference(there.total(), wanted.total(), missing - wrong, extra - wrong, wrong)


def compare_groups(expected: Mapping[Key, Line], found: Mapping[Key, Line]) -> ResultDifference:
    """Compare groups by key. The first value of a group is the number of its rows."""
    total = ResultDifference(rows=len(found), expected=len(expected))
    for key in expected.keys() | found.keys():
        wanted, there = expected.get(key), found.get(key)
        rows_missing = _row_count(wanted) - _row_count(there)
        wrong = wanted is None or there is None or not _equal_lines(wanted, there)
        total += ResultDifference(lost=max(0, rows_missing), doubled=max(0, -rows_missing), differing=int(wrong))
    return total


def compare_answers(expected: Sequence[Sequence[Cell | RoundedValue]], found: Sequence[Line]) -> ResultDifference:
    """Compare lines in their order."""
    wrong = sum(
        wanted is None or there is None or not _equal_lines(wanted, there)
        for wanted, there in zip_longest(expected, found)
    )
    return ResultDifference(len(found), len(expected), differing=wrong)


def _row_count(line: Line | None) -> int:
    return int(line[0] or 0) if line else 0


def _equal_lines(wanted: Sequence[Cell | RoundedValue], there: Line) -> bool:
    return len(wanted) == len(there) and all(map(_equal, wanted, there))


def _equal(wanted: Cell | RoundedValue, there: Cell) -> bool:
    if isinstance(wanted, RoundedValue):
        return _is_close(wanted.value, there, 0.5 * 10**-wanted.digits + TOLERANCE)
    if isinstance(wanted, float):
        return _is_close(wanted, there, TOLERANCE * max(1.0, abs(wanted)))
    if isinstance(wanted, int) and isinstance(there, str):
        return str(wanted) == there
    return wanted == there


def _is_close(wanted: float | None, there: Cell, by: float) -> bool:
    if wanted is None or there is None:
        return wanted is there
    return not isinstance(there, str) and abs(wanted - there) <= by
