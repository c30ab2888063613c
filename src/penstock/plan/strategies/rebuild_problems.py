"""Why a target of views would lose or gain more than it should, if it were rebuilt from its sources.

In: `PlanningContext`, and the inputs of a data source that is to be rebuilt. Out: problems. Invariant: without one, its
views have computed all of its rows from rows that its sources still have, except for those that were deleted on purpose
since the plan was made.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import Problem
from penstock.model.manifest import View
from penstock.plan.diff.changes import join_words
from penstock.plan.plan import NOTHING
from penstock.plan.strategies.choice import StrategyInputs
from penstock.plan.strategies.deletion_protection import leave_hint
from penstock.plan.strategies.planning_context import PlanningContext
from penstock.plan.tables.running_datasource import RunningDataSource


def rebuild_problems(context: PlanningContext, inputs: StrategyInputs) -> Iterator[Problem]:
    """An error for each reason why the rebuilt table would not be what it is now, without what was deleted above it."""
    if inputs.size == NOTHING:
        return
    name, running, views = inputs.transition.new.name, inputs.transition.running, inputs.transition.running.views
    for why in (*_lost_rows(context, name), *_other_rows(context, inputs), *_joins(name, views)):
        with_leave = "`--allow-destructive-operations` rebuilds it all the same"
        leave = leave_hint(with_leave, running.source, inputs.transition.new)
        hint = f"{leave}; without --rebuild it stays as it is"
        yield Problem("rebuild-differs", why, inputs.transition.new.location, hint)


def _lost_rows(context: PlanningContext, name: str) -> Iterator[str]:
    would = f"`{name}` would be rebuilt from"
    for source in context.sources_without_rows(name):
        yield f"{would} `{source}`, which does not keep its rows: it would begin empty"
    for source in context.shortened_sources(name):
        yield f"{would} `{source}`, of which rows were removed before: what it made of them would be gone"
    for source in context.sources_with_ttl(name):
        yield f"{would} `{source}`, whose TTL may have removed rows: what it made of them would be gone"


def _other_rows(context: PlanningContext, inputs: StrategyInputs) -> Iterator[str]:
    """Rows that it has though its views, run from the beginning, would not make them, and the other way round."""
    name, running = inputs.transition.new.name, inputs.transition.running
    if running.table.id in context.live.shortened:
        yield f"rows were removed from `{name}` itself: those that its sources still have would come back"
    if not inputs.transition.new.keeps_history:
        yield f"`{name}` began without the rows of before it (BACKFILL skip): it would have them"
    elif _is_taken_over(running):
        yield f"`{name}` took its rows over from an earlier version: its views may not make the same of its sources"


def _is_taken_over(running: RunningDataSource) -> bool:
    """Whether the table may have rows that its views, in their present form, have not made. One that began as a clone
    accepts the rows of two landing versions; in one that was copied, views are `placed` or have an id with its name."""
    cloned = len(running.binding.accepts) > 1
    bridged = any(column.before is not None for column in running.binding.columns)
    named = any(view.starts == "placed" or view.id != f"{view.pipe}.{view.node}" for view in running.views)
    return cloned or bridged or named or bool(running.copies) or running.source.forward_query is not None


def _joins(name: str, views: tuple[View, ...]) -> Iterator[str]:
    joined = sorted({other.binding.name for view in views for other in view.others})
    if joined:
        names = join_words(f"`{each}`" for each in joined)
        yield f"`{name}` joins {names}: its rows would see what is there now, not what was there when they came"
