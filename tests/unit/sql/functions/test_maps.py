"""Calls of functions on maps that ClickHouse answers and that are refused here, with the reason."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

REFUSED = {
    "map('a', 1, 'a', 2)": "a key that comes twice in a `map` is not supported",
    "mapPopulateSeries(map(toUInt64(1), 2))": "is not supported",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    (problem,) = problems(f"SELECT {call} FROM flights")
    assert REFUSED[call] in problem
