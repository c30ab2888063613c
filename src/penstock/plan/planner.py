"""The planner: how to get from the live version to a project, moving only the data that must move.

In: the live version (None before the first deployment), a project and options. Out: `Plan`. Invariant: a pure
function: the same input gives the same plan, and a project planned against itself has no change, no step and the
same manifest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.errors import Location, Problem
from penstock.model.manifest import Binding, Flow, Manifest, Table, View
from penstock.model.pipe import Materialized, Pipe
from penstock.model.project import Project
from penstock.plan.compiled_project import compile_project, unsupported_columns
from penstock.plan.diff.change_impact import ChangeImpact, find_impact, full_impact
from penstock.plan.diff.change_places import change_places
from penstock.plan.diff.changes import Change, change_text, join_words
from penstock.plan.diff.column_matching import find_former_names
from penstock.plan.diff.merged_rows import keeps_what_rows_say, merging_form
from penstock.plan.diff.project_diff import diff_versions
from penstock.plan.diff.project_queries import ProjectQueries
from penstock.plan.diff.resource_kinds import pipe_kind
from penstock.plan.diff.rollback import FED_BY_VIEWS, assess_rollback
from penstock.plan.first_problems import unknown_strategies
from penstock.plan.plan import NOTHING, Live, Materialization, Plan, PlanOptions, ResourcePlan, Size
from penstock.plan.steps import Activate, CatchUp, CreateTable, Step, sort_steps
from penstock.plan.strategies.candidate_reuse import reuse_from_candidate
from penstock.plan.strategies.costs import CostCounter
from penstock.plan.strategies.datasource_plan import plan_datasource
from penstock.plan.strategies.materialization import computed_columns, materialization_steps, plan_materialization
from penstock.plan.strategies.planning_context import PlannedDataSource, PlanningContext
from penstock.plan.strategies.removal import removal_problems, removed_resources
from penstock.plan.strategies.unchanged_datasources import (
    has_outdated_reader,
    keep_running_datasource,
    refresh_unchanged,
)
from penstock.plan.tables.barrier_placement import place_barriers

__all__ = ["Live", "Plan", "PlanOptions", "ResourcePlan", "Size", "make_plan", "plan_changes", "plan_everything"]


def make_plan(live: Live | None, project: Project, options: PlanOptions) -> Plan:
    """The plan to replace `live` by `project`. All problems are in the plan; with an error among them it has no steps
    and no manifest."""
    before = ProjectQueries(live.project if live else Project())
    queries = ProjectQueries(project, before)
    return plan_changes(live, queries, options, diff_versions(before, queries))


def plan_changes(live: Live | None, queries: ProjectQueries, options: PlanOptions, changes: tuple[Change, ...]) -> Plan:
    """Like `make_plan`, where the changes between the two projects, and some of the next one's queries, are known."""
    project = queries.project
    before = live or Live(Project(), Manifest(), {})
    wanted = (options.strategies, options.rebuilt)
    reach = full_impact(project) if live is None else find_impact(before.project, project, changes, *wanted)
    made = _plan_reached(before, queries, options, changes, reach)
    if made is None:
        return plan_everything(live, project, options)
    return _with_places(_unless_unchanged(made, live, changes, options), live, project)


def plan_everything(live: Live | None, project: Project, options: PlanOptions) -> Plan:
    """Like `make_plan`, but every resource is compiled and planned, whether or not a change reaches it. Both give the
    same plan: this one takes longer."""
    before, queries = live or Live(Project(), Manifest(), {}), ProjectQueries(project)
    changes = diff_versions(ProjectQueries(before.project), queries)
    made = _plan_reached(before, queries, options, changes, full_impact(project))
    assert made is not None, "what is left out only can be out of date"
    return _with_places(_unless_unchanged(made, live, changes, options), live, project)


def _unless_unchanged(made: Plan, live: Live | None, changes: tuple[Change, ...], options: PlanOptions) -> Plan:
    if live is not None and not changes and not options.rebuilt and not made.errors:
        return replace(made, steps=(), manifest=live.manifest)
    return made


def _with_places(made: Plan, live: Live | None, project: Project) -> Plan:
    return replace(made, places=change_places(made.changes, live.project if live else Project(), project))


def _plan_reached(
    before: Live, queries: ProjectQueries, options: PlanOptions, changes: tuple[Change, ...], reach: ChangeImpact
) -> Plan | None:
    """The plan of what the changes reach, with everything else unchanged; None where that is not possible."""
    project = queries.project
    sources = [source for source in project.datasources if reach.has(source.name)]
    unheld = unsupported_columns(sources)
    if unheld:
        return Plan(changes, problems=unheld)
    context = _build_context(before, queries, options, changes, reach)
    _plan_datasources(context, reach)
    if has_outdated_reader(context, reach):
        return None
    outcomes = [outcome for _, outcome in sorted(refresh_unchanged(context, reach).items())]
    written = plan_materialization(outcomes, options.materialize_bytes)
    problems = [
        *context.compiled.problems,
        *removal_problems(context),
        *unknown_strategies(project, options.strategies),
    ]
    problems += [problem for outcome in outcomes for problem in outcome.problems]
    resources = (
        *(_complete_resource_plan(context, each, written.get(each.binding.name)) for each in outcomes),
        *_plan_pipes(context),
        *removed_resources(context),
    )
    checks = tuple(outcome.checks for outcome in outcomes if outcome.checks is not None)
    hides = tuple(outcome.hides for outcome in outcomes if outcome.hides is not None)
    ordered = tuple(sorted(dict.fromkeys(problems), key=_problem_order))
    plan = Plan(changes, resources, problems=ordered, checks=checks, hides=hides)
    if plan.errors:
        return _with_sizes(context, plan, {})
    manifest = _build_manifest(outcomes, project)
    steps = sort_steps((*_build_steps(outcomes, manifest), *materialization_steps(outcomes, written)))
    plan = _with_sizes(context, replace(plan, steps=steps, manifest=manifest), {})
    return plan if plan.moves == NOTHING else _with_sizes(context, plan, _column_widths(before, manifest))


def _build_context(
    live: Live, queries: ProjectQueries, options: PlanOptions, changes: tuple[Change, ...], reach: ChangeImpact
) -> PlanningContext:
    project = queries.project
    by_resource: dict[str, list[Change]] = {}
    for change in changes:
        by_resource.setdefault(change.resource, []).append(change)
    return PlanningContext(
        live=live,
        project=project,
        options=options,
        compiled=compile_project(project, reach.reached, queries),
        former=find_former_names(live.project, project),
        changes={name: tuple(found) for name, found in by_resource.items()},
        done={},
        clones={},
    )


def _plan_datasources(context: PlanningContext, reach: ChangeImpact) -> None:
    """Plan the data sources in dependency order; those out of reach first, as they run."""
    for source in context.project.datasources:
        if not reach.has(source.name):
            context.add(source.name, keep_running_datasource(context, source.name))
    for name in context.compiled.graph.order():
        if context.project.datasource(name) is not None and reach.has(name):
            context.add(name, reuse_from_candidate(context, reach, name) or plan_datasource(context, name))


def _with_sizes(context: PlanningContext, plan: Plan, widths: Mapping[str, Mapping[str, int]]) -> Plan:
    """The plan with the amount of data that each data source moves."""
    costs = {name: outcome.costs for name, outcome in context.done.items()}
    counter = CostCounter(costs, context.clones, widths)
    resources = tuple(
        counter.complete(each, costs[each.name]) if each.kind == "datasource" and each.name in costs else each
        for each in plan.resources
    )
    return replace(plan, resources=resources)


def _column_widths(live: Live, manifest: Manifest) -> Mapping[str, Mapping[str, int]]:
    """The stored bytes of the columns of the live tables that views read, by table."""
    read = {view.trigger.binding.table for view in manifest.views} & set(live.sizes)
    return {table: live.column_bytes(table) for table in sorted(read)} if live.column_bytes is not None else {}


def _complete_resource_plan(
    context: PlanningContext, outcome: PlannedDataSource, written: Materialization | None
) -> ResourcePlan:
    """The plan of a data source, with the columns that are computed when it is read and the effect of a rollback."""
    name = outcome.resource.name
    new = context.project.datasource(name)
    kept = None
    if new is not None and outcome.resource.strategy != "none":
        kept = assess_rollback(context.live.project.datasource(context.former.get(name, "")), new)
        kept = FED_BY_VIEWS if not kept.lossless and _has_rows_of_views_alone(context, name) else kept
    return replace(
        outcome.resource, unsettled=computed_columns(outcome.binding), materialization=written, rollback=kept
    )


def _has_rows_of_views_alone(context: PlanningContext, name: str) -> bool:
    """Whether views feed both versions of a data source, and nobody has posted rows to it."""
    running = context.running(name)
    if running is None or running.landing.stream in context.options.streams:
        return False
    return bool(running.views) and bool(context.compiled.feeders(name))


def _plan_pipes(context: PlanningContext) -> tuple[ResourcePlan, ...]:
    """The plans of pipes. They hold no data: rows of a materialized view are counted for its target."""
    return tuple(_plan_pipe(context, pipe) for pipe in context.project.pipes)


def _plan_pipe(context: PlanningContext, pipe: Pipe) -> ResourcePlan:
    if context.live.project.pipe(pipe.name) is None:
        return ResourcePlan(pipe.name, pipe_kind(pipe), "create", f"new{_target_text(context, pipe)}")
    changes = [change_text(change) for change in context.changes_of(pipe.name)]
    if not changes:
        return ResourcePlan(pipe.name, pipe_kind(pipe), "none", "unchanged")
    target = _target_text(context, pipe)
    so = target if pipe.materialized is not None else f": no data moves{target}"
    return ResourcePlan(pipe.name, pipe_kind(pipe), "none", join_words(changes) + so)


def _target_text(context: PlanningContext, pipe: Pipe) -> str:
    view, copies = context.compiled.views.get(pipe.name), pipe.copies
    if copies is not None and copies.mode == "replace":
        return _replaced_text(context, copies.datasource)
    return f"; its rows are in `{view.target}`" if view else ""


def _replaced_text(context: PlanningContext, target: str) -> str:
    """What a copy in mode replace does to its target, and to the views that it does not trigger."""
    triggers = {view.pipe: view.trigger.binding.name for view in context.live.manifest.views}
    triggers |= {pipe: view.trigger.datasource for pipe, view in context.compiled.views.items()}
    views = [pipe.name for pipe in context.project.pipes if pipe.materialized is not None]
    below = [each for each in views if triggers.get(each) == target]
    passed = f", which does not trigger {join_words(f'`{each}`' for each in sorted(below))}" if below else ""
    return f"; each run replaces all rows of `{target}`{passed}"


def _build_manifest(outcomes: list[PlannedDataSource], project: Project) -> Manifest:
    new = {step.table.id for outcome in outcomes for step in outcome.steps if isinstance(step, CreateTable)}
    planned = (_with_error_policy(flow, project) for outcome in outcomes for flow in outcome.flows)
    flows, meets = place_barriers(planned, new)
    leaky = {flow.table for flow in flows if isinstance(flow, View) and flow.on_error != "stop"}
    bound = {outcome.binding.table: outcome.binding for outcome in outcomes}
    tables = (table for outcome in outcomes for table in outcome.tables)
    return Manifest(
        tables=tuple(_as_filled(table, bound.get(table.id), project, leaks=table.id in leaky) for table in tables),
        bindings=tuple(outcome.binding for outcome in outcomes),
        quarantines=tuple(outcome.quarantined for outcome in outcomes),
        flows=flows,
        meets=(*meets, *(each for outcome in outcomes for each in outcome.meets)),
    )


def _as_filled(table: Table, binding: Binding | None, project: Project, *, leaks: bool) -> Table:
    """The table with what is still true of its rows: whether it is whole, and how its engine has merged them."""
    source = project.datasource(binding.name) if binding is not None else None
    if binding is None or source is None:
        return table
    whole = table.whole and not leaks and keeps_what_rows_say(source)
    is_alike = not leaks and table.filled_as == merging_form(source, binding.columns)
    return replace(table, whole=whole, filled_as=table.filled_as if is_alike else "")


def _with_error_policy(flow: Flow, project: Project) -> Flow:
    """The flow with the policy of its node, which says nothing about its rows: a flow that live runs already may get
    another one."""
    pipe = project.pipe(flow.pipe) if isinstance(flow, View) else None
    node = pipe.materialized if pipe is not None else None
    if isinstance(flow, View) and node is not None and isinstance(node.kind, Materialized):
        return replace(flow, on_error=node.kind.on_error)
    return flow


def _build_steps(outcomes: list[PlannedDataSource], manifest: Manifest) -> tuple[Step, ...]:
    steps = [step for outcome in outcomes for step in outcome.steps]
    new = {step.table.id for step in steps if isinstance(step, CreateTable)}
    clones = tuple(outcome.clone for outcome in outcomes if outcome.clone is not None)
    begins = {copy.table for copy in manifest.copies} | {each.table for each in manifest.meets}
    claims = tuple(claim for outcome in outcomes for claim in outcome.claims)
    return sort_steps((*steps, Activate(clones, tuple(sorted(begins & new)), claims), CatchUp()))


def _problem_order(problem: Problem) -> tuple[Location, str, str]:
    return problem.location or Location(""), problem.code, problem.message
