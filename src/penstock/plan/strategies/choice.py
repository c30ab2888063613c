"""Which strategy an existing data source gets, why, and why the other strategies do not fit.

In: `StrategyInputs`: the column placement, the views that feed the table, what each way would read. Out:
`StrategyChoice`. Invariant: every correct way ends in the same rows as a project built from scratch (or as its
forward query says); the cheapest of them is taken, unless the user requests another correct one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from penstock.model.manifest import Binding, BoundColumn, Source, View
from penstock.plan.diff.changes import Change, MetadataChanged, change_text, join_words
from penstock.plan.diff.query_equality import is_same_query
from penstock.plan.equivalence.view_equivalence import ViewPairs
from penstock.plan.plan import NOTHING, Size, Strategy
from penstock.plan.strategies.context import Context
from penstock.plan.strategies.costs import Alternative, Cost
from penstock.plan.tables.column_placement import ColumnPlacement, DataSourceTransition


@dataclass(frozen=True, slots=True)
class StrategyInputs:
    """What is decided about. `again` pairs the views that give all of the table's history as live's
    do, and those that add to it (None: they do not); `price` is what computing them all from the
    beginning reads, `added` what computing those that add to it does (None: not known);
    `causes` say why its rows cannot stay; `moved` are its sources that become others; `ordered`:
    whether `_seq` tells the rows there are from later ones; `wanted` is what the user asks for."""

    way: DataSourceTransition
    fit: ColumnPlacement
    feeding: ViewPairs
    again: ViewPairs | None
    changes: tuple[Change, ...]
    price: Cost
    added: Cost
    causes: tuple[str, ...]
    moved: tuple[str, ...]
    ordered: bool
    wanted: str | None

    @property
    def fed(self) -> bool:
        """Whether views write, or wrote, the table."""
        return bool(self.feeding.kept or self.feeding.new or self.feeding.ended)

    @property
    def forward_compiles(self) -> bool:
        return self.way.forward is not None and not self.way.forward.problems

    @property
    def size(self) -> Size | None:
        return self.way.run.size

    @property
    def cause(self) -> str:
        return join_words(self.causes) if self.causes else join_words(each.reason for each in self.fit.blocked)


@dataclass(frozen=True, slots=True)
class StrategyChoice:
    """`table`: whether rows stay in live's table, in a clone of it, or come into a new one. `refused`:
    only a forward query could do it, and there is none."""

    strategy: Strategy
    reason: str
    table: Literal["live", "clone", "new"]
    moves: Cost = NOTHING
    alternatives: tuple[Alternative, ...] = ()
    refused: bool = False


def choose_strategy(case: StrategyInputs) -> StrategyChoice:
    """The strategy for a data source that live has: the cheapest right one, unless the user asks for
    another right one."""
    right, wrong = _options_for_view_target(case) if case.fed else _options_for_ingested(case)
    wanted = [choice for choice in right if choice.strategy == case.wanted]
    best = (wanted or right)[0]
    if best.strategy == "none" or (wanted and right[0].strategy == "none"):
        return right[0]
    others = [_dearer(choice) for choice in right if choice.strategy != best.strategy]
    return replace(best, alternatives=(*wrong, *others))


def _dearer(choice: StrategyChoice) -> Alternative:
    return Alternative(choice.strategy, choice.moves)


_Options = tuple[list[StrategyChoice], list[Alternative]]
"""The correct strategies, from the cheapest on (each reads a part of what the next one reads), and wrong ones."""


def _options_for_ingested(case: StrategyInputs) -> _Options:
    """A data source that only takes ingested rows."""
    if not case.fit.blocked and not case.fit.bridged:
        return [_choice_to_stay(case)], [
            Alternative("forward", case.size, "not needed: the table's metadata is enough")
        ]
    computed = [(each.column, each.reason) for each in case.fit.bridged]
    computed += [(each.column, each.reason) for each in case.fit.blocked]
    reason = join_words(why for _, why in computed)
    if not case.forward_compiles:
        return [StrategyChoice("forward", f"{reason}: needs a FORWARD_QUERY", "new", case.size, refused=True)], []
    names = join_words(f"`{column.name}`" for column, _ in computed)
    in_place = Alternative("in_place", NOTHING, f"the values of {names} have to be computed from the rows there are")
    forward = StrategyChoice("forward", f"{reason} by FORWARD_QUERY", "new", case.size)
    if case.fit.blocked:
        said = join_words(each.reason for each in case.fit.blocked)
        return [forward], [in_place, Alternative("bridge", NOTHING, f"cannot be had when rows are read: {said}")]
    bridge = StrategyChoice("bridge", f"{reason} by FORWARD_QUERY, whenever rows from before are read", "live")
    return [bridge, forward], [in_place]


def _options_for_view_target(case: StrategyInputs) -> _Options:
    """The target of materialized views."""
    fits = not case.fit.blocked and not case.fit.bridged
    recompute = StrategyChoice("recompute", case.cause or "asked for", "new", case.price)
    if case.feeding.unchanged and fits:
        return [_choice_to_stay(case), recompute], []
    in_place = Alternative("in_place", NOTHING, case.cause)
    if case.again is not None and fits and not case.again.new:
        return [StrategyChoice("reuse", _reuse_reason_of(case), "clone"), recompute], [in_place]
    if case.again is not None and fits:
        added = StrategyChoice("recompute", f"{case.cause}; the rows of the other views stay", "clone", case.added)
        return [added, recompute], [in_place]
    obstacle = _forward_obstacle(case)
    if obstacle is not None:
        return [recompute], [in_place, Alternative("forward", case.size, obstacle)]
    if case.wanted == "recompute":
        return [recompute], [in_place, _dearer(_forward_choices(case)[0])]
    kept = Alternative("recompute", case.price, "FORWARD_QUERY keeps the rows there are")
    return _forward_choices(case), [in_place, kept]


def _forward_choices(case: StrategyInputs) -> list[StrategyChoice]:
    """A target whose forward query keeps the rows there are."""
    copy = StrategyChoice("forward", f"{case.cause}; history by FORWARD_QUERY", "new", case.size)
    if case.fit.blocked or (any(map(_reads_before, case.fit.columns)) and not case.ordered):
        return [copy]
    how = "computed whenever it is read" if case.fit.bridged else "no row is copied"
    strategy: Strategy = "bridge" if case.fit.bridged else "forward"
    return [StrategyChoice(strategy, f"{case.cause}; history by FORWARD_QUERY, {how}", "clone"), copy]


def _reads_before(column: BoundColumn) -> bool:
    return column.before is not None and column.before.cut is None


def _choice_to_stay(case: StrategyInputs) -> StrategyChoice:
    """The table of live will do."""
    changes = [change for change in case.changes if not isinstance(change, MetadataChanged)]
    if changes:
        return StrategyChoice("in_place", ", ".join(change_text(change) for change in changes), "live")
    what = join_words(change_text(change) for change in case.changes)
    if case.moved:
        return StrategyChoice("reuse", _reuse_reason_of(case), "live")
    return StrategyChoice("none", f"{what}: no data moves" if what else "unchanged", "live")


def _reuse_reason_of(case: StrategyInputs) -> str:
    if not case.moved:
        return "its views give the rows there are again: they are kept"
    sources = join_words(f"`{name}`" for name in case.moved)
    return f"its views read nothing of what changes in {sources}"


def _forward_obstacle(case: StrategyInputs) -> str | None:
    """Why a target's history cannot come by its forward query; None if it can."""
    name = case.way.new.name
    if case.way.forward is None:
        if case.way.new.forward_query is not None:
            return f"the FORWARD_QUERY of `{name}` is the one of an earlier step"
        return f"`{name}` has no FORWARD_QUERY"
    return "its FORWARD_QUERY does not compile" if case.way.forward.problems else None


def find_causes(context: Context, name: str, feeding: ViewPairs) -> tuple[str, ...]:
    """What makes the views into a data source others than live's."""
    found = [cause for view, live in feeding.replaced for cause in _causes_in_view(context, name, view, live)]
    return (*found, *(f"`{view.pipe}` feeds it no longer" for view in feeding.removed))


def _causes_in_view(context: Context, name: str, view: View, live: View | None) -> list[str]:
    if live is None:
        return [f"`{view.pipe}` feeds it now"]
    was = {source.binding.name: source.binding for source in (live.trigger, *live.others)}
    sources = (view.trigger, *view.others)
    found = [
        f"its source `{source.binding.name}` gets a new table" for source in sources if _has_new_table(source, was)
    ]
    if _query_changed(context, view):
        found.append(f"the query of `{view.pipe}` changed")
    if found:
        return found
    columns = [(source.binding.name, column) for source in sources for column in _changed_columns(source, was)]
    if columns:
        return [f"column `{column}` of its source `{name}` changed" for name, column in columns]
    own = [change_text(change) for change in context.changes_of(name) if not isinstance(change, MetadataChanged)]
    return own or [f"what the query of `{view.pipe}` reads changed"]


def _has_new_table(source: Source, was: Mapping[str, Binding]) -> bool:
    before = was.get(source.binding.name)
    return before is not None and before.table != source.binding.table


def _query_changed(context: Context, view: View) -> bool:
    return not is_same_query(context.live.project, context.project, view.pipe)


def _changed_columns(source: Source, was: Mapping[str, Binding]) -> list[str]:
    before = was.get(source.binding.name)
    known = before.columns if before is not None else ()
    return [column.name for column in source.binding.columns if column not in known]
