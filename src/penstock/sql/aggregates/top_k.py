"""How often values occur: topK, topKWeighted, approx_top_k, entropy, uniqUpTo, anyHeavy.

Out: rows of the table. Invariant: counts are exact; equally frequent values are in their own order, where ClickHouse
promises none.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.model import types as t
from penstock.model.types import Type, unwrap_type
from penstock.sql.aggregates.aggregate import (
    AggregateParameter,
    AggregateState,
    Types,
    needs_all,
    needs_comparable,
    needs_positive_sizes,
    needs_unsigned_last,
    nullable_like,
)
from penstock.sql.aggregates.array_state import AggregateTraits, bind_lambda, equal_runs, fold_rows, list_aggregate
from penstock.sql.aggregates.count_sum_avg import default_unless_nullable
from penstock.sql.aggregates.uniq import UNIQ_EXACT
from penstock.sql.expr.spark_types import value_default, value_type

_UINT64 = t.Int(64, signed=False)
_TOP_ERROR = (
    "counts are exact, ClickHouse's own are approximate of more than three times as many values; "
    "equally frequent values stand in their own order"
)


def _array(types: Types) -> Type:
    return t.Array(unwrap_type(types[0]))


def _counted_array(types: Types) -> Type:
    return t.Array(t.Tuple((("item", unwrap_type(types[0])), ("count", _UINT64), ("error", _UINT64))))


def _most_frequent(state: AggregateState, counted: str) -> str:
    """The values of the greatest counts, given structs (n, v) of count and value."""
    return f"transform({_by_count(state, counted)}, ` x` -> ` x`.v)"


def _most_frequent_counts(state: AggregateState, counted: str) -> str:
    """The same with their counts, and with how far these may be from the true ones."""
    count, error = (f"CAST({sql} AS {value_type(_UINT64)})" for sql in ("` x`.n", "0"))
    each = f"named_struct('item', ` x`.v, 'count', {count}, 'error', {error})"
    return f"transform({_by_count(state, counted)}, ` x` -> {each})"


def _by_count(state: AggregateState, counted: str) -> str:
    many = int(state.parameters[0]) if state.parameters else 10
    by_count = "CASE WHEN ` l`.n > ` r`.n THEN -1 WHEN ` l`.n < ` r`.n THEN 1 ELSE 0 END"
    # array_sort is stable, and the runs are in the order of the values.
    ranked = f"array_sort({counted}, (` l`, ` r`) -> {by_count})"
    return f"slice({ranked}, 1, {many})"


def _counts(state: AggregateState) -> str:
    return f"transform({equal_runs(f'array_sort({state.sql})')}, ` x` -> struct(` x`.count AS n, ` x`.row AS v))"


def _weights(state: AggregateState) -> str:
    of = "DECIMAL(38,0)"
    total = fold_rows("` k`.rows", f"CAST(0 AS {of})", f"CAST(` a` + ` x`.col2 AS {of})")
    sums = bind_lambda(
        f"array_sort({state.sql})",
        lambda s: (
            f"transform({equal_runs(s, '` x`.col1')}, ` r` -> struct(slice({s}, ` r`.place + 1, ` r`.count) AS rows))"
        ),
        "` t`",
    )
    return f"transform({sums}, ` k` -> struct({total} AS n, get(` k`.rows, 0).col1 AS v))"


_COUNTS_NEED = needs_all(needs_comparable, needs_positive_sizes)
_WEIGHTS_NEED = needs_all(needs_comparable, needs_positive_sizes, needs_unsigned_last)
TOP_K = list_aggregate(
    "topK",
    (1, 1),
    _array,
    lambda state: _most_frequent(state, _counts(state)),
    AggregateTraits(_COUNTS_NEED, (0, 2), _TOP_ERROR, exact=False),
)
TOP_K_WEIGHTED = list_aggregate(
    "topKWeighted",
    (2, 2),
    _array,
    lambda state: _most_frequent(state, _weights(state)),
    AggregateTraits(_WEIGHTS_NEED, (0, 2), _TOP_ERROR, exact=False),
)
APPROX_TOP_K = list_aggregate(
    "approx_top_k",
    (1, 1),
    _counted_array,
    lambda state: _most_frequent_counts(state, _counts(state)),
    AggregateTraits(_COUNTS_NEED, (0, 2), _TOP_ERROR, exact=False),
)
APPROX_TOP_SUM = list_aggregate(
    "approx_top_sum",
    (2, 2),
    _counted_array,
    lambda state: _most_frequent_counts(state, _weights(state)),
    AggregateTraits(_WEIGHTS_NEED, (0, 2), _TOP_ERROR, exact=False),
)


def _entropy(state: AggregateState) -> str:
    share = "(CAST(` x`.count AS DOUBLE) / CAST(size(` n`) AS DOUBLE))"
    total = fold_rows(equal_runs("array_sort(` n`)"), "0D", f"` a` - {share} * log2({share})")
    counted, none = state.sql, "NULL"
    if len(state.types) == 1 and isinstance(unwrap_type(state.types[0]), t.Float):  # ClickHouse counts no NaN
        counted, none = f"filter({counted}, ` x` -> NOT isnan(` x`))", f"if(size({counted}) > 0, 0D, NULL)"
    value = bind_lambda(counted, lambda n: f"if(size({n}) = 0, {none}, {total})", "` n`")
    return default_unless_nullable(value, state.types, "0D")


ENTROPY = list_aggregate(
    "entropy",
    (1, 64),
    lambda types: nullable_like(t.Float(64), types),
    _entropy,
    AggregateTraits(needs_comparable, error="the last digits, which depend on the order in which values are counted"),
)


def _uniq_up_to(state: AggregateState) -> str:
    return f"least({UNIQ_EXACT.finish(state)}, {int(state.parameters[0]) + 1}L)"


def _up_to_needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    limit = parameters[0] if parameters else 0
    return (
        needs_comparable(types, parameters) if isinstance(limit, int) and 1 <= limit <= 100 else "a limit from 1 to 100"
    )


UNIQ_UP_TO = replace(UNIQ_EXACT, name="uniqUpTo", parameters=(1, 1), finish=_uniq_up_to, plain=None, needs=_up_to_needs)


def _any_heavy(state: AggregateState) -> str:
    """The Boyer–Moore majority vote, in the order of the rows: a value that more than half of them have."""
    value = "get(` h`, 0)"
    start = f"named_struct('v', {value}, 'n', 0L)"
    change = "` a`.n = 0L AND NOT (` a`.v <=> ` x`)"
    count = f"CASE WHEN ` a`.v <=> ` x` THEN ` a`.n + 1L WHEN {change} THEN 1L ELSE ` a`.n - 1L END"
    step = f"named_struct('v', if({change}, ` x`, ` a`.v), 'n', {count})"
    found = bind_lambda(state.sql, lambda h: f"aggregate({h}, {start}, (` a`, ` x`) -> {step}, ` a` -> ` a`.v)", "` h`")
    return default_unless_nullable(found, state.types, value_default(unwrap_type(state.types[0])))


ANY_HEAVY = list_aggregate(
    "anyHeavy",
    (1, 1),
    lambda types: types[0],
    _any_heavy,
    AggregateTraits(
        needs_comparable, error="the value of more than half of the rows; where there is none, any", ordered=True
    ),
)


VALUE_COUNTS = (TOP_K, TOP_K_WEIGHTED, APPROX_TOP_K, APPROX_TOP_SUM, ENTROPY, UNIQ_UP_TO, ANY_HEAVY)
