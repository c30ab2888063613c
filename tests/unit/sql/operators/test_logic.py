"""Choices of a value by conditions: those whose time zone cannot be known, and CASE between types that ClickHouse
does not convert there."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

CONVERTED = {
    "CASE today() WHEN '2024-01-01' THEN 1 END": "CASE of Date WHEN String is not supported",
    "CASE now() WHEN toNullable('2024-01-01 00:00:00') THEN 1 END": "CASE of DateTime WHEN Nullable(String)",
    "CASE today() WHEN now() THEN 1 END": "CASE of Date WHEN DateTime is not supported",
    "CASE toFixedString('ab', 4) WHEN 'ab' THEN 1 END": "CASE of FixedString(4) WHEN String is not supported",
}
TOKYO = "toTimeZone(departure, 'Asia/Tokyo')"
PARIS = "toTimeZone(departure, 'Europe/Paris')"
LITERAL = "toDateTime('2024-03-10 07:30:00', 'Europe/Paris')"


@pytest.mark.parametrize(
    "choice",
    [
        f"CASE WHEN 'a' ILIKE 'H%' THEN {TOKYO} ELSE departure END",
        f"if(today() > '2020-01-01', {TOKYO}, {PARIS})",
        f"length('ab') > 5 ? {LITERAL} : {TOKYO}",
    ],
)
def test_a_constant_condition_between_time_zones_is_refused(choice: str) -> None:
    (problem,) = problems(f"SELECT {choice} AS c FROM (SELECT now() AS departure FROM flights)")
    assert "the time zone of the result depends on a condition that reads no column" in problem


@pytest.mark.parametrize(
    "choice",
    [f"if(carrier = 'A', {TOKYO}, {PARIS})", f"if(0, {TOKYO}, {PARIS})", f"if('a' LIKE 'b', {TOKYO}, {TOKYO})"],
)
def test_a_choice_whose_time_zone_is_known_is_taken(choice: str) -> None:
    assert problems(f"SELECT {choice} AS c FROM (SELECT now() AS departure, carrier FROM flights)") == []


@pytest.mark.parametrize("case", CONVERTED)
def test_a_case_between_types_that_are_not_converted_is_refused(case: str) -> None:
    (problem,) = problems(f"SELECT {case} FROM flights")
    assert CONVERTED[case] in problem


@pytest.mark.parametrize("choice", ["CASE WHEN day > 1 THEN [day] END", "if(day > 1, [day], NULL)"])
def test_null_beside_an_array_is_refused(choice: str) -> None:
    (problem,) = problems(f"SELECT {choice} AS c FROM flights")
    assert "NULL or Array(UInt8) is a Variant in ClickHouse" in problem
    assert "give [] in the place of NULL" in problem
