"""The result of each strategy for a data source: its table, flows, binding and steps.

In: a data source, its running version if there is one, and the chosen strategy. Out: `PlannedDataSource`. Invariants:
the live tables, bindings and flows are shared or left alone, never changed; a table that gets other rows than the live
one is a new one; a flow into a new table starts where the history of that table ends, so each row is in it once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from penstock.errors import Problem
from penstock.model.datasource import DataSource
from penstock.model.manifest import Accepts, Binding, BoundColumn, Copy, Field, Starts, Table, View
from penstock.plan.diff.merged_rows import merging_form
from penstock.plan.diff.ttl_and_final import begins_empty, keeps_no_rows
from penstock.plan.equivalence.canonical_view import canonical_view
from penstock.plan.equivalence.unchanged_history import (
    bind_as_live,
    columns_copied,
    columns_shown_as_live,
    columns_stored_as_live,
    project_view,
    values_before_cut,
)
from penstock.plan.equivalence.view_equivalence import ViewPairs
from penstock.plan.plan import NOTHING, ResourcePlan
from penstock.plan.steps import AddFields, Clone, CreateTable, PlaceCursors, SetPartition, SetSort, Step, WidenField
from penstock.plan.strategies.choice import StrategyChoice
from penstock.plan.strategies.costs import PlannedCosts, ViewsFromBeginning
from penstock.plan.strategies.planning_context import PlannedDataSource, PlanningContext
from penstock.plan.tables.column_placement import ColumnPlacement, DataSourceTransition
from penstock.plan.tables.flow_builders import (
    TargetTable,
    build_landing,
    build_view,
    quarantine_binding,
    quarantine_table,
)
from penstock.plan.tables.physical_names import take_physical_name
from penstock.plan.tables.running_datasource import RunningDataSource, extend_accepted_versions
from penstock.plan.tables.table_layout import TableLayout, build_layout
from penstock.sql.analysis.canonical_query import NEVER_NULL
from penstock.sql.analysis.expression_facts import expression_facts
from penstock.sql.spark_text import column_names, quote_identifier
from penstock.sql.stored_types import spark_type


def create_datasource(context: PlanningContext, source: DataSource) -> PlannedDataSource:
    """Plan a data source that the live version does not have."""
    place = new_target_table(context, source)
    stream = choose_stream(context, source)
    lands = build_landing(place, stream, context.compiled, "beginning")
    loses_rows = bool(context.sources_without_rows(source.name))
    skips = loses_rows or (bool(context.compiled.feeders(source.name)) and not source.keeps_history)
    views = build_views_into(context, place, "placed" if skips else "beginning")
    cost = NOTHING if skips else ViewsFromBeginning(views)
    laid = build_layout(source, place.columns)
    table = mark_filled(build_table(place, laid), place, whole=bool(views) and not skips)
    quarantine = quarantine_table(stream)
    accepts = (Accepts(lands.version),)
    choice = StrategyChoice("create", _reason_to_create(views, source, loses_rows), "new", cost)
    return PlannedDataSource(
        resource_plan(source, choice),
        (table, quarantine),
        Binding(source.name, table.id, place.columns, accepts),
        quarantine_binding(source.name, stream, accepts),
        (lands, *views),
        (CreateTable(table), CreateTable(quarantine), *((PlaceCursors(table.id),) if skips else ())),
        PlannedCosts(cost, cost),
        laid.problems,
        loses_rows=loses_rows or keeps_no_rows(source),
    )


def keep_live_table(
    context: PlanningContext,
    transition: DataSourceTransition,
    placement: ColumnPlacement,
    feeding: ViewPairs,
    choice: StrategyChoice,
) -> PlannedDataSource:
    """Plan to keep the live table, with the changes of its metadata that the next version needs."""
    running, source = transition.running, transition.new
    lands = build_landing(
        TargetTable(source, running.table.id, placement.columns),
        running.landing.stream,
        context.compiled,
        running.landing.starts,
    )
    same = lands.version == running.landing.version
    columns = _live_columns(running, placement.columns) if same else placement.columns
    laid = build_layout(source, columns)
    table = extend_live_table(running.table, placement, columns, laid)
    binding = Binding(source.name, table.id, columns, extend_accepted_versions(running.binding.accepts, lands.version))
    return PlannedDataSource(
        resource_plan(source, choice),
        (table, running.quarantine),
        binding,
        quarantine_binding(
            source.name, running.landing.stream, extend_accepted_versions(running.quarantined.accepts, lands.version)
        ),
        (running.landing if same else lands, *feeding.shared, *running.copies),
        _metadata_steps(running.table, table, placement),
        planned_costs(running, choice),
        new_layout_problems(transition, laid),
        bind_as_live(running, binding, placement.match, columns_shown_as_live(transition, columns, placement.match)),
        values_before_cut(transition, placement),
        loses_rows=keeps_no_rows(running.source, source),
    )


def resource_plan(source: DataSource, choice: StrategyChoice) -> ResourcePlan:
    """The plan of a data source; its sizes are added at the end of planning."""
    return ResourcePlan(source.name, "datasource", choice.strategy, choice.reason)


def planned_costs(running: RunningDataSource, choice: StrategyChoice) -> PlannedCosts:
    """The costs of an existing data source: its next table holds about as much as the live one."""
    return PlannedCosts(choice.moves, running.size, choice.alternatives)


def new_target_table(context: PlanningContext, source: DataSource) -> TargetTable:
    """A new table. Its physical columns have the logical names, with a number where such a name is not free."""
    taken: set[str] = set()
    columns = tuple(BoundColumn(each.name, each.type, take_physical_name(each.name, taken)) for each in source.columns)
    return TargetTable(source, context.new_table_name(source), columns)


def build_views_into(
    context: PlanningContext, place: TargetTable, starts: Starts, binding_of: Callable[[str], Binding] | None = None
) -> tuple[View, ...]:
    """The flows of the materialized views that write a data source, over the bindings of the next version unless
    `binding_of` gives others."""
    feeders = context.compiled.feeders(place.source.name)
    views = [build_view(each, place, binding_of or context.binding, starts) for each in feeders]
    if binding_of is not None:
        views = [_with_known_functions(context, each, binding_of) for each in views]
    return tuple(project_view(each, each.fields) for each in views)


def _with_known_functions(context: PlanningContext, view: View, binding_of: Callable[[str], Binding]) -> View:
    """The view with what added columns of its source are known to hold, where that is a function of columns which it
    does not read itself: they have to be those of the live table, too."""
    trigger = view.trigger.binding
    read, known = {column.name for column in trigger.columns}, context.done[trigger.name].known
    values = {name: sql for name, sql in known.items() if name in read and sql != NEVER_NULL}
    values = {name: sql for name, sql in values.items() if column_names(sql) - read}
    if not values:
        return view
    wanted = {name for sql in values.values() for name in column_names(sql)} - read
    added = (column for column in binding_of(trigger.name).columns if column.name in wanted)
    source = replace(view.trigger, binding=replace(trigger, columns=(*trigger.columns, *added)))
    return canonical_view(replace(view, trigger=source), {trigger.name: values})


def build_table(place: TargetTable, laid: TableLayout) -> Table:
    """The physical table of a target."""
    fields = tuple(Field(column.physical, column.type) for column in place.columns)
    return Table(place.table, fields, laid.partition, laid.sort, lands=True)


def mark_filled(table: Table, place: TargetTable, *, whole: bool) -> Table:
    """A new table, with whether its views fill it from the beginning of their sources."""
    return replace(table, whole=whole, filled_as=merging_form(place.source, place.columns) if whole else "")


def extend_live_table(
    live: Table, placement: ColumnPlacement, columns: Iterable[BoundColumn], laid: TableLayout
) -> Table:
    """The live table as the next version needs it: columns that it no longer reads are left out, and dropped once no
    deployment reads them."""
    types = {field.name: field for field in live.fields} | {
        field.name: field for field in (*placement.added, *placement.widened)
    }
    used: set[str] = set()
    for column in columns:
        before = column.before
        used |= {column.physical} | (
            expression_facts(before.expression).column_names if before and not before.is_settled else frozenset()
        )
        types[column.physical] = Field(column.physical, column.type)
    fields = tuple(field for name, field in types.items() if name in used)
    return Table(live.id, fields, laid.partition, laid.sort, live.lands, live.whole, live.filled_as)


def _live_columns(running: RunningDataSource, columns: Iterable[BoundColumn]) -> tuple[BoundColumn, ...]:
    """The columns as the live version binds them, with their cutover offsets, in the order of the new schema."""
    bound = {column.physical: column for column in running.binding.columns}
    return tuple(bound[column.physical] for column in columns)


def _metadata_steps(before: Table, after: Table, placement: ColumnPlacement) -> tuple[Step, ...]:
    steps: list[Step] = [AddFields(after.id, placement.added)] if placement.added else []
    steps += [WidenField(after.id, field.name, field.type) for field in placement.widened]
    steps += [SetSort(after.id, after.sort, before.sort)] if after.sort != before.sort else []
    steps += [SetPartition(after.id, after.partition, before.partition)] if after.partition != before.partition else []
    return tuple(steps)


def new_layout_problems(transition: DataSourceTransition, laid: TableLayout) -> tuple[Problem, ...]:
    """Warnings for keys that cannot be used for the layout, if the keys are new."""
    before, after = transition.running.source.engine, transition.new.engine
    same = (before.sorting_key, before.partition_key) == (after.sorting_key, after.partition_key)
    return () if same else laid.problems


def choose_stream(context: PlanningContext, source: DataSource) -> str:
    """The stream of raw rows: the name of the data source, unless a renamed data source still uses it or a deleted one
    used it."""
    used = context.options.streams | {flow.stream for flow in context.live.manifest.landings}
    return source.name if source.name not in used else context.new_table_name(source)


def _reason_to_create(views: tuple[View, ...], source: DataSource, loses_rows: object) -> str:
    if not views:
        return "new"
    fed = f"new, fed by {', '.join(f'`{view.pipe}`' for view in views)}"
    if source.keeps_history and not loses_rows:
        return fed
    why = "its source keeps no rows" if source.keeps_history else "BACKFILL skip"
    return f"{fed}; {why}: starts empty, with rows that arrive from now on"


def clone_live_table(
    context: PlanningContext,
    transition: DataSourceTransition,
    placement: ColumnPlacement,
    feeding: ViewPairs,
    choice: StrategyChoice,
) -> PlannedDataSource:
    """Plan a clone of the live table: existing rows stay, and the flows of the next version add to them."""
    running, source = transition.running, transition.new
    name = context.new_table_name(source)
    place = TargetTable(source, name, placement.columns)
    lands = build_landing(place, running.landing.stream, context.compiled, "beginning")
    laid = build_layout(source, placement.columns)
    table = extend_live_table(running.table, placement, placement.columns, laid)
    is_reused = choice.strategy == "reuse"
    table = replace(table, id=name, whole=table.whole and is_reused, filled_as=table.filled_as if is_reused else "")
    binding = Binding(
        source.name, name, placement.columns, extend_accepted_versions(running.binding.accepts, lands.version)
    )
    return PlannedDataSource(
        resource_plan(source, choice),
        (table, running.quarantine),
        binding,
        quarantine_binding(
            source.name, lands.stream, extend_accepted_versions(running.quarantined.accepts, lands.version)
        ),
        (lands, *_resume_views(context, place, feeding, "beginning")),
        (),
        planned_costs(running, choice),
        new_layout_problems(transition, laid),
        bind_as_live(
            running,
            binding,
            placement.match,
            ()
            if choice.strategy == "recompute"
            else columns_shown_as_live(transition, placement.columns, placement.match),
        ),
        {} if choice.strategy == "recompute" else values_before_cut(transition, placement),
        Clone(table, running.table.id, placement.widened, bool(transition.derived), choice.views_only),
        loses_rows=keeps_no_rows(running.source, source),
    )


def copy_by_forward_query(
    context: PlanningContext,
    transition: DataSourceTransition,
    placement: ColumnPlacement,
    feeding: ViewPairs,
    choice: StrategyChoice,
) -> PlannedDataSource:
    """Plan a new table, filled by a copy through the forward query; by one of no row if live is of engine Null."""
    running, source = transition.running, transition.new
    is_empty = begins_empty(running.source, source)
    place = new_target_table(context, source)
    copied = _copied_table(context, transition, place, feeding, choice)
    flows = (*copied.flows, _build_copy(transition, place, _handed(copied)))
    kept = (
        columns_stored_as_live(running, placement.columns, placement.match)
        if is_empty
        else columns_copied(transition, placement.match)
    )
    history = bind_as_live(running, copied.binding, placement.match, kept)
    costs = PlannedCosts(NOTHING, NOTHING, choice.alternatives) if is_empty else copied.costs
    return replace(copied, flows=flows, costs=costs, history=history)


def copy_filtered_rows(
    context: PlanningContext,
    transition: DataSourceTransition,
    feeding: ViewPairs,
    choice: StrategyChoice,
    condition: str,
) -> PlannedDataSource:
    """Plan a new table with those rows of the live one for which a condition holds. Its columns are those of live."""
    running = transition.running
    place = new_target_table(context, transition.new)
    copied = _copied_table(context, transition, place, feeding, choice)
    select = tuple((column.physical, quote_identifier(column.name)) for column in place.columns)
    copy = replace(_copy_of_rows(transition, place, select, _handed(copied)), where=condition)
    table = replace(copied.tables[0], whole=running.table.whole)
    return replace(
        copied,
        tables=(table, *copied.tables[1:]),
        steps=(CreateTable(table),),
        flows=(*copied.flows, copy),
        history=copied.binding,  # the rows are others
    )


def _copied_table(
    context: PlanningContext,
    transition: DataSourceTransition,
    place: TargetTable,
    feeding: ViewPairs,
    choice: StrategyChoice,
) -> PlannedDataSource:
    """A new table that begins with rows of the live one, without the flow that copies them."""
    running, source = transition.running, transition.new
    lands = build_landing(place, running.landing.stream, context.compiled, "placed")
    laid = build_layout(source, place.columns)
    table = build_table(place, laid)
    return PlannedDataSource(
        resource_plan(source, choice),
        (table, running.quarantine),
        Binding(source.name, table.id, place.columns, (Accepts(lands.version),)),
        quarantine_binding(
            source.name, lands.stream, extend_accepted_versions(running.quarantined.accepts, lands.version)
        ),
        (lands, *_resume_views(context, place, feeding, "placed")),
        (CreateTable(table),),
        planned_costs(running, choice),
        new_layout_problems(transition, laid),
        loses_rows=keeps_no_rows(running.source, source),
    )


def _handed(copied: PlannedDataSource) -> tuple[View, ...]:
    """The views that take over the cursors of live ones at the end of the copy."""
    return tuple(flow for flow in copied.flows if isinstance(flow, View) and flow.starts == "placed")


def refill_by_views(
    context: PlanningContext,
    transition: DataSourceTransition,
    placement: ColumnPlacement,
    kept: frozenset[str],
    choice: StrategyChoice,
) -> PlannedDataSource:
    """Plan a new table, filled by its views from the beginning. `kept` are the columns that get the values of the live
    table again."""
    running, source = transition.running, transition.new
    place = new_target_table(context, source)
    lands = build_landing(place, running.landing.stream, context.compiled, "beginning")
    laid = build_layout(source, place.columns)
    table = build_table(place, laid)
    accepts = (Accepts(lands.version),)
    loses_rows = bool(context.sources_without_rows(source.name))
    table = mark_filled(table, place, whole=not loses_rows)
    binding = Binding(source.name, table.id, place.columns, accepts)
    resource = resource_plan(source, choice)
    return PlannedDataSource(
        replace(resource, lost=running.size) if loses_rows else resource,
        (table, running.quarantine),
        binding,
        quarantine_binding(source.name, lands.stream, accepts),
        (lands, *build_views_into(context, place, "placed" if loses_rows else "beginning")),
        (CreateTable(table), *((PlaceCursors(table.id),) if loses_rows else ())),
        planned_costs(running, choice),
        new_layout_problems(transition, laid),
        bind_as_live(running, binding, placement.match, () if loses_rows else kept),
        loses_rows=loses_rows or keeps_no_rows(running.source, source),
    )


def _resume_views(context: PlanningContext, place: TargetTable, feeding: ViewPairs, starts: Starts) -> tuple[View, ...]:
    """The views into a table that already has its history. A view that replaces a live one continues from its position:
    under the same id if the cursor is kept (it then `starts` as given), otherwise from the barrier of its source. Any
    other view starts at the beginning."""
    after = {(view.pipe, view.node): live for view, live in feeding.pairs}
    views = []
    for view in build_views_into(context, place, "beginning"):
        live = after.get((view.pipe, view.node))
        if live is None:
            views.append(replace(view, id=f"{view.id}@{view.table}"))
        elif context.can_resume(view, live):
            views.append(replace(view, id=live.id, starts=starts))
        else:
            views.append(replace(view, id=f"{view.id}@{view.table}", starts="resumed"))
    return tuple(views)


def _build_copy(transition: DataSourceTransition, place: TargetTable, handed: tuple[View, ...]) -> Copy:
    physical = place.physical
    if begins_empty(transition.running.source, transition.new):
        select = tuple((each.physical, f"CAST(NULL AS {spark_type(each.type)})") for each in place.columns)
    else:
        assert transition.forward is not None, "chosen only where a forward query compiles"
        select = tuple((physical[column.name], column.sql) for column in transition.forward.columns)
    return _copy_of_rows(transition, place, select, handed)


def _copy_of_rows(
    transition: DataSourceTransition,
    place: TargetTable,
    select: tuple[tuple[str, str], ...],
    handed: tuple[View, ...],
) -> Copy:
    landed = (transition.running.landing.id, transition.running.landing.id)
    return Copy(
        f"copy.{place.table}",
        transition.running.binding,
        place.table,
        select,
        (landed, *((v.id, v.id) for v in handed)),
    )
