"""The closed table of aggregate functions, by ClickHouse's name.

In: the rows of numbers and sets. Out: `AGGREGATES`, `aggregate_named`. Called by spark_types and
combinators. Invariant: an alias is the same row, so states of both names are one kind of state.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.sql.aggregates.aggregate import Aggregate
from penstock.sql.aggregates.numbers import AVG, COUNT, PICKS, STATISTICS, SUM
from penstock.sql.aggregates.sets import BEST, LISTS, QUANTILES, SKETCHES, UNIQ_EXACT

_ROWS: tuple[Aggregate, ...] = (
    COUNT,
    SUM,
    AVG,
    *PICKS,
    *STATISTICS,
    *SKETCHES,
    UNIQ_EXACT,
    *LISTS,
    *BEST,
    *QUANTILES,
)
_ALIASES = {
    "countDistinct": "uniqExact",
    "groupArrayDistinct": "groupUniqArray",
    "array_agg": "groupArray",
    "any_value": "any",
    "first_value": "any",
    "last_value": "anyLast",
    "stddev_pop": "stddevPop",
    "stddev_samp": "stddevSamp",
    "var_pop": "varPop",
    "var_samp": "varSamp",
    "covar_pop": "covarPop",
    "covar_samp": "covarSamp",
}
_ANY_CASE = ("count", "sum", "avg", "min", "max", "any", "corr")

AGGREGATES: Mapping[str, Aggregate] = {row.name: row for row in _ROWS}
_BY_NAME: Mapping[str, Aggregate] = {**AGGREGATES, **{alias: AGGREGATES[name] for alias, name in _ALIASES.items()}}


def aggregate_named(name: str) -> Aggregate | None:
    """The row of a name without combinators; some names are ClickHouse's in any case."""
    return _BY_NAME.get(name) or (_BY_NAME.get(name.lower()) if name.lower() in _ANY_CASE else None)


def aggregate_names() -> tuple[str, ...]:
    """Every name there is, for hints and docs."""
    return tuple(sorted(_BY_NAME))
