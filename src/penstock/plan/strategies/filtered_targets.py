"""Whether a view's target has all rows that its changed view gives, and a condition over its columns tells them.

In: the transition of a target, after its views were compared. Out: `FilteredRows`, or why not. A condition that is
added to a view (`AND kind != 'bot'`) leaves out rows: those that are left are copied from the target, which mostly has
fewer than the source. Invariant: the rows that are copied are those that the changed view would give, whatever rows
the engine has made one of before.
"""

from __future__ import annotations

from penstock.model.manifest import View
from penstock.plan.diff.merged_rows import key_columns
from penstock.plan.equivalence.added_conditions import FilteredRows, added_condition
from penstock.plan.strategies.derived_columns import is_safe, live_target, why_not_one_view
from penstock.plan.strategies.planning_context import PlanningContext
from penstock.plan.strategies.strategy_results import build_views_into
from penstock.plan.tables.column_placement import ColumnPlacement, DataSourceTransition, DerivedColumn
from penstock.sql.stored_types import holds_floats

_ENGINES = ("MergeTree", "ReplacingMergeTree", "AggregatingMergeTree", "SummingMergeTree")
"""Engines that make one row only of rows that have one sorting key."""


def find_filtered(
    context: PlanningContext, before: DataSourceTransition, placement: ColumnPlacement
) -> FilteredRows | str:
    """The stored rows that the changed view gives; a text that says why they are not known."""
    obstacle = _obstacle(context, before, placement)
    if obstacle is not None:
        return obstacle
    place = live_target(before, placement)
    (live,), (after,) = before.running.views, build_views_into(context, place, "beginning", context.history_binding)
    columns = before.running.binding.columns
    names = {column.physical: column.name for column in columns if _is_whole_in_row(before, column.name)}
    floats = frozenset(column.physical for column in columns if holds_floats(column.type))
    condition = added_condition(live, after, names, floats, context.known_values(before.new.name))
    if condition is None:
        return "it differs in more than conditions over what is stored of each row"
    if not is_safe(before, DerivedColumn(condition, is_constant=False)):
        return "its new condition may fail, or depends on more than the row"
    if not context.can_resume(after, live):
        return "it reads another table than before"
    if _has_more_rows_than_source(context, before, live):
        return "the target has more rows than its source"
    return FilteredRows(condition, live)


def _obstacle(context: PlanningContext, before: DataSourceTransition, placement: ColumnPlacement) -> str | None:
    running, new = before.running, before.new
    if running.landing.stream in context.options.streams:
        return "rows were posted to it"
    if context.sources_without_rows(new.name):
        return "its source keeps no rows"  # what a FORWARD_QUERY says then: the plan asks for one
    obstacle = why_not_one_view(context, before)
    if obstacle is not None:
        return obstacle
    if running.source.engine != new.engine or new.engine.ttl is not None or new.engine.name not in _ENGINES:
        return "its engine may have removed rows, or does something else from now on"
    if [(each.name, each.type) for each in running.source.columns] != [(each.name, each.type) for each in new.columns]:
        return "its columns change"
    if placement.added or placement.widened or placement.blocked or placement.bridged or placement.match.dropped:
        return "its columns change"
    return None


def _is_whole_in_row(before: DataSourceTransition, name: str) -> bool:
    """Whether a column has in each row the value that the view gave, also if the engine has made one row of several:
    that of a key. Numbers with a fraction may be equal as keys and differ."""
    if before.new.engine.name == "MergeTree":
        return True
    column = before.new.column(name)
    return column is not None and not holds_floats(column.type) and name in key_columns(before.running.source)


def _has_more_rows_than_source(context: PlanningContext, before: DataSourceTransition, live: View) -> bool:
    source, target = context.live.sizes.get(live.trigger.binding.table), before.running.size
    return source is not None and target is not None and target.rows > source.rows
