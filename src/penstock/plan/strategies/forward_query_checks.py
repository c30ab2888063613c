"""Checks of a forward query, and of the DEFAULTs of new columns, against the existing rows: where they would fail, and
where a forward query gives a default.

In: the transition of a data source to the next version, and its strategy. Out: `CheckRows`, to be run where the data
is. Invariant: a column that is copied unchanged is not checked; of every other column each conversion is checked or,
where that is not possible, the whole column is computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.model.datasource import Column, Text
from penstock.plan.diff.column_matching import ColumnMatch
from penstock.plan.diff.forward_columns import keeps_values
from penstock.plan.diff.ttl_and_final import begins_empty
from penstock.plan.steps import Check, CheckRows
from penstock.plan.strategies.choice import StrategyChoice
from penstock.plan.strategies.deletion_protection import is_protected
from penstock.plan.tables.column_placement import ColumnPlacement, DataSourceTransition, default_of_live_rows
from penstock.sql.analysis.expression_facts import expression_facts
from penstock.sql.analysis.sure_constants import is_sure_sql
from penstock.sql.compile import compile_expression
from penstock.sql.outputs.conversion_probes import forward_probes
from penstock.sql.spark_text import quote_identifier


def build_row_checks(
    transition: DataSourceTransition, placement: ColumnPlacement, choice: StrategyChoice
) -> CheckRows | None:
    """What the forward query of a step and the DEFAULTs of new columns may do to existing rows; None where they change
    no value."""
    if begins_empty(transition.running.source, transition.new):
        return None
    forwards = transition.forward is not None and choice.strategy in ("bridge", "forward") and not choice.refused
    checks = (
        tuple(_build_checks(transition)) if forwards and transition.forward and not transition.forward.problems else ()
    )
    if choice.table != "new":
        checks += tuple(_build_default_checks(transition, placement))
    if is_protected(transition.running.source, transition.new):
        checks = tuple(replace(check, kind="fails") if check.kind == "default" else check for check in checks)
    return CheckRows(transition.new.name, transition.running.binding, checks) if checks else None


def _build_default_checks(transition: DataSourceTransition, placement: ColumnPlacement) -> Iterator[Check]:
    """Checks of new columns whose DEFAULT is computed when existing rows are read."""
    bound = {column.name: column.before for column in placement.columns}
    for column, origin in placement.match.pairs:
        given = transition.forward.column(column.name) if transition.forward else None
        before = bound.get(column.name)
        if origin is not None or column.default is None or given is not None or before is None:
            continue
        if expression_facts(before.expression).may_raise and not is_sure_sql(before.expression):
            yield from _checks_of_default(transition, placement.match, column, column.default)


def _checks_of_default(
    transition: DataSourceTransition, match: ColumnMatch, column: Column, default: Text
) -> Iterator[Check]:
    """The conversions of a DEFAULT that may fail, looked at as in a forward query; where it reads other columns than
    those of the live version, it is computed."""
    kept = {each.name for each, origin in match.pairs if origin is not None and origin.type == each.type}
    kept &= {each.name for each, origin in match.pairs if origin is not None and origin.name == each.name}
    value = default_of_live_rows(transition, match, column)
    if transition.forward is None and set(compile_expression(default, transition.new.columns).uses) <= kept:
        query = replace(default, text=f"{default.text}\nAS {quote_identifier(column.name)}")
        probed = forward_probes(query, transition.running.source.columns, [column])
        for probe in probed.probes:
            if probe.kind == "fails":
                yield Check(probe.column, probe.kind, probe.conversion, probe.value, probe.bad)
        if not probed.unsure:
            return
    if value is not None:
        yield Check(column.name, "unsure", "", value)


def blocking_checks(rows: CheckRows | None) -> Iterator[CheckRows]:
    """The checks that stop the deployment: failing conversions, not defaults."""
    fails = tuple(check for check in rows.checks if check.kind != "default") if rows is not None else ()
    if rows is not None and fails:
        yield replace(rows, checks=fails)


def _build_checks(transition: DataSourceTransition) -> Iterator[Check]:
    assert transition.forward is not None, "asked for steps with a forward query"
    assert transition.new.forward_query is not None, "a forward has the query it was read from"
    computed = [column for column in transition.forward.columns if not _keeps_column_values(transition, column.name)]
    if not computed:
        return
    probed = forward_probes(transition.new.forward_query, transition.running.source.columns, transition.new.columns)
    names = {column.name for column in computed}
    for probe in probed.probes:
        if probe.column in names:
            yield Check(probe.column, probe.kind, probe.conversion, probe.value, probe.bad)
    for column in computed:
        if column.name in probed.unsure and column.facts.may_raise:
            yield Check(column.name, "unsure", "", column.sql)


def _keeps_column_values(transition: DataSourceTransition, name: str) -> bool:
    forward_column = transition.forward.column(name) if transition.forward else None
    origin = transition.running.source.column(forward_column.renames or name) if forward_column else None
    column = transition.new.column(name)
    return bool(forward_column and origin and column and keeps_values(forward_column, origin, column.type))
