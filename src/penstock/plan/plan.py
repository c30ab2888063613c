"""The planner: from what is live to a project, moving only what must move.

In: live (or None before the first deployment), a project, options. Out: `Plan`. Called by deploy
and, through `offline`, by cli. Invariant: a pure function; the same input gives the same plan, and a
project planned against itself gives no change, no step and the same manifest.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.errors import Location, Problem
from penstock.model.manifest import Manifest
from penstock.model.pipe import Pipe
from penstock.model.project import Project
from penstock.plan.compiled import compile_project, unstored
from penstock.plan.context import Context, Outcome
from penstock.plan.datasource import plan_datasource
from penstock.plan.diff import diff, kind_of
from penstock.plan.matching import former_names
from penstock.plan.removal import removal_problems, removed
from penstock.plan.steps import Activate, CatchUp, Step, in_order
from penstock.plan.values import Live, Plan, PlanOptions, Rejected, ResourcePlan, Size
from penstock.plan.wording import listed, told

__all__ = ["Live", "Plan", "PlanOptions", "Rejected", "ResourcePlan", "Size", "make_plan"]


def make_plan(live: Live | None, project: Project, options: PlanOptions) -> Plan:
    """What to do so that `project` runs where `live` does. All problems are in the plan; an error
    among them leaves it without steps and manifest."""
    unheld = unstored(project)
    if unheld:
        return Plan(problems=unheld)
    context = _plan_datasources(_context(live or Live(Project(), Manifest(), {}), project, options))
    outcomes = [outcome for _, outcome in sorted(context.done.items())]
    problems = [*context.compiled.problems, *removal_problems(context)]
    problems += [problem for outcome in outcomes for problem in outcome.problems]
    resources = (*(outcome.resource for outcome in outcomes), *_pipes(context), *removed(context))
    plan = Plan(context.changes, resources, problems=tuple(sorted(dict.fromkeys(problems), key=_place)))
    if plan.errors:
        return plan
    manifest = _manifest(outcomes)
    return replace(plan, steps=_steps(context, outcomes, manifest), manifest=manifest)


def _context(live: Live, project: Project, options: PlanOptions) -> Context:
    return Context(
        live=live,
        project=project,
        options=options,
        compiled=compile_project(project),
        former=former_names(live.project, project),
        changes=diff(live.project, project),
        done={},
    )


def _plan_datasources(context: Context) -> Context:
    """Each data source after those that its rows derive from."""
    for name in context.compiled.graph.order():
        if context.project.datasource(name) is not None:
            context = replace(context, done={**context.done, name: plan_datasource(context, name)})
    return context


def _pipes(context: Context) -> tuple[ResourcePlan, ...]:
    """Pipes hold no data. What a materialized view makes is counted where it is kept."""
    return tuple(_pipe(context, pipe) for pipe in context.project.pipes)


def _pipe(context: Context, pipe: Pipe) -> ResourcePlan:
    if context.live.project.pipe(pipe.name) is None:
        return ResourcePlan(pipe.name, kind_of(pipe), "create", f"new{_feeds(context, pipe)}")
    changes = [told(change) for change in context.changes_of(pipe.name)]
    if not changes:
        return ResourcePlan(pipe.name, kind_of(pipe), "none", "unchanged")
    so = _feeds(context, pipe) or ": no data moves"
    return ResourcePlan(pipe.name, kind_of(pipe), "none", listed(changes) + so)


def _feeds(context: Context, pipe: Pipe) -> str:
    view = context.compiled.views.get(pipe.name)
    return f"; its rows are those of `{view.target}`" if view else ""


def _manifest(outcomes: list[Outcome]) -> Manifest:
    return Manifest(
        tables=tuple(table for outcome in outcomes for table in outcome.tables),
        bindings=tuple(outcome.binding for outcome in outcomes),
        quarantines=tuple(outcome.quarantined for outcome in outcomes),
        flows=tuple(flow for outcome in outcomes for flow in outcome.flows),
    )


def _steps(context: Context, outcomes: list[Outcome], manifest: Manifest) -> tuple[Step, ...]:
    """Nothing to do where nothing changed."""
    if not context.changes and manifest == context.live.manifest:
        return ()
    return in_order((*(step for outcome in outcomes for step in outcome.steps), Activate(), CatchUp()))


def _place(problem: Problem) -> tuple[Location, str, str]:
    return problem.location or Location(""), problem.code, problem.message
