"""Events and intervals: retention, deltaSum, boundingRatio, maxIntersections, intervalLengthSum ….

Out: rows of the table. Invariant: only deltaSum depends on the order of rows.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.model.types import Type, unwrap_type
from penstock.sql.aggregates.aggregate import (
    Aggregate,
    AggregateInput,
    AggregateParameter,
    AggregateState,
    Types,
    double_inputs,
    needs_all,
    needs_kinds,
    needs_not_nullable,
    needs_numbers,
    needs_one_type,
    nullable_like,
    value_inputs,
)
from penstock.sql.aggregates.array_state import NAN, AggregateTraits, bind_lambda, float_ratio, list_aggregate
from penstock.sql.aggregates.count_sum_avg import UINT64, default_unless_nullable, wrap_to_type
from penstock.sql.aggregates.event_patterns import as_count
from penstock.sql.expr.spark_types import value_default, value_type
from penstock.sql.expr.typed import computed_type

_UINT8 = t.Int(8, signed=False)


def _retention_needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    if not all(unwrap_type(of) == _UINT8 for of in types):
        return "conditions"
    return needs_not_nullable(types, parameters)


def _retention_state(call: AggregateInput) -> str:
    met = (f"coalesce(max(if({each} <> 0, 1, 0)){call.over}, 0)" for each in call.args)
    return f"array({', '.join(met)})"


def _retention_merge(state: AggregateState) -> str:
    met = (f"coalesce(max(get({state.sql}, {place})){state.over}, 0)" for place in range(len(state.types)))
    return f"array({', '.join(met)})"


def _empty_retention(types: Types) -> str:
    return f"array_repeat(0, {len(types)})"


def _retention(state: AggregateState) -> str:
    body = "transform(` r`, ` x` -> if(get(` r`, 0) = 1, ` x`, 0))"
    return bind_lambda(f"coalesce({state.sql}, {_empty_retention(state.types)})", lambda _: body, "` r`")


RETENTION = Aggregate(
    name="retention",
    arity=(2, 32),
    result=lambda types: t.Array(_UINT8),
    result_spark=lambda types: "ARRAY<INT>",
    storage=lambda types: "ARRAY<INT>",
    state=_retention_state,
    merge=_retention_merge,
    finish=_retention,
    empty=_empty_retention,
    inputs=value_inputs,
    needs=_retention_needs,
)


def _corners(low: str, high: str, over: str) -> str:
    return f"named_struct('low', min({low}){over}, 'high', max({high}){over})"


def _corner_state(call: AggregateInput) -> str:
    point = f"if({call.all_given}, named_struct('x', {call.args[0]}, 'y', {call.args[1]}), NULL)"
    return _corners(point, point, call.over)


def _bounding_ratio(state: AggregateState) -> str:
    rise, run = "(` e`.high.y - ` e`.low.y)", "(` e`.high.x - ` e`.low.x)"
    slope = f"if(` e`.low IS NULL, NULL, {float_ratio(rise, run)})"
    return default_unless_nullable(bind_lambda(state.sql, lambda _: slope, "` e`"), state.types, NAN)


_CORNERS = "STRUCT<`low`: STRUCT<`x`: DOUBLE, `y`: DOUBLE>, `high`: STRUCT<`x`: DOUBLE, `y`: DOUBLE>>"
BOUNDING = Aggregate(
    name="boundingRatio",
    arity=(2, 2),
    result=lambda types: nullable_like(t.Float(64), types),
    result_spark=lambda types: "DOUBLE",
    storage=lambda types: _CORNERS,
    state=_corner_state,
    merge=lambda state: _corners(f"{state.sql}.`low`", f"{state.sql}.`high`", state.over),
    finish=_bounding_ratio,
    empty=lambda types: f"CAST(NULL AS {_CORNERS})",
    inputs=double_inputs,
    takes="number",
    needs=needs_numbers,
    error="of points with one x, the lowest is taken on the left and the highest on the right",
)


def _delta_sum(state: AggregateState) -> str:
    of = unwrap_type(state.types[0])
    spark, total = value_type(of), "DOUBLE" if isinstance(of, t.Float) else "DECIMAL(38,0)"
    real = " AND NOT isnan(` x`)" if isinstance(of, t.Float) else ""
    start = f"named_struct('last', CAST(NULL AS {spark}), 'sum', CAST(0 AS {total}))"
    difference = f"CAST(` x` AS {total}) - CAST(` a`.last AS {total})"
    more = f"if(` x` > ` a`.last{real}, CAST(` a`.sum + {difference} AS {total}), ` a`.sum)"
    step = f"(` a`, ` x`) -> named_struct('last', ` x`, 'sum', {more})"
    folded = f"aggregate({state.sql}, {start}, {step}, ` a` -> ` a`.sum)"
    return folded if isinstance(of, t.Float) else wrap_to_type(folded, of)


DELTA = list_aggregate(
    "deltaSum",
    (1, 1),
    lambda types: computed_type(unwrap_type(types[0])),
    _delta_sum,
    AggregateTraits(needs_kinds((t.Int,), "an integer"), ordered=True),
)
_INTERVAL = needs_all(needs_one_type, needs_not_nullable)


def _sweep_intervals(state: AggregateState, read: str, at: str) -> str:
    """A sweep over all ends: a start counts one up, an end one down; in one place, ends come first. `read` is the
    field of the result, `at` the Spark type of a place."""
    ends = "array(struct(` x`.col1 AS p, 1 AS w), struct(` x`.col2 AS p, -1 AS w))"
    events = f"flatten(transform({state.sql}, ` x` -> {ends}))"
    start = f"named_struct('n', 0L, 'best', 0L, 'at', CAST(NULL AS {at}))"
    more = "` a`.n + ` x`.w > ` a`.best"
    step = (
        f"named_struct('n', ` a`.n + ` x`.w, 'best', if({more}, ` a`.n + ` x`.w, ` a`.best), "
        f"'at', if({more}, ` x`.p, ` a`.at))"
    )
    return f"aggregate(array_sort({events}), {start}, (` a`, ` x`) -> {step}, ` a` -> ` a`.{read})"


def _max_intersections(state: AggregateState) -> str:
    return f"CAST({_sweep_intervals(state, 'best', value_type(unwrap_type(state.types[0])))} AS {value_type(UINT64)})"


def _max_intersections_position(state: AggregateState) -> str:
    of = unwrap_type(state.types[0])
    return f"coalesce({_sweep_intervals(state, 'at', value_type(of))}, {value_default(of)})"


def _interval_length(state: AggregateState) -> str:
    of = unwrap_type(state.types[0])
    total = "DOUBLE" if isinstance(of, t.Float) else "DECIMAL(38,0)"
    low, high = (f"CAST({as_count(f'{side}(` x`.col1, ` x`.col2)', of)} AS {total})" for side in ("least", "greatest"))
    parts = f"array_sort(transform({state.sql}, ` x` -> struct({low} AS l, {high} AS h)))"
    start = f"named_struct('end', CAST(NULL AS {total}), 'sum', CAST(0 AS {total}))"
    same = "` x`.l = ` x`.h AND NOT isnan(` x`.l)" if isinstance(of, t.Float) else "` x`.l = ` x`.h"
    added = f"CASE WHEN {same} THEN 0 WHEN ` a`.end IS NULL OR ` x`.l > ` a`.end THEN ` x`.h - ` x`.l "
    added += "WHEN ` x`.h > ` a`.end THEN ` x`.h - ` a`.end ELSE 0 END"
    end = f"CAST(greatest(` a`.end, ` x`.h) AS {total})"
    step = f"named_struct('end', {end}, 'sum', CAST(` a`.sum + {added} AS {total}))"
    result = value_type(_length_type(state.types))
    return f"CAST(aggregate({parts}, {start}, (` a`, ` x`) -> {step}, ` a` -> ` a`.sum) AS {result})"


def _length_type(types: Types) -> Type:
    return t.Float(64) if isinstance(unwrap_type(types[0]), t.Float) else UINT64


INTERVALS = (
    list_aggregate(
        "maxIntersections",
        (2, 2),
        lambda types: UINT64,
        _max_intersections,
        AggregateTraits(needs_all(_INTERVAL, needs_numbers)),
    ),
    list_aggregate(
        "maxIntersectionsPosition",
        (2, 2),
        lambda types: computed_type(unwrap_type(types[0])),
        _max_intersections_position,
        AggregateTraits(needs_all(_INTERVAL, needs_numbers)),
    ),
    list_aggregate(
        "intervalLengthSum",
        (2, 2),
        _length_type,
        _interval_length,
        AggregateTraits(
            needs_all(_INTERVAL, needs_kinds((t.Int, t.Float, t.Date, t.DateTime), "integers, floats, dates or times"))
        ),
    ),
)
EVENTS = (RETENTION, BOUNDING, DELTA, *INTERVALS)
