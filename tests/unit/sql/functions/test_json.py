"""Calls of JSON functions that are refused, with the reason."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

REFUSED = {
    "JSON_VALUE(carrier, '$.a[*]')": "the JSON path '$.a[*]' is not supported",
    "JSONExtract(carrier, 'a', 'Decimal(10, 2)')": "`JSONExtract` of Decimal(10, 2) is not supported",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    (problem,) = problems(f"SELECT {call} FROM flights")
    assert REFUSED[call] in problem
