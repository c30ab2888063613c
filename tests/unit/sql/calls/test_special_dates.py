"""Calls of tumble, addDate and age that are refused."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

_NY = "toDateTime('2024-01-01 00:00:00', 'America/New_York')"
REFUSED = {
    f"tumbleStart({_NY}, INTERVAL 1 DAY)": "needs a DateTime in UTC that is not Nullable",
    "tumble(now(), INTERVAL 5 HOUR)": "only windows of seconds and minutes may be longer than one unit",
    "addDate('2020-01-01', INTERVAL 1 DAY)": "`addDate` takes a time and an INTERVAL",
    "age('week', today(), now())": "`age` in weeks is not supported",
    f"age('day', {_NY}, now())": "`age` between two time zones is not supported",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    (problem,) = problems(f"SELECT {call} FROM flights")
    assert REFUSED[call] in problem
