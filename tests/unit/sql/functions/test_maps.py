"""Calls of functions on maps that ClickHouse answers and that are refused here, with the reason."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems, query

REFUSED = {
    "map('a', 1, 'a', 2)": "a key that comes twice in a `map` is not supported",
    "mapPopulateSeries(map(toUInt64(1), 2))": "is not supported",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    (problem,) = problems(f"SELECT {call} FROM flights")
    assert REFUSED[call] in problem


@pytest.mark.parametrize("shown", ["map([1], 2)", "[map((1, [2]), 3)]", "tuple(map('a', mapFromArrays([[1]], [2])))"])
def test_keys_with_arrays_are_not_shown(shown: str) -> None:
    """The rows of an answer are read as Python's values, whose dictionaries take no list as a key."""
    (problem,) = problems(f"SELECT {shown} AS found FROM flights")
    assert "the column `found` cannot be shown" in problem
    assert query(f"SELECT toString({shown}) AS found FROM flights").columns
