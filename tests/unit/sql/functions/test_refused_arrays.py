"""What ClickHouse answers of arrays, maps and JSON and is refused here, with the nearest that is supported."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

CASES = {
    "arraySort([toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')])": "the order of UUID inside an array is not supported",
    "arrayAvg([toDecimal32(1, 2)])": "`arrayAvg` of decimals is not supported",
    "arrayExcept([1.5], [2.5])": "`arrayExcept` of floats is not supported",
    "has([(1, 1.5)], (1, 1.5))": "cannot be compared exactly",
    "arrayIntersect([1], [1.5])": "arrays of several types are not intersected",
    "map('a', 1, 'a', 2)": "a key that comes twice in a `map` is not supported",
    "L2Norm([toFloat32(1)])": "`L2Norm` of elements of Float32 is not supported",
    "JSON_VALUE(carrier, '$.a[*]')": "the JSON path '$.a[*]' is not supported",
    "JSONExtract(carrier, 'a', 'Decimal(10, 2)')": "`JSONExtract` of Decimal(10, 2) is not supported",
}


@pytest.mark.parametrize("call", CASES)
def test_refused(call: str) -> None:
    found = problems(f"SELECT {call} FROM flights")
    assert len(found) == 1
    assert CASES[call] in found[0]
