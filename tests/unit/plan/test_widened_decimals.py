"""A target keeps its rows where a Decimal below gets more digits before the point and only its value counts."""

from __future__ import annotations

import pytest

from golden_cases import plan_files
from penstock.plan.plan import Plan

NARROW, WIDE = "Decimal(10, 2)", "Decimal(18, 2)"


def _files(item: str, target: str, of: str) -> dict[str, str]:
    return {
        "datasources/sales.datasource": "SCHEMA >\n    `user` String `json:$.user`, `kind` String `json:$.kind`,\n"
        f"    `price` {of} `json:$.price`, `fee` Nullable({of}) `json:$.fee`, `rate` Decimal(10, 4) `json:$.rate`\n",
        "datasources/totals.datasource": f"SCHEMA >\n    `user` String,\n    `y` {target.format(of)}\n\n"
        "ENGINE AggregatingMergeTree\nENGINE_SORTING_KEY user\n",
        "pipes/totals_mv.pipe": f"NODE n\nSQL >\n    SELECT user, {item} AS y FROM sales GROUP BY user\n"
        "TYPE materialized\nDATASOURCE totals\n",
    }


def _plan(item: str, target: str, old: str = NARROW, new: str = WIDE) -> Plan:
    return plan_files(_files(item, target, old), _files(item, target, new))


def _strategy(plan: Plan) -> str:
    return next(each.strategy for each in plan.resources if each.name == "totals")


TOTAL = "SimpleAggregateFunction(sum, Decimal(38, 2))"


@pytest.mark.parametrize(
    ("item", "target"),
    [
        ("max(price)", "SimpleAggregateFunction(max, {})"),
        ("any(price)", "SimpleAggregateFunction(any, {})"),
        ("max(fee)", "SimpleAggregateFunction(max, Nullable({}))"),
        ("maxState(price)", "AggregateFunction(max, {})"),
        ("sumState(price)", "AggregateFunction(sum, {})"),
        ("avgState(price)", "AggregateFunction(avg, {})"),
        ("sum(price)", TOTAL),
        ("sum(fee)", TOTAL),
        ("sumIf(price, kind = 'a' AND price > 0.5)", TOTAL),
        ("sum(if(kind = 'a', price, 0))", TOTAL),
        ("countIf(price IN (1, 2) OR fee IS NULL)", "SimpleAggregateFunction(sum, UInt64)"),
        ("countIf(price = rate)", "SimpleAggregateFunction(sum, UInt64)"),
        ("sum(toFloat64(price))", "SimpleAggregateFunction(sum, Float64)"),
        ("max(toString(price))", "SimpleAggregateFunction(max, String)"),
        ("max(toDecimal64(price, 4))", "SimpleAggregateFunction(max, Decimal(18, 4))"),
    ],
)
def test_a_function_of_values(item: str, target: str) -> None:
    assert _strategy(_plan(item, target)) in ("none", "in_place")


@pytest.mark.parametrize(
    ("item", "target"),
    [
        ("max(price + 1)", "SimpleAggregateFunction(max, {})"),
        ("max(price * rate)", "SimpleAggregateFunction(max, Decimal(38, 6))"),
        ("max(round(price, 1))", "SimpleAggregateFunction(max, {})"),
        ("max(cityHash64(price))", "SimpleAggregateFunction(max, UInt64)"),
        ("uniqExactState(price)", "AggregateFunction(uniqExact, {})"),
        ("argMaxState(price, kind)", "AggregateFunction(argMax, {}, String)"),
        ("groupArrayState(price)", "AggregateFunction(groupArray, {})"),
        ("max(price)", f"SimpleAggregateFunction(max, {NARROW})"),  # a later one may not fit
    ],
)
def test_a_function_of_more_than_values(item: str, target: str) -> None:
    assert _strategy(_plan(item, target)) == "recompute"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (NARROW, "Decimal(18, 4)"),  # other digits after the point
        ("Decimal(10, 0)", "Decimal(18, 0)"),  # stored as a UInt64 is
        ("Decimal(30, 20)", "Decimal(38, 20)"),  # beside a whole number there may be no room for all digits
    ],
)
def test_decimals_that_are_not_of_one_family(old: str, new: str) -> None:
    assert _strategy(_plan("max(toString(price))", "SimpleAggregateFunction(max, String)", old, new)) == "recompute"
