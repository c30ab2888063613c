"""The table of aggregate functions, by their ClickHouse names.

Out: `AGGREGATES`, `aggregate_named`. Invariant: an alias is the same row, so states made under both names are of one
kind.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.sql.aggregates.aggregate import Aggregate
from penstock.sql.aggregates.all_rows import ALL_ROWS
from penstock.sql.aggregates.bits import BITS, GROUP_BITMAP
from penstock.sql.aggregates.count_sum_avg import AVG, COUNT, SUM, SUM_COUNT, SUM_KAHAN, SUM_WITH_OVERFLOW
from penstock.sql.aggregates.event_patterns import EVENT_SEQUENCES
from penstock.sql.aggregates.events_and_intervals import EVENTS
from penstock.sql.aggregates.group_array import DERIVED_GROUP_ARRAYS, GROUP_ARRAYS
from penstock.sql.aggregates.maps import MAP_SUMS, MAPPED_ARRAYS
from penstock.sql.aggregates.min_max_any import ARG_MIN_MAX, MIN_MAX_ANY, RESPECT_NULLS, SINGLE_VALUE_OR_NULL
from penstock.sql.aggregates.quantiles import MEDIANS, QUANTILES
from penstock.sql.aggregates.statistics import AVG_WEIGHTED, MOMENTS, STABLE
from penstock.sql.aggregates.top_k import VALUE_COUNTS
from penstock.sql.aggregates.uniq import SKETCHES, UNIQ_EXACT

_ROWS: tuple[Aggregate, ...] = (
    COUNT,
    SUM,
    AVG,
    *MIN_MAX_ANY,
    *MOMENTS,
    AVG_WEIGHTED,
    *STABLE,
    *SKETCHES,
    UNIQ_EXACT,
    *GROUP_ARRAYS,
    *ARG_MIN_MAX,
    *QUANTILES,
    SUM_WITH_OVERFLOW,
    SUM_KAHAN,
    SUM_COUNT,
    *BITS,
    GROUP_BITMAP,
    *VALUE_COUNTS,
    SINGLE_VALUE_OR_NULL,
    *RESPECT_NULLS,
    *DERIVED_GROUP_ARRAYS,
    *ALL_ROWS,
    *EVENT_SEQUENCES,
    *EVENTS,
    *MAP_SUMS,
)
ALIASES = {
    **MEDIANS,
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
    "group_concat": "groupConcat",
    "string_agg": "groupConcat",
    "approx_top_count": "approx_top_k",
    "max_by": "argMax",
    "min_by": "argMin",
    "std": "stddevPop",
    "stddev": "stddevSamp",
    "bit_and": "groupBitAnd",
    "bit_or": "groupBitOr",
    "bit_xor": "groupBitXor",
    "anyValueRespectNulls": "any_respect_nulls",
    "anyRespectNulls": "any_respect_nulls",
    "any_value_respect_nulls": "any_respect_nulls",
    "first_value_respect_nulls": "any_respect_nulls",
    "firstValueRespectNulls": "any_respect_nulls",
    "anyLastRespectNulls": "anyLast_respect_nulls",
    "last_value_respect_nulls": "anyLast_respect_nulls",
    "lastValueRespectNulls": "anyLast_respect_nulls",
}
_ANY_CASE = frozenset(
    {
        *("count", "sum", "avg", "min", "max", "corr", "array_agg", "any_value", "first_value", "last_value"),
        *("any_value_respect_nulls", "first_value_respect_nulls", "last_value_respect_nulls", "max_by", "min_by"),
        *("std", "stddev", "stddev_pop", "stddev_samp", "var_pop", "var_samp", "covar_pop", "covar_samp"),
        *("bit_and", "bit_or", "bit_xor", "group_concat", "string_agg"),
        *("approx_top_k", "approx_top_count", "approx_top_sum"),
    }
)
"""Names that ClickHouse takes in any case."""

AGGREGATES: Mapping[str, Aggregate] = {row.name: row for row in _ROWS}
_BY_NAME: Mapping[str, Aggregate] = {
    **AGGREGATES,
    **{alias: AGGREGATES[name] for alias, name in ALIASES.items()},
    **MAPPED_ARRAYS,
}


def aggregate_named(name: str) -> Aggregate | None:
    """The row of a name without combinators. Some names are known in any case."""
    return _BY_NAME.get(name) or (_BY_NAME.get(name.lower()) if name.lower() in _ANY_CASE else None)


def aggregate_names() -> tuple[str, ...]:
    """All names, aliases included, for hints and docs."""
    return tuple(sorted(_BY_NAME))


_OWN_STATES = ("countDistinct", "groupArrayDistinct")
"""ClickHouse reads these as count and groupArray with -Distinct, whose states are of another type."""


def state_name(name: str) -> str:
    """The function of a name as the type of its states names it: `median` is `quantile`."""
    row = aggregate_named(name)
    return name if row is None or name in _OWN_STATES else row.name
