"""Which files are deleted, when, and how many at once."""

from __future__ import annotations

from collections import deque

from penstock.deploy.maintenance.snapshot_cleanup import MOST_FILES, RemovedFiles, TableExpiry, _take_due


def removed(*groups: tuple[float, int]) -> TableExpiry:
    made = (RemovedFiles(at, tuple(f"{at}/{number}" for number in range(count))) for at, count in groups)
    return TableExpiry({}, deque(made))


def test_files_wait_for_the_time_and_for_the_query_that_has_run_for_longest() -> None:
    known = removed((10.0, 2), (20.0, 3), (30.0, 1))
    assert _take_due(known, 5.0, None) == ()
    assert len(_take_due(known, 25.0, 15.0)) == 2, "a query that began at 15 may read what went at 20"
    assert _take_due(known, 100.0, 20.0) == ()
    assert len(_take_due(known, 25.0, None)) == 3
    assert len(_take_due(known, 100.0, 31.0)) == 1
    assert not known.removed


def test_a_turn_is_bounded() -> None:
    known = removed((1.0, MOST_FILES * 2 + 5), (2.0, 10))
    sizes = [len(_take_due(known, 9.0, None)) for _ in range(4)]
    assert sizes == [MOST_FILES, MOST_FILES, 15, 0]
