"""Does the judge of `make demo-postgres` see a lost, a doubled, a strange and a changed row?"""

from __future__ import annotations

from datetime import date, datetime, timezone

import pytest

from penstock.demo.issue_tracker.store_comparison import ComparedTable, Line, compare_table, value_text

TABLE = ComparedTable("live", "t", ("id", "a", "b"), 1)
ROWS: list[Line] = [("1", "x", None), ("2", "y", "z")]


def test_equal_rows_in_any_order() -> None:
    found = compare_table(TABLE, ROWS, [*reversed(ROWS)], 0)
    assert (found.is_equal, found.rows, found.expected) == (True, 2, 2)


@pytest.mark.parametrize(
    ("rows", "twice", "lost", "doubled", "wrong"),
    [
        (ROWS[:1], 0, 1, 0, ()),
        ([*ROWS, ROWS[0]], 0, 0, 1, ()),
        ([*ROWS, ("3", "x", None)], 0, 0, 1, ()),
        (ROWS, 2, 0, 2, ()),
        ([ROWS[0], ("2", "y", None)], 0, 0, 0, ("b",)),
        ([ROWS[0], ("2", "z", "y")], 0, 0, 0, ("a", "b")),
        ([], 0, 2, 0, ()),
    ],
)
def test_what_differs(rows: list[Line], twice: int, lost: int, doubled: int, wrong: tuple[str, ...]) -> None:
    found = compare_table(TABLE, ROWS, rows, twice)
    assert (found.lost, found.doubled, found.wrong, found.is_equal) == (lost, doubled, wrong, False)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (True, "1"),
        (False, "0"),
        (2**40, str(2**40)),
        (date(2027, 1, 2), "2027-01-02"),
        (datetime(2027, 1, 2, 3, 4, 5, 60, timezone.utc), "2027-01-02 03:04:05.000060"),
        ("2027-01-02 03:04:05.000060", "2027-01-02 03:04:05.000060"),
    ],
)
def test_values_of_all_stores_are_the_same_texts(value: object, text: str | None) -> None:
    assert value_text(value) == text
