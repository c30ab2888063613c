"""A target keeps its rows where a number below gets a wider type and only its value counts."""

from __future__ import annotations

import pytest

from penstock.parse.project_loader import load_files
from penstock.plan.offline import plan_projects
from penstock.plan.plan import Plan


def _plan(item: str, target: str, old: str, new: str) -> Plan:
    """The plan where the column `n` of a landing source goes from one type to another, which `target` may name too."""
    versions = [
        load_files(
            {
                "events.datasource": f"SCHEMA >\n    `user` String `json:$.user`,\n    `n` {of} `json:$.n`\n",
                "totals.datasource": f"SCHEMA >\n    `user` String,\n    `y` {target.format(of)}\n\n"
                "ENGINE AggregatingMergeTree\nENGINE_SORTING_KEY user\n",
                "totals_mv.pipe": f"NODE n\nSQL >\n    SELECT user, {item} AS y FROM events GROUP BY user\n"
                "TYPE materialized\nDATASOURCE totals\n",
            }
        )
        for of in (old, new)
    ]
    assert [each.problems for each in versions] == [(), ()]
    return plan_projects(versions[0].project, versions[1].project, {})


def _strategy(plan: Plan) -> str:
    assert not plan.errors
    return next(each.strategy for each in plan.resources if each.name == "totals")


@pytest.mark.parametrize(
    ("item", "target"),
    [
        ("max(n)", "SimpleAggregateFunction(max, {})"),
        ("any(n)", "SimpleAggregateFunction(any, {})"),
        ("anyState(n)", "AggregateFunction(any, {})"),
        ("min(if(n > 3, n, 0))", "SimpleAggregateFunction(min, {})"),
        ("sumIf(n, user != '')", "SimpleAggregateFunction(sum, UInt64)"),
        ("sum(multiIf(user = 'a', n, user = 'b', 7, 0))", "SimpleAggregateFunction(sum, UInt64)"),
        ("countIfState(n IN (1, 2, 3))", "AggregateFunction(countIf, UInt8)"),
        ("max(toString(n))", "SimpleAggregateFunction(max, String)"),
        ("avgState(n)", "AggregateFunction(avg, {})"),
    ],
)
def test_a_function_of_values(item: str, target: str) -> None:
    assert _strategy(_plan(item, target, "UInt16", "UInt32")) in ("none", "in_place")


@pytest.mark.parametrize("old", ["UInt8", "UInt16", "UInt32"])
@pytest.mark.parametrize(
    ("item", "target"),
    [
        ("max(n)", "SimpleAggregateFunction(max, {})"),
        ("max(n)", "SimpleAggregateFunction(max, UInt64)"),
        ("minState(n)", "AggregateFunction(min, {})"),
        ("sumState(n)", "AggregateFunction(sum, {})"),
        ("sum(if(user = 'a', n, 1))", "SimpleAggregateFunction(sum, UInt64)"),
        ("sumIfState(n, n > 3)", "AggregateFunction(sumIf, {}, UInt8)"),
        ("countIfState(n IN (1, 2, 3) AND n != 200)", "AggregateFunction(countIf, UInt8)"),
        ("max(toString(n))", "SimpleAggregateFunction(max, String)"),
        ("toString(sum(n))", "String"),
        ("max(n / 3)", "SimpleAggregateFunction(max, Float64)"),
    ],
)
def test_a_function_of_values_of_64_bits(item: str, target: str, old: str) -> None:
    """A UInt64 is a DECIMAL, so its column is another one: the rows stay, and are read with its value."""
    assert _strategy(_plan(item, target, old, "UInt64")) == "reuse"


@pytest.mark.parametrize(("old", "new"), [("Int32", "UInt64"), ("UInt64", "UInt32"), ("UInt32", "Decimal(20, 0)")])
def test_another_type_than_a_wider_unsigned_one(old: str, new: str) -> None:
    plan = _plan("countIfState(n > 3)", "AggregateFunction(countIf, UInt8)", old, new)
    assert plan.errors or _strategy(plan) == "recompute"


@pytest.mark.parametrize(
    ("item", "target", "old", "new"),
    [
        ("uniqState(n)", "AggregateFunction(uniq, {})", "UInt16", "UInt32"),
        ("max(cityHash64(n))", "SimpleAggregateFunction(max, UInt64)", "UInt16", "UInt32"),
        ("max(toString(n))", "SimpleAggregateFunction(max, String)", "Float32", "Float64"),
        ("max(bitNot(n))", "SimpleAggregateFunction(max, {})", "UInt16", "UInt32"),
        ("uniqExactState(n)", "AggregateFunction(uniqExact, {})", "UInt32", "UInt64"),
        ("avgState(n)", "AggregateFunction(avg, {})", "UInt32", "UInt64"),
        ("argMaxState(n, user)", "AggregateFunction(argMax, {}, String)", "UInt32", "UInt64"),
        ("max(n + 1)", "SimpleAggregateFunction(max, UInt64)", "UInt32", "UInt64"),
        ("max(cityHash64(n))", "SimpleAggregateFunction(max, UInt64)", "UInt32", "UInt64"),
        ("max(n)", "SimpleAggregateFunction(max, UInt32)", "UInt32", "UInt64"),
        ("countIfState(n % 2 = 0)", "AggregateFunction(countIf, UInt8)", "UInt32", "UInt64"),
        ("cityHash64(sum(n))", "UInt64", "UInt32", "UInt64"),
    ],
)
def test_a_function_of_more_than_values(item: str, target: str, old: str, new: str) -> None:
    assert _strategy(_plan(item, target, old, new)) == "recompute"
