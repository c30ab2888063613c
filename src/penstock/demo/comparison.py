"""What a table holds against what it must hold.

In: expected and found lines. Out: `Difference`. Called by `checks`. Invariant: counts are exact;
only floating-point values may differ, in their last digits, because sums depend on their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from penstock.demo.expected_results import Cell, Key, Line

TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Difference:
    """`rows` of `expected` were found; `lost` and `doubled` count the rows posted that are missing
    or there twice, `differing` the lines whose values are wrong."""

    rows: int = 0
    expected: int = 0
    lost: int = 0
    doubled: int = 0
    differing: int = 0

    def __add__(self, other: Difference) -> Difference:
        return Difference(
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
class Rounded:
    """A value of which the endpoint shows so many digits."""

    value: float | None
    digits: int


def compare_rows(expected: Iterable[Line], found: Iterable[Line]) -> Difference:
    """Lines as a bag. A line that is wrong is one missing and one too many: it counts as differing."""
    wanted, there = Counter(expected), Counter(found)
    missing, extra = (wanted - there).total(), (there - wanted).total()
    wrong = min(missing, extra)
    return Difference(there.total(), wanted.total(), missing - wrong, extra - wrong, wrong)


def compare_groups(expected: Mapping[Key, Line], found: Mapping[Key, Line]) -> Difference:
    """Groups by key. The first value of a group is the number of rows it stands for."""
    total = Difference(rows=len(found), expected=len(expected))
    for key in expected.keys() | found.keys():
        wanted, there = expected.get(key), found.get(key)
        rows_missing = _rows(wanted) - _rows(there)
        wrong = wanted is None or there is None or not _equal_lines(wanted, there)
        total += Difference(lost=max(0, rows_missing), doubled=max(0, -rows_missing), differing=int(wrong))
    return total


def compare_answers(expected: Sequence[Sequence[Cell | Rounded]], found: Sequence[Line]) -> Difference:
    """Lines in order."""
    wrong = sum(
        wanted is None or there is None or not _equal_lines(wanted, there)
        for wanted, there in zip_longest(expected, found)
    )
    return Difference(len(found), len(expected), differing=wrong)


def _rows(line: Line | None) -> int:
    return int(line[0] or 0) if line else 0


def _equal_lines(wanted: Sequence[Cell | Rounded], there: Line) -> bool:
    return len(wanted) == len(there) and all(map(_equal, wanted, there))


def _equal(wanted: Cell | Rounded, there: Cell) -> bool:
    if isinstance(wanted, Rounded):
        return _near(wanted.value, there, 0.5 * 10**-wanted.digits + TOLERANCE)
    if isinstance(wanted, float):
        return _near(wanted, there, TOLERANCE * max(1.0, abs(wanted)))
    if isinstance(wanted, int) and isinstance(there, str):
        return str(wanted) == there
    return wanted == there


def _near(wanted: float | None, there: Cell, by: float) -> bool:
    if wanted is None or there is None:
        return wanted is there
    return not isinstance(there, str) and abs(wanted - there) <= by
