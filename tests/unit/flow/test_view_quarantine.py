"""When a view with `ON_ERROR quarantine` stops all the same: so many rows fail that the query is wrong."""

from __future__ import annotations

import pytest

from penstock.flow.failing_rows import FailingRows
from penstock.flow.view_quarantine import MOST_QUARANTINED, TooManyRowsFail, refuse_too_many

WHY = "no number"


def single(count: int) -> FailingRows:
    return FailingRows(dict.fromkeys(range(count), WHY))


def test_some_rows_are_condemned() -> None:
    refuse_too_many(single(1), 100, 0)
    refuse_too_many(single(2), 2, 0)
    refuse_too_many(FailingRows({}, [(range(100), WHY)]), 101, 0)
    refuse_too_many(single(100), 1_000_000, MOST_QUARANTINED - 100)


@pytest.mark.parametrize(
    ("failing", "examined", "before"),
    [
        (FailingRows({}, [(range(64), WHY)]), 64, 0),
        (single(MOST_QUARANTINED + 1), 10**6, 0),
        (FailingRows({1: WHY}, [(range(2, MOST_QUARANTINED + 2), WHY)]), 10**6, 0),
        (single(1), 10**6, MOST_QUARANTINED),
    ],
)
def test_a_view_that_fails_for_most_rows_stops(failing: FailingRows, examined: int, before: int) -> None:
    """Also over many attempts: each search may be cut off after it condemned some rows."""
    with pytest.raises(TooManyRowsFail, match=WHY):
        refuse_too_many(failing, examined, before)
