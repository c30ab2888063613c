"""The outcomes of the strategies that give a data source another table: a clone of live's, a copy of
it, or one that its views fill from the beginning.

In: a data source on its way, what feeds it, and the choice made. Out: `Outcome`. Called by
`datasource`. Invariant: live's table and flows are left alone; a flow into the new table goes on where
the history that it comes with ends, so each row is in it once.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.model.manifest import Accepts, Binding, Copy, Starts, View
from penstock.plan.build import grown, new_place, new_problems, new_table, resource, views_into
from penstock.plan.context import Context, Outcome
from penstock.plan.fit import Fit, Transition
from penstock.plan.flows import Place, landing, quarantine_binding
from penstock.plan.history import as_live, copied, stored
from penstock.plan.layout import layout
from penstock.plan.running import extended
from penstock.plan.same import Feeding
from penstock.plan.steps import Clone, CreateTable, PlaceCursors
from penstock.plan.strategy import Choice
from penstock.plan.ttl import NULL


def clone(context: Context, way: Transition, fit: Fit, feeding: Feeding, choice: Choice) -> Outcome:
    """A table that begins as live's: the rows there are stay, the new version's flows write on."""
    run, source = way.run, way.new
    name = context.new_table(source)
    place = Place(source, name, fit.columns)
    lands = landing(place, run.landing.stream, context.compiled, "beginning")
    laid = layout(source, fit.columns)
    table = replace(grown(run.table, fit, fit.columns, laid), id=name)
    binding = Binding(source.name, name, fit.columns, extended(run.binding.accepts, lands.version))
    return Outcome(
        resource(source, choice),
        (table, run.quarantine),
        binding,
        quarantine_binding(source.name, lands.stream, extended(run.quarantined.accepts, lands.version)),
        (lands, *_views(context, place, feeding, "beginning")),
        (),
        run.size,
        new_problems(way, laid),
        as_live(run, binding, fit.match, () if choice.strategy == "recompute" else stored(run, fit.columns, fit.match)),
        Clone(table, run.table.id, fit.widened),
        forgets=source.engine.name == NULL,
    )


def move(context: Context, way: Transition, fit: Fit, feeding: Feeding, choice: Choice) -> Outcome:
    """A new table, filled by a copy through the forward query."""
    run, source = way.run, way.new
    place = new_place(context, source)
    lands = landing(place, run.landing.stream, context.compiled, "placed")
    views = _views(context, place, feeding, "placed")
    laid = layout(source, place.columns)
    table = new_table(place, laid)
    binding = Binding(source.name, table.id, place.columns, (Accepts(lands.version),))
    return Outcome(
        resource(source, choice),
        (table, run.quarantine),
        binding,
        quarantine_binding(source.name, lands.stream, extended(run.quarantined.accepts, lands.version)),
        (lands, *views, _copy(way, place, tuple(view for view in views if view.starts == "placed"))),
        (CreateTable(table),),
        run.size,
        new_problems(way, laid),
        as_live(run, binding, fit.match, copied(way, fit.match)),
        forgets=source.engine.name == NULL,
    )


def refill(context: Context, way: Transition, fit: Fit, kept: frozenset[str], choice: Choice) -> Outcome:
    """A new table, filled by its views from the beginning. `kept` are the columns in which that gives
    the rows of live again."""
    run, source = way.run, way.new
    place = new_place(context, source)
    lands = landing(place, run.landing.stream, context.compiled, "beginning")
    laid = layout(source, place.columns)
    table = new_table(place, laid)
    accepts = (Accepts(lands.version),)
    forgets = bool(context.forgetful(source.name))
    binding = Binding(source.name, table.id, place.columns, accepts)
    return Outcome(
        resource(source, choice),
        (table, run.quarantine),
        binding,
        quarantine_binding(source.name, lands.stream, accepts),
        (lands, *views_into(context, place, "placed" if forgets else "beginning")),
        (CreateTable(table), *((PlaceCursors(table.id),) if forgets else ())),
        run.size,
        new_problems(way, laid),
        as_live(run, binding, fit.match, () if forgets else kept),
        forgets=forgets or source.engine.name == NULL,
    )


def _views(context: Context, place: Place, feeding: Feeding, starts: Starts) -> tuple[View, ...]:
    """The views into a table that comes with history. Each goes on where the one of live that it takes
    the place of had got to: by the same id where the cursor comes along (and then `starts` so), else
    from the meeting of its source. One that takes nobody's place begins at the beginning."""
    after = {(view.pipe, view.node): live for view, live in feeding.pairs}
    views = []
    for view in views_into(context, place, "beginning"):
        live = after.get((view.pipe, view.node))
        if live is None:
            views.append(replace(view, id=f"{view.id}@{view.table}"))
        elif context.goes_on(view, live):
            views.append(replace(view, id=live.id, starts=starts))
        else:
            views.append(replace(view, id=f"{view.id}@{view.table}", starts="resumed"))
    return tuple(views)


def _copy(way: Transition, place: Place, handed: tuple[View, ...]) -> Copy:
    assert way.forward is not None, "chosen only where a forward query compiles"
    physical = place.physical
    select = tuple((physical[column.name], column.sql) for column in way.forward.columns)
    landed = (way.run.landing.id, way.run.landing.id)
    return Copy(f"copy.{place.table}", way.run.binding, place.table, select, (landed, *((v.id, v.id) for v in handed)))
