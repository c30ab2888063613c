"""Calls of JSON functions that are refused, with the reason."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

REFUSED = {
    "JSON_VALUE(carrier, '$.a[*]')": "the JSON path '$.a[*]' is not supported",
    "JSONExtract(carrier, 'a', 'Decimal(19, 2)')": "`JSONExtract` of Decimal(19, 2) is not supported",
    "JSONExtract(carrier, 'a', 'DateTime64(3)')": "`JSONExtract` of DateTime64(3) is not supported",
    "JSONExtract(carrier, 'a', 'Tuple(Int64, String)')": "`JSONExtract` of Tuple(Int64, String) is not supported",
    "JSONExtract(carrier, 'a', 'Array(Map(Int64, Int64))')": "`JSONExtract` of Map(Int64, Int64) is not supported",
    "JSONExtractKeysAndValues(carrier, 'Nullable(Int64)')": "`JSONExtract` of Nullable(Int64) is not supported",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    (problem,) = problems(f"SELECT {call} FROM flights")
    assert REFUSED[call] in problem
