"""Data sources that a change does not reach: they stay as they run.

In: `PlanningContext` and `ChangeImpact`. Out: planned data sources without steps. Invariant: such a data source keeps
the live table, columns and flows; only which rows of a shared source its views see follows the next version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from penstock.model.graph import Graph
from penstock.model.manifest import Source, View
from penstock.plan.diff.change_impact import ChangeImpact
from penstock.plan.diff.changes import join_words
from penstock.plan.diff.ttl_and_final import keeps_no_rows
from penstock.plan.plan import MOVING, ResourcePlan
from penstock.plan.strategies.costs import PlannedCosts
from penstock.plan.strategies.planning_context import PlannedDataSource, PlanningContext


def keep_running_datasource(context: PlanningContext, name: str) -> PlannedDataSource:
    """Plan a data source to stay as it runs."""
    running = context.running(name)
    assert running is not None, "a data source that live does not have is a change, and in reach"
    return PlannedDataSource(
        ResourcePlan(name, "datasource", "none", "unchanged"),
        (running.table, running.quarantine),
        running.binding,
        running.quarantined,
        running.flows,
        (),
        PlannedCosts(holds=running.size),
        loses_rows=keeps_no_rows(running.source),
    )


def has_outdated_reader(context: PlanningContext, reach: ChangeImpact) -> bool:
    """Whether an unchanged data source reads a table that the next version no longer has."""
    spared = (view for name, outcome in context.done.items() if not reach.has(name) for view in _views(outcome))
    return any(source.binding.table != _table_of(context, source) for view in spared for source in _sources(view))


def refresh_unchanged(context: PlanningContext, reach: ChangeImpact) -> dict[str, PlannedDataSource]:
    """All planned data sources by name; the views into unchanged ones see the rows that the next version sees."""
    reads = {name: () if reach.has(name) else _sources_read(outcome) for name, outcome in context.done.items()}
    seen: dict[str, PlannedDataSource] = {}
    for name in Graph.of(reads).order():
        outcome = context.done[name]
        seen[name] = outcome if reach.has(name) else _refresh_outcome(context, outcome, seen)
    return seen


def _refresh_outcome(
    context: PlanningContext, outcome: PlannedDataSource, seen: Mapping[str, PlannedDataSource]
) -> PlannedDataSource:
    sources = _sources_read(outcome)
    moved = [source for source in sources if seen[source].resource.strategy in MOVING]
    if any(source in context.changes for source in sources):
        flows = tuple(_refresh_view(context, each) if isinstance(each, View) else each for each in outcome.flows)
        outcome = replace(outcome, flows=flows)
    return _mark_as_reused(outcome, moved) if moved else outcome


def _sources_read(outcome: PlannedDataSource) -> list[str]:
    return sorted({source.binding.name for view in _views(outcome) for source in _sources(view)})


def _mark_as_reused(outcome: PlannedDataSource, moved: list[str]) -> PlannedDataSource:
    return replace(outcome, resource=replace(outcome.resource, strategy="reuse", reason=reuse_reason(moved)))


def reuse_reason(moved: Iterable[str]) -> str:
    """The reason why a data source downstream of changed ones keeps its table."""
    return f"its views read nothing that changes in {join_words(f'`{each}`' for each in moved)}"


def _refresh_view(context: PlanningContext, view: View) -> View:
    def seen(source: Source) -> Source:
        now = context.binding(source.binding.name)
        columns = tuple(now.column(column.name) or column for column in source.binding.columns)
        merge = now.merge if source.binding.merge is not None else None
        return replace(source, binding=replace(source.binding, columns=columns, accepts=now.accepts, merge=merge))

    return replace(view, trigger=seen(view.trigger), others=tuple(map(seen, view.others)))


def _table_of(context: PlanningContext, source: Source) -> str | None:
    found = context.done.get(source.binding.name)
    return found.binding.table if found is not None else None


def _views(outcome: PlannedDataSource) -> tuple[View, ...]:
    return tuple(flow for flow in outcome.flows if isinstance(flow, View))


def _sources(view: View) -> tuple[Source, ...]:
    return (view.trigger, *view.others)
