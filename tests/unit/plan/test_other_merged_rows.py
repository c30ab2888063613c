"""Another rule by which the rows of a view's target are merged: they are computed anew, unless it gives the same."""

from __future__ import annotations

import pytest

from golden_cases import plan_files
from penstock.plan.plan import Plan

_COLUMNS = "`at` DateTime, `k` String, `id` UInt32, `u` UInt32, `gone` UInt8"
_EVENTS = f"SCHEMA >\n    {_COLUMNS}\n\nENGINE MergeTree\nENGINE_SORTING_KEY at\n"
_ROWS = "at, k, id, u, gone"


def _files(engine: str, columns: str = _COLUMNS, query: str = f"SELECT {_ROWS} FROM events") -> dict[str, str]:
    settings = "\n".join(engine.split("; "))
    return {
        "datasources/events.datasource": _EVENTS,
        "datasources/t.datasource": f"SCHEMA >\n    {columns}\n\nENGINE {settings}\n",
        "pipes/t_mv.pipe": f"NODE n\nSQL >\n    {query}\nTYPE materialized\nDATASOURCE t\n",
    }


def _strategy(plan: Plan) -> str:
    return next(each.strategy for each in plan.resources if each.name == "t")


def _warnings(plan: Plan) -> list[str]:
    return [each.message for each in plan.problems if each.code == "rows-merged"]


@pytest.mark.parametrize(
    ("before", "after", "strategy"),
    [
        # what MergeTree has merged is nothing
        ("MergeTree; ENGINE_SORTING_KEY k", "ReplacingMergeTree; ENGINE_SORTING_KEY k", "in_place"),
        ("MergeTree; ENGINE_SORTING_KEY k", "SummingMergeTree; ENGINE_SORTING_KEY k", "in_place"),
        ("ReplacingMergeTree; ENGINE_SORTING_KEY k", "MergeTree; ENGINE_SORTING_KEY k", "recompute"),
        ("ReplacingMergeTree; ENGINE_SORTING_KEY k", "SummingMergeTree; ENGINE_SORTING_KEY k", "recompute"),
        # the key
        ("ReplacingMergeTree; ENGINE_SORTING_KEY k", "ReplacingMergeTree; ENGINE_SORTING_KEY k, id", "recompute"),
        ("ReplacingMergeTree; ENGINE_SORTING_KEY k, id", "ReplacingMergeTree; ENGINE_SORTING_KEY id, k", "in_place"),
        ("ReplacingMergeTree; ENGINE_SORTING_KEY k, id", "ReplacingMergeTree; ENGINE_SORTING_KEY k", "in_place"),
        ("ReplacingMergeTree; ENGINE_SORTING_KEY k", "ReplacingMergeTree; ENGINE_SORTING_KEY lower(k)", "recompute"),
        ("SummingMergeTree; ENGINE_SORTING_KEY at, k, id", "SummingMergeTree; ENGINE_SORTING_KEY id, at", "in_place"),
        ("SummingMergeTree; ENGINE_SORTING_KEY k, id", "SummingMergeTree; ENGINE_SORTING_KEY k", "recompute"),
        ("SummingMergeTree; ENGINE_SORTING_KEY k", "SummingMergeTree; ENGINE_SORTING_KEY k, id", "recompute"),
        # what else chooses the row that is left
        (
            "ReplacingMergeTree; ENGINE_SORTING_KEY k; ENGINE_VER u",
            "ReplacingMergeTree; ENGINE_SORTING_KEY k; ENGINE_VER id",
            "recompute",
        ),
        (
            "ReplacingMergeTree; ENGINE_SORTING_KEY k",
            "ReplacingMergeTree; ENGINE_SORTING_KEY k; ENGINE_VER id",
            "recompute",
        ),
        (
            "ReplacingMergeTree; ENGINE_SORTING_KEY k; ENGINE_VER u",
            "ReplacingMergeTree; ENGINE_SORTING_KEY k; ENGINE_VER u; ENGINE_IS_DELETED gone",
            "recompute",
        ),
        (
            "ReplacingMergeTree; ENGINE_SORTING_KEY k; ENGINE_VER u; ENGINE_IS_DELETED gone",
            "ReplacingMergeTree; ENGINE_SORTING_KEY k; ENGINE_VER u",
            "in_place",
        ),
        (
            "SummingMergeTree; ENGINE_SORTING_KEY k; ENGINE_COLUMNS u",
            "SummingMergeTree; ENGINE_SORTING_KEY k; ENGINE_COLUMNS u, id",
            "recompute",
        ),
    ],
)
def test_another_engine_over_the_same_rows(before: str, after: str, strategy: str) -> None:
    plan = plan_files(_files(before), _files(after))
    assert (_strategy(plan), _warnings(plan)) == (strategy, [])


@pytest.mark.parametrize("query", ["SELECT k, max(u) AS v FROM events GROUP BY k", "SELECT k, u AS v FROM events"])
def test_another_simple_aggregate(query: str) -> None:
    """Of sums the greatest is not that of the values."""
    engine, columns = (
        "AggregatingMergeTree; ENGINE_SORTING_KEY k",
        "`k` String, `v` SimpleAggregateFunction({}, UInt64)",
    )
    before = _files(engine, columns.format("sum"), query)
    plan = plan_files(before, _files(engine, columns.format("max"), query))
    assert _strategy(plan) == "recompute"
    summed = _files(engine, columns.format("sum"), "SELECT k, sum(u) AS v FROM events GROUP BY k")
    assert _strategy(plan_files(summed, _files(engine, columns.format("max"), query))) == "recompute"
    assert _strategy(plan_files(before, _files(engine, columns.format("sum"), query))) == "none"


@pytest.mark.parametrize("landing", ["Null", "MergeTree\nENGINE_SORTING_KEY at\nENGINE_TTL at + INTERVAL 1 DAY"])
def test_rows_that_cannot_be_computed_anew_stay_with_a_warning(landing: str) -> None:
    events = _EVENTS.replace("MergeTree\nENGINE_SORTING_KEY at", landing)
    key = "ReplacingMergeTree; ENGINE_SORTING_KEY "
    before, after = (_files(f"{key}{each}") | {"datasources/events.datasource": events} for each in ("k", "k, id"))
    plan = plan_files(before, after)
    assert _strategy(plan) == "in_place"
    assert _warnings(plan) == [
        "rows of live are merged by `k`: `t` keeps what is left of them, as its sources no longer have every row"
    ]


def test_a_landing_keeps_its_merged_rows() -> None:
    """There are no others: ClickHouse gives the same."""
    before, after = (
        {"datasources/t.datasource": _EVENTS.replace("MergeTree\nENGINE_SORTING_KEY at", each)}
        for each in (
            "ReplacingMergeTree\nENGINE_SORTING_KEY k",
            "ReplacingMergeTree\nENGINE_SORTING_KEY k, id",
        )
    )
    plan = plan_files(before, after)
    assert (_strategy(plan), _warnings(plan)) == ("in_place", [])
