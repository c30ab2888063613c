"""The closed tables of functions."""

from __future__ import annotations

from collections import Counter

from tests.unit.sql.flights import problems

from penstock.sql.aggregates.name_parser import parse_aggregate_name
from penstock.sql.function_catalog import supported_functions
from penstock.sql.functions.table import find_function


def test_a_name_stands_once() -> None:
    names = Counter(each.name for each in supported_functions() if each.kind != "window")
    assert [name for name, count in names.items() if count > 1] == []


def test_every_name_is_known() -> None:
    for each in supported_functions():
        over = " OVER ()" if each.kind == "window" else ""
        assert not [problem for problem in problems(f"SELECT {each.name}(){over}") if "unknown function" in problem]


def test_a_name_of_a_function_is_found_in_any_case() -> None:
    for each in supported_functions():
        for name in (each.name.lower(), each.name.upper()):
            assert find_function(name) is None or find_function(name) is find_function(each.name)


def test_combinators() -> None:
    assert [
        parse_aggregate_name(name) is not None
        for name in ("avgIfState", "avgStateIf", "sumMergeState", "uniqExactMerge")
    ] == ([True] * 4)
    assert parse_aggregate_name("avgStates") is None
    assert parse_aggregate_name("countDistinctIf").row.name == "uniqExact"  # type: ignore[union-attr]
