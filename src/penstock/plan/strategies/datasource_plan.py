"""Plans one data source: places its columns, chooses a strategy, builds the outcome and collects the problems.

In: `PlanningContext` and a name; called in dependency order. Out: `PlannedDataSource`. Invariant: whatever is wrong,
there is an outcome, so the problems of the data sources downstream are found too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from typing_extensions import assert_never

from penstock.errors import Problem
from penstock.model.datasource import Column, DataSource
from penstock.model.manifest import BoundColumn
from penstock.model.stored_values import StoredClaim
from penstock.model.types import String, is_nullable, unwrap_type
from penstock.plan.diff.changes import EngineChanged, SortingKeyChanged, join_words, rows_text
from penstock.plan.diff.forward_columns import read_forward_query
from penstock.plan.diff.other_merged_rows import find_other_merging
from penstock.plan.diff.ttl_and_final import build_final_rule, build_ttl_filter
from penstock.plan.equivalence.added_conditions import FilteredRows
from penstock.plan.equivalence.composed_views import ComposedHistory
from penstock.plan.equivalence.stored_functions import RolledUp
from penstock.plan.equivalence.unchanged_history import (
    columns_computed_as_live,
    columns_of_triggers,
    columns_stored_as_live,
    pair_equal_views,
    pair_projected_views,
    project_view,
)
from penstock.plan.equivalence.view_equivalence import ViewPairs
from penstock.plan.plan import NOTHING, HiddenRows
from penstock.plan.strategies.change_problems import change_problems
from penstock.plan.strategies.choice import (
    StrategyChoice,
    StrategyInputs,
    choose_strategy,
    find_causes,
    has_edited_view,
)
from penstock.plan.strategies.composed_history import find_composed_history
from penstock.plan.strategies.costs import Cost, StrategyAlternative, ViewsFromBeginning
from penstock.plan.strategies.deletion_protection import (
    UNPROTECT,
    is_loss_refused,
    is_protected,
    leave_hint,
    loss_problem,
)
from penstock.plan.strategies.derived_columns import find_derived_columns, live_target, seq_orders_rows
from penstock.plan.strategies.filtered_targets import find_filtered
from penstock.plan.strategies.forward_query_checks import blocking_checks, build_row_checks
from penstock.plan.strategies.other_tables import clone_other_table, find_other_table
from penstock.plan.strategies.planning_context import PlannedDataSource, PlanningContext
from penstock.plan.strategies.rebuild_problems import rebuild_problems
from penstock.plan.strategies.rolled_up_targets import find_rolled_up
from penstock.plan.strategies.rule_results import is_as_live, rules_of_new_target, tell_rules
from penstock.plan.strategies.strategy_results import (
    build_views_into,
    clone_live_table,
    copy_by_forward_query,
    copy_filtered_rows,
    create_datasource,
    keep_live_table,
    refill_by_views,
)
from penstock.plan.tables.column_placement import (
    BlockedColumn,
    ColumnPlacement,
    DataSourceTransition,
    value_in_older_rows,
)
from penstock.plan.tables.flow_builders import build_view
from penstock.plan.tables.forward_query_hint import suggest_forward_query
from penstock.plan.tables.nullable_views import feeders_with_null
from penstock.plan.tables.other_table import OtherTable
from penstock.plan.tables.running_datasource import RunningDataSource, without_pending_cut
from penstock.plan.tables.stored_claims import Proof
from penstock.sql.analysis.canonical_query import NEVER_NULL
from penstock.sql.spark_text import replace_columns
from penstock.sql.stored_types import spark_type

_MOST_SPARED = 16
"""Of so many claims it is asked at most whether one of them can be spared."""


def plan_datasource(context: PlanningContext, name: str) -> PlannedDataSource:
    """Plan one data source of the next version."""
    source = context.project.datasource(name)
    assert source is not None, "asked for data sources of the project only"
    running = context.running(name)
    outcome = _plan_new(context, source) if running is None else _plan_existing(context, running, source)
    return _apply_engine_rules(context, source, outcome)


def _plan_new(context: PlanningContext, source: DataSource) -> PlannedDataSource:
    """Plan a data source that live does not have: a clone of the live table that has its rows, or an empty table."""
    created, other = create_datasource(context, source), find_other_table(context, source)
    if other is None:
        return created
    rules = rules_of_new_target(other)
    if isinstance(other, OtherTable) and context.options.strategies.get(source.name) != "recompute":
        dearer = StrategyAlternative("recompute", created.costs.moves)
        choice = StrategyChoice("create", f"new; {other.reason}", "other", alternatives=(dearer,))
        created = clone_other_table(context, source, other, choice)
    return replace(created, resource=replace(created.resource, rules=rules))


def _plan_existing(context: PlanningContext, running: RunningDataSource, source: DataSource) -> PlannedDataSource:
    transition = DataSourceTransition(
        running,
        source,
        context.compiled,
        read_forward_query(running.source, source),
        stored=partial(context.stored_values, running.table.id),
    )
    inputs = _heed_gone_rows(context, _collect_inputs(context, transition))
    choice = choose_strategy(inputs)
    problems = (
        *_unmet_request(inputs, choice),
        *_forward_query_problems(inputs, choice),
        *_data_losses(context, inputs, choice),
        *change_problems(running.source, source, inputs.placement.match, running.size),
        *_shorter_sources(context, inputs, choice),
        *_merged_rows_kept(inputs, choice),
    )
    kept = _columns_with_live_rows(context, inputs) if _is_refilled(inputs, choice) else None
    outcome = _build_outcome(context, inputs, choice, kept)
    if _has_other_rows(context, inputs, choice):
        outcome = replace(outcome, history=outcome.binding)  # no view over it gives what it gave over the live table
    checks = build_row_checks(inputs.transition, inputs.placement, choice)
    return replace(
        outcome,
        resource=replace(outcome.resource, rules=() if is_as_live(choice) else tell_rules(inputs, kept)),
        problems=(*outcome.problems, *problems),
        steps=(*outcome.steps, *blocking_checks(checks)),
        checks=checks,
        claims=tuple(each.claim for each in inputs.proofs) if choice.table in ("live", "clone") else (),
    )


def _collect_inputs(context: PlanningContext, before: DataSourceTransition) -> StrategyInputs:
    derived = find_derived_columns(context, before)
    transition = replace(before, derived=derived) if derived else before
    name, placement = transition.new.name, transition.placement
    feeding = _compare_views(context, transition, placement)
    found = _pair_by_history(context, transition, placement, feeding)
    proofs: tuple[Proof, ...] = ()
    rolled = None
    if found is None and not feeding.unchanged and before.running.views:
        rolled = find_rolled_up(context, before)
    if isinstance(rolled, RolledUp):
        transition = replace(before, derived=rolled.derived)
        placement = transition.placement
        feeding = _compare_views(context, transition, placement)
        found = _with_actual_bindings(ViewPairs(((feeding.new[0], rolled.live),)), feeding) if feeding.new else None
    is_open = found is None and isinstance(rolled, str)
    composed = find_composed_history(context, transition, placement) if is_open else None
    is_open = isinstance(composed, str) and transition.forward is None
    other = find_other_table(context, transition.new) if is_open else None
    if isinstance(composed, ComposedHistory):
        found = _with_actual_bindings(ViewPairs(((feeding.new[0], composed.live),)), feeding) if feeding.new else None
    filtered = find_filtered(context, before, placement) if isinstance(composed, str) else None
    if found is None and not isinstance(other, OtherTable):
        found, proofs = _pair_where_never_null(context, transition, placement, feeding)
    unclear, stays = context.has_failed_feeder(name), feeding.unchanged or found is not None
    merged = _other_merging(transition, placement) if stays and _can_compute_all(context, transition.new) else ""
    return StrategyInputs(
        transition=transition,
        placement=placement,
        feeding=feeding,
        same_history=found,
        changes=context.changes_of(name),
        recompute_cost=_cost_of_all(feeding) if not unclear else None,
        added_cost=ViewsFromBeginning(found.new) if found is not None and not unclear else None,
        causes=(*find_causes(context, name, feeding), *([merged] if merged else [])),
        moved_sources=() if unclear else context.moved_sources(name),
        ordered_by_seq=seq_orders_rows(context, transition),
        requested=context.options.strategies.get(name),
        rebuilt=name in context.options.rebuilt,
        edited=has_edited_view(context, feeding),
        merged=merged,
        gone=(*context.sources_without_rows(name), *context.shortened_sources(name)),
        rolled=rolled,
        composed=composed,
        filtered=filtered,
        never_null=proofs,
        other=other,
    )


def _cost_of_all(feeding: ViewPairs) -> Cost:
    return ViewsFromBeginning((*(view for view, _ in feeding.kept), *feeding.new))


def _other_merging(transition: DataSourceTransition, placement: ColumnPlacement) -> str:
    """How live has merged rows of a view target that the next version needs apart; empty if it has not."""
    running = transition.running
    if not running.views or running.size == NOTHING or transition.forward is not None:
        return ""
    return find_other_merging(running.source, transition.new, placement.match, transition.derived)


def _can_compute_all(context: PlanningContext, new: DataSource) -> bool:
    """Whether the sources of the views have every row that they ever had."""
    gone = (
        context.sources_without_rows(new.name),
        context.shortened_sources(new.name),
        context.sources_with_ttl(new.name),
    )
    return new.keeps_history and bool(context.compiled.feeders(new.name)) and not any(gone)


def _compare_views(context: PlanningContext, transition: DataSourceTransition, placement: ColumnPlacement) -> ViewPairs:
    """The live and the new views, paired as if the live table were kept. Views that do not compile count as unchanged:
    they have problems of their own, and nothing is known of their rows."""
    if context.has_failed_feeder(transition.new.name):
        return ViewPairs(kept=tuple((view, view) for view in transition.running.views))
    return pair_equal_views(
        transition.running.views, build_views_into(context, live_target(transition, placement), "beginning")
    )


def _pair_by_history(
    context: PlanningContext, transition: DataSourceTransition, placement: ColumnPlacement, feeding: ViewPairs
) -> ViewPairs | None:
    """The views paired by the history that they compute; None unless they compute all live rows."""
    if feeding.unchanged or not transition.running.views:
        return None
    place = live_target(transition, placement)
    views = build_views_into(context, place, "beginning", context.history_binding)
    fields = tuple(column.physical for column in place.columns if column.name not in transition.derived)
    paired = pair_projected_views(transition.running.views, views, fields, context.known_values(transition.new.name))
    return _with_actual_bindings(paired, feeding) if paired.kept and not paired.ended else None


def _pair_where_never_null(
    context: PlanningContext, transition: DataSourceTransition, placement: ColumnPlacement, feeding: ViewPairs
) -> tuple[ViewPairs | None, tuple[Proof, ...]]:
    """The views paired by the history that they compute of rows without NULL, and the proofs that these are all; None
    unless they compute all live rows, or where that is known without proofs."""
    name, fits = transition.new.name, not placement.blocked and not placement.bridged
    if feeding.unchanged or not transition.running.views or not fits or transition.forward is not None:
        return None, ()
    place = live_target(transition, placement)
    views = build_views_into(context, place, "beginning", context.history_binding)
    fields = tuple(column.physical for column in place.columns if column.name not in transition.derived)
    read = columns_of_triggers((*transition.running.views, *views))
    values = context.known_values(name)

    def pair(claims: Sequence[StoredClaim]) -> ViewPairs | None:
        never: dict[str, dict[str, str]] = {}
        for each in claims:
            never.setdefault(each.source, {})[each.name] = NEVER_NULL
        known = {source: {**values.get(source, {}), **never.get(source, {})} for source in {*values, *never}}
        paired = pair_projected_views(transition.running.views, views, fields, known, never)
        return paired if paired.kept and paired.unchanged else None

    sources = sorted(read.keys() & context.done.keys())
    claims = [each for source in sources for each in context.claims_of_no_null(source) if each.name in read[source]]
    paired = pair(claims) if claims else None  # before metadata is read
    if paired is None:
        return None, ()
    for each in claims[:_MOST_SPARED]:  # what is not needed must not end the deployment
        without = [other for other in claims if other is not each]
        claims = without if pair(without) is not None else claims
    proofs = tuple(proof for each in claims if (proof := context.prove(each)) is not None)
    return (_with_actual_bindings(paired, feeding), proofs) if len(proofs) == len(claims) else (None, ())


def _heed_gone_rows(context: PlanningContext, inputs: StrategyInputs) -> StrategyInputs:
    """The inputs with what has to be known of rows that are gone from the sources, if live rows would stay."""
    stays = inputs.feeding.unchanged or inputs.same_history is not None or isinstance(inputs.filtered, FilteredRows)
    gone = _prove_of_gone_rows(context, inputs.transition, inputs.placement) if stays else ()
    if not isinstance(gone, str):
        filtered = inputs.filtered if not gone else None
        return replace(inputs, never_null=tuple(dict.fromkeys((*inputs.never_null, *gone))), filtered=filtered)
    rolled, composed, filtered = (gone if each else None for each in (inputs.rolled, inputs.composed, inputs.filtered))
    return replace(
        inputs,
        feeding=_all_changed(context, inputs.transition, inputs.placement),
        same_history=None,
        causes=(*inputs.causes, gone),
        rolled=rolled,
        composed=composed,
        filtered=filtered,
        never_null=(),
    )


def _prove_of_gone_rows(
    context: PlanningContext, transition: DataSourceTransition, placement: ColumnPlacement
) -> tuple[Proof, ...] | str:
    """The proofs that rows which are gone had no NULL where none has it now, if the views care for that otherwise than
    those of live, or tell a constant; a text that says of what it is not known. No FORWARD_QUERY needs it."""
    name, running = transition.new.name, transition.running
    claims = context.claims_without_null_above(name)
    if not claims or not running.views or transition.forward is not None or context.has_failed_feeder(name):
        return ()
    is_told = any(each.is_constant for each in transition.derived.values())
    if not is_told and _are_alike_with_null(context, transition, placement):
        return ()
    proofs = context.prove_of_gone_rows(name)
    if len(proofs) == len(claims):
        return proofs
    columns = join_words(sorted(f"`{each.name}` of `{each.source}`" for each in claims))
    return f"rows that are gone may have had NULL in {columns}, with which the new query does something else"


def _are_alike_with_null(
    context: PlanningContext, transition: DataSourceTransition, placement: ColumnPlacement
) -> bool:
    """Whether the views do to rows with NULL what those of live do, where the rows that are left have none."""
    name, nullable = transition.new.name, dict[str, set[str]]()
    for claim in context.claims_without_null_above(name):
        nullable.setdefault(claim.source, set()).add(claim.name)
    nullable[name] = {c.name for c, origin in placement.match.pairs if origin is not None and is_nullable(origin.type)}
    feeders = feeders_with_null(context.compiled, name, nullable)
    place = live_target(transition, placement)
    fields = tuple(column.physical for column in place.columns if column.name not in transition.derived)
    views = [build_view(each, place, context.history_binding, "beginning") for each in feeders or ()]
    views = [project_view(each, each.fields) for each in views]
    paired = pair_projected_views(transition.running.views, views, fields, context.known_values(name))
    return bool(paired.kept) and not paired.ended


def _all_changed(context: PlanningContext, transition: DataSourceTransition, placement: ColumnPlacement) -> ViewPairs:
    """The views as ones of which none gives what a live one gave."""
    views = build_views_into(context, live_target(transition, placement), "beginning")
    return ViewPairs(new=views, ended=transition.running.views)


def _with_actual_bindings(paired: ViewPairs, feeding: ViewPairs) -> ViewPairs:
    """The pairs, with the new views over the bindings that they will actually read."""
    views = {(view.pipe, view.node): view for view in (*(new for new, _ in feeding.kept), *feeding.new)}
    kept = tuple((views[view.pipe, view.node], live) for view, live in paired.kept)
    return ViewPairs(kept, tuple(views[view.pipe, view.node] for view in paired.new))


def _columns_with_live_rows(context: PlanningContext, inputs: StrategyInputs) -> frozenset[str]:
    """The columns for which the views compute the values that the live rows have."""
    transition, place = inputs.transition, live_target(inputs.transition, inputs.placement)
    shown = columns_stored_as_live(transition.running, inputs.placement.columns, inputs.placement.match)
    if context.has_failed_feeder(transition.new.name):
        return shown
    physical = {column.physical: column.name for column in place.columns if column.name in shown}
    views = build_views_into(context, place, "beginning", context.history_binding)
    return frozenset(
        physical[field]
        for field in columns_computed_as_live(
            transition.running.views, views, tuple(physical), context.known_values(transition.new.name)
        )
    )


def _has_other_rows(context: PlanningContext, inputs: StrategyInputs, choice: StrategyChoice) -> bool:
    """Whether views give the table more rows than live has, or are not known to give as many: a view that reads no
    column of it counts them all the same. A table that begins empty is another matter: what reads it keeps its rows."""
    transition = inputs.transition
    if choice.strategy != "recompute" or context.has_failed_feeder(transition.new.name):
        return False
    if choice.table == "clone":
        return True
    if context.sources_without_rows(transition.new.name):
        return False
    place = live_target(transition, inputs.placement)
    views = build_views_into(context, place, "beginning", context.history_binding)
    known = context.known_values(transition.new.name)
    return not pair_projected_views(transition.running.views, views, (), known).unchanged


def _is_refilled(inputs: StrategyInputs, choice: StrategyChoice) -> bool:
    """Whether views fill a new table."""
    return choice.table == "new" and choice.strategy != "forward" and inputs.has_views


def _build_outcome(
    context: PlanningContext, inputs: StrategyInputs, choice: StrategyChoice, kept: frozenset[str] | None
) -> PlannedDataSource:
    transition, placement, feeding = inputs.transition, inputs.placement, inputs.feeding
    match choice.table:
        case "live":
            return keep_live_table(context, transition, placement, feeding, choice)
        case "clone":
            return clone_live_table(context, transition, placement, inputs.same_history or feeding, choice)
        case "new" if isinstance(inputs.filtered, FilteredRows) and choice.strategy == "forward":
            filtered = inputs.filtered
            pairs = ViewPairs(((feeding.new[0], filtered.live),))
            return copy_filtered_rows(context, transition, pairs, choice, filtered.condition)
        case "other":
            assert isinstance(inputs.other, OtherTable), "chosen only where there is one"
            return clone_other_table(context, transition.new, inputs.other, choice)
        case "new" if choice.strategy == "forward" and not choice.refused:
            return copy_by_forward_query(context, transition, placement, feeding, choice)
        case "new":
            # A forward that was refused for want of a query is built all the same: what reads it is
            # planned on.
            return refill_by_views(context, transition, placement, kept or frozenset(), choice)
        case _:
            assert_never(choice.table)


def _unmet_request(inputs: StrategyInputs, choice: StrategyChoice) -> Iterator[Problem]:
    """A warning where the requested strategy would give wrong rows. None for a data source that stays as it is: the
    request is left over from an earlier deployment."""
    if inputs.requested is None or inputs.requested == choice.strategy or choice.strategy in ("none", "reuse"):
        return
    name = inputs.transition.new.name
    message = f"`{inputs.requested}` was requested for `{name}` but would give wrong rows; using `{choice.strategy}`"
    hint = "`forward` needs a FORWARD_QUERY that is new in this deployment" if inputs.requested == "forward" else None
    yield Problem("strategy-not-possible", message, inputs.transition.new.location, hint, "warning")


def _forward_query_problems(inputs: StrategyInputs, choice: StrategyChoice) -> Iterator[Problem]:
    """Errors where a forward query is needed and there is none, and where one does not compile: it is new in this step,
    so it is meant to be used, and without it history would get other values unsaid."""
    transition = inputs.transition
    broken = transition.forward.problems if transition.forward else ()
    yield from broken
    if not choice.refused or broken:
        return
    grows = any(each.grows for each in inputs.placement.blocked)  # a query of these DEFAULTs would grow as well
    hint = suggest_forward_query(transition) if not grows else None
    for each in inputs.placement.blocked:
        yield Problem("needs-forward-query", _blocked_text(each, transition.new), each.column.location, hint)


def _blocked_text(blocked: BlockedColumn, source: DataSource) -> str:
    """Why a column needs a forward query, as a sentence."""
    column = f"column `{blocked.column.name}` of `{source.name}`"
    if blocked.before is None:
        return f"{column} is new, and {blocked.reason}: a FORWARD_QUERY must say what existing rows have"
    change = f"changes from {blocked.before.type} to {blocked.column.type}"
    if isinstance(unwrap_type(blocked.column.type), String) and not is_nullable(blocked.before.type):
        return f"{column} {change}: a FORWARD_QUERY must say how the existing values are written as text"
    found = f" ({blocked.found})" if blocked.found else ""
    cannot = f"which cannot hold every value{found}"
    return f"{column} {change}, {cannot}: a FORWARD_QUERY must say how to convert the existing rows"


def _data_losses(context: PlanningContext, inputs: StrategyInputs, choice: StrategyChoice) -> Iterator[Problem]:
    """Problems for data that is lost for good once the previous deployment is retired."""
    versions = (inputs.transition.running.source, inputs.transition.new)
    if not is_loss_refused(*versions, allowed=context.options.allow_destructive):
        return
    name, rows = inputs.transition.new.name, rows_text(inputs.size.rows if inputs.size else None)
    if inputs.rebuilt:
        yield from rebuild_problems(context, inputs)
    elif choice.strategy == "recompute" and inputs.size != NOTHING:
        yield from _lost_history(context, inputs)
    for column in inputs.placement.match.dropped:
        message = f"column `{column.name}` of `{name}` is dropped: {rows} would lose its value"
        problem = loss_problem(message, inputs.transition.new.location, *versions)
        yield replace(problem, hint=f"{_rename_hint(inputs, column)}{problem.hint}")
    # Rows of a removed view stay in the table, unless the table is recomputed.
    for view in inputs.feeding.removed if choice.replaces_rows else ():
        message = f"`{view.pipe}` no longer feeds `{name}`: its part of {rows} would be deleted"
        problem = loss_problem(message, inputs.transition.new.location, *versions)
        hint = '`FORWARD_QUERY > SELECT *` there keeps them, in Python forward_query="SELECT *"; or'
        yield replace(problem, hint=f"{hint} {problem.hint}")
    if is_protected(*versions):
        yield from _changes_of_protected_rows(inputs, choice)


def _changes_of_protected_rows(inputs: StrategyInputs, choice: StrategyChoice) -> Iterator[Problem]:
    """Problems for changes that are no loss elsewhere, since they are asked for: other rows from a changed view, and
    rows that an engine merges from now on."""
    new = inputs.transition.new
    versions, place = (inputs.transition.running.source, new), new.location
    is_filtered = isinstance(inputs.filtered, FilteredRows) and choice.strategy == "forward"
    if (choice.replaces_rows or is_filtered) and inputs.size != NOTHING and inputs.feeding.new:
        views = join_words(f"`{view.pipe}`" for view in inputs.feeding.new)
        message = f"`{new.name}` would be computed anew by {views}: rows of live may not be among those it gives"
        yield replace(
            loss_problem(message, place, *versions), hint=f"`FORWARD_QUERY > SELECT *` keeps the rows; or {UNPROTECT}"
        )
    merges = new.engine.name not in ("MergeTree", "Null")
    if merges and any(isinstance(change, (EngineChanged, SortingKeyChanged)) for change in inputs.changes):
        message = f"the engine of `{new.name}` would merge rows that live keeps apart"
        yield loss_problem(message, place, *versions)


def _rename_hint(inputs: StrategyInputs, dropped: Column) -> str:
    """A hint to use RENAMED_FROM, where a new column is filled from the JSON field of a dropped one."""
    transition = inputs.transition
    path = transition.running.source.path_of(dropped)
    new = (column for column, origin in inputs.placement.match.pairs if origin is None)
    added = [column.name for column in new if transition.new.path_of(column) == path]
    return f"if `{added[0]}` is its new name, add RENAMED_FROM {dropped.name}; " if added and path else ""


def _lost_history(context: PlanningContext, inputs: StrategyInputs) -> Iterator[Problem]:
    """Problems for rows that cannot be recomputed, because one of their sources does not keep its rows."""
    name, rows = inputs.transition.new.name, rows_text(inputs.size.rows if inputs.size else None)
    versions = (inputs.transition.running.source, inputs.transition.new)
    for source in context.sources_without_rows(name):
        message = f"`{name}` would be recomputed from `{source}`, which does not keep its rows: {rows} would be lost"
        leave = leave_hint("with `--allow-destructive-operations` it starts empty", *versions)
        hint = f"`FORWARD_QUERY > SELECT *` keeps them; {leave}"
        yield Problem("history-lost", message, inputs.transition.new.location, hint)
    for source in context.shortened_sources(name):
        message = f"`{name}` would be recomputed from `{source}`, which no longer has all its rows"
        leave = leave_hint("`--allow-destructive-operations` uses the remaining rows", *versions)
        hint = f"`FORWARD_QUERY > SELECT *` keeps it; {leave}"
        yield Problem("history-lost", message, inputs.transition.new.location, hint)


def _shorter_sources(context: PlanningContext, inputs: StrategyInputs, choice: StrategyChoice) -> Iterator[Problem]:
    """Where history is computed again from a source whose TTL may have removed a part of it: warnings, or errors if the
    data source is protected."""
    versions = (inputs.transition.running.source, inputs.transition.new)
    if choice.strategy != "recompute" or inputs.size == NOTHING or inputs.rebuilt:
        return  # where it is rebuilt it is an error
    if not is_loss_refused(*versions, allowed=context.options.allow_destructive):
        return
    name, place = inputs.transition.new.name, inputs.transition.new.location
    for source in context.sources_with_ttl(name):
        message = f"`{name}` would be recomputed from `{source}`: what the TTL of that has removed would be missing"
        hint = "`FORWARD_QUERY > SELECT *` keeps the rows there are; a TTL at least as long for the source avoids it"
        if is_protected(*versions):
            yield replace(loss_problem(message, place, *versions), hint=f"{hint}; or {UNPROTECT}")
        else:
            yield Problem("history-shorter", message, place, hint, "warning")


def _merged_rows_kept(inputs: StrategyInputs, choice: StrategyChoice) -> Iterator[Problem]:
    """A warning where rows that live has merged stay, as they cannot be computed anew."""
    merged, new = _other_merging(inputs.transition, inputs.placement), inputs.transition.new
    if not merged or choice.replaces_rows or choice.strategy == "forward":
        return
    message = f"{merged}: `{new.name}` keeps what is left of them, as its sources no longer have every row"
    hint = "what was merged is lost for the new rule; a data source of another name begins without such rows"
    place = new.engine.location("ENGINE_SORTING_KEY") or new.location
    yield Problem("rows-merged", message, place, hint, "warning")


def _apply_engine_rules(context: PlanningContext, source: DataSource, outcome: PlannedDataSource) -> PlannedDataSource:
    """The planned data source with the filter of its TTL, the rule of FINAL, and the live rows that a new TTL hides."""
    kept, merges = build_ttl_filter(source), build_final_rule(source)
    running = context.running(source.name)
    bound = replace(outcome.binding, keeps=kept.keeps, merge=merges.rule)
    history = replace(outcome.history, merge=merges.rule) if outcome.history is not None else None
    outcome = replace(outcome, history=history)
    problems = (*outcome.problems, *kept.problems, *merges.problems)
    if kept.keeps is None or running is None:
        return replace(outcome, binding=bound, problems=problems)
    if bound.table != running.table.id and (outcome.clone is None or outcome.clone.of != running.table.id):
        hiding = _hidden_in_new_table(source, running) if running.binding.keeps != kept.keeps else ()
        return replace(outcome, binding=bound, problems=(*problems, *hiding))
    # Equal words say nothing if a column that they name has got the place of another one.
    live, shown = tuple(map(without_pending_cut, running.binding.columns)), _shown_rows(kept.keeps, bound.columns)
    if running.binding.keeps is not None and _shown_rows(running.binding.keeps, live) == shown:
        return replace(outcome, binding=bound, problems=problems)
    place = source.engine.location("ENGINE_TTL") or source.location
    hidden = HiddenRows(source, running.source, running.binding, f"NOT ({shown})", place)
    return replace(outcome, binding=bound, problems=problems, hides=hidden)


def _hidden_in_new_table(source: DataSource, running: RunningDataSource) -> Iterator[Problem]:
    """The problem of a protected data source whose rows go into a new table with another TTL or engine Null: which of
    them it would hide cannot be counted beforehand."""
    if running.size != NOTHING and is_protected(source, running.source):
        message = f"the TTL or the engine of `{source.name}` changes together with its rows, and may hide some"
        place = source.engine.location("ENGINE_TTL") or source.location
        yield loss_problem(message, place, source, running.source)


def _shown_rows(keeps: str, columns: Iterable[BoundColumn]) -> str:
    """The filter of a TTL over the physical columns of the rows that exist now."""
    return replace_columns(keeps, {each.name: _value_of_older_rows(each) for each in columns})


def _value_of_older_rows(column: BoundColumn) -> str:
    before = column.before
    is_plain = before is not None and before.cut is None and not before.is_settled
    value = before.expression if before is not None and is_plain else value_in_older_rows(column)
    return f"CAST({value} AS {spark_type(column.type)})"
