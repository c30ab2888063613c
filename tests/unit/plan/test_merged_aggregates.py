"""Which aggregates of a view its target's engine merges, whatever came in which batch, and which it does not."""

from __future__ import annotations

import pytest

from golden_cases import plan_files
from penstock.plan.plan import Plan

_EVENTS = """SCHEMA >
    `ts` DateTime, `k` String, `u` UInt32, `i` Int32, `l` UInt64, `ni` Nullable(Int32), `f` Float64, `s` String,
    `d` Decimal(10, 2), `e` Enum8('b' = 1, 'a' = 2), `b` Bool, `t` DateTime64(6), `tags` Array(String)

ENGINE MergeTree
ENGINE_SORTING_KEY k
"""
_SIMPLE = "SimpleAggregateFunction({})"


def _files(aggregate: str, of: str, keys: str, engine: str = "AggregatingMergeTree", name: str = "t") -> dict[str, str]:
    day = "toDate(ts) AS day"
    given = ", ".join(day if key == "day" else key for key in keys.split(", "))
    columns = ", ".join(f"`{key}` {'Date' if key == 'day' else 'String'}" for key in keys.split(", "))
    return {
        "datasources/events.datasource": _EVENTS,
        f"datasources/{name}.datasource": f"SCHEMA >\n    {columns}, `v` {of}\n\nENGINE {engine}\n"
        f"ENGINE_SORTING_KEY {keys}\n",
        f"pipes/{name}_mv.pipe": f"NODE n\nSQL >\n    SELECT {given}, {aggregate} AS v FROM events GROUP BY {keys}\n"
        f"TYPE materialized\nDATASOURCE {name}\n",
    }


def _strategy(plan: Plan, name: str = "t") -> str:
    return next(each.strategy for each in plan.resources if each.name == name)


MERGED = [
    ("count()", "sum, UInt64"),
    ("count()", "sum, Int64"),
    ("count(ni)", "sum, UInt64"),
    ("countIf(s = 'b')", "sum, UInt64"),
    ("sum(u)", "sum, UInt64"),
    ("sum(l)", "sum, UInt64"),
    ("sum(i)", "sum, Int64"),
    ("sum(ni)", "sum, Int64"),
    ("sum(ni)", "sum, Nullable(Int64)"),
    ("sum(f)", "sum, Float64"),
    ("sum(d)", "sum, Decimal(38, 2)"),
    ("sum(u > 1)", "sum, UInt64"),
    ("sum(if(s = 'b', u, 0))", "sum, UInt64"),
    ("sumIf(u, s = 'b')", "sum, UInt64"),
    ("min(u)", "min, UInt32"),
    ("min(u)", "min, UInt64"),
    ("min(ifNull(ni, 0))", "min, Int32"),
    ("min(ni)", "min, Nullable(Int32)"),
    ("max(s)", "max, String"),
    ("max(s)", "max, LowCardinality(String)"),
    ("max(ts)", "max, DateTime"),
    ("max(toDate(ts))", "max, Date"),
    ("max(d)", "max, Decimal(10, 2)"),
    ("count()", "sum, UInt32"),
    ("countIf(u > 1)", "sum, UInt32"),
    ("sum(-i)", "sum, Int64"),
    ("max(lower(s))", "max, String"),
    ("min(concat(s, 'x'))", "min, String"),
    ("max(length(s))", "max, UInt64"),
    ("min(toHour(ts))", "min, UInt8"),
    ("max(f)", "max, Float64"),
    ("max(u / 100)", "max, Float64"),
    ("min(f / 2)", "min, Float64"),
    ("sum(ni / 100)", "sum, Float64"),
    ("sum(toInt64(i))", "sum, Int64"),
    ("sum(toInt64(ni))", "sum, Nullable(Int64)"),
    ("sum(i * u)", "sum, Int64"),
    ("max(u > 1)", "max, UInt8"),
    ("min(s = 'a' AND NOT u > 1)", "min, UInt8"),
    ("max(b)", "max, Bool"),
    ("max(t)", "max, DateTime64(6)"),
    ("max(length(tags))", "max, UInt64"),
    ("max(abs(i))", "max, UInt32"),
    ("min(greatest(i, u))", "min, Int64"),
    ("max(substring(s, 1, 2))", "max, String"),
    ("sum(intDiv(i, 2))", "sum, Int64"),
    ("sum(multiIf(s = 'a', 1, s = 'b', 2, 0))", "sum, UInt64"),
    ("max(multiIf(s = 'a', i, u > 1, 2, 0))", "max, Int64"),
]
NOT_MERGED = [
    ("minIf(u, s = 'b')", "min, UInt32"),
    ("maxIf(i, s = 'b')", "max, Int32"),
    ("min(ni)", "min, Int32"),
    ("max(ni)", "max, Int32"),
    ("uniqExact(u)", "sum, UInt64"),
    ("count(DISTINCT u)", "sum, UInt64"),
    ("avg(u)", "sum, Float64"),
    ("round(sum(f))", "sum, Float64"),
    ("sum(f)", "sum, Int64"),
    ("sum(i)", "sum, UInt8"),
    ("sum(l)", "sum, UInt32"),
    ("count()", "max, UInt32"),
    ("max(substring(s, 2))", "max, Enum8('b' = 1, 'a' = 2)"),
    ("max(lower(toString(ni)))", "max, String"),
    ("count()", "sum, UInt16"),
    ("max(ni / 100)", "max, Float64"),
    ("max(u / 100)", "max, Float32"),
    ("-min(f)", "max, Float64"),
    ("-min(-f)", "min, Float64"),
    ("sum(toInt64(i))", "sum, UInt64"),
    ("sum(toInt64(i))", "sum, Int32"),
    ("max(ni > 1)", "max, UInt8"),
    ("max(multiIf(s = 'a', i, s = 'b', ni, 0))", "max, Int32"),
    ("max(greatest(ni, i))", "max, Int32"),
    ("max(t)", "max, DateTime"),
    ("max(b)", "sum, UInt8"),
    ("least(count(), 10)", "sum, UInt64"),
    ("count() + 1", "sum, UInt64"),
    ("sum(DISTINCT u)", "sum, UInt64"),
    ("min(u)", "sum, UInt64"),
    ("max(u)", "min, UInt32"),
    ("count()", "max, UInt64"),
    ("avg(u)", "max, Float64"),
    ("sum(u)", "max, UInt64"),
    ("min(u)", "max, UInt32"),
    ("min(u)", "min, UInt8"),
    ("max(u)", "max, String"),
    ("max(s)", "max, Enum8('b' = 1, 'a' = 2)"),
    ("quantileExact(u)", "max, UInt32"),
    ("anyLast(u)", "max, UInt32"),
    ("argMax(u, ts)", "max, UInt32"),
    ("sum(u) > 10", "max, UInt8"),
]
STATES = [
    ("minIfState(u, s = 'b')", "AggregateFunction(minIf, UInt32, UInt8)", "reuse"),
    ("minIfState(u, s = 'b')", "AggregateFunction(min, UInt32)", "reuse"),  # no row is NULL in a state, not 0
    ("uniqExactState(u)", "AggregateFunction(uniqExact, UInt32)", "reuse"),
    ("avgState(u)", "AggregateFunction(avg, UInt32)", "reuse"),
    ("anyState(u)", "AggregateFunction(any, UInt32)", "recompute"),
    ("max(u)", "UInt32", "recompute"),
]


@pytest.mark.parametrize(
    ("aggregate", "of", "strategy"),
    [
        *((aggregate, _SIMPLE.format(of), "reuse") for aggregate, of in MERGED),
        *((aggregate, _SIMPLE.format(of), "recompute") for aggregate, of in NOT_MERGED),
        *STATES,
    ],
)
def test_a_key_is_dropped(aggregate: str, of: str, strategy: str) -> None:
    assert _strategy(plan_files(_files(aggregate, of, "day, k"), _files(aggregate, of, "day"))) == strategy


@pytest.mark.parametrize(
    ("aggregate", "of", "engine", "is_told"),
    [
        ("sum(u)", "UInt64", "SummingMergeTree", True),
        ("uniqExact(u)", "UInt64", "SummingMergeTree", False),
        ("least(count(), 10)", "UInt64", "SummingMergeTree", False),
        ("max(u)", _SIMPLE.format("max, UInt32"), "AggregatingMergeTree", True),
        ("maxIf(u, s = 'b')", _SIMPLE.format("max, UInt32"), "AggregatingMergeTree", False),
        ("avg(u)", _SIMPLE.format("max, Float64"), "AggregatingMergeTree", False),
    ],
)
def test_a_second_target_of_the_same_rows(aggregate: str, of: str, engine: str, is_told: bool) -> None:
    """What each batch gave makes up what all rows give only if the engine merges it."""
    old, more = (_files(aggregate, of, "day, k", engine, name) for name in ("t", "t2"))
    rules = next(each.rules for each in plan_files(old, {**old, **more}).resources if each.name == "t2")
    rule = next(rule for rule in rules if "another live table" in rule.rule)
    assert (rule.applies, rule.says) == (is_told, "" if is_told else "`t`: its rows depend on which rows came together")


def test_a_simple_aggregate_that_merged_the_rows_before() -> None:
    """Of what was merged by `any` the greatest is not known."""
    before, after = (
        _files("max(u)", _SIMPLE.format("any, UInt32"), "day, k"),
        _files("max(u)", _SIMPLE.format("max, UInt32"), "day"),
    )
    assert _strategy(plan_files(before, after)) == "recompute"
