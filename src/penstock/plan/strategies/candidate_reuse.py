"""Reuse of a data source that another candidate deployment already made.

In: `PlanningContext` (with the candidates planned against the same live version) and a name. Out: an outcome without
steps, or None. Invariant: the data source and everything upstream of it are equal in both projects, so planning it
again would make the same table again.
"""

from __future__ import annotations

from penstock.model.manifest import Binding
from penstock.model.project import Project
from penstock.plan.diff.change_impact import ChangeImpact
from penstock.plan.diff.column_matching import match_columns
from penstock.plan.diff.forward_columns import read_forward_query
from penstock.plan.diff.ttl_and_final import keeps_no_rows
from penstock.plan.equivalence.unchanged_history import bind_as_live, columns_stored_as_live
from penstock.plan.plan import Candidate, ResourcePlan
from penstock.plan.strategies.costs import PlannedCosts
from penstock.plan.strategies.planning_context import PlannedDataSource, PlanningContext


def reuse_from_candidate(context: PlanningContext, reach: ChangeImpact, name: str) -> PlannedDataSource | None:
    """The data source as planned by the first candidate that has an equal one; None if no candidate has one."""
    if not context.live.candidates or name in context.options.strategies or name in context.options.rebuilt:
        return None
    derived_from = (name, *reach.graph.upstream(name))
    for candidate in context.live.candidates:
        bound = candidate.manifest.binding(name)
        if bound is not None and all(_is_alike(context.project, candidate.project, each) for each in derived_from):
            return _build_reused_outcome(context, candidate, bound)
    return None


def _is_alike(project: Project, other: Project, name: str) -> bool:
    return (project.datasource(name), project.pipe(name)) == (other.datasource(name), other.pipe(name))


def _build_reused_outcome(context: PlanningContext, candidate: Candidate, bound: Binding) -> PlannedDataSource | None:
    manifest = candidate.manifest
    table, quarantined = manifest.table(bound.table), manifest.binding(f"{bound.name}_quarantine")
    quarantine = manifest.table(quarantined.table) if quarantined is not None else None
    if table is None or quarantined is None or quarantine is None:
        return None
    meet = manifest.meet(table.id)
    return PlannedDataSource(
        ResourcePlan(bound.name, "datasource", "reuse", f"the same as in deployment {candidate.name}"),
        (table, quarantine),
        bound,
        quarantined,
        manifest.flows_into(table.id),
        (),
        PlannedCosts(holds=context.live.sizes.get(table.id)),
        history=_history_in_live_table(context, bound),
        loses_rows=_keeps_no_rows(context, bound.name),
        meets=(meet,) if meet is not None else (),
    )


def _keeps_no_rows(context: PlanningContext, name: str) -> bool:
    source, running = context.project.datasource(name), context.running(name)
    return keeps_no_rows(*(each for each in (source, running.source if running else None) if each is not None))


def _history_in_live_table(context: PlanningContext, bound: Binding) -> Binding | None:
    """The binding in which columns read live rows. Only for the live table: no flow can continue in a table whose
    barrier is the activation of the other candidate."""
    running, source = context.running(bound.name), context.project.datasource(bound.name)
    if running is None or source is None or running.table.id != bound.table:
        return None
    match = match_columns(running.source, source, read_forward_query(running.source, source))
    return bind_as_live(running, bound, match, columns_stored_as_live(running, bound.columns, match))
