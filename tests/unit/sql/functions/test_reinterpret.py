"""Types whose bytes are not reinterpreted."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

REFUSED = {
    "reinterpretAsInt64(1.5)": "`reinterpretAsInt64` of Float64 is not supported",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    (problem,) = problems(f"SELECT {call} FROM flights")
    assert REFUSED[call] in problem
