"""Which added columns of a view target have, in the rows that it has stored, a value that the views tell.

In: the transition of a target, before its columns are placed. Out: `DerivedColumn` by name. The commonest case is a
column that is added to a source, passed on by its view and added to the target in one deployment: before the cut it has
its DEFAULT. Invariant: each row that is stored has the value that the new views would have computed for it, also once
rows of one key are merged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp

from penstock.model.datasource import DataSource
from penstock.model.manifest import BoundColumn
from penstock.model.types import (
    AggregateFunction,
    Int,
    SimpleAggregateFunction,
    is_nullable,
)
from penstock.plan.diff.column_compatibility import can_ingest
from penstock.plan.diff.merged_rows import key_columns
from penstock.plan.equivalence.canonical_view import derive_columns
from penstock.plan.equivalence.unchanged_history import columns_stored_as_live
from penstock.plan.strategies.planning_context import PlanningContext
from penstock.plan.strategies.strategy_results import build_views_into
from penstock.plan.tables.column_placement import (
    ColumnPlacement,
    DataSourceTransition,
    DerivedColumn,
)
from penstock.plan.tables.flow_builders import TargetTable
from penstock.plan.tables.running_datasource import is_ordered_by_seq
from penstock.sql.analysis.expression_facts import expression_facts
from penstock.sql.analysis.may_raise import may_raise
from penstock.sql.analysis.opaque_calls import parse_opaque_value, write_opaque
from penstock.sql.analysis.sure_constants import is_zero, without_sure_parts
from penstock.sql.spark_text import column_names, quote_identifier

_MERGED_BY = {"count": "sum", "sum": "sum", "min": "min", "max": "max"}
"""The simple aggregates by which the finished values of states merge."""
_FINISHED = re.compile(
    r"<state>|\(?COALESCE\(<state>, CAST\(0 AS (INT|BIGINT|FLOAT|DOUBLE|DECIMAL\(\d+, \d+\))\)\)\)?"
    r"|CAST\(<state> AS DECIMAL\(20, 0\)\)"
)
_MEAN_OF_ZEROS = re.compile(
    r"NAMED_STRUCT\('sum', CAST\((?:COALESCE\(CAST\(0 AS DOUBLE\), 0\)|0|CAST\(0 AS DOUBLE\)) AS DOUBLE\), "
    r"'count', (?:<rows>|CAST\(\(<rows> % CAST\(9223372036854775808 AS DECIMAL\(20, 0\)\)\) AS BIGINT\))\)"
)


def find_derived_columns(context: PlanningContext, transition: DataSourceTransition) -> Mapping[str, DerivedColumn]:
    """The added columns of a view target whose value in existing rows the views tell."""
    is_posted = transition.running.landing.stream in context.options.streams
    if not transition.running.views or is_posted or context.has_failed_feeder(transition.new.name):
        return {}  # rows that were posted have the DEFAULT of the new column
    has_proved_source = context.reads_proved_columns(transition.new.name)
    lacks_rows = context.lacks_rows_with_null(transition.new.name)
    placement = transition.placement
    added = _added_columns(transition, placement)
    if not added:
        return {}
    place = live_target(transition, placement)
    views = build_views_into(context, place, "beginning", context.history_binding)
    stored = columns_stored_as_live(transition.running, placement.columns, placement.match)
    origins = {column.name: origin.name for column, origin in placement.match.pairs if origin is not None}
    kept = {column.physical: origins[column.name] for column in placement.columns if column.name in stored}
    found = derive_columns(
        views,
        kept,
        {each.physical: each.name for each in place.columns if each.name in added},
        context.known_values(transition.new.name),
    )
    return {
        name: derived
        for name, derived in found.items()
        if not has_proved_source or (derived.is_constant and not lacks_rows)  # it tells nothing of rows that are gone
        if is_safe(transition, derived) and can_tell_rows(context, transition, name, derived)
        if survives_merging(transition, name, derived)
    }


def why_not_one_view(context: PlanningContext, before: DataSourceTransition) -> str | None:
    """Why the rows of a target are not those of one view in both versions, in tables of one engine; None if they are.
    What was posted to it is not looked at."""
    running, new = before.running, before.new
    if context.has_failed_feeder(new.name):
        return "its views do not compile"
    is_copied = any(copy.where is None for copy in running.copies)  # the others copied what the view gives
    if len(running.views) != 1 or len(context.compiled.feeders(new.name)) != 1 or is_copied:
        return "not one view alone gives its rows"
    if before.forward is not None:
        return "a FORWARD_QUERY tells its rows"
    if running.source.engine.name != new.engine.name:
        return "its engine changes"
    return None


def live_target(transition: DataSourceTransition, placement: ColumnPlacement) -> TargetTable:
    """The live table with the columns of the next version; a column that it cannot store gets a physical name that no
    table has."""
    bound = {column.name: column for column in placement.columns}
    columns = (bound.get(c.name) or BoundColumn(c.name, c.type, f"new {c.name}") for c in transition.new.columns)
    return TargetTable(transition.new, transition.running.table.id, tuple(columns))


def _added_columns(transition: DataSourceTransition, placement: ColumnPlacement) -> frozenset[str]:
    """The columns that live does not have and of which no forward query says anything."""
    said = {each.name for each in transition.forward.columns} if transition.forward is not None else set()
    return frozenset(column.name for column, origin in placement.match.pairs if origin is None) - said


def seq_orders_rows(context: PlanningContext, transition: DataSourceTransition) -> bool:
    """Whether `_seq` tells the existing rows of a table from later ones, in both versions."""
    return is_ordered_by_seq(context.live, transition.running) and not can_ingest(transition.new)


def is_safe(transition: DataSourceTransition, derived: DerivedColumn) -> bool:
    """Whether a value cannot fail, and is the same whenever it is computed."""
    if not expression_facts(derived.sql).is_repeatable:
        return False
    if not may_raise(derived.sql):
        return True
    value = parse_opaque_value(derived.sql)
    if value is None:
        return False
    types = {column.name: column.type for column in transition.running.source.columns}
    tree = exp.select(without_sure_parts(value, types))
    for same in list(tree.find_all(exp.NullSafeEQ)):
        same.replace(exp.EQ(this=same.this, expression=same.expression))  # it compares the same two values
    for cast in reversed(list(tree.find_all(exp.Cast))):
        if _counts_truth(cast):
            cast.replace(cast.this)
    return not may_raise(write_opaque(tree).removeprefix("SELECT "))


def _counts_truth(cast: exp.Cast) -> bool:
    """Whether it makes 0 or 1 of a condition."""
    value = cast.this.this if isinstance(cast.this, exp.Paren) else cast.this
    is_condition = isinstance(value, (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.And, exp.Or, exp.Not, exp.Is, exp.Exists))
    return is_condition and cast.to.this in (exp.DType.INT, exp.DType.BIGINT)


def can_tell_rows(
    context: PlanningContext, transition: DataSourceTransition, name: str, derived: DerivedColumn
) -> bool:
    """Whether existing rows can be told from later ones: by `_seq`, or by NULL where that is no value of the column."""
    column = transition.new.column(name)
    is_marked = column is not None and (not is_nullable(column.type) or expression_facts(derived.sql).is_null)
    return is_marked or seq_orders_rows(context, transition)


def survives_merging(transition: DataSourceTransition, name: str, derived: DerivedColumn) -> bool:
    """Whether the value is that of each row also where the engine makes one row of several: a key must be a function of
    the live key, and what is summed a key."""
    old, new = transition.running.source, transition.new
    if old.engine.name != new.engine.name:
        return False
    match new.engine.name:
        case "MergeTree":
            return True
        case "ReplacingMergeTree":
            return name not in key_columns(new) or reads_only_keys(derived, old)
        case "AggregatingMergeTree":
            is_state = _is_state_of(derived, transition, name) or is_finished_state(derived, transition, name)
            return is_state or _is_mean_of_zeros(derived, transition, name) or reads_only_keys(derived, old)
        case "SummingMergeTree":
            value = parse_opaque_value(derived.sql)
            is_nothing = value is not None and is_zero(value)
            return reads_only_keys(derived, old) if name in key_columns(new) else is_nothing
        case _:
            return False


def _is_state_of(derived: DerivedColumn, transition: DataSourceTransition, name: str) -> bool:
    """Whether it is another column's state, of the same type: both are merged in the same way."""
    column, other = transition.new.column(name), transition.running.source.column(derived.sql.strip("`"))
    return (
        column is not None
        and other is not None
        and column.type == other.type
        and isinstance(column.type, AggregateFunction)
    )


def _is_mean_of_zeros(derived: DerivedColumn, transition: DataSourceTransition, name: str) -> bool:
    """Whether it is the state of the mean of as many zeros as there are rows: their number and the state are both
    summed when rows are merged."""
    column, names = transition.new.column(name), column_names(derived.sql)
    live = transition.running.source.column(next(iter(names))) if len(names) == 1 else None
    if column is None or live is None or not isinstance(column.type, AggregateFunction) or column.type.parameters:
        return False
    match live.type:
        case AggregateFunction("count", _, ()) | SimpleAggregateFunction("sum", Int(64)):
            rows = derived.sql.replace(quote_identifier(live.name), "<rows>")
            return column.type.function == "avg" and _MEAN_OF_ZEROS.fullmatch(rows) is not None
        case _:
            return False


def is_finished_state(derived: DerivedColumn, transition: DataSourceTransition, name: str) -> bool:
    """Whether a simple aggregate has the value of a stored state, so that the values of rows merge to that of their
    merged states. The state of a least or largest value is never NULL if its argument is not, as a group has a row."""
    column, names = transition.new.column(name), column_names(derived.sql)
    live = transition.running.source.column(next(iter(names))) if len(names) == 1 else None
    if column is None or live is None:
        return False
    match column.type, live.type:
        case SimpleAggregateFunction(function, of), AggregateFunction(state, arguments, parameters):
            is_known = _MERGED_BY.get(state) == function and not parameters
            return is_known and not any(map(is_nullable, (of, *arguments))) and _is_finished(derived.sql, live.name)
        case _:
            return False


def _is_finished(sql: str, state: str) -> bool:
    """Whether it is the value of a state, or that with a zero in the place of NULL, or as a wider whole number."""
    return _FINISHED.fullmatch(sql.replace(quote_identifier(state), "<state>")) is not None


def reads_only_keys(derived: DerivedColumn, source: DataSource) -> bool:
    return column_names(derived.sql) <= key_columns(source)
