"""The outcomes of a new data source and of one that stays in the table of live.

In: a data source, what runs of it, and the choice made. Out: `Outcome`. Called by `datasource`; its
parts by `rebuild` too. Invariant: what live reads and writes is shared or left alone: no outcome
changes a live binding or flow, and a table that gets other rows than live's is a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from penstock.errors import Problem
from penstock.model.datasource import DataSource
from penstock.model.manifest import Accepts, Binding, BoundColumn, Field, Starts, Table, View
from penstock.plan.context import Context, Outcome
from penstock.plan.fit import Fit, Transition
from penstock.plan.flows import Place, landing, quarantine_binding, quarantine_table, view
from penstock.plan.history import as_live, projected, stored
from penstock.plan.identifiers import names
from penstock.plan.layout import Layout, layout
from penstock.plan.running import Running, extended
from penstock.plan.same import Feeding
from penstock.plan.steps import AddFields, CreateTable, PlaceCursors, SetPartition, SetSort, Step, WidenField
from penstock.plan.strategy import Choice
from penstock.plan.ttl import NULL
from penstock.plan.values import NOTHING, ResourcePlan


def create(context: Context, source: DataSource) -> Outcome:
    """A data source that live does not have."""
    place = new_place(context, source)
    stream = _free_stream(context, source)
    lands = landing(place, stream, context.compiled, "beginning")
    forgets = bool(context.forgetful(source.name))
    skips = forgets or (bool(context.compiled.feeders(source.name)) and not source.keeps_history)
    views = views_into(context, place, "placed" if skips else "beginning")
    price = NOTHING if skips else context.price(views)
    laid = layout(source, place.columns)
    table, quarantine = new_table(place, laid), quarantine_table(stream)
    accepts = (Accepts(lands.version),)
    reason = _reason_to_create(views, source, forgets)
    return Outcome(
        resource(source, Choice("create", reason, "new", price)),
        (table, quarantine),
        Binding(source.name, table.id, place.columns, accepts),
        quarantine_binding(source.name, stream, accepts),
        (lands, *views),
        (CreateTable(table), CreateTable(quarantine), *((PlaceCursors(table.id),) if skips else ())),
        price,
        laid.problems,
        forgets=forgets or source.engine.name == NULL,
    )


def stay(context: Context, way: Transition, fit: Fit, feeding: Feeding, choice: Choice) -> Outcome:
    """The table of live, with what its metadata has to gain."""
    run, source = way.run, way.new
    lands = landing(Place(source, run.table.id, fit.columns), run.landing.stream, context.compiled, run.landing.starts)
    same = lands.version == run.landing.version
    columns = _live_columns(run, fit.columns) if same else fit.columns
    laid = layout(source, columns)
    table = grown(run.table, fit, columns, laid)
    binding = Binding(source.name, table.id, columns, extended(run.binding.accepts, lands.version))
    return Outcome(
        resource(source, choice),
        (table, run.quarantine),
        binding,
        quarantine_binding(source.name, run.landing.stream, extended(run.quarantined.accepts, lands.version)),
        (run.landing if same else lands, *feeding.shared, *run.copies),
        _changes_to(run.table, table, fit),
        run.size,
        new_problems(way, laid),
        as_live(run, binding, fit.match, stored(run, columns, fit.match)),
        forgets=source.engine.name == NULL,
    )


def resource(source: DataSource, choice: Choice) -> ResourcePlan:
    """What the plan says of a data source."""
    return ResourcePlan(source.name, "datasource", choice.strategy, choice.reason, choice.moves, choice.rejected)


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


def views_into(
    context: Context, place: Place, starts: Starts, binding_of: Callable[[str], Binding] | None = None
) -> tuple[View, ...]:
    """The flows of the materialized views that write a data source, over the next version's bindings
    unless others are given."""
    feeders = context.compiled.feeders(place.source.name)
    views = (view(each, place, binding_of or context.binding, starts) for each in feeders)
    return tuple(projected(each, each.fields) for each in views)


def new_table(place: Place, laid: Layout) -> Table:
    """The table of a place."""
    fields = tuple(Field(column.physical, column.type) for column in place.columns)
    return Table(place.table, fields, laid.partition, laid.sort, lands=True)


def grown(live: Table, fit: Fit, columns: Iterable[BoundColumn], laid: Layout) -> Table:
    """The table as the new version wants it: columns that nothing reads any more are left out, and
    dropped when no deployment wants them."""
    types = {field.name: field for field in live.fields} | {field.name: field for field in (*fit.added, *fit.widened)}
    used: set[str] = set()
    for column in columns:
        before = column.before
        used |= {column.physical} | (names(before.expression) if before and not before.is_settled else frozenset())
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


def new_problems(way: Transition, laid: Layout) -> tuple[Problem, ...]:
    """Keys that cannot be used for the layout are told when they are new."""
    before, after = way.run.source.engine, way.new.engine
    same = (before.sorting_key, before.partition_key) == (after.sorting_key, after.partition_key)
    return () if same else laid.problems


def _free_stream(context: Context, source: DataSource) -> str:
    """Raw rows arrive under the name of the data source, unless a renamed one has it still or a
    deleted one had it."""
    used = context.options.streams | {flow.stream for flow in context.live.manifest.landings}
    return source.name if source.name not in used else context.new_table(source)


def _reason_to_create(views: tuple[View, ...], source: DataSource, forgets: object) -> str:
    if not views:
        return "new"
    fed = f"new, fed by {', '.join(f'`{view.pipe}`' for view in views)}"
    if source.keeps_history and not forgets:
        return fed
    why = "its source keeps no rows" if source.keeps_history else "BACKFILL skip"
    return f"{fed}; {why}: starts with what arrives from now on"
