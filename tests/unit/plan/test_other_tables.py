"""When a target begins as a clone of a live table of another name, and when not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from golden_cases import FOLDER, read_case
from penstock.parse.project_loader import load_files
from penstock.plan.offline import plan_projects
from penstock.plan.plan import NOTHING, Live, Plan, PlanOptions, RuleResult
from penstock.plan.planner import make_plan
from penstock.plan.steps import Activate, Clone

CASE = read_case(FOLDER / "72_rows_of_other_tables")
OPTIONS = PlanOptions("d2", True)
CLICKERS = "pipes/clickers_mv.pipe"
Files = dict[str, str]


def first(files: Files) -> Live:
    old = load_files(files).project
    made = make_plan(None, old, PlanOptions("d1"))
    assert not made.errors, [str(each) for each in made.errors]
    return Live(old, made.manifest, {f"{name}__d1": size for name, size in CASE.sizes.items()})


def planned(before: Files | None = None, after: Files | None = None, options: PlanOptions = OPTIONS) -> Plan:
    """The plan of the golden case, with some files changed in both versions, and some in the second."""
    return planned_from(first({**CASE.before, **(before or {})}), {**(before or {}), **(after or {})}, options)


def planned_from(live: Live, changed: Files | None = None, options: PlanOptions = OPTIONS) -> Plan:
    new = load_files({**CASE.after, **(changed or {})})
    assert not new.problems, [str(each) for each in new.problems]
    return make_plan(live, new.project, options)


def clones(plan: Plan) -> dict[str, Clone]:
    assert not plan.errors, [str(each) for each in plan.errors]
    found = (each for step in plan.steps if isinstance(step, Activate) for each in step.clones)
    return {each.table.id.removesuffix("__d2"): each for each in found}


def origins(plan: Plan) -> dict[str, str]:
    return {name: each.of.removesuffix("__d1") for name, each in clones(plan).items()}


def said(plan: Plan, name: str) -> RuleResult:
    rules = next(each.rules for each in plan.resources if each.name == name)
    return next(rule for rule in rules if "another live table" in rule.rule)


def test_no_row_moves() -> None:
    plan = planned()
    assert plan.moves == NOTHING
    assert origins(plan) == {
        "cheap": "dear",
        "dear": "cheap",
        "heard": "heard",
        "totals": "sums",
        "newest": "latest",
        "clickers": "clicks",
        "counted": "hourly",
        "passed": "hits",
        "clicks": "clicks",
    }


def test_cursors_are_taken_over_and_a_table_that_is_passed_on_is_read_from_its_end() -> None:
    plan = planned()
    found = clones(plan)
    assert found["clickers"].cursors == (("clicks_mv.rows", "clickers_mv.rows@clickers__d2"),)
    assert (found["passed"].cursors, found["passed"].unrejected, found["passed"].views_only) == ((), True, ())
    assert (found["clickers"].unrejected, found["clickers"].views_only) == (False, ("clicks__d1",))
    starts = {view.pipe: (view.id, view.trigger.binding.table, view.starts) for view in plan.manifest.views}
    assert starts["clickers_mv"] == ("clickers_mv.rows@clickers__d2", "hits__d1", "beginning")
    assert starts["passed_mv"] == ("passed_mv.rows@passed__d2", "hits__d1", "resumed")
    assert starts["clicks_mv"] == ("clicks_mv.rows", "passed__d2", "beginning")


def test_each_flow_of_the_plan_has_an_id_of_its_own() -> None:
    flows = planned().manifest.views
    assert len({flow.id for flow in flows}) == len(flows)


def test_a_plan_from_it_to_itself_does_nothing() -> None:
    made, new = planned(), load_files(CASE.after).project
    again = make_plan(Live(new, made.manifest, {}), new, replace(OPTIONS, suffix="d3"))
    assert (again.steps, again.manifest) == ((), made.manifest)


def test_a_clone_of_another_table_can_be_cloned_again() -> None:
    made, new = planned(), load_files(CASE.after).project
    third = {
        "datasources/third.datasource": CASE.after["datasources/clickers.datasource"],
        "pipes/third_mv.pipe": CASE.after[CLICKERS].replace("clickers", "third"),
    }
    plan = planned_from(Live(new, made.manifest, {}), third, replace(OPTIONS, suffix="d3"))
    assert [each.of for step in plan.steps if isinstance(step, Activate) for each in step.clones] == ["clickers__d2"]


def test_the_plan_without_a_server_sees_tables_that_no_change_reaches() -> None:
    old, new = load_files(CASE.before).project, load_files(CASE.after).project
    assert origins(plan_projects(old, new, CASE.sizes, OPTIONS)) == origins(planned())


@pytest.mark.parametrize(("posted", "name"), [("clicks", "clickers"), ("hourly", "counted"), ("cheap", "dear")])
def test_rows_that_were_posted_to_the_other_table(posted: str, name: str) -> None:
    plan = planned(options=replace(OPTIONS, streams=frozenset({posted})))
    assert origins(plan).get(name) is None
    assert "rows were posted to it" in said(plan, name).says


def test_rows_that_were_posted_to_the_target() -> None:
    plan = planned(options=replace(OPTIONS, streams=frozenset({"dear"})))
    assert said(plan, "dear").says == "rows were posted to it"
    assert "dear" not in origins(plan)


def test_rows_that_were_posted_to_a_table_that_is_passed_on() -> None:
    plan = planned(options=replace(OPTIONS, streams=frozenset({"hits"})))
    assert origins(plan)["passed"] == "hits"


def test_a_source_that_lost_rows() -> None:
    live = replace(first(CASE.before), shortened=frozenset({"hits__d1"}))
    plan = planned_from(live)
    assert said(plan, "clickers").says == "`clicks`: `hits` no longer has all the rows that it was made of"
    assert said(plan, "passed").applies, "it has what the table has now, as if it were filled from it"


@pytest.mark.parametrize("view", ["clicks", "sums", "latest", "hourly"])
def test_rows_that_a_view_left_out_once(view: str) -> None:
    """A policy that is gone again may have left rows out while it was there."""
    path = f"pipes/{view}_mv.pipe"
    live = first({**CASE.before, path: CASE.before[path] + "ON_ERROR quarantine\n"})
    again = load_files(CASE.before).project
    step = make_plan(live, again, replace(OPTIONS, suffix="d1b"))
    plan = planned_from(Live(again, step.manifest, {}))
    name = {"clicks": "clickers", "sums": "totals", "latest": "newest", "hourly": "counted"}[view]
    assert "not known to have every row" in said(plan, name).says


def test_an_engine_that_was_another_one_once() -> None:
    path = "datasources/clicks.datasource"
    merged = CASE.before[path].replace("ENGINE MergeTree", "ENGINE ReplacingMergeTree")
    live = first({**CASE.before, path: merged})
    again = load_files(CASE.before).project
    step = make_plan(live, again, replace(OPTIONS, suffix="d1b"))
    assert next(each.strategy for each in step.resources if each.name == "clicks") == "recompute"
    plan = planned_from(Live(again, step.manifest, {}))
    assert said(plan, "clickers").applies, "its rows were computed anew, as the other engine had merged them"


def test_tables_of_a_former_release() -> None:
    live = first(CASE.before)
    tables = tuple(replace(each, filled_as="") for each in live.manifest.tables)
    plan = planned_from(replace(live, manifest=replace(live.manifest, tables=tables)))
    assert "not known to have every row" in said(plan, "clickers").says


def test_it_is_computed_where_that_is_asked_for() -> None:
    for name in ("clickers", "cheap"):
        plan = planned(options=replace(OPTIONS, strategies={name: "recompute"}))
        assert name not in origins(plan)
        assert said(plan, name).applies


def test_rows_that_would_go_are_told_where_targets_are_exchanged() -> None:
    plan = planned(options=PlanOptions("d2"))
    told = [str(each) for each in plan.errors]
    assert any("`cheap_mv` no longer feeds `cheap`" in each for each in told)
    assert any("`dear_mv` no longer feeds `dear`" in each for each in told)


def test_a_table_that_goes_on_under_another_name_is_no_loss() -> None:
    plan = planned()
    lost = {each.name: each.lost for each in plan.resources if each.strategy == "drop" and each.kind == "datasource"}
    assert lost == {"sums": NOTHING, "latest": NOTHING}
    assert [each.code for each in plan.problems] == []


def test_a_forward_query_says_what_becomes_of_the_rows() -> None:
    kept = {
        "datasources/dear.datasource": CASE.before["datasources/dear.datasource"] + "FORWARD_QUERY >\n    SELECT *\n"
    }
    plan = planned(after=kept)
    assert next(each.strategy for each in plan.resources if each.name == "dear") == "forward"


def test_a_column_that_is_computed_when_older_rows_are_read() -> None:
    path = "datasources/clicks.datasource"
    wider = {path: CASE.before[path].replace("`amount` Float64", "`amount` Float64,\n    `made` String DEFAULT 'here'")}
    again = load_files({**CASE.before, **wider}).project
    step = make_plan(first(CASE.before), again, replace(OPTIONS, suffix="d1b"))
    bound = next(each for each in step.manifest.bindings if each.name == "clicks").column("made")
    assert bound is not None
    assert bound.before is not None
    second = {"datasources/clickers.datasource": wider[path], CLICKERS: CASE.before["pipes/clicks_mv.pipe"]}
    second[CLICKERS] = second[CLICKERS].replace("DATASOURCE clicks", "DATASOURCE clickers")
    new = load_files({**CASE.before, **wider, **second})
    plan = make_plan(Live(again, step.manifest, {}), new.project, OPTIONS)
    assert said(plan, "clickers").says == "`clicks`: it computes a column when older rows are read"
    assert "clickers" not in origins(plan)


# ------------------------------------------------------------------------- what else the same deployment does


def replaced(files: Files, path: str, old: str, new: str) -> Files:
    assert old in files[path]
    return {path: files[path].replace(old, new)}


def test_the_other_table_gets_another_name_in_the_same_deployment() -> None:
    before, path = CASE.before, "datasources/clicks.datasource"
    renamed = {"datasources/pages.datasource": before[path] + "RENAMED_FROM clicks\n"}
    renamed |= replaced(CASE.after, "pipes/clicks_mv.pipe", "DATASOURCE clicks", "DATASOURCE pages")
    files = {**CASE.after, **renamed}
    del files[path]
    plan = make_plan(first(before), load_files(files).project, OPTIONS)
    assert origins(plan)["clickers"] == "clicks"
    assert origins(plan)["pages"] == "clicks"
    assert plan.moves == NOTHING


def test_the_other_table_is_computed_anew_in_the_same_deployment() -> None:
    """What live has is cloned, whatever becomes of it."""
    changed = replaced(CASE.after, "pipes/clicks_mv.pipe", "kind = 'click' OR kind = 'page_hit'", "kind = 'buy'")
    plan = planned(after=changed)
    assert next(each.strategy for each in plan.resources if each.name == "clicks") == "recompute"
    assert origins(plan)["clickers"] == "clicks"
    assert clones(plan)["clickers"].cursors == (("clicks_mv.rows", "clickers_mv.rows@clickers__d2"),)


def test_two_new_targets_of_one_table() -> None:
    second = {
        "datasources/third.datasource": CASE.after["datasources/clickers.datasource"],
        "pipes/third_mv.pipe": CASE.after[CLICKERS].replace("clickers", "third"),
    }
    found = clones(planned(after=second))
    assert [found[name].of for name in ("clickers", "third")] == ["clicks__d1", "clicks__d1"]
    assert found["third"].cursors == (("clicks_mv.rows", "third_mv.rows@third__d2"),)


def test_a_clone_of_another_table_goes_on_when_its_view_gets_a_column() -> None:
    """The flow keeps its id, by which its cursor is found in the clone of the clone."""
    made, new = planned(), load_files(CASE.after).project
    wider = {
        **replaced(CASE.after, "datasources/clickers.datasource", "`user` String", "`user` String,\n    `one` UInt8"),
        **replaced(CASE.after, CLICKERS, "SELECT at, user", "SELECT at, user, toUInt8(1) AS one"),
    }
    plan = planned_from(Live(new, made.manifest, {}), wider, replace(OPTIONS, suffix="d3"))
    (clone,) = (each for step in plan.steps if isinstance(step, Activate) for each in step.clones)
    assert (clone.table.id, clone.of, clone.cursors) == ("clickers__d3", "clickers__d2", ())
    assert [view.id for view in plan.manifest.views if view.table == "clickers__d3"] == [
        "clickers_mv.rows@clickers__d2"
    ]


def test_columns_of_a_ttl_that_have_exchanged_their_names() -> None:
    """The words of the TTL are the same, and other rows have expired."""
    source, view = "datasources/ones.datasource", "pipes/ones_mv.pipe"
    columns = "SCHEMA >\n    `a` Date{},\n    `b` Date{},\n    `hits` AggregateFunction(count)\n\n"
    engine = "ENGINE AggregatingMergeTree\nENGINE_SORTING_KEY a, b\nENGINE_TTL a + INTERVAL 30 DAY\n"
    query = "NODE rows\nSQL >\n    SELECT {}, countState() AS hits FROM hits GROUP BY a, b\n"
    query += "TYPE materialized\nDATASOURCE {}\n"
    days = ("toDate(at) AS a, toDate(at) - 7 AS b", "toDate(at) AS b, toDate(at) - 7 AS a")
    old = {**CASE.before, source: columns.format("", "") + engine, view: query.format(days[0], "ones")}
    new = {**old, source: columns.format(" RENAMED_FROM b", " RENAMED_FROM a") + engine}
    new[view] = query.format(days[1], "ones")
    live, again = first(old), load_files(new).project
    step = make_plan(live, again, replace(OPTIONS, suffix="d1b"))
    assert next(each.strategy for each in step.resources if each.name == "ones") == "in_place"

    second = {"datasources/others.datasource": old[source], "pipes/others_mv.pipe": query.format(days[1], "others")}
    plan = make_plan(Live(again, step.manifest, {}), load_files({**new, **second}).project, OPTIONS)
    assert "others" not in origins(plan)
    assert "not known to have every row" in said(plan, "others").says


def test_a_source_that_keeps_no_rows_any_more() -> None:
    """The other table has what the source does not keep."""
    path = "datasources/hits.datasource"
    null = CASE.before[path].replace("ENGINE MergeTree\nENGINE_SORTING_KEY at", "ENGINE Null")
    plan = planned(after={path: null})
    assert origins(plan)["clickers"] == "clicks"


def test_a_source_that_has_never_kept_rows() -> None:
    path = "datasources/hits.datasource"
    null = {path: CASE.before[path].replace("ENGINE MergeTree\nENGINE_SORTING_KEY at", "ENGINE Null")}
    plan = planned(before=null)
    assert not {"clickers", "totals", "newest", "passed"} & set(origins(plan))


def test_a_second_view_into_the_other_table_or_into_the_target() -> None:
    more = {"pipes/more_mv.pipe": CASE.before["pipes/clicks_mv.pipe"].replace("kind = 'click' OR", "amount > 3 AND")}
    assert "clickers" not in origins(planned(before=more))
    twice = {"pipes/again_mv.pipe": CASE.after[CLICKERS]}
    assert "clickers" not in origins(planned(after=twice))


def test_another_partition_key_and_another_sorting_key() -> None:
    """Of a MergeTree they say only where rows are stored."""
    path = "datasources/clickers.datasource"
    plan = planned(after={path: CASE.after[path] + "ENGINE_PARTITION_KEY toYYYYMM(at)\n"})
    clone = clones(plan)["clickers"]
    assert (clone.of, len(clone.table.partition)) == ("clicks__d1", 1)
