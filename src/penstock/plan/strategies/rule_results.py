"""The rules by which an existing data source gets its strategy, each with what it said.

In: `StrategyInputs`, and which columns the new views compute as live did. Out: `RuleResult` values, in the order in
which they are tried. Invariant: the first one that applies stands for the strategy that `choice` takes, unless the user
asked for another one; where none applies, only a forward query could keep the rows and there is none.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from penstock.plan.diff.changes import join_words
from penstock.plan.diff.ttl_and_final import begins_empty
from penstock.plan.equivalence.composed_views import ComposedHistory
from penstock.plan.equivalence.stored_functions import RolledUp
from penstock.plan.plan import RuleResult, Strategy
from penstock.plan.strategies.choice import (
    StrategyChoice,
    StrategyInputs,
    choose_to_stay,
    find_forward_obstacle,
    list_forward_choices,
)
from penstock.plan.tables.other_table import OtherTable

_MOST_COLUMNS = 5
_IN_ANOTHER_TABLE = "the rows that the views give are stored in another live table, of which the table is a clone"


def is_as_live(choice: StrategyChoice) -> bool:
    """Whether a data source stays as it runs. Such a one has no rules to tell: a change may not even reach it."""
    return choice.table == "live" and choice.strategy in ("none", "reuse")


def tell_rules(inputs: StrategyInputs, kept: Collection[str] | None) -> tuple[RuleResult, ...]:
    """The rules for one data source. `kept` are the columns that the new views compute as live did; None where this was
    not asked for."""
    if begins_empty(inputs.transition.running.source, inputs.transition.new):
        return (RuleResult("forward", "live is of engine Null: the next table has no rows", "", applies=True),)
    if not inputs.has_views:
        return _rules_for_ingested(inputs)
    if inputs.rebuilt:
        return (RuleResult("recompute", "it was asked for to rebuild it", "", applies=True),)
    return _rules_for_view_target(inputs, kept)


def _rules_for_ingested(inputs: StrategyInputs) -> tuple[RuleResult, ...]:
    computed, blocked = _computed_text(inputs), join_words(each.reason for each in inputs.placement.blocked)
    obstacle = find_forward_obstacle(inputs) or ""
    return (
        _tell(choose_to_stay(inputs).strategy, "every column keeps the values that are stored", computed),
        _tell("bridge", "a FORWARD_QUERY tells values that rows can have when they are read", obstacle or blocked),
        _tell("forward", "a FORWARD_QUERY tells the values of a copy of the rows", obstacle),
    )


def _rules_for_view_target(inputs: StrategyInputs, kept: Collection[str] | None) -> tuple[RuleResult, ...]:
    computed, rolled = _computed_text(inputs), inputs.rolled
    composed, filtered = inputs.composed, inputs.filtered
    is_other = isinstance(rolled, RolledUp) or isinstance(composed, ComposedHistory)
    same = None if is_other else inputs.same_history
    differs = "" if inputs.feeding.unchanged else inputs.cause
    history = _history_text(inputs, kept) if same is None else ""
    added = "" if same is None or same.new else "no view is added"
    by_query = list_forward_choices(inputs)[0].strategy if inputs.transition.forward is not None else "forward"
    return (
        _tell(choose_to_stay(inputs).strategy, "the views and the columns are those of live", differs or computed),
        _tell(
            "reuse",
            "the views in one form, and with what added columns hold before the cut, give the rows that are stored",
            history or ("a view adds rows" if same is not None and same.new else computed),
        ),
        _tell(
            "reuse",
            "what the view gives are functions of the rows that are stored, merged by its keys",
            rolled if isinstance(rolled, str) else computed if rolled else "it was not asked for",
        ),
        _tell(
            "reuse",
            "the view and those that feed what it reads, as one, give the rows that are stored",
            composed if isinstance(composed, str) else computed if composed else "it was not asked for",
        ),
        _tell("reuse", _IN_ANOTHER_TABLE, _obstacle_to_other(inputs.other)),
        _tell(
            "recompute",
            "the other views give the rows that are stored, and only new ones run",
            history or added or computed,
        ),
        _tell(
            "forward",
            "the view gives those of the rows that are stored which a condition over their columns keeps",
            filtered if isinstance(filtered, str) else computed if filtered else "it was not asked for",
        ),
        _tell(by_query, "a FORWARD_QUERY tells what becomes of the rows", find_forward_obstacle(inputs) or ""),
        _tell("recompute", "the views give all rows anew, from the beginning of their sources", ""),
    )


def rules_of_new_target(other: OtherTable | str) -> tuple[RuleResult, ...]:
    """The rules for a target of views that live does not have."""
    return (
        _tell("create", _IN_ANOTHER_TABLE, _obstacle_to_other(other)),
        _tell("create", "the views give all rows anew, from the beginning of their sources", ""),
    )


def _obstacle_to_other(other: OtherTable | str | None) -> str:
    """Why no other table has the rows; empty where one has them."""
    if isinstance(other, OtherTable):
        return ""
    return other if other is not None else "it was not asked for"


def _tell(strategy: Strategy, rule: str, obstacle: str) -> RuleResult:
    return RuleResult(strategy, rule, obstacle, applies=not obstacle)


def _computed_text(inputs: StrategyInputs) -> str:
    """Which columns have other values than those that are stored; empty if none."""
    placement = inputs.placement
    reasons = [each.reason for each in placement.bridged] + [each.reason for each in placement.blocked]
    return join_words(reasons)


def _history_text(inputs: StrategyInputs, kept: Collection[str] | None) -> str:
    """How the rows that the new views give of the history differ from those that are stored."""
    if kept is None:
        return inputs.cause or "they are not known to"
    if not kept:
        return "they are not known to give the same set of rows"
    added = {column.name for column, origin in inputs.placement.match.pairs if origin is None}
    names = [name for name in inputs.transition.new.column_names if name not in kept]
    others = [name for name in names if name not in added]
    if others:
        return f"they compute {_columns_text(others)} otherwise"
    return f"they do not tell what the rows that are stored have in {_columns_text(names)}" if names else inputs.cause


def _columns_text(names: Sequence[str]) -> str:
    more = len(names) - _MOST_COLUMNS
    return join_words([f"`{name}`" for name in names[:_MOST_COLUMNS]] + ([f"{more} more"] if more > 0 else []))
