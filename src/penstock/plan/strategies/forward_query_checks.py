"""Checks of a forward query against the existing rows: where it would fail, and where it takes a default.

In: a data source on its way and its strategy. Out: `CheckRows`, to be run where the data is. Invariant: a column that
is copied unchanged is not checked; of every other column each conversion is checked or, where that is not possible,
the whole column is computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.plan.diff.forward_query import keeps_values
from penstock.plan.steps import Check, CheckRows
from penstock.plan.strategies.choice import StrategyChoice
from penstock.plan.tables.column_placement import DataSourceTransition
from penstock.sql.outputs.conversion_probes import forward_probes


def build_row_checks(way: DataSourceTransition, choice: StrategyChoice) -> CheckRows | None:
    """All that the forward query of a step may do; None where it is not used or does nothing."""
    used = way.forward is not None and not way.forward.problems and choice.strategy in ("bridge", "forward")
    if not used or way.new.forward_query is None:
        return None
    checks = tuple(_build_checks(way))
    return CheckRows(way.new.name, way.run.binding, checks) if checks else None


def blocking_checks(rows: CheckRows | None) -> Iterator[CheckRows]:
    """The step that fails where a row cannot be had; a default is no failure."""
    fails = tuple(check for check in rows.checks if check.kind != "default") if rows is not None else ()
    if rows is not None and fails:
        yield replace(rows, checks=fails)


def _build_checks(way: DataSourceTransition) -> Iterator[Check]:
    assert way.forward is not None, "asked for steps with a forward query"
    assert way.new.forward_query is not None, "a forward has the query it was read from"
    computed = [column for column in way.forward.columns if not _keeps_column_values(way, column.name)]
    if not computed:
        return
    probed = forward_probes(way.new.forward_query, way.run.source.columns, way.new.columns)
    names = {column.name for column in computed}
    for probe in probed.probes:
        if probe.column in names:
            yield Check(probe.column, probe.kind, probe.conversion, probe.value, probe.bad)
    for column in computed:
        if column.name in probed.unsure and column.facts.may_raise:
            yield Check(column.name, "unsure", "", column.sql)


def _keeps_column_values(way: DataSourceTransition, name: str) -> bool:
    said = way.forward.column(name) if way.forward else None
    origin = way.run.source.column(said.renames or name) if said else None
    column = way.new.column(name)
    return bool(said and origin and column and keeps_values(said, origin, column.type))
