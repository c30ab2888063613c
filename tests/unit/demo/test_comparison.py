"""The judge itself: does it see a lost, a doubled and a changed row?"""

from __future__ import annotations

import pytest

from penstock.demo.comparison import ResultDifference, RoundedValue, compare_answers, compare_groups, compare_rows
from penstock.demo.expected_results import Key, Line

ROWS = [("UA", 1, 2.0), ("AA", 2, None), ("UA", 1, 3.0)]


def test_equal_bags_are_equal_in_any_order() -> None:
    assert compare_rows(ROWS, list(reversed(ROWS))) == ResultDifference(rows=3, expected=3)


def test_a_lost_row_a_doubled_row_and_a_changed_row() -> None:
    assert compare_rows(ROWS, ROWS[:2]).lost == 1
    assert compare_rows(ROWS, [*ROWS, ROWS[0]]).doubled == 1
    changed = compare_rows(ROWS, [*ROWS[:2], ("UA", 1, 4.0)])
    assert (changed.lost, changed.doubled, changed.differing) == (0, 0, 1)


def test_one_lost_and_one_other_doubled_are_seen() -> None:
    assert not compare_rows(ROWS, [ROWS[0], ROWS[0], ROWS[1]]).equal


@pytest.mark.parametrize(
    ("found", "lost", "doubled", "differing"),
    [
        ({("a",): (2, 0.5)}, 0, 0, 0),
        ({("a",): (2, 0.5 + 1e-12)}, 0, 0, 0),
        ({("a",): (2, 0.6)}, 0, 0, 1),
        ({("a",): (2, None)}, 0, 0, 1),
        ({("a",): (1, 0.5)}, 1, 0, 1),
        ({("a",): (4, 0.5)}, 0, 2, 1),
        ({}, 2, 0, 1),
        ({("a",): (2, 0.5), ("b",): (1, 0.0)}, 0, 1, 1),
    ],
)
def test_groups(found: dict[Key, Line], lost: int, doubled: int, differing: int) -> None:
    result = compare_groups({("a",): (2, 0.5)}, found)
    assert (result.lost, result.doubled, result.differing) == (lost, doubled, differing)


def test_a_rounded_value_may_be_either_neighbour_of_a_tie_and_no_other() -> None:
    wanted = [["UA", RoundedValue(0.125, 2)]]
    assert compare_answers(wanted, [("UA", 0.12)]).equal
    assert compare_answers(wanted, [("UA", 0.13)]).equal
    assert not compare_answers(wanted, [("UA", 0.14)]).equal
    assert not compare_answers(wanted, [("UA", None)]).equal


def test_answers_are_compared_in_order_and_to_the_end() -> None:
    wanted = [["UA", 1], ["AA", 2]]
    assert compare_answers(wanted, [("UA", 1), ("AA", 2)]).equal
    assert compare_answers(wanted, [("AA", 2), ("UA", 1)]).differing == 2
    assert compare_answers(wanted, [("UA", 1)]).differing == 1
    assert compare_answers(wanted, []).differing == 2
