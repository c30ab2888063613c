"""Laws that hold for every plan, over random projects and edits."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.errors import Location
from penstock.model.graph import Graph
from penstock.model.manifest import SEQ, Copy, Landing, Manifest, Source, View, last_seq
from penstock.model.manifest_updates import set_cutover_offsets
from penstock.model.project import Project
from penstock.parse.project_loader import load_files
from penstock.plan.equivalence.view_equivalence import physical_sql
from penstock.plan.plan import NOTHING
from penstock.plan.planner import Live, Plan, PlanOptions, Size, make_plan
from penstock.plan.steps import Activate
from penstock.sql.spark_text import column_names
from project_strategies import Draft, drafts, edits

SLOW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
Chain = list[tuple[Project, Plan, Manifest]]


@st.composite
def histories(draw: st.DrawFn) -> list[Draft]:
    """A project and up to three later versions of it."""
    versions = [draw(drafts())]
    for _ in range(draw(st.integers(1, 3))):
        versions.append(draw(edits(versions[-1])))
    return versions


def deployed(versions: list[Draft]) -> Chain:
    """Each version planned against the one before, as that runs after its activation."""
    chain: Chain = []
    live: Live | None = None
    for number, draft in enumerate(versions, 1):
        plan = make_plan(live, draft.project, PlanOptions(f"d{number}", allow_destructive=True))
        assert plan.errors == ()
        manifest = activated(plan, live.manifest if live else Manifest(), last_seq(number * 10))
        chain.append((draft.project, plan, manifest))
        columns = physical_columns([each for _, _, each in chain])
        live = Live(draft.project, manifest, {table.id: Size(100, 1000) for table in manifest.tables}, columns)
    return chain


def activated(plan: Plan, live: Manifest, cut: int) -> Manifest:
    """What the executor does: a table that gets a further landing version is cut, and so is a clone."""
    manifest = plan.manifest
    known = {(landing.table, landing.version) for landing in live.landings}
    clones = {each.table.id for step in plan.steps if isinstance(step, Activate) for each in step.clones}
    tables = {landing.table for landing in live.landings} | clones
    further = [each for each in manifest.landings if each.table in tables and (each.table, each.version) not in known]
    cuts = {each.table: cut for each in further}
    streams = {f"{each.stream}__quarantine": cuts[each.table] for each in manifest.landings if each.table in cuts}
    return set_cutover_offsets(manifest, cuts | streams)


def physical_columns(manifests: list[Manifest]) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for manifest in manifests:
        for table in manifest.tables:
            found.setdefault(table.id, set()).update(field.name for field in table.fields)
    return {table: tuple(sorted(fields)) for table, fields in found.items()}


def without_places(plan: Plan) -> Plan:
    """The plan without what names a place in a file."""
    hides = tuple(replace(each, location=Location("")) for each in plan.hides)
    return replace(plan, problems=(), places={}, hides=hides)


def sources(manifest: Manifest) -> list[Source]:
    return [source for view in manifest.views for source in (view.trigger, *view.others)]


@SLOW
@given(histories())
def test_a_project_planned_against_itself_is_no_change(versions: list[Draft]) -> None:
    project, _, manifest = deployed(versions)[-1]
    plan = make_plan(Live(project, manifest, {}), project, PlanOptions("again"))
    assert (plan.changes, plan.steps, plan.problems) == ((), (), ())
    assert {resource.strategy for resource in plan.resources} == {"none"}
    assert plan.manifest == manifest
    assert (plan.rows_moved, plan.bytes_moved) == (0, 0)


@SLOW
@given(histories(), st.randoms())
def test_the_order_of_the_files_does_not_matter(versions: list[Draft], random: object) -> None:
    first, second = versions[0], versions[1]
    live = deployed([first])[0]
    files = list(second.files.items())
    random.shuffle(files)  # type: ignore[attr-defined]
    shuffled = load_files({f"elsewhere/{path}": text for path, text in files}).project
    options = PlanOptions("d2", allow_destructive=True)
    plans = [make_plan(Live(live[0], live[2], {}), each, options) for each in (second.project, shuffled)]
    said = [[(problem.code, problem.message) for problem in plan.problems] for plan in plans]
    assert without_places(plans[0]) == without_places(plans[1])
    assert said[0] == said[1]  # at places of their own


@SLOW
@given(histories())
def test_a_manifest_is_complete(versions: list[Draft]) -> None:
    earlier: set[str] = set()
    for project, _, manifest in deployed(versions):
        tables = {table.id: {field.name for field in table.fields} for table in manifest.tables}
        fed = {flow.table for flow in manifest.flows if not isinstance(flow, Copy)}
        assert len(tables) == len(manifest.tables)
        assert {binding.name for binding in manifest.bindings} == {source.name for source in project.datasources}
        assert {flow.table for flow in manifest.flows} <= set(tables)
        assert all(landing.starts == "beginning" or landing.table in tables for landing in manifest.landings)
        assert {source.binding.table for source in sources(manifest)} <= fed | earlier
        for copy in manifest.copies:
            assert copy.source.table in earlier
        assert len({(flow.table, flow.id) for flow in manifest.flows}) == len(manifest.flows)
        earlier |= fed
        physical_columns_are_declared(manifest, tables)


def physical_columns_are_declared(manifest: Manifest, tables: dict[str, set[str]]) -> None:
    """Whatever a binding reads or a flow writes is a field of its table."""
    for binding in manifest.bindings:
        read = {column.physical for column in binding.columns}
        for column in binding.columns:
            read |= column_names(column.before.expression) - {SEQ} if column.before else set()
        assert read <= tables[binding.table]
    for landing in manifest.landings:
        assert {column.physical for column in landing.columns} <= tables[landing.table]
    for view in manifest.views:
        assert set(view.fields) <= tables[view.table]


@SLOW
@given(histories())
def test_live_is_not_disturbed(versions: list[Draft]) -> None:
    """A flow into a table of live does what live's does (reading through its own binding), or is a
    further landing version of the same stream that writes a column of live's only as live does."""
    chain = deployed(versions)
    for (_, _, live), (_, _, after) in pairwise(chain):
        tables = {table.id for table in live.tables}
        for flow in after.flows:
            if flow.table not in tables:
                continue
            match flow:
                case Landing():
                    lives = next(each for each in live.landings if each.table == flow.table)
                    assert flow.stream == lives.stream
                    lands_the_same(lives, flow)
                case View():
                    lives_view = next(each for each in live.views if (each.table, each.id) == (flow.table, flow.id))
                    assert physical_sql(flow) == physical_sql(lives_view)
                    assert flow.fields == lives_view.fields
                    assert lives_view.starts in (flow.starts, "met", "resumed")
                case Copy():
                    assert flow in live.copies


def uncast(default: str | None) -> str | None:
    """A default without the cast to its column's stored type, which a widened column has wider."""
    found = re.fullmatch(r"CAST\((.+) AS (?:INT|BIGINT|FLOAT|DOUBLE|DECIMAL\(\d+, ?\d+\))\)", default or "")
    return found[1] if found else default


def lands_the_same(live: Landing, after: Landing) -> None:
    written = {column.physical: column for column in live.columns}
    for column in after.columns:
        same = written.get(column.physical)
        if same is not None:
            assert (column.path, uncast(column.default)) == (same.path, uncast(same.default))


@SLOW
@given(histories())
def test_values_of_a_dropped_column_do_not_come_back(versions: list[Draft]) -> None:
    """A physical column that the new version adds was in no version before."""
    chain = deployed(versions)
    for number, (_, plan, manifest) in enumerate(chain):
        before = physical_columns([each for _, _, each in chain[:number]])
        for step in plan.steps:
            added = getattr(step, "fields", ())
            assert not {field.name for field in added} & set(before.get(getattr(step, "table", ""), ()))
        assert all(not any(link.upto is None for link in binding.accepts[:-1]) for binding in manifest.bindings)


@SLOW
@given(histories())
def test_unchanged_resources_keep_their_tables(versions: list[Draft]) -> None:
    chain = deployed(versions)
    for (_, _, live), (_, plan, after) in pairwise(chain):
        for resource in plan.resources:
            if resource.strategy == "none" and live.binding(resource.name):
                assert after.binding(resource.name) == live.binding(resource.name)
            if resource.strategy in ("none", "in_place", "reuse", "bridge", "drop"):
                assert resource.moves == NOTHING
            if resource.strategy in ("forward", "recompute"):
                assert after.binding(resource.name).table not in {table.id for table in live.tables}  # type: ignore[union-attr]


@given(st.dictionaries(st.sampled_from("abcdef"), st.sets(st.sampled_from("abcdef"), max_size=3)))
def test_an_order_has_each_name_after_what_it_reads(reads: dict[str, set[str]]) -> None:
    graph = Graph.of(reads)
    cycle = graph.cycle()
    if cycle:
        assert cycle[0] == cycle[-1]
        assert all(before in graph.reads[after] for before, after in pairwise(cycle))
        return
    order = graph.order()
    assert sorted(order) == sorted(graph.reads)
    for name in order:
        assert all(order.index(read) < order.index(name) for read in graph.upstream(name))
        assert all(name in graph.upstream(reader) for reader in graph.downstream(name))
