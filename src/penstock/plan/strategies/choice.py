"""Which strategy an existing data source gets, why, and why the other strategies do not fit.

In: `StrategyInputs`: the column placement, the views that feed the table, what each way would read. Out:
`StrategyChoice`. Invariant: every correct way ends in the same rows as a project built from scratch (or as its
forward query says); the cheapest of them is taken, unless the user requests another correct one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from penstock.model.manifest import Binding, BoundColumn, Source, View
from penstock.model.quick_dataclass import dataclass
from penstock.plan.diff.changes import Change, MetadataChanged, ViewChanged, change_text, join_words
from penstock.plan.diff.ttl_and_final import begins_empty
from penstock.plan.equivalence.added_conditions import FilteredRows
from penstock.plan.equivalence.composed_views import ComposedHistory
from penstock.plan.equivalence.stored_functions import RolledUp
from penstock.plan.equivalence.view_equivalence import ViewPairs
from penstock.plan.plan import NOTHING, Size, Strategy
from penstock.plan.strategies.costs import Cost, StrategyAlternative
from penstock.plan.strategies.planning_context import PlanningContext
from penstock.plan.tables.column_placement import ColumnPlacement, DataSourceTransition
from penstock.plan.tables.other_table import OtherTable
from penstock.plan.tables.stored_claims import Proof, proofs_text
from penstock.sql.spark_text import column_names


@dataclass(frozen=True, slots=True)
class StrategyInputs:
    """Everything that the choice of a strategy depends on."""

    transition: DataSourceTransition
    placement: ColumnPlacement
    feeding: ViewPairs
    same_history: ViewPairs | None
    """The views, paired, if together they compute all rows of the live table; its `new` views add rows to the table.
    None: they do not compute all rows."""
    changes: tuple[Change, ...]
    recompute_cost: Cost
    """The cost of computing all views from the beginning."""
    added_cost: Cost
    """The cost of computing only the `new` views of `same_history`."""
    causes: tuple[str, ...]
    """Why the existing rows cannot stay, as short texts."""
    moved_sources: tuple[str, ...]
    """Sources of the views that get another table."""
    ordered_by_seq: bool
    """Whether `_seq` tells existing rows from later ones."""
    requested: str | None
    """The strategy that the user requests."""
    rebuilt: bool = False
    """Whether it is to be computed anew, whatever has changed."""
    edited: bool = False
    """Whether the query of a view into it changed."""
    merged: str = ""
    """How live has merged rows that would stay, and that the next version needs apart; empty if it has not."""
    gone: tuple[str, ...] = ()
    """Sources of the views that no longer have every row of theirs: computed anew, rows would be lost."""
    composed: ComposedHistory | str | None = None
    """Its changed view as one that gives the stored rows through other views, or why it is not known to be; None where
    that is not asked."""
    other: OtherTable | str | None = None
    """The live table of another name that has its rows, or why there is none; None where that is not asked."""
    rolled: RolledUp | str | None = None
    """The stored rows as those of its changed view, or why they are not known to be; None where that is not asked."""
    filtered: FilteredRows | str | None = None
    """The stored rows that its changed view gives, or why they are not known; None where that is not asked."""

    never_null: tuple[Proof, ...] = ()
    """What the pairs of `same_history` need to be known of what the views read."""

    @property
    def has_views(self) -> bool:
        """Whether views write the table, or wrote it in the live version."""
        return bool(self.feeding.kept or self.feeding.new or self.feeding.ended)

    @property
    def proofs(self) -> tuple[Proof, ...]:
        """What Iceberg's statistics prove of stored values, so that these can stay."""
        rolled = self.rolled.proofs if isinstance(self.rolled, RolledUp) else ()
        return (*self.placement.proofs, *rolled, *self.never_null)

    @property
    def forward_compiles(self) -> bool:
        return self.transition.forward is not None and not self.transition.forward.problems

    @property
    def size(self) -> Size | None:
        return self.transition.running.size

    @property
    def cause(self) -> str:
        return join_words(self.causes) if self.causes else join_words(each.reason for each in self.placement.blocked)


@dataclass(frozen=True, slots=True)
class StrategyChoice:
    """The strategy of a data source, with the alternatives."""

    strategy: Strategy
    reason: str
    table: Literal["live", "clone", "new", "other"]
    """Whether the existing rows stay in the live table, are in a clone of it, go into a new table, or are those of a
    live table of another name, in a clone of that."""
    moves: Cost = NOTHING
    alternatives: tuple[StrategyAlternative, ...] = ()
    views_only: tuple[str, ...] = ()
    """Tables of live for which it holds only while no row was posted to them."""
    refused: bool = False
    """Only a forward query could keep the rows, and there is none."""

    @property
    def replaces_rows(self) -> bool:
        """Whether other rows may take the place of those that live has."""
        return self.strategy == "recompute" or self.table == "other"


def choose_strategy(inputs: StrategyInputs) -> StrategyChoice:
    """The strategy of an existing data source: the cheapest correct one, unless the user requests another correct
    one."""
    right, wrong = _find_options(inputs)
    requested = [choice for choice in right if choice.strategy == inputs.requested]
    best = (requested or right)[0]
    if best.strategy == "none" or (requested and right[0].strategy == "none"):
        return right[0]
    others = [_other_alternative(inputs, choice) for choice in right if choice.strategy != best.strategy]
    return replace(best, alternatives=(*wrong, *others))


def _other_alternative(inputs: StrategyInputs, choice: StrategyChoice) -> StrategyAlternative:
    """A strategy that is not taken: it is correct, unless rows that it reads are gone."""
    if choice.strategy != "recompute" or not inputs.gone or not choice.replaces_rows:
        return StrategyAlternative(choice.strategy, choice.moves)
    names = join_words(f"`{each}`" for each in inputs.gone)
    verb = "does" if len(inputs.gone) == 1 else "do"
    return StrategyAlternative(choice.strategy, choice.moves, f"{names} {verb} not have all rows that it is made of")


_Options = tuple[list[StrategyChoice], list[StrategyAlternative]]
"""The correct strategies, from the cheapest on (each reads a part of what the next one reads), and wrong ones."""


def _find_options(inputs: StrategyInputs) -> _Options:
    if begins_empty(inputs.transition.running.source, inputs.transition.new):
        return _options_after_null(inputs)
    return _options_for_view_target(inputs) if inputs.has_views else _options_for_ingested(inputs)


def _options_after_null(inputs: StrategyInputs) -> _Options:
    """The strategy of a data source that was of engine Null: a new table, as the live one may have some rows of
    before on disk. Its flows go on where those of the live table are."""
    changes = (change for change in inputs.changes if not isinstance(change, MetadataChanged))
    reason = f"{', '.join(map(change_text, changes))}: begins without rows"
    in_place = StrategyAlternative("in_place", NOTHING, "rows that engine Null has not kept would be seen")
    return [StrategyChoice("forward", reason, "new")], [in_place]


def _options_for_ingested(inputs: StrategyInputs) -> _Options:
    """The strategies of a data source that only has ingested rows."""
    if not inputs.placement.blocked and not inputs.placement.bridged:
        return [choose_to_stay(inputs)], [
            StrategyAlternative("forward", inputs.size, "not needed: a change of the table's metadata is enough")
        ]
    computed = [(each.column, each.reason) for each in inputs.placement.bridged]
    computed += [(each.column, each.reason) for each in inputs.placement.blocked]
    reason = join_words(why for _, why in computed)
    if not inputs.forward_compiles:
        return [StrategyChoice("forward", f"{reason}: needs a FORWARD_QUERY", "new", inputs.size, refused=True)], []
    names = join_words(f"`{column.name}`" for column, _ in computed)
    in_place = StrategyAlternative(
        "in_place", NOTHING, f"the values of {names} have to be computed from the existing rows"
    )
    forward = StrategyChoice("forward", f"{reason} by FORWARD_QUERY", "new", inputs.size)
    if inputs.placement.blocked:
        reasons = join_words(each.reason for each in inputs.placement.blocked)
        return [forward], [
            in_place,
            StrategyAlternative("bridge", NOTHING, f"cannot be computed when rows are read: {reasons}"),
        ]
    bridge = StrategyChoice("bridge", f"{reason} by FORWARD_QUERY, evaluated when existing rows are read", "live")
    return [bridge, forward], [in_place]


def _options_for_view_target(inputs: StrategyInputs) -> _Options:
    """The strategies of the target of materialized views."""
    fits = not inputs.placement.blocked and not inputs.placement.bridged
    recompute = StrategyChoice("recompute", inputs.cause or "requested", "new", inputs.recompute_cost)
    if inputs.rebuilt or inputs.merged:
        rebuilt = replace(recompute, reason="to be rebuilt from the rows that its sources have now")
        merged = StrategyAlternative("in_place", NOTHING, inputs.merged)
        return ([rebuilt], []) if inputs.rebuilt else ([recompute], [merged])
    if inputs.feeding.unchanged and fits:
        return [choose_to_stay(inputs), recompute], []
    in_place = StrategyAlternative("in_place", NOTHING, inputs.cause)
    if inputs.same_history is not None and fits and not inputs.same_history.new:
        tables = inputs.composed.tables if isinstance(inputs.composed, ComposedHistory) else ()
        reason = _with_proofs(_reuse_reason_of(inputs), inputs)
        return [StrategyChoice("reuse", reason, "clone", views_only=tables), recompute], [in_place]
    if inputs.same_history is not None and fits:
        added = StrategyChoice(
            "recompute", f"{inputs.cause}; the rows of the other views stay", "clone", inputs.added_cost
        )
        return [added, recompute], [in_place]
    found = _find_stored_rows(inputs) if isinstance(inputs.other, OtherTable) or fits else None
    if found is not None:
        return [found, recompute], [in_place]
    obstacle = find_forward_obstacle(inputs)
    if obstacle is not None:
        return [recompute], [in_place, StrategyAlternative("forward", inputs.size, obstacle)]
    if inputs.requested == "recompute":
        return [recompute], [in_place, _other_alternative(inputs, list_forward_choices(inputs)[0])]
    kept = StrategyAlternative("recompute", inputs.recompute_cost, "FORWARD_QUERY keeps the existing rows")
    return list_forward_choices(inputs), [in_place, kept]


def _find_stored_rows(inputs: StrategyInputs) -> StrategyChoice | None:
    """The choice to begin with rows that another live table has, or with those of the live one that a condition keeps;
    None if neither is known to have them."""
    if isinstance(inputs.other, OtherTable):
        return StrategyChoice("reuse", inputs.other.reason, "other")
    if not isinstance(inputs.filtered, FilteredRows):
        return None
    columns = join_words(f"`{name}`" for name in sorted(column_names(inputs.filtered.condition)))
    condition = f"its new condition on {columns}" if columns else "its new condition"
    reason = f"{inputs.cause}: of the rows that are stored, those that {condition} keeps"
    return StrategyChoice("forward", reason, "new", inputs.size)


def list_forward_choices(inputs: StrategyInputs) -> list[StrategyChoice]:
    """The ways to keep the existing rows of a view target by its forward query."""
    copy = StrategyChoice("forward", f"{inputs.cause}; history by FORWARD_QUERY", "new", inputs.size)
    if inputs.placement.blocked or (any(map(_reads_before, inputs.placement.columns)) and not inputs.ordered_by_seq):
        return [copy]
    how = "computed when it is read" if inputs.placement.bridged else "no row is copied"
    strategy: Strategy = "bridge" if inputs.placement.bridged else "forward"
    return [StrategyChoice(strategy, f"{inputs.cause}; history by FORWARD_QUERY, {how}", "clone"), copy]


def _reads_before(column: BoundColumn) -> bool:
    return column.before is not None and column.before.cut is None


def choose_to_stay(inputs: StrategyInputs) -> StrategyChoice:
    """The choice to keep the live table; at most its metadata changes."""
    changes = [change for change in inputs.changes if not isinstance(change, MetadataChanged)]
    if changes:
        reason = ", ".join(change_text(change) for change in changes)
        return StrategyChoice("in_place", _with_proofs(reason, inputs), "live")
    what = join_words(change_text(change) for change in inputs.changes)
    if inputs.moved_sources:
        return StrategyChoice("reuse", _reuse_reason_of(inputs), "live")
    return StrategyChoice("none", f"{what}: no data moves" if what else "unchanged", "live")


def _with_proofs(reason: str, inputs: StrategyInputs) -> str:
    """A reason with what Iceberg's statistics prove for it."""
    return "; ".join(filter(None, (reason, proofs_text(inputs.proofs))))


def _reuse_reason_of(inputs: StrategyInputs) -> str:
    if isinstance(inputs.composed, ComposedHistory):
        through = join_words(f"`{each}`" for each in inputs.composed.through)
        return f"its view gives the rows that are stored, seen through the views into {through}"
    if isinstance(inputs.rolled, RolledUp) and inputs.rolled.coarser:
        keys = join_words(f"`{each}`" for each in inputs.transition.new.engine.sorting_key)
        expired = ", but for those that have expired" if inputs.transition.running.source.engine.ttl is not None else ""
        return f"the rows that are stored, merged by {keys}, are those that its view gives{expired}"
    if inputs.transition.derived:
        names = join_words(f"`{name}`" for name in inputs.transition.derived)
        return f"its views still produce the existing rows, and tell the value of {names} in them"
    if inputs.edited or not inputs.moved_sources:
        return "its views still produce the existing rows"
    sources = join_words(f"`{name}`" for name in inputs.moved_sources)
    return f"its views read nothing that changes in {sources}"


def find_forward_obstacle(inputs: StrategyInputs) -> str | None:
    """Why a forward query cannot provide the history of a view target; None if it can."""
    name = inputs.transition.new.name
    if inputs.transition.forward is None:
        if inputs.transition.new.forward_query is not None:
            return f"the FORWARD_QUERY of `{name}` belongs to an earlier deployment"
        return f"`{name}` has no FORWARD_QUERY"
    return "its FORWARD_QUERY does not compile" if inputs.transition.forward.problems else None


def find_causes(context: PlanningContext, name: str, feeding: ViewPairs) -> tuple[str, ...]:
    """Why the views into a data source differ from the live ones, as short texts."""
    found = [cause for view, live in feeding.replaced for cause in _causes_in_view(context, name, view, live)]
    return (*found, *(f"`{view.pipe}` no longer feeds it" for view in feeding.removed))


def _causes_in_view(context: PlanningContext, name: str, view: View, live: View | None) -> list[str]:
    if live is None:
        return [f"`{view.pipe}` now feeds it"]
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
    return own or [f"data that the query of `{view.pipe}` reads changed"]


def _has_new_table(source: Source, was: Mapping[str, Binding]) -> bool:
    before = was.get(source.binding.name)
    return before is not None and before.table != source.binding.table


def has_edited_view(context: PlanningContext, feeding: ViewPairs) -> bool:
    """Whether the query of a view changed."""
    return any(_query_changed(context, view) for view, _ in feeding.replaced)


def _query_changed(context: PlanningContext, view: View) -> bool:
    return any(isinstance(change, ViewChanged) for change in context.changes_of(view.pipe))


def _changed_columns(source: Source, was: Mapping[str, Binding]) -> list[str]:
    before = was.get(source.binding.name)
    known = before.columns if before is not None else ()
    return [column.name for column in source.binding.columns if column not in known]
