"""What is refused of unsigned literals of more than 32 bits: where ClickHouse has a Variant or an Int128."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems, query

NONE = "there is no common type of "
REFUSED = {
    "[toInt64(1), toUInt64(5000000000)]": NONE + "Int64, UInt64",
    "[toInt64(1), 9223372036854775808]": NONE + "Int64, UInt64",
    "[toInt64(1), 5000000000, toUInt64(1)]": NONE + "Int64, UInt64",
    "[toInt64(1), 5000000000 + 1]": NONE + "Int64, UInt64",
    "[toInt64(1), abs(5000000000)]": NONE + "Int64, UInt64",
    "[toInt64(1), 5000000000::UInt64]": NONE + "Int64, UInt64",
    "[-1, bitNot(5000000000)]": NONE + "Int8, UInt64",
    "[-1, bitShiftLeft(5000000000, 1)]": NONE + "Int8, UInt64",
    "[-1, groupBitAnd(5000000000)]": NONE + "Int8, UInt64",
    "[-1, groupBitmap(5000000000)]": NONE + "Int8, UInt64",
    "[-1, deltaSum(5000000000)]": NONE + "Int8, UInt64",
    "[-1, maxIntersectionsPosition(5000000000, 6000000000)]": NONE + "Int8, UInt64",
    "[-1, round(9223372036854775807, -18)]": NONE + "Int8, UInt64",
    "[-1, if(day = 1, 5000000000, 1)]": NONE + "Int8, UInt64",
    "[-1, if(day = 1, 5000000000, toUInt64(day))]": NONE + "Int8, UInt64",
    "[-1, greatest(5000000000, 6000000000)]": NONE + "Int8, UInt64",
    "[-1, arrayPushBack([5000000000], 2)[1]]": NONE + "Int8, UInt64",
    "map(map('a', 1), 2)": "a Map with keys of type Map(String, UInt8) is not supported",
    "concatAssumeInjective([1], [2])": "`concatAssumeInjective` of arrays is not supported",
    "greatest(toUInt64(1), toInt8(-1))": "`greatest` of UInt64 and Int8 is an Int128",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    (problem,) = problems(f"SELECT {call} FROM flights")
    assert REFUSED[call] in problem


def test_the_literal_alone_is_unsigned() -> None:
    (_, of), (_, beside) = query("SELECT 5000000000 AS x, [x, -1] AS y FROM flights").columns
    assert (str(of), str(beside)) == ("UInt64", "Array(Int64)")
