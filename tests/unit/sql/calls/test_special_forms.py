"""Calls of special forms that are refused."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

REFUSED = {
    "sqr(rand())": "`sqr` of a random number is not supported",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    (problem,) = problems(f"SELECT {call} FROM flights")
    assert REFUSED[call] in problem
