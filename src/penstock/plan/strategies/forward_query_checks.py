"""Checks of a forward query against the existing rows: where it would fail, and where it gives a default.

In: the transition of a data source to the next version, and its strategy. Out: `CheckRows`, to be run where the data
is. Invariant: a column that is copied unchanged is not checked; of every other column each conversion is checked or,
where that is not possible, the whole column is computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.plan.diff.forward_columns import keeps_values
from penstock.plan.steps import Check, CheckRows
from penstock.plan.strategies.choice import StrategyChoice
from penstock.plan.tables.column_placement import DataSourceTransition
from penstock.sql.outputs.conversion_probes import forward_probes


def build_row_checks(transition: DataSourceTransition, choice: StrategyChoice) -> CheckRows | None:
    """What the forward query of a step may do to existing rows; None where it is not used or changes no value."""
    used = (
        transition.forward is not None and not transition.forward.problems and choice.strategy in ("bridge", "forward")
    )
    if not used or transition.new.forward_query is None:
        return None
    checks = tuple(_build_checks(transition))
    return CheckRows(transition.new.name, transition.running.binding, checks) if checks else None


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
