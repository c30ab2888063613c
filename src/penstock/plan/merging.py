"""ReplacingMergeTree: which of the rows with equal sorting keys is the one that stays.

In: a data source. Out: `Replacing`, for its binding. Called by `datasource`. Invariant: the rule acts
when rows are read with FINAL, by the version's own key; rows stay as they were written, and a query
without FINAL sees all of them, as before ClickHouse merges.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import InvalidQuery, Problem
from penstock.model.datasource import DataSource, Text
from penstock.model.manifest import Replacing
from penstock.sql.transpile import compile_expression

REPLACING = "ReplacingMergeTree"


@dataclass(frozen=True, slots=True)
class Merging:
    """`problems` say why there is no rule where there should be one."""

    rule: Replacing | None = None
    problems: tuple[Problem, ...] = ()


def merging(source: DataSource) -> Merging:
    """The rule of a data source's engine; none for one that merges nothing."""
    engine = source.engine
    if engine.name != REPLACING:
        return Merging()
    place = engine.location("ENGINE_SORTING_KEY") or source.location
    try:
        keys = tuple(compile_expression(Text(key, place), source.columns).sql for key in engine.sorting_key)
    except InvalidQuery as error:
        return Merging(problems=error.problems or (Problem(error.code, error.message, place, error.hint),))
    return Merging(Replacing(keys, engine.ver, engine.is_deleted))
