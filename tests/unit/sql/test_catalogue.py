"""The closed tables of functions."""

from __future__ import annotations

from collections import Counter

from tests.unit.sql.flights import problems

from penstock.sql.aggregates.combinators import called
from penstock.sql.catalogue import supported_functions


def test_a_name_stands_once() -> None:
    names = Counter(each.name for each in supported_functions() if each.kind != "window")
    assert [name for name, count in names.items() if count > 1] == []


def test_every_name_is_known() -> None:
    for each in supported_functions():
        over = " OVER ()" if each.kind == "window" else ""
        assert not [problem for problem in problems(f"SELECT {each.name}(){over}") if "unknown function" in problem]


def test_combinators() -> None:
    assert [called(name) is not None for name in ("avgIfState", "avgStateIf", "sumMergeState", "uniqExactMerge")] == (
        [True] * 4
    )
    assert called("avgStates") is None
    assert called("countDistinctIf").row.name == "uniqExact"  # type: ignore[union-attr]
