"""Whether the rows of a view target are those of a live table of another name, and the target as a clone of that.

In: a data source that is new, or whose views have changed. Out: `OtherTable`, or why there is none; and the planned
data source that begins as a clone. Two ways are known: all views into the target give what all views into the other
one give, or its one view passes on the rows of the other table as they are. Invariant: whatever was written to the
other table is what the views into the target would have written from the beginning of their sources, and each of
these goes on where the clone ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from penstock.model.datasource import DataSource
from penstock.model.manifest import Accepts, Binding, BoundColumn, Field, Table, View
from penstock.plan.diff.merged_rows import key_columns, merges_by_its_key, merging_form, merging_rule
from penstock.plan.diff.ttl_and_final import keeps_no_rows
from penstock.plan.equivalence.canonical_view import NO_VALUES, canonical_form
from penstock.plan.equivalence.merged_aggregates import gives_what_is_merged, merged_columns
from penstock.plan.equivalence.unchanged_history import pair_projected_views
from penstock.plan.steps import Clone, CreateTable
from penstock.plan.strategies.choice import StrategyChoice
from penstock.plan.strategies.costs import PlannedCosts
from penstock.plan.strategies.planning_context import PlannedDataSource, PlanningContext
from penstock.plan.strategies.strategy_results import (
    build_views_into,
    choose_stream,
    resource_plan,
)
from penstock.plan.tables.flow_builders import TargetTable, build_landing, quarantine_binding, quarantine_table
from penstock.plan.tables.other_table import OtherTable, has_columns
from penstock.plan.tables.running_datasource import RunningDataSource, find_running
from penstock.plan.tables.table_layout import build_layout
from penstock.sql.analysis.expression_facts import expression_facts
from penstock.sql.analysis.opaque_calls import computes_row_by_row

_MOST_COMPARED = 8
"""With how many live tables a target is compared at most."""
_OTHER_ROWS = "`{}`: its views give other rows"
_ROW_BY_ROW = frozenset(["expressions", "from_", "where", "laterals"])
_ROLL_UP = frozenset(["expressions", "from_", "where", "group"])


def find_other_table(context: PlanningContext, source: DataSource) -> OtherTable | str | None:
    """The live table of another name that has its rows; a text that says why there is none; None where it is not asked
    for."""
    name, feeders = source.name, context.compiled.feeders(source.name)
    is_changed = context.running(name) is None or any(context.changes_of(each.pipe) for each in feeders)
    if not feeders or not is_changed or not source.keeps_history or name in context.options.rebuilt:
        return None
    if context.has_failed_feeder(name):
        return "its views do not compile"
    if context.reads_proved_columns(name):
        return "what its views read has other types, which are known to hold what is stored there, and not elsewhere"
    running = context.running(name)
    if running is not None and running.landing.stream in context.options.streams:
        return "rows were posted to it"
    said: list[str] = []
    for other in _alike_tables(context, source):
        found = _passed_on(context, source, other) or _given_alike(context, source, other)
        if isinstance(found, OtherTable):
            return found
        # Of a table whose views give other rows nothing else is said: another one may have them.
        said.insert(len(said) if found == _OTHER_ROWS.format(other.source.name) else 0, found)
    return said[0] if said else "no other live table is made of what it reads, and has its columns"


def _alike_tables(context: PlanningContext, source: DataSource) -> list[RunningDataSource]:
    """The live tables to compare it with, the likeliest first: those of views that read what its views read, and what
    these read itself."""
    views = context.compiled.feeders(source.name)
    pipes, read = {each.pipe for each in views}, {each.trigger.datasource for each in views}
    tables = {context.history_binding(each).table for each in read}
    manifest, own = context.live.manifest, context.former.get(source.name)
    fed = {manifest.name_of(table): frozenset[str]() for table in tables}
    for view in manifest.views:
        if view.trigger.binding.table in tables:
            name = manifest.name_of(view.table)
            fed[name] = fed.get(name, frozenset()) | {view.pipe}
    known = [other for name in fed if name != own and (other := context.live.project.datasource(name)) is not None]

    def unlikeness(other: DataSource) -> tuple[bool, bool, bool, int, str]:
        fed_by, form = fed[other.name], merging_rule(other) != merging_rule(source)
        return not fed_by & pipes, form, not fed_by, len(other.columns), other.name

    found = sorted((other for other in known if has_columns(other, source)), key=unlikeness)
    running = (find_running(context.live, other.name) for other in found[:_MOST_COMPARED])
    return [each for each in running if each is not None]


def _columns_in(source: DataSource, other: RunningDataSource) -> tuple[BoundColumn, ...]:
    """The columns of a data source in another live table; none if that computes one of them for older rows."""
    found = []
    for column in source.columns:
        bound = other.binding.column(column.name)
        if bound is None or (bound.before is not None and not bound.before.is_settled):
            return ()
        found.append(BoundColumn(column.name, column.type, bound.physical))
    return tuple(found)


# ---------------------------------------------------------------------- views that pass on the rows of a table


def _passed_on(context: PlanningContext, source: DataSource, other: RunningDataSource) -> OtherTable | None:
    """The table of which the one view into the target passes on every row as it is; None if it is not known to."""
    columns = _columns_in(source, other)
    is_plain = all(each.engine.name == "MergeTree" and each.engine.ttl is None for each in (source, other.source))
    if not columns or not is_plain or len(context.compiled.feeders(source.name)) != 1:
        return None
    place = TargetTable(source, other.table.id, columns)
    (view,) = build_views_into(context, place, "beginning")
    read, query = view.trigger.binding, canonical_form(view, NO_VALUES)
    if read.table != other.table.id or read.merge is not None or view.others or query is None:
        return None
    if not _reads_every_row(query.tree):
        return None
    given = zip(view.fields, query.tree.expressions, strict=True)
    return OtherTable(other, columns, ()) if all(_is_as_read(read, *each) for each in given) else None


def _reads_every_row(tree: exp.Select) -> bool:
    """Whether a SELECT gives a row for each row of one table: what is written around that may leave rows out."""
    source = tree.args["from_"].this if tree.args.get("from_") else None
    parts = {name for name, value in tree.args.items() if value}
    of_source = {name for name, value in source.args.items() if value} if isinstance(source, exp.Table) else {"query"}
    return parts == {"expressions", "from_"} and of_source <= {"this", "alias"}


def _is_as_read(read: Binding, field: str, item: exp.Expr) -> bool:
    """Whether a view gives a column of its source as that is stored."""
    value = item.unalias()
    column = read.column(value.name) if isinstance(value, exp.Column) else None
    return column is not None and column.physical == field and column.before is None


# --------------------------------------------------------------------------- views that give what others give


def _given_alike(context: PlanningContext, source: DataSource, other: RunningDataSource) -> OtherTable | str:
    if len(other.views) != len(context.compiled.feeders(source.name)):
        return _OTHER_ROWS.format(other.source.name)
    columns = _columns_in(source, other)
    if not columns:
        return f"`{other.source.name}`: it computes a column when older rows are read"
    place = TargetTable(source, other.table.id, columns)
    views = build_views_into(context, place, "beginning", context.history_binding)
    fields = tuple(column.physical for column in columns)
    paired = pair_projected_views(other.views, views, fields, context.known_values(source.name))
    if not paired.kept or not paired.unchanged:
        return _OTHER_ROWS.format(other.source.name)
    reasons = [*_obstacles(context, place, other), *(_why_not_told(context, place, view) for view in views)]
    found = next(filter(None, reasons), None)
    if found is not None:
        return f"`{other.source.name}`: {found}"
    return OtherTable(other, columns, tuple((view.pipe, view.node, live.id) for view, live in paired.kept))


def _obstacles(context: PlanningContext, place: TargetTable, other: RunningDataSource) -> Iterator[str]:
    """Why rows of the other table may not be what the views give of all history, whatever these are."""
    source, form = place.source, merging_form(place.source, place.columns)
    if not form or form != merging_form(other.source, other.binding.columns) or keeps_no_rows(source, other.source):
        yield "its engine, or its TTL, may leave other rows"
    if other.table.filled_as != form:
        yield "it is not known to have every row that its views gave"
    if len(source.columns) != len(other.source.columns) and not _can_leave_out(source, other.source):
        yield "its engine merges rows by columns that are left out"
    if other.landing.stream in context.options.streams:
        yield "rows were posted to it"


def _can_leave_out(source: DataSource, other: DataSource) -> bool:
    """Whether the rows stay what they are when columns are left out."""
    if source.engine.ttl is not None:
        return False
    is_merged = merges_by_its_key(source) and merges_by_its_key(other)
    return source.engine.name == "MergeTree" or (is_merged and key_columns(source) == key_columns(other))


def _why_not_told(context: PlanningContext, place: TargetTable, view: View) -> str:
    """Why a view may have given other rows, batch by batch, than it would give of all rows now; empty if it has not."""
    query, read = canonical_form(view, NO_VALUES), view.trigger.binding
    if view.others or not expression_facts(view.sql).is_repeatable:
        return "what its views give depends on when they run"
    if query is None or len(list(query.tree.find_all(exp.Query))) != 1:
        return "its views have a form that is not known"
    if read.table in context.live.shortened:
        return f"`{read.name}` no longer has all the rows that it was made of"
    parts = {part for part, value in query.tree.args.items() if value}
    if parts <= _ROW_BY_ROW and all(map(computes_row_by_row, query.tree.expressions)):
        return ""
    is_merged = place.source.engine.name in ("AggregatingMergeTree", "SummingMergeTree") and parts <= _ROLL_UP
    is_told = is_merged and gives_what_is_merged(view, merged_columns(place.source, place.columns))
    return "" if is_told else "its rows depend on which rows came together"


# ---------------------------------------------------------------------------------------------- the result


def clone_other_table(
    context: PlanningContext, source: DataSource, other: OtherTable, choice: StrategyChoice
) -> PlannedDataSource:
    """Plan the target as a clone of the other table. Posted rows of its own land in it from the beginning of its
    stream: there are none yet."""
    running, table = context.running(source.name), other.running.table
    place = TargetTable(source, context.new_table_name(source), other.columns)
    stream = running.landing.stream if running is not None else choose_stream(context, source)
    lands, laid = build_landing(place, stream, context.compiled, "beginning"), build_layout(source, other.columns)
    views, cursors = _continuing_views(context, place, other)
    fields = tuple(Field(column.physical, column.type) for column in other.columns)
    whole = other.passes_on or table.whole
    made = Table(place.table, fields, laid.partition, laid.sort, True, whole, merging_form(source, other.columns))
    own = Clone(
        made,
        table.id,
        views_only=() if other.passes_on else (table.id,),
        cursors=cursors,
        unrejected=other.passes_on,
    )
    quarantine = running.quarantine if running is not None else quarantine_table(stream)
    accepts = (Accepts(lands.version),)
    return PlannedDataSource(
        resource_plan(source, choice),
        (made, quarantine),
        Binding(source.name, place.table, place.columns, accepts),
        quarantine_binding(source.name, stream, accepts),
        (lands, *views),
        (CreateTable(quarantine),) if running is None else (),
        PlannedCosts(choice.moves, other.running.size, choice.alternatives),
        laid.problems,
        history=Binding(
            source.name, table.id, other.columns, other.running.binding.accepts, other.running.binding.keeps
        ),
        clone=own,
        loses_rows=keeps_no_rows(source),
    )


def _continuing_views(
    context: PlanningContext, place: TargetTable, other: OtherTable
) -> tuple[tuple[View, ...], tuple[tuple[str, str], ...]]:
    """The views into the clone, each from where the clone ends: with the cursor of the live view that it equals, or,
    over a table that is new itself or is the one that is cloned, from there on. Their cursors, by that of live."""
    live = {view.id: view for view in other.running.views}
    follows = {(pipe, node): live[id] for pipe, node, id in other.continued}
    views, cursors = [], []
    for view in build_views_into(context, place, "beginning"):
        before, own = follows.get((view.pipe, view.node)), f"{view.id}@{place.table}"
        if before is not None and context.can_resume(view, before):
            views.append(replace(view, id=own))
            cursors.append((before.id, own))
        else:
            views.append(replace(view, id=own, starts="resumed"))
    return tuple(views), tuple(cursors)
