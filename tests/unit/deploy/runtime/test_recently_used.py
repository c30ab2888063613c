"""What is kept does not depend on how many deployments there ever were."""

from __future__ import annotations

import pytest

from penstock.deploy.runtime.recently_used import RecentlyUsed

MOST = 4


def test_values_that_were_used_last_are_kept() -> None:
    values = RecentlyUsed[object](MOST)
    first = values.get(1, object)
    for id in range(2, 50):
        values.get(id, object)
        assert values.get(1, object) is first
    assert len(values._values) == MOST
    again = values.get(2, object)
    assert values.get(2, object) is again


def test_a_value_that_cannot_be_made_is_asked_for_again() -> None:
    values = RecentlyUsed[int](MOST)
    with pytest.raises(ZeroDivisionError):
        values.get(1, lambda: 1 // 0)
    assert values.get(1, lambda: 2) == 2
