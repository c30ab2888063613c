"""Calls of aggregates that are refused because of their arguments."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

REFUSED = {
    "argAndMax(1, 1.5)": "arguments that are not Nullable, the second no float",
    "argMax(carrier, toUUID(carrier))": "`argMax` needs a second argument that can be compared",
    "min((dep_delay, day))": "`min` needs no NULL inside",
    "argMin(day, [dep_delay])": "`argMin` needs no NULL inside",
    "groupArraySorted(2)(toIPv4(carrier))": "`groupArraySorted` needs values other than Enum",
    "groupArrayIfOrNull(day > 1)": "`groupArrayIfOrNull` takes 1 arguments, 0 are given",
    "sumMapIfOrNull([1], day > 1)": "`sumMapIfOrNull` needs",
    "sumMap([toIPv4(carrier)], [1])": "`sumMap` needs keys other than Enum",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    (problem,) = problems(f"SELECT {call} FROM flights")
    assert REFUSED[call] in problem
