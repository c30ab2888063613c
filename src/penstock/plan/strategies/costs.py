"""What the strategies of a plan read or copy, counted after all decisions are made.

In: the planned data sources, with a `Cost` for each strategy. Out: a `ResourcePlan` for each, with sizes. Invariant: no
decision depends on a size: the strategies of a data source are listed from the cheapest on, and each reads a part of
what the next one reads. So column sizes, which cost a look at data files, are asked for once, and only if data moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias, Union

from penstock.model.manifest import Binding, View
from penstock.model.quick_dataclass import dataclass
from penstock.plan.plan import NOTHING, RejectedStrategy, ResourcePlan, Size, Strategy
from penstock.sql.analysis.expression_facts import expression_facts


@dataclass(frozen=True, slots=True)
class ViewsFromBeginning:
    """The cost of computing views from the beginning: the columns that they use of all rows of their sources."""

    views: tuple[View, ...]


Cost: TypeAlias = Union[Size, ViewsFromBeginning, None]
"""What a strategy moves; None where it is not known."""


@dataclass(frozen=True, slots=True)
class StrategyAlternative:
    """A strategy that was not chosen."""

    strategy: Strategy
    cost: Cost
    reason: str | None = None
    """Why it is wrong; None: it is correct, but not cheaper."""


@dataclass(frozen=True, slots=True)
class PlannedCosts:
    """The costs of one planned data source."""

    moves: Cost = NOTHING
    """What it moves."""
    holds: Cost = None
    """The most that its table holds afterwards."""
    alternatives: tuple[StrategyAlternative, ...] = ()
    """What the other strategies would move."""


class CostCounter:
    """Sizes for the costs of a plan. `costs` are by data source, each after those that it reads; `clones` name the
    table that each clone begins as; `widths` are the stored bytes of physical columns, by table, where known."""

    def __init__(
        self,
        costs: Mapping[str, PlannedCosts],
        clones: Mapping[str, str],
        widths: Mapping[str, Mapping[str, int]],
    ):
        self._clones = clones
        self._widths = widths
        self._held: dict[str, Size | None] = {}
        for name, planned in costs.items():
            self._held[name] = self.size(planned.holds)

    def size(self, cost: Cost) -> Size | None:
        """How much a cost moves; None where the size of a source is not known."""
        return self._read_by(cost.views) if isinstance(cost, ViewsFromBeginning) else cost

    def complete(self, resource: ResourcePlan, costs: PlannedCosts) -> ResourcePlan:
        """The plan of a data source with the sizes of its strategy and of the rejected ones."""
        rejected = tuple(map(self._reject, costs.alternatives))
        return replace(resource, moves=self.size(costs.moves), rejected=rejected)

    def _reject(self, alternative: StrategyAlternative) -> RejectedStrategy:
        moves = self.size(alternative.cost)
        dearer = "also correct" if moves == NOTHING else "also correct, but moves more"
        return RejectedStrategy(alternative.strategy, moves, alternative.reason or dearer)

    def _read_by(self, views: Iterable[View]) -> Size | None:
        total = NOTHING
        for view in views:
            bound = view.trigger.binding
            size = self._held[bound.name]
            if size is None:
                return None
            total += replace(size, bytes=self._bytes_read(bound, size))
        return total

    def _bytes_read(self, bound: Binding, size: Size) -> int:
        widths = self._widths.get(self._clones.get(bound.table, bound.table))
        if widths is None:
            return size.bytes
        used = {column.physical for column in bound.columns}
        pending = [column.before for column in bound.columns if column.before and not column.before.is_settled]
        used |= {name for before in pending for name in expression_facts(before.expression).column_names}
        return sum(widths.get(name, 0) for name in used)
