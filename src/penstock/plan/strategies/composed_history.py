"""Whether a changed view gives the rows that its target has, seen through the views that feed what it reads.

In: the transition of a target, after its views were compared as they are. Out: `ComposedHistory`, or why not. A view
that is moved from a landing to the target of another view, or back, or over a target that is made anew from the same
rows, is compared over what both versions read in the end. Invariant: every table that is passed on the way holds what
its one view gives of all rows below it and nothing else, in both versions: no posted or copied rows, no TTL, no engine
that merges rows away, no row that a view left out, no history that a FORWARD_QUERY kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from penstock.model.datasource import DataSource
from penstock.model.manifest import Binding, Flow, Landing, Table, View
from penstock.model.pipe import Materialized
from penstock.model.quick_dataclass import dataclass
from penstock.plan.diff.merged_rows import keeps_what_rows_say, key_columns, merges_by_its_key
from penstock.plan.equivalence.canonical_view import KnownValues
from penstock.plan.equivalence.composed_views import ComposedHistory, compose_views
from penstock.plan.equivalence.merged_aggregates import gives_what_is_merged, merged_columns
from penstock.plan.equivalence.unchanged_history import pair_projected_views, project_view
from penstock.plan.plan import MOVING
from penstock.plan.strategies.derived_columns import live_target, why_not_one_view
from penstock.plan.strategies.planning_context import PlannedDataSource, PlanningContext
from penstock.plan.strategies.strategy_results import build_views_into
from penstock.plan.tables.column_placement import ColumnPlacement, DataSourceTransition
from penstock.plan.tables.flow_builders import TargetTable, build_view
from penstock.sql.analysis.expression_facts import expression_facts
from penstock.sql.query import CompiledView

_MOST_LEVELS = 3
"""Through how many tables a view is seen."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A view as it is seen through some tables."""

    view: View
    through: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    merges: bool = False


def find_composed_history(
    context: PlanningContext, before: DataSourceTransition, placement: ColumnPlacement
) -> ComposedHistory | str:
    """The live view that the changed one equals once both are seen through; a text that says why there is none."""
    obstacle = _obstacle(context, before)
    if obstacle is not None:
        return obstacle
    (live,) = before.running.views
    place = live_target(before, placement)
    (after,) = build_views_into(context, place, "beginning", context.history_binding)
    fields = tuple(column.physical for column in place.columns)
    merged = merged_columns(before.new, place.columns)

    def is_merged(view: View) -> bool:
        return gives_what_is_merged(view, merged)

    older = {each.view.trigger.binding.table: each for each in _seen_in_live(context, live, fields)}
    for now in _seen_in_next(context, after, fields):
        then = older.get(now.view.trigger.binding.table)
        if then is None or not (then.through or now.through):
            continue
        if (then.merges or now.merges) and not (_merges_rows(before) and all(map(is_merged, (live, after)))):
            continue
        if _is_whole_source(context, now.view) and _are_equal(context, then.view, now.view, fields):
            names = sorted({*then.through, *now.through})
            return ComposedHistory(live, tuple(names), tuple(sorted({*then.tables, *now.tables})))
    return "they do not give the same rows of what both versions read in the end"


def _are_equal(context: PlanningContext, live: View, after: View, fields: tuple[str, ...]) -> bool:
    name = after.trigger.binding.name
    planned = context.done.get(name)
    known: KnownValues = {name: planned.known} if planned is not None and planned.known else {}
    return pair_projected_views([live], [after], fields, known).unchanged


def _obstacle(context: PlanningContext, before: DataSourceTransition) -> str | None:
    obstacle = why_not_one_view(context, before)
    if obstacle is not None:
        return obstacle
    if before.derived:
        return "columns are added to it"
    live, view = before.running.views[0], context.compiled.feeders(before.new.name)[0]
    if live.on_error != "stop" or not _stops(context, view.pipe):
        return "a view leaves out rows for which it fails"
    if _reads_what_is_fed_alike(context, live, view):
        return "the views into what it reads are those of live"
    return None


def _reads_what_is_fed_alike(context: PlanningContext, live: View, after: CompiledView) -> bool:
    """Whether both versions of a view read one data source, which is fed as in live or differs because of what is above
    it: then little can be seen through these views that is not seen without them."""
    name = after.trigger.datasource
    running, project = context.running(name), context.project
    if running is None or running.table.id != live.trigger.binding.table:
        return False
    is_changed = any(context.changes_of(pipe.name) for pipe, _ in project.feeders(name))
    is_first = context.done[name].resource.strategy in MOVING and not context.moved_sources(name)
    return not is_changed and not is_first


# -------------------------------------------------------------------------------------- through the views of live


def _seen_in_live(context: PlanningContext, view: View, fields: tuple[str, ...]) -> Iterator[_Seen]:
    """The live view, and what it is through the tables above it, one after the other."""
    seen = _Seen(project_view(view, sorted(fields)))
    yield seen
    for _ in range(_MOST_LEVELS):
        feeder = _live_feeder(context, seen.view.trigger.binding)
        step = _through(seen, *feeder) if feeder is not None else None
        if step is None:
            return
        seen = step
        yield seen


def _live_feeder(context: PlanningContext, read: Binding) -> tuple[View, DataSource] | None:
    """The one view that gives all rows of a live table, and its data source; None if it is not whole."""
    manifest = context.live.manifest
    name, table, flows = manifest.name_of(read.table), manifest.table(read.table), manifest.flows_into(read.table)
    source = context.live.project.datasource(name)
    views = [flow for flow in flows if isinstance(flow, View)]
    if table is None or source is None or len(views) != 1 or not _is_whole(context, table, source, flows):
        return None
    if views[0].on_error != "stop" or not _is_repeatable(views[0]):
        return None
    return views[0], source


# ------------------------------------------------------------------------------- through the views of the next version


def _seen_in_next(context: PlanningContext, view: View, fields: tuple[str, ...]) -> Iterator[_Seen]:
    """The changed view, and what it is through the tables above it, one after the other."""
    seen = _Seen(project_view(view, sorted(fields)))
    yield seen
    for _ in range(_MOST_LEVELS):
        feeder = _next_feeder(context, seen)
        step = _through(*feeder) if feeder is not None else None
        if step is None:
            return
        seen = step
        yield seen


def _next_feeder(context: PlanningContext, seen: _Seen) -> tuple[_Seen, View, DataSource] | None:
    """The view over the table that its source has in the next version, with the one view that gives all of its
    rows."""
    name = seen.view.trigger.binding.name
    planned, source = context.done.get(name), context.project.datasource(name)
    if planned is None or source is None or not _is_whole(context, planned.tables[0], source, planned.flows):
        return None
    if not _is_made_here(context, planned, name):
        return None
    compiled = context.compiled.feeders(name)
    flows = [flow for flow in planned.flows if isinstance(flow, View)]
    if len(flows) != 1 or not _stops(context, flows[0].pipe):
        return None
    feeder = flows[0]
    if compiled:
        place = TargetTable(source, planned.binding.table, planned.binding.columns)
        feeder = build_view(compiled[0], place, context.history_binding, "beginning")
        feeder = project_view(feeder, sorted(feeder.fields))
    if not _is_repeatable(feeder):
        return None
    names = [column.name for column in seen.view.trigger.binding.columns]
    columns = [column for column in planned.binding.columns if column.name in names]
    bound = replace(seen.view.trigger.binding, table=planned.binding.table, columns=tuple(columns))
    over = replace(seen.view, trigger=replace(seen.view.trigger, binding=bound))
    return replace(seen, view=over), feeder, source


def _is_made_here(context: PlanningContext, planned: PlannedDataSource, name: str) -> bool:
    """Whether its table is that of live, begins as a clone of it, or is made by this plan; one that another candidate
    made may be anywhere in its history."""
    running, table = context.running(name), planned.binding.table
    is_live = running is not None and running.table.id == table
    return is_live or planned.clone is not None or bool(planned.steps)


def _stops(context: PlanningContext, pipe: str) -> bool:
    """Whether a view leaves out no row."""
    found = context.project.pipe(pipe)
    node = found.materialized if found is not None else None
    return node is not None and isinstance(node.kind, Materialized) and node.kind.on_error == "stop"


# -------------------------------------------------------------------------------------------------- what both ask


def _through(seen: _Seen, feeder: View, source: DataSource) -> _Seen | None:
    composed = compose_views(seen.view, feeder)
    if composed is None or not (composed.merges or source.engine.name == "MergeTree"):
        return None  # rows that an engine merges are not the rows that a projection gives
    read = seen.view.trigger.binding
    merges = seen.merges or composed.merges
    return _Seen(composed.view, (*seen.through, read.name), (*seen.tables, read.table), merges)


def _is_whole(context: PlanningContext, table: Table, source: DataSource, flows: Iterable[Flow]) -> bool:
    """Whether a table has what its views give and nothing else, and keeps it as it is."""
    is_posted = any(isinstance(flow, Landing) and flow.stream in context.options.streams for flow in flows)
    copies = (pipe.copies for project in (context.live.project, context.project) for pipe in project.pipes)
    is_copied = any(each is not None and each.datasource == source.name for each in copies)
    return table.whole and not is_posted and not is_copied and _keeps_rows(context, table.id, source)


def _keeps_rows(context: PlanningContext, table: str, source: DataSource) -> bool:
    return keeps_what_rows_say(source) and table not in context.live.shortened


def _is_whole_source(context: PlanningContext, view: View) -> bool:
    """Whether what both versions read in the end keeps its rows, in both."""
    read = view.trigger.binding
    planned, new = context.done.get(read.name), context.project.datasource(read.name)
    running = context.running(read.name)
    if planned is None or new is None or running is None:
        return False
    sources = (running.source, new)
    return planned.resource.strategy in ("none", "in_place") and all(
        _keeps_rows(context, running.table.id, each) and each.engine.name == "MergeTree" for each in sources
    )


def _is_repeatable(view: View) -> bool:
    return not view.others and expression_facts(view.sql).is_repeatable


def _merges_rows(before: DataSourceTransition) -> bool:
    """Whether the engine merges the rows of the target by all that is no state, whatever the order, in both
    versions."""
    old, new = before.running.source, before.new
    return merges_by_its_key(old) and merges_by_its_key(new) and key_columns(old) == key_columns(new)
