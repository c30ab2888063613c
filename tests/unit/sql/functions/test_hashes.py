"""Hash functions: refused arguments, the length of what is compiled, and the Java classes that it calls."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.sql.flights import problems, query

from penstock.lake.spark.packages import TEXT_FUNCTIONS_JAR
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


def test_each_function_that_is_called_is_registered() -> None:
    source = (Path(TEXT_FUNCTIONS_JAR).parent / "StaticFunctions.java").read_text(encoding="utf-8")
    registered = set(re.findall(r'add\("(penstock_\w+)"', source))
    values = "carrier, month, 1.5, [carrier], toUUID(carrier), CAST(carrier AS DateTime64(3)), toUInt64(month)"
    calls = [f"{name}({values}), {name}(1, 2)" for name in NAMES]
    calls += ["intHash64(month)", "intHash32(month)", "javaHash(carrier)", "hiveHash(carrier)"]
    called = set(re.findall(r"penstock_\w+(?=\()", query(f"SELECT {', '.join(calls)} FROM flights").sql))
    hashes = {name for name in registered if "time" not in name}
    assert called - {"penstock_time64"} == hashes
