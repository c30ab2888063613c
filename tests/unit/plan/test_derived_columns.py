"""When the value of a new column in the stored rows of a view's target is taken from its views, and when it is not."""

from __future__ import annotations

import pytest

from golden_cases import FOLDER, read_case
from penstock.model.manifest import EVERY_ROW, Before
from penstock.parse.project_loader import load_files
from penstock.plan.planner import Live, Plan, PlanOptions, make_plan
from penstock.plan.steps import Activate

CASE = read_case(FOLDER / "60_a_column_added_throughout")


def planned(options: PlanOptions, **changed: str) -> Plan:
    """The plan of the golden case, with some files of its second version changed."""
    before = load_files(CASE.before).project
    after = {path: changed.get(path.rpartition("/")[2].replace(".", "_"), text) for path, text in CASE.after.items()}
    first = make_plan(None, before, PlanOptions("d1"))
    return make_plan(Live(before, first.manifest, CASE.sizes), load_files(after).project, options)


def strategy(plan: Plan, name: str) -> str:
    return next(each.strategy for each in plan.resources if each.name == name)


def value_before(plan: Plan, name: str, column: str) -> Before | None:
    bound = next(each for each in plan.manifest.bindings if each.name == name).column(column)
    assert bound is not None
    return bound.before


def test_null_marks_the_rows_of_before_where_it_is_no_value() -> None:
    plan = planned(PlanOptions("d2"))
    assert value_before(plan, "clicks", "country") == Before(
        "CASE WHEN `country` IS NULL THEN CAST(CAST('xx' AS STRING) AS STRING) ELSE `country` END", EVERY_ROW
    )
    assert value_before(plan, "clicks", "unit") is None, "NULL is its value in these rows"
    assert plan.moves.rows == 0


def test_a_table_that_rows_were_posted_to_is_computed_anew() -> None:
    """A posted row has the DEFAULT of the new column, whatever the view gives."""
    plan = planned(PlanOptions("d2", streams=frozenset({"clicks"})))
    assert (strategy(plan, "clicks"), strategy(plan, "hourly")) == ("recompute", "reuse")


def test_rows_that_are_posted_after_the_plan_end_the_activation() -> None:
    clones = [each for step in planned(PlanOptions("d2")).steps if isinstance(step, Activate) for each in step.clones]
    assert {each.of.partition("__")[0]: each.unposted for each in clones}["clicks"]


@pytest.mark.parametrize(
    "default", ["now()", "generateUUIDv4()", "lower(place)", "toString(rand())", "if(place = 'x', 'a', 'b')"]
)
def test_a_default_that_is_no_constant_is_not_known(default: str) -> None:
    name = "datasources/hits.datasource"
    hits = CASE.after[name].replace("DEFAULT 'xx'", f"DEFAULT {default}")
    plan = planned(PlanOptions("d2"), hits_datasource=hits)
    assert strategy(plan, "hourly") in ("recompute", "forward")


def test_two_views_must_give_the_same() -> None:
    files = dict(CASE.after) | {
        "pipes/more_mv.pipe": "NODE n\nSQL >\n    SELECT at, user, amount, 'yy' AS country, unit, '' AS known\n"
        "    FROM hits\nTYPE materialized\nDATASOURCE clicks\n"
    }
    before = load_files(CASE.before).project
    first = make_plan(None, before, PlanOptions("d1"))
    plan = make_plan(Live(before, first.manifest, CASE.sizes), load_files(files).project, PlanOptions("d2"))
    assert strategy(plan, "clicks") == "recompute"


def test_any_value_of_a_column_that_has_one_is_that() -> None:
    """Without what only an aggregate may have beside it, such as IGNORE NULLS."""
    case = read_case(FOLDER / "84_any_value_of_an_added_column")
    before = load_files(case.before).project
    first = make_plan(None, before, PlanOptions("d1"))
    plan = make_plan(Live(before, first.manifest, case.sizes), load_files(case.after).project, PlanOptions("d2"))
    for name in ("land", "last", "first"):
        wanted = f"CASE WHEN `{name}` IS NULL THEN CAST(CAST('??' AS STRING) AS STRING) ELSE `{name}` END"
        assert value_before(plan, "users", name) == Before(wanted, EVERY_ROW)
    assert value_before(plan, "users", "agent") is None, "NULL is its value in these rows"
