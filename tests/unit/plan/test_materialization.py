"""Which computed columns are written before the promotion: whole tables, the smallest first, within a budget."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.plan.test_planner import project

from penstock.plan.offline import plan_projects
from penstock.plan.plan import Plan, PlanOptions, Size
from penstock.plan.steps import CatchUp, MaterializeColumns

SOURCE = """SCHEMA >
    `n` String `json:$.n`{more}

ENGINE MergeTree
ENGINE_SORTING_KEY n
{forward}"""
FORWARD = "\nFORWARD_QUERY >\n    SELECT n, {value} AS m\n"
SIZES = {"a": Size(10, 300), "b": Size(10, 100), "c": Size(10, 200)}


def planned(budget: int, sizes: dict[str, Size] = SIZES, value: str = "upper(n)", type: str = "String") -> Plan:
    before = {f"{name}.datasource": SOURCE.format(more="", forward="") for name in "abc"}
    more = f",\n    `m` {type} `json:$.m`"
    after = {f"{name}.datasource": SOURCE.format(more=more, forward=FORWARD.format(value=value)) for name in "abc"}
    options = replace(PlanOptions("d2"), materialize_bytes=budget)
    return plan_projects(project(before), project(after), sizes, options)


def early(plan: Plan) -> list[str]:
    return [step.name for step in plan.steps if isinstance(step, MaterializeColumns)]


@pytest.mark.parametrize(
    ("budget", "taken"), [(0, ""), (99, ""), (100, "b"), (299, "b"), (300, "bc"), (599, "bc"), (600, "abc")]
)
def test_as_many_tables_as_the_budget_allows(budget: int, taken: str) -> None:
    plan = planned(budget)
    assert early(plan) == list(taken)
    when = {each.name: each.materialization for each in plan.resources}
    assert {name for name, each in when.items() if each is not None and each.before_promotion} == set(taken)
    assert all(each is not None and each.columns == ("m",) for each in when.values())
    assert plan.rewrites == sum((SIZES[name] for name in taken), Size(0, 0))


def test_the_reason_says_what_is_left_of_the_budget() -> None:
    found = {each.name: each.materialization for each in planned(250).resources}
    assert found["c"] is not None
    assert found["c"].reason == (
        "200 bytes of files are more than the 250 of [deploy] materialize_bytes, of which 150 are left beside smaller"
        " tables"
    )


def test_files_are_rewritten_last() -> None:
    kinds = [type(step) for step in planned(1000).steps]
    assert kinds.index(CatchUp) < kinds.index(MaterializeColumns)
    assert set(kinds[kinds.index(MaterializeColumns) :]) == {MaterializeColumns}


def test_of_a_table_of_unknown_size_nothing_is_said_or_done() -> None:
    plan = planned(10**18, {"a": Size(10, 300)})
    assert early(plan) == ["a"]
    assert plan.rewritten_later is None
    unknown = next(each.materialization for each in plan.resources if each.name == "b")
    assert unknown is not None
    assert (unknown.rewrites, unknown.before_promotion) == (None, None)
    assert unknown.reason.endswith("have at most 1,000,000,000,000,000,000 bytes, which is not known here")


def test_without_a_budget_an_unknown_size_makes_no_difference() -> None:
    unknown = next(each.materialization for each in planned(0, {}).resources if each.name == "b")
    assert unknown is not None
    assert (unknown.before_promotion, unknown.reason) == (False, "[deploy] materialize_bytes is 0")


@pytest.mark.parametrize(("value", "type"), [("n", "String"), ("'x'", "String"), ("n", "Nullable(String)")])
def test_what_costs_next_to_nothing_is_not_written(value: str, type: str) -> None:
    plan = planned(1000, value=value, type=type)
    assert early(plan) == []
    assert [each.materialization for each in plan.resources] == [None] * 3
