"""When a changed view gives the stored rows of its target through the views that feed what it reads, and when not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from golden_cases import FOLDER, read_case
from penstock.model.manifest import Manifest
from penstock.parse.project_loader import load_files
from penstock.plan.planner import Live, Plan, PlanOptions, make_plan
from penstock.plan.steps import Activate

CASE = read_case(FOLDER / "70_views_seen_through_views")
ABROAD, BUSY, HOURLY, DAILY = (f"pipes/{name}_mv.pipe" for name in ("abroad", "busy", "hourly", "daily"))
SOURCE = "datasources/{}.datasource"
OPTIONS = PlanOptions("d2", True)
Files = dict[str, str]


def first(files: Files) -> Live:
    """A project as its first deployment makes it."""
    old = load_files(files).project
    plan = make_plan(None, old, PlanOptions("d1"))
    assert not plan.errors, [str(each) for each in plan.errors]
    return Live(old, plan.manifest, CASE.sizes)


def planned(before: Files | None = None, after: Files | None = None, options: PlanOptions = OPTIONS) -> Plan:
    """The plan of the golden case, with some files changed in both versions, and some in the second."""
    old = {**CASE.before, **(before or {})}
    new = load_files({**CASE.after, **(before or {}), **(after or {})})
    assert not new.problems
    return make_plan(first(old), new.project, options)


def strategy(plan: Plan, name: str) -> str:
    assert not plan.errors, [str(each) for each in plan.errors]
    return next(each.strategy for each in plan.resources if each.name == name)


def changed(path: str, old: str, new: str, side: Files | None = None) -> Files:
    text = dict(side or CASE.before)[path]
    assert old in text
    return {path: text.replace(old, new)}


def test_the_middle_tables_must_not_be_posted_to_until_it_runs() -> None:
    clones = [each for step in planned().steps if isinstance(step, Activate) for each in step.clones]
    watched = {each.of: each.views_only for each in clones}
    assert watched["busy__d1"] == ("abroad__d1",)
    assert watched["months__d1"] == ("steps__d1", "steps__d2")


def test_views_go_on_from_what_they_read_now() -> None:
    views = {view.pipe: (view.trigger.binding.table, view.starts) for view in planned().manifest.views}
    assert views["busy_mv"] == ("abroad__d1", "resumed")
    assert views["lone_mv"] == ("visits__d1", "resumed")
    assert views["months_mv"] == ("steps__d2", "resumed")


def test_rows_that_were_posted_to_the_middle() -> None:
    options = replace(OPTIONS, streams=frozenset({"abroad", "hourly"}))
    plan = planned(options=options)
    assert [strategy(plan, name) for name in ("busy", "lone", "daily", "plain")] == [*["recompute"] * 3, "reuse"]


def test_rows_that_are_copied_into_the_middle() -> None:
    copy = {"pipes/more.pipe": "NODE n\nSQL >\n    SELECT * FROM visits\nTYPE copy\nTARGET_DATASOURCE abroad\n"}
    for plan in (planned(copy), planned(after=copy)):
        assert (strategy(plan, "busy"), strategy(plan, "lone")) == ("recompute", "recompute")


@pytest.mark.parametrize("side", ["before", "after"])
def test_rows_that_a_view_leaves_out(side: str) -> None:
    leaky = {ABROAD: CASE.before[ABROAD] + "ON_ERROR quarantine\n"}
    plan = planned(leaky) if side == "before" else planned(after=leaky)
    # The live table of `lone` was made by a view that stopped; the next one is that of `visits` alone.
    wanted = "recompute" if side == "before" else "reuse"
    assert (strategy(plan, "busy"), strategy(plan, "lone")) == ("recompute", wanted)


def test_rows_that_a_view_left_out_once() -> None:
    """A policy that is gone again may have left rows out while it was there."""
    live = first({**CASE.before, ABROAD: CASE.before[ABROAD] + "ON_ERROR quarantine\n"})
    again = make_plan(live, load_files(CASE.before).project, replace(OPTIONS, suffix="d2"))
    plan = make_plan(
        Live(load_files(CASE.before).project, again.manifest, CASE.sizes), load_files(CASE.after).project, OPTIONS
    )
    assert (strategy(plan, "busy"), strategy(plan, "daily")) == ("recompute", "reuse")


def test_history_that_a_forward_query_kept() -> None:
    """Live has rows of Chile in `abroad`, which no view gives any more."""
    older = changed(ABROAD, "country != 'Chile'", "country != 'Peru'")
    kept = {SOURCE.format("abroad"): CASE.before[SOURCE.format("abroad")] + "FORWARD_QUERY >\n    SELECT *\n"}
    second = load_files({**CASE.before, **kept}).project
    step = make_plan(first({**CASE.before, **older}), second, OPTIONS)
    assert strategy(step, "abroad") == "forward"
    third = load_files({**CASE.before, **kept, BUSY: CASE.after[BUSY]}).project
    plan = make_plan(Live(second, step.manifest, CASE.sizes), third, replace(OPTIONS, suffix="d3"))
    assert strategy(plan, "busy") == "recompute"


def test_tables_of_a_former_release_are_not_known_to_be_whole() -> None:
    live = first(dict(CASE.before))
    manifest: Manifest = replace(
        live.manifest, tables=tuple(replace(each, whole=False) for each in live.manifest.tables)
    )
    plan = make_plan(replace(live, manifest=manifest), load_files(CASE.after).project, OPTIONS)
    assert (strategy(plan, "busy"), strategy(plan, "daily")) == ("recompute", "recompute")
    assert strategy(plan, "plain") == "reuse", "what it is seen through is made by this deployment"


@pytest.mark.parametrize("name", ["abroad", "visits"])
def test_tables_that_lost_rows(name: str) -> None:
    live = replace(first(dict(CASE.before)), shortened=frozenset({f"{name}__d1"}))
    plan = make_plan(live, load_files(CASE.after).project, OPTIONS)
    assert strategy(plan, "lone") == "recompute" or plan.errors


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ENGINE MergeTree", "ENGINE ReplacingMergeTree"),
        ("ENGINE MergeTree", "ENGINE AggregatingMergeTree"),
        ("ENGINE_SORTING_KEY timestamp", "ENGINE_SORTING_KEY timestamp\nENGINE_TTL timestamp + INTERVAL 9 DAY"),
    ],
)
def test_engines_that_lose_rows(old: str, new: str) -> None:
    path = SOURCE.format("abroad")
    assert strategy(planned(changed(path, old, new)), "busy") == "recompute"
    assert strategy(planned(changed(path, old, new)), "lone") == "recompute"


def test_a_key_that_merging_loses() -> None:
    """Rows of one hour are merged to one, with the country of any."""
    path = SOURCE.format("hourly")
    plan = planned(changed(path, "ENGINE_SORTING_KEY hour, country", "ENGINE_SORTING_KEY hour"))
    assert (strategy(plan, "daily"), strategy(plan, "weekly")) == ("recompute", "recompute")


@pytest.mark.parametrize(
    "most",
    [
        "maxIf(count, url = '/1')",  # 0 where no row has the URL
        "min(count)",
        "max(count + 1)",
    ],
)
def test_aggregates_that_are_not_those_of_the_rows(most: str) -> None:
    assert strategy(planned(changed(HOURLY, "max(count)", most)), "daily") == "recompute"


def test_a_filter_that_one_of_both_has() -> None:
    plan = planned(changed(ABROAD, "!= 'Chile'", "!= 'Peru'"))
    assert (strategy(plan, "busy"), strategy(plan, "lone")) == ("recompute", "recompute")


def test_weeks_of_months() -> None:
    """A week is not made of months."""
    path = "pipes/weekly_mv.pipe"
    text = CASE.after[path].replace("toMonday(hour)", "toMonday(month)").replace("FROM hourly", "FROM months")
    assert strategy(planned(after={path: text}), "weekly") == "recompute"


def test_a_clock_in_the_middle() -> None:
    clock = changed(ABROAD, "SELECT timestamp,", "SELECT now() AS timestamp,")
    assert strategy(planned(clock), "busy") == "recompute"


def test_a_forward_query_and_another_engine_say_what_becomes_of_the_rows() -> None:
    path = SOURCE.format("busy")
    assert strategy(planned(after={path: CASE.before[path] + "FORWARD_QUERY >\n    SELECT *\n"}), "busy") == "forward"
    other = changed(path, "ENGINE MergeTree", "ENGINE ReplacingMergeTree")
    assert strategy(planned(after=other), "busy") == "recompute"
