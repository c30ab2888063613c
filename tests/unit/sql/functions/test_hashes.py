"""Hash functions: refused arguments, and the length of what is compiled."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems, query

from penstock.sql.functions.hashes.hash_family import FAMILIES

REFUSED = {
    "cityHash64(countState(1))": "`cityHash64`",
    "sipHash64()": "sipHash64",
    "intHash32(carrier)": "`intHash32` needs an integer",
    "intHash64(1.5)": "`intHash64` needs an integer",
    "javaHash(month)": "javaHash",
}
NAMES = [family.name for family in FAMILIES]


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    (problem,) = problems(f"SELECT {call} FROM flights")
    assert REFUSED[call] in problem


@pytest.mark.parametrize("name", NAMES)
def test_a_hash_is_short(name: str) -> None:
    """Spark plans as long as the text is: a few hundred characters an argument, however it is nested."""
    one = len(query(f"SELECT {name}(carrier) AS h FROM flights").sql)
    assert one < 200
    more = ["carrier", "month", "distance", "(carrier, [month])", "map(carrier, 1.5)", "toUUID(carrier)"]
    assert len(query(f"SELECT {name}({', '.join(more * 5)}) AS h FROM flights").sql) < 14_000
    nested = "carrier"
    for _ in range(6):
        nested = f"{name}({nested}, [{nested if len(nested) < 100 else 1}], 'a')"
    assert len(query(f"SELECT {nested} AS h FROM flights").sql) < 6_000


@pytest.mark.parametrize("name", NAMES)
def test_a_hash_of_several_values_is_a_key_of_groups(name: str) -> None:
    hashed = f"{name}(carrier, [tailnum], (toString(month), month))"
    assert query(f"SELECT {hashed} AS h FROM flights").sql == query(f"SELECT {hashed} AS h FROM flights").sql
    grouped = query(f"SELECT {hashed} AS h, count() AS c FROM flights GROUP BY h")
    assert [name for name, _ in grouped.columns] == ["h", "c"]
