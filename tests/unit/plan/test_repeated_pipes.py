"""Pipes that are read twice at each of many levels: the SQL doubles with each, and the work of the planner must not.

With DEEP levels the SQL has more SELECTs than the planner looks into: it then may move more than it must, never less.
"""

from __future__ import annotations

import pytest

from penstock.parse.project_loader import load_files
from penstock.plan.offline import plan_projects
from penstock.plan.plan import Plan
from penstock.sql.analysis.query_facts import MOST_SELECTS, query_facts
from penstock.sql.compile import compile_view

SHALLOW, DEEP = 1, 10
TARGET = "SCHEMA >\n    `id` UInt64,\n    `a` String,\n    `b` String\nENGINE MergeTree\nENGINE_SORTING_KEY id\n"
SWAPPED = TARGET.replace("`a` String", "`a` String RENAMED_FROM b").replace("`b` String", "`b` String RENAMED_FROM a")


def files(levels: int, *, query: str = "SELECT id, a, b", target: str = TARGET) -> dict[str, str]:
    """A landing source, pipes of which each joins the one before with itself, and a view of the last one."""
    found = {"l.datasource": TARGET, "t.datasource": target}
    before = "l"
    for level in range(levels):
        join = f"SELECT x.id AS id, y.a AS a, y.b AS b FROM {before} AS x JOIN {before} AS y ON x.id = y.id"
        found[f"p{level}.pipe"] = f"NODE n\nSQL >\n    {join}\n"
        before = f"p{level}"
    found["v.pipe"] = f"NODE n\nSQL >\n    {query} FROM {before}\nTYPE materialized\nDATASOURCE t\n"
    return found


def plan(before: dict[str, str], after: dict[str, str]) -> Plan:
    old, new = load_files(before), load_files(after)
    assert (old.problems, new.problems) == ((), ())
    return plan_projects(old.project, new.project, {})


@pytest.mark.timeout(60)  # twelve levels took hours
@pytest.mark.parametrize("levels", [SHALLOW, DEEP])
def test_another_query_is_recomputed(levels: int) -> None:
    made = plan(files(levels), files(levels, query="SELECT id, concat(a, toString(count() OVER ())) AS a, b"))
    assert [each.strategy for each in made.resources if each.name == "t"] == ["recompute"]
    assert not made.errors


def test_columns_that_exchange_their_names_are_what_the_view_gives() -> None:
    """The view gives `a` and `b` as before, whatever their columns were called: the stored ones have these values."""
    made = plan(files(SHALLOW), files(SHALLOW, target=SWAPPED))
    assert [each.strategy for each in made.resources if each.name == "t"] == ["reuse"]
    bound = made.manifest.binding("t") if made.manifest is not None else None
    assert bound is not None
    for name in ("a", "b"):
        column = bound.column(name)
        assert column is not None
        assert column.before is not None
        assert f"CAST(`{name}` AS STRING)" in column.before.expression
        assert column.physical != name


def test_columns_that_exchange_their_names_below_what_is_too_deep_are_recomputed() -> None:
    made = plan(files(DEEP), files(DEEP, target=SWAPPED))
    assert [each.strategy for each in made.resources if each.name == "t"] == ["recompute"]


@pytest.mark.parametrize("levels", [SHALLOW, DEEP])
def test_the_same_project_moves_nothing(levels: int) -> None:
    described = {"l.datasource": f"DESCRIPTION >\n    rows that land\n{TARGET}"}
    made = plan(files(levels), files(levels) | described)
    assert {each.strategy for each in made.resources} == {"none"}


def test_what_is_too_much_to_look_into_has_no_tree() -> None:
    project = load_files(files(DEEP)).project
    view = project.pipe("v")
    assert view is not None
    assert view.materialized is not None
    sql = compile_view(project, view, view.materialized).query.sql
    assert sql.count("SELECT") > MOST_SELECTS
    facts = query_facts(sql)
    assert (facts.tree, facts.output_names) == (None, ())
    assert facts.lineage.whole, "each source counts as read whole"
