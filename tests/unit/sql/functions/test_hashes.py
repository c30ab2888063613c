"""Hash functions: refused arguments, and the length of what is compiled."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems, query

REFUSED = {
    "sipHash64(1.5)": "`sipHash64` of a Float64 is not supported",
    "sipHash128([1])": "`sipHash128` of a Array(UInt8) is not supported",
    "cityHash64(1.5)": "`cityHash64` of a Float64 is not supported",
    "cityHash64((1, 1.5))": "`cityHash64` of a Float64 is not supported",
    "cityHash64((1, toNullable(2)))": "`cityHash64` of a tuple with a Nullable(UInt8) is not supported",
    "cityHash64(toDecimal128(1, 2))": "`cityHash64` of a Decimal(38, 2) is not supported",
    "sipHash64(map('a', 1))": "`sipHash64` of a Map(String, UInt8) is not supported",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    (problem,) = problems(f"SELECT {call} FROM flights")
    assert REFUSED[call] in problem


@pytest.mark.parametrize("call", ["cityHash64(carrier)", "sipHash64(carrier)"])
def test_hash_is_short(call: str) -> None:
    """Spark plans as long as the text is: a few thousand characters a call."""
    assert len(query(f"SELECT {call} AS h FROM flights").sql) < 22_000


@pytest.mark.parametrize("name", ["cityHash64", "sipHash64", "sipHash128"])
def test_a_hash_of_several_values_is_a_key_of_groups(name: str) -> None:
    hashed = f"{name}(carrier, tailnum, toString(month))"
    assert query(f"SELECT {hashed} AS h FROM flights").sql == query(f"SELECT {hashed} AS h FROM flights").sql
    grouped = query(f"SELECT {hashed} AS h, count() AS c FROM flights GROUP BY h")
    assert [name for name, _ in grouped.columns] == ["h", "c"]
