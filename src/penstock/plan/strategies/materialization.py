"""Which bridged columns are written into the files before the promotion, and which stay computed until later.

In: the planned data sources and a budget in bytes. Out: a `Materialization` for each that has such columns, and steps.
Invariant: tables are taken whole, the smallest first, so that as many as possible cost nothing when the version goes
live; a table of unknown size is never rewritten while somebody waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from penstock.model.manifest import Binding
from penstock.plan.plan import Materialization, Size
from penstock.plan.steps import MaterializeColumns
from penstock.plan.strategies.planning_context import PlannedDataSource
from penstock.sql.analysis.expression_facts import expression_facts


def computed_columns(binding: Binding) -> tuple[str, ...]:
    """The columns that are computed when older rows are read, without those that are only a constant or another
    column: these cost next to nothing."""
    before = [(column.name, column.before) for column in binding.columns if column.before is not None]
    return tuple(
        name for name, each in before if not each.is_settled and not expression_facts(each.expression).is_cheap
    )


def plan_materialization(outcomes: Iterable[PlannedDataSource], budget: int) -> dict[str, Materialization]:
    """By data source, when its computed columns are materialized. Those with which nothing is done are left out: live
    materializes them already."""
    found = [(each, computed_columns(each.binding)) for each in outcomes if each.resource.strategy != "none"]
    left, planned = budget, {}
    for outcome, columns in sorted(found, key=lambda each: _order(each[0])):
        if columns:
            size = _held(outcome)
            when, reason = _decide(size, left, budget)
            planned[outcome.binding.name] = Materialization(columns, size, when, reason)
            left -= size.bytes if size is not None and when else 0
    return planned


def materialization_steps(
    outcomes: Iterable[PlannedDataSource], planned: Mapping[str, Materialization]
) -> Iterator[MaterializeColumns]:
    """The steps for those that are materialized before the promotion."""
    for outcome in outcomes:
        bound = outcome.binding
        when = planned.get(bound.name)
        if when is not None and when.before_promotion:
            yield MaterializeColumns(bound.table, bound.name, when.columns)


def _held(outcome: PlannedDataSource) -> Size | None:
    """What the table holds when the step begins."""
    return outcome.costs.holds if isinstance(outcome.costs.holds, Size) else None


def _order(outcome: PlannedDataSource) -> tuple[int, str]:
    size = _held(outcome)
    return size.bytes if size is not None else 0, outcome.binding.name


def _decide(size: Size | None, left: int, budget: int) -> tuple[bool | None, str]:
    """Whether a table is rewritten before the promotion (None: that is not known), and why."""
    if budget == 0:
        return False, "[deploy] materialize_bytes is 0"
    if size is None:
        return None, f"before it is ready if its files have at most {budget:,} bytes, which is not known here"
    if size.bytes <= left:
        return True, "within [deploy] materialize_bytes"
    others = "" if left == budget else f", of which {left:,} are left beside smaller tables"
    return False, f"{size.bytes:,} bytes of files are more than the {budget:,} of [deploy] materialize_bytes{others}"
