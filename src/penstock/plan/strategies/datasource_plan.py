"""Plans one data source: places its columns, chooses a strategy, builds the outcome and collects the problems.

In: `Context` and a name; called in dependency order. Out: `Outcome`. Invariant: whatever is wrong, there is an
outcome, so the problems of the data sources downstream are found too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from typing_extensions import assert_never

from penstock.errors import Location, Problem
from penstock.model.datasource import Column, DataSource
from penstock.model.manifest import BoundColumn
from penstock.plan.diff.changes import rows_text
from penstock.plan.diff.column_compatibility import can_ingest
from penstock.plan.diff.forward_query import read_forward_query
from penstock.plan.diff.row_visibility import build_final_rule, build_ttl_filter, shows_same_rows
from penstock.plan.equivalence.history import columns_computed_as_live, columns_stored_as_live, pair_projected_views
from penstock.plan.equivalence.view_equivalence import ViewPairs, pair_equal_views
from penstock.plan.plan import NOTHING, HiddenRows
from penstock.plan.strategies.choice import StrategyChoice, StrategyInputs, choose_strategy, find_causes
from penstock.plan.strategies.context import Context, Outcome
from penstock.plan.strategies.costs import ViewsFromBeginning
from penstock.plan.strategies.forward_query_checks import blocking_checks, build_row_checks
from penstock.plan.strategies.forward_query_hint import suggest_forward_query
from penstock.plan.strategies.outcomes import (
    build_views_into,
    clone_live_table,
    copy_by_forward_query,
    create_datasource,
    keep_live_table,
    refill_by_views,
)
from penstock.plan.tables.column_placement import ColumnPlacement, DataSourceTransition, place_columns, value_before_cut
from penstock.plan.tables.flows import TargetTable
from penstock.plan.tables.running_datasource import RunningDataSource, is_ordered_by_seq
from penstock.sql.column_types import spark_type
from penstock.sql.spark_text import replace_columns


def plan_datasource(context: Context, name: str) -> Outcome:
    """What becomes of a data source of the next version."""
    source = context.project.datasource(name)
    assert source is not None, "asked for data sources of the project only"
    run = context.running(name)
    outcome = create_datasource(context, source) if run is None else _plan_existing(context, run, source)
    return _apply_engine_rules(context, source, outcome)


def _plan_existing(context: Context, run: RunningDataSource, source: DataSource) -> Outcome:
    way = DataSourceTransition(run, source, context.compiled, read_forward_query(run.source, source))
    case = _collect_inputs(context, way)
    choice = choose_strategy(case)
    problems = (
        *_unmet_request(case, choice),
        *_forward_query_problems(case, choice),
        *_data_losses(context, case, choice),
    )
    outcome = _build_outcome(context, case, choice)
    checks = build_row_checks(case.way, choice)
    return replace(
        outcome,
        problems=(*outcome.problems, *problems),
        steps=(*outcome.steps, *blocking_checks(checks)),
        checks=checks,
    )


def _collect_inputs(context: Context, way: DataSourceTransition) -> StrategyInputs:
    name, fitted = way.new.name, place_columns(way)
    feeding = _compare_views(context, way, fitted)
    views = (*(view for view, _ in feeding.kept), *feeding.new)
    found = _pair_by_history(context, way, fitted, feeding)
    unclear = context.is_unclear(name)
    return StrategyInputs(
        way=way,
        fit=fitted,
        feeding=feeding,
        again=found,
        changes=context.changes_of(name),
        price=ViewsFromBeginning(views) if not unclear else None,
        added=ViewsFromBeginning(found.new) if found is not None and not unclear else None,
        causes=find_causes(context, name, feeding),
        moved=() if unclear else context.moved(name),
        ordered=is_ordered_by_seq(context.live, way.run) and not can_ingest(way.new),
        wanted=context.options.strategies.get(name),
    )


def _compare_views(context: Context, way: DataSourceTransition, fitted: ColumnPlacement) -> ViewPairs:
    """The views into the table of live, were it kept. Views that do not compile count as unchanged:
    their own problems are told, nothing can be said of the data."""
    if context.is_unclear(way.new.name):
        return ViewPairs(kept=tuple((view, view) for view in way.run.views))
    return pair_equal_views(way.run.views, build_views_into(context, _live_target(way, fitted), "beginning"))


def _pair_by_history(
    context: Context, way: DataSourceTransition, fitted: ColumnPlacement, feeding: ViewPairs
) -> ViewPairs | None:
    """The views paired by the history they give, where that is all of live's and maybe more."""
    if feeding.unchanged or not way.run.views:
        return None
    place = _live_target(way, fitted)
    views = build_views_into(context, place, "beginning", context.history)
    paired = pair_projected_views(way.run.views, views, tuple(column.physical for column in place.columns))
    return _with_actual_bindings(paired, feeding) if paired.kept and not paired.ended else None


def _with_actual_bindings(paired: ViewPairs, feeding: ViewPairs) -> ViewPairs:
    """The pairs with the views over the bindings that they will read."""
    views = {(view.pipe, view.node): view for view in (*(new for new, _ in feeding.kept), *feeding.new)}
    kept = tuple((views[view.pipe, view.node], live) for view, live in paired.kept)
    return ViewPairs(kept, tuple(views[view.pipe, view.node] for view in paired.new))


def _columns_with_live_rows(context: Context, case: StrategyInputs) -> frozenset[str]:
    """The columns in which the views give the rows of live again."""
    way, place = case.way, _live_target(case.way, case.fit)
    shown = columns_stored_as_live(way.run, case.fit.columns, case.fit.match)
    if context.is_unclear(way.new.name):
        return shown
    physical = {column.physical: column.name for column in place.columns if column.name in shown}
    views = build_views_into(context, place, "beginning", context.history)
    return frozenset(physical[field] for field in columns_computed_as_live(way.run.views, views, tuple(physical)))


def _live_target(way: DataSourceTransition, fitted: ColumnPlacement) -> TargetTable:
    """The columns in the table of live; one that it cannot give in a column that it does not have."""
    bound = {column.name: column for column in fitted.columns}
    columns = (bound.get(c.name) or BoundColumn(c.name, c.type, f"new {c.name}") for c in way.new.columns)
    return TargetTable(way.new, way.run.table.id, tuple(columns))


def _build_outcome(context: Context, case: StrategyInputs, choice: StrategyChoice) -> Outcome:
    way, fitted, feeding = case.way, case.fit, case.feeding
    match choice.table:
        case "live":
            return keep_live_table(context, way, fitted, feeding, choice)
        case "clone":
            return clone_live_table(context, way, fitted, case.again or feeding, choice)
        case "new" if choice.strategy == "forward" and not choice.refused:
            return copy_by_forward_query(context, way, fitted, feeding, choice)
        case "new":
            # A forward that was refused for want of a query is built all the same: what reads it is
            # planned on.
            return refill_by_views(
                context, way, fitted, _columns_with_live_rows(context, case) if case.fed else frozenset(), choice
            )
        case _:
            assert_never(choice.table)


def _unmet_request(case: StrategyInputs, choice: StrategyChoice) -> Iterator[Problem]:
    """A strategy that is asked for and would not be right. Of a change of an earlier step the wish is
    left over: it is not told of a data source that stays as it is."""
    if case.wanted is None or case.wanted == choice.strategy or choice.strategy in ("none", "reuse"):
        return
    message = f"`{case.wanted}` is asked for `{case.way.new.name}` and would not be right: `{choice.strategy}` is taken"
    hint = "a `forward` needs a FORWARD_QUERY of this step" if case.wanted == "forward" else None
    yield Problem("strategy-not-possible", message, case.way.new.location, hint, "warning")


def _forward_query_problems(case: StrategyInputs, choice: StrategyChoice) -> Iterator[Problem]:
    """Where a forward query is needed and there is none that compiles; a warning where it does not
    compile and is not needed."""
    way = case.way
    broken = way.forward.problems if way.forward else ()
    needed = choice.refused or not case.feeding.unchanged
    yield from (problem if needed else replace(problem, level="warning") for problem in broken)
    if not choice.refused or broken:
        return
    hint = suggest_forward_query(way)
    for each in case.fit.blocked:
        before = each.before.type if each.before else None
        yield Problem(
            "needs-forward-query",
            f"column `{each.column.name}` of `{way.new.name}` goes from {before} to {each.column.type}, which does not"
            " hold every value: a FORWARD_QUERY has to say what becomes of the rows there are",
            each.column.location,
            hint,
        )


def _data_losses(context: Context, case: StrategyInputs, choice: StrategyChoice) -> Iterator[Problem]:
    """What cannot be had back once the deployment before is retired."""
    if context.options.allow_destructive:
        return
    name, rows = case.way.new.name, rows_text(case.size.rows if case.size else None)
    if choice.strategy == "recompute" and case.size != NOTHING:
        yield from _lost_history(context, case)
    for column in case.fit.match.dropped:
        message = f"column `{column.name}` of `{name}` is dropped: {rows} lose its value"
        problem = destructive_problem(message, case.way.new.location)
        yield replace(problem, hint=f"{_rename_hint(case, column)}{problem.hint}")
    # What a view that ends has made stays, unless all is made anew.
    for view in case.feeding.removed if choice.strategy == "recompute" else ():
        message = f"`{view.pipe}` feeds `{name}` no longer: what it made of {rows} goes"
        yield destructive_problem(message, case.way.new.location)


def _rename_hint(case: StrategyInputs, dropped: Column) -> str:
    """A hint, where a new column is filled from the field of one that goes."""
    way = case.way
    path = way.run.source.path_of(dropped)
    new = (column for column, origin in case.fit.match.pairs if origin is None)
    added = [column.name for column in new if way.new.path_of(column) == path]
    return f"if `{added[0]}` is its new name, add RENAMED_FROM {dropped.name}; " if added and path else ""


def _lost_history(context: Context, case: StrategyInputs) -> Iterator[Problem]:
    """Rows that cannot be made again, for a source of theirs does not keep its own."""
    name, rows = case.way.new.name, rows_text(case.size.rows if case.size else None)
    for source in context.forgetful(name):
        message = f"`{name}` would be made anew from `{source}`, which does not keep its rows: {rows} would be lost"
        hint = "`FORWARD_QUERY > SELECT *` keeps them; `--allow-destructive-operations` begins with what arrives"
        yield Problem("history-lost", message, case.way.new.location, hint)
    for source in context.shortened(name):
        message = f"`{name}` would be made anew from `{source}`, of which expired rows were deleted"
        hint = "`FORWARD_QUERY > SELECT *` keeps it; `--allow-destructive-operations` makes it of the rows there are"
        yield Problem("history-lost", message, case.way.new.location, hint)


def destructive_problem(message: str, location: Location) -> Problem:
    """A change that loses data and was not allowed to."""
    hint = "`--allow-destructive-operations` does it; it can be rolled back until the version before is retired"
    return Problem("destructive-change", message, location, hint)


def _apply_engine_rules(context: Context, source: DataSource, outcome: Outcome) -> Outcome:
    """The outcome with the rows that the TTL keeps and FINAL merges, and with what a TTL newly hides of
    live's."""
    kept, merges = build_ttl_filter(source), build_final_rule(source)
    run = context.running(source.name)
    bound = replace(outcome.binding, keeps=kept.keeps, merge=merges.rule)
    problems = (*outcome.problems, *kept.problems, *merges.problems)
    if kept.keeps is None or run is None or shows_same_rows(run.source, source):
        return replace(outcome, binding=bound, problems=problems)
    if bound.table != run.table.id and outcome.clone is None:
        return replace(outcome, binding=bound, problems=problems)
    now = {column.name: f"CAST({value_before_cut(column)} AS {spark_type(column.type)})" for column in bound.columns}
    place = source.engine.location("ENGINE_TTL") or source.location
    hidden = HiddenRows(source.name, run.binding, f"NOT ({replace_columns(kept.keeps, now)})", place)
    return replace(outcome, binding=bound, problems=problems, hides=hidden)
