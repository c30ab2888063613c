"""The outcome of each strategy: tables, bindings, flows and steps of one data source.

In: a data source, what runs of it, and the choice made. Out: `Outcome`. Called by `datasource`.
Invariant: what live reads and writes is shared or left alone: no outcome changes a live binding or
flow, and a table that gets other rows than live's is a new one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from penstock.errors import Problem
from penstock.model.datasource import DataSource
from penstock.model.manifest import Accepts, Binding, BoundColumn, Copy, Field, Starts, Table, View
from penstock.plan.context import Context, Outcome
from penstock.plan.fit import Fit, Transition
from penstock.plan.flows import Place, landing, quarantine_binding, quarantine_table, view
from penstock.plan.identifiers import names
from penstock.plan.layout import Layout, layout
from penstock.plan.running import Running, extended
from penstock.plan.same import Feeding
from penstock.plan.steps import AddFields, CreateTable, PlaceCursors, SetPartition, SetSort, Step, WidenField
from penstock.plan.strategy import Choice
from penstock.plan.values import NOTHING, ResourcePlan


def create(context: Context, source: DataSource) -> Outcome:
    """A data source that live does not have."""
    place = new_place(context, source)
    stream = _free_stream(context, source)
    lands = landing(place, stream, context.compiled, "beginning")
    skips = bool(context.compiled.feeders(source.name)) and not source.keeps_history
    views = views_into(context, place, "placed" if skips else "beginning")
    price = NOTHING if skips else context.price(source.name)
    laid = layout(source, place.columns)
    table, quarantine = _table(place, laid), quarantine_table(stream)
    accepts = (Accepts(lands.version),)
    reason = _reason_to_create(views, source)
    return Outcome(
        resource(source, Choice("create", reason, price)),
        (table, quarantine),
        Binding(source.name, table.id, place.columns, accepts),
        quarantine_binding(source.name, stream, accepts),
        (lands, *views),
        (CreateTable(table), CreateTable(quarantine), *((PlaceCursors(table.id),) if skips else ())),
        price,
        laid.problems,
    )


def stay(context: Context, way: Transition, fit: Fit, feeding: Feeding, choice: Choice) -> Outcome:
    """The table of live, with what its metadata has to gain."""
    run, source = way.run, way.new
    lands = landing(Place(source, run.table.id, fit.columns), run.landing.stream, context.compiled, run.landing.starts)
    same = lands.version == run.landing.version
    columns = _live_columns(run, fit.columns) if same else fit.columns
    laid = layout(source, columns)
    table = _grown(run.table, fit, columns, laid)
    return Outcome(
        resource(source, choice),
        (table, run.quarantine),
        Binding(source.name, table.id, columns, extended(run.binding.accepts, lands.version)),
        quarantine_binding(source.name, run.landing.stream, extended(run.quarantined.accepts, lands.version)),
        (run.landing if same else lands, *feeding.shared, *run.copies),
        _changes_to(run.table, table, fit),
        run.size,
        _new_problems(way, laid),
    )


def move(context: Context, way: Transition, feeding: Feeding, choice: Choice) -> Outcome:
    """A new table, filled by the forward query or by the views from the beginning."""
    run, source = way.run, way.new
    # A forward that was refused for want of a query is built all the same: what reads it is planned on.
    forward = choice.strategy == "forward" and not choice.refused
    place = new_place(context, source)
    lands = landing(place, run.landing.stream, context.compiled, "placed" if forward else "beginning")
    copied = _copy(way, place, feeding) if forward else None
    laid = layout(source, place.columns)
    table = _table(place, laid)
    accepts = (Accepts(lands.version),)
    rejected = extended(run.quarantined.accepts, lands.version) if forward else accepts
    return Outcome(
        resource(source, choice),
        (table, run.quarantine),
        Binding(source.name, table.id, place.columns, accepts),
        quarantine_binding(source.name, lands.stream, rejected),
        (lands, *_moved_views(context, place, copied), *((copied,) if copied else ())),
        (CreateTable(table),),
        run.size,
        _new_problems(way, laid),
    )


def resource(source: DataSource, choice: Choice) -> ResourcePlan:
    """What the plan says of a data source."""
    rows, size = (choice.moves.rows, choice.moves.bytes) if choice.moves is not None else (None, None)
    return ResourcePlan(source.name, "datasource", choice.strategy, choice.reason, rows, size, choice.rejected)


def new_place(context: Context, source: DataSource) -> Place:
    """A new table: its physical columns have the logical names, unless those differ only in case,
    which Iceberg does not tell apart."""
    taken: set[str] = set()
    columns = []
    for column in source.columns:
        physical, number = column.name, 1
        while physical.casefold() in taken:
            number += 1
            physical = f"{column.name}__{number}"
        taken.add(physical.casefold())
        columns.append(BoundColumn(column.name, column.type, physical))
    return Place(source, context.new_table(source), tuple(columns))


def views_into(context: Context, place: Place, starts: Starts) -> tuple[View, ...]:
    """The flows of the materialized views that write a data source."""
    feeders = context.compiled.feeders(place.source.name)
    return tuple(view(each, place, context.bindings, starts) for each in feeders)


def _moved_views(context: Context, place: Place, copied: Copy | None) -> tuple[View, ...]:
    """The views into a new table. Where a copy hands a cursor over, the view goes on from there."""
    handed = {after for _, after in copied.cursors} if copied else set()
    views = views_into(context, place, "beginning")
    return tuple(replace(each, starts="placed") if each.id in handed else each for each in views)


def _copy(way: Transition, place: Place, feeding: Feeding) -> Copy:
    assert way.forward is not None, "chosen only where a forward query compiles"
    physical = place.physical
    select = tuple((physical[column.name], column.sql) for column in way.forward.columns)
    landed = (way.run.landing.id, way.run.landing.id)
    fed = tuple((live.id, after.id) for after, live in feeding.pairs if live is not None)
    return Copy(f"copy.{place.table}", way.run.binding, place.table, select, (landed, *fed))


def _table(place: Place, laid: Layout) -> Table:
    fields = tuple(Field(column.physical, column.type) for column in place.columns)
    return Table(place.table, fields, laid.partition, laid.sort, lands=True)


def _grown(live: Table, fit: Fit, columns: Iterable[BoundColumn], laid: Layout) -> Table:
    """The table as the new version wants it: columns that nothing reads any more are left out, and
    dropped when no deployment wants them."""
    types = {field.name: field for field in live.fields} | {field.name: field for field in (*fit.added, *fit.widened)}
    used: set[str] = set()
    for column in columns:
        used |= {column.physical} | (names(column.before.expression) if column.before else frozenset())
        types[column.physical] = Field(column.physical, column.type)
    fields = tuple(field for name, field in types.items() if name in used)
    return Table(live.id, fields, laid.partition, laid.sort, live.lands)


def _live_columns(run: Running, columns: Iterable[BoundColumn]) -> tuple[BoundColumn, ...]:
    """The columns as live binds them, cuts and all, in the order of the new schema."""
    bound = {column.physical: column for column in run.binding.columns}
    return tuple(bound[column.physical] for column in columns)


def _changes_to(before: Table, after: Table, fit: Fit) -> tuple[Step, ...]:
    steps: list[Step] = [AddFields(after.id, fit.added)] if fit.added else []
    steps += [WidenField(after.id, field.name, field.type) for field in fit.widened]
    steps += [SetSort(after.id, after.sort, before.sort)] if after.sort != before.sort else []
    steps += [SetPartition(after.id, after.partition, before.partition)] if after.partition != before.partition else []
    return tuple(steps)


def _new_problems(way: Transition, laid: Layout) -> tuple[Problem, ...]:
    """Keys that cannot be used for the layout are told when they are new."""
    before, after = way.run.source.engine, way.new.engine
    same = (before.sorting_key, before.partition_key) == (after.sorting_key, after.partition_key)
    return () if same else laid.problems


def _free_stream(context: Context, source: DataSource) -> str:
    """Raw rows arrive under the name of the data source, unless a renamed one has it still or a
    deleted one had it."""
    used = context.options.streams | {flow.stream for flow in context.live.manifest.landings}
    return source.name if source.name not in used else context.new_table(source)


def _reason_to_create(views: tuple[View, ...], source: DataSource) -> str:
    if not views:
        return "new"
    fed = f"new, fed by {', '.join(f'`{view.pipe}`' for view in views)}"
    return fed if source.keeps_history else f"{fed}; BACKFILL skip: starts with what arrives from now on"
