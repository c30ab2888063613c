"""A data source that becomes engine Null, or was one: its own rows, and those of the views that read it."""

from __future__ import annotations

import pytest

from golden_cases import FOLDER, read_case
from penstock.model.manifest import KEEPS_NOTHING, View
from penstock.parse.project_loader import load_files
from penstock.plan.plan import Live, Plan
from penstock.plan.planner import PlanOptions, make_plan


def change(case: str, **more: dict[str, str]) -> tuple[Live, Plan]:
    """A golden case, planned from its first version as that runs."""
    files = read_case(FOLDER / case)
    before, after = load_files(files.before).project, load_files({**files.after, **more.get("after", {})}).project
    live = Live(before, make_plan(None, before, PlanOptions("d1")).manifest, {})
    return live, make_plan(live, after, PlanOptions("d2", allow_destructive=True))


def view(plan: Plan, name: str) -> View:
    return next(each for each in plan.manifest.views if each.pipe == name)


@pytest.mark.parametrize("case", ["45_a_dimension_from_null", "45_a_dimension_to_null"])
def test_a_view_that_joins_it_writes_to_a_table_of_its_own(case: str) -> None:
    """Both versions join other rows, so one flow cannot write for both."""
    live, plan = change(case)
    was = next(each for each in live.manifest.views if each.pipe == "chosen_mv")
    now = view(plan, "chosen_mv")
    assert (was.table, now.table) == ("chosen__d1", "chosen__d2")
    assert (was.others[0].binding.keeps, now.others[0].binding.keeps) in [(KEEPS_NOTHING, None), (None, KEEPS_NOTHING)]
    assert now.trigger.binding.table == was.trigger.binding.table
    assert now.id == was.id, "it goes on where the live flow is"


def test_one_that_was_null_begins_with_no_row_of_before() -> None:
    live, plan = change("54_from_null_with_another_query")
    bound = plan.manifest.binding("sales")
    (copy,) = plan.manifest.copies
    assert bound is not None
    assert (bound.table, bound.keeps) == ("sales__d2", None)
    assert (copy.table, copy.source.table, copy.source.keeps) == ("sales__d2", "sales__d1", KEEPS_NOTHING)
    assert {sql for _, sql in copy.select} == {f"CAST(NULL AS {of})" for of in ("TIMESTAMP", "STRING", "BIGINT")}
    assert live.manifest.binding("sales") is not None


def test_a_view_of_one_that_was_null_keeps_its_rows() -> None:
    _, plan = change("54_from_null_with_another_query")
    kept, changed = view(plan, "by_region_mv"), view(plan, "chosen_mv")
    assert (kept.table, kept.starts) == ("by_region__d2", "resumed")
    assert [each.of for step in plan.steps for each in getattr(step, "clones", ())] == ["by_region__d1"]
    assert (changed.table, changed.starts) == ("chosen__d2", "placed")


FORWARD = "\nFORWARD_QUERY >\n    SELECT * REPLACE (toUInt8(amount) AS amount)\n"


@pytest.mark.parametrize("forward", ["", FORWARD])
def test_a_type_that_holds_fewer_values_is_nothing_to_rows_that_are_not_there(forward: str) -> None:
    files = read_case(FOLDER / "54_from_null_with_another_query").after
    text = files["datasources/sales.datasource"].replace("`amount` UInt32", "`amount` UInt8") + forward
    _, plan = change("54_from_null_with_another_query", after={"datasources/sales.datasource": text})
    assert (plan.errors, plan.checks) == ((), ())
