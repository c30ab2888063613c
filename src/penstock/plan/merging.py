"""The engine's merge rule for a binding: which of the rows with equal sorting keys FINAL shows, and how.

In: a data source. Out: `Merging`, for its binding. Called by `datasource`. Invariant: the rule acts
when rows are read with FINAL, by the version's own key; rows stay as they were written until compaction
merges them (decision 0015), and a query without FINAL sees all there are, as in ClickHouse.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import InvalidQuery, Problem
from penstock.model.datasource import DataSource
from penstock.model.merging import Merge
from penstock.sql.merge_rules import merge_rule


@dataclass(frozen=True, slots=True)
class Merging:
    """`problems` say why there is no rule where there should be one. Where FINAL alone cannot be had there
    are none: a query that asks for it is refused."""

    rule: Merge | None = None
    problems: tuple[Problem, ...] = ()


def merging(source: DataSource) -> Merging:
    """The rule of a data source's engine; none for one that merges nothing."""
    place = source.engine.location("ENGINE_SORTING_KEY") or source.location
    try:
        return Merging(merge_rule(source).rule)
    except InvalidQuery as error:
        return Merging(problems=error.problems or (Problem(error.code, error.message, place, error.hint),))
