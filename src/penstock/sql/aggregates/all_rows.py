"""Aggregates that look at all rows together: groupArrayInsertAt, groupArrayIntersect, rankCorr and
exponentialMovingAverage.

Out: rows of the table. Invariant: all but exponentialMovingAverage, whose state is two numbers, keep their rows until
the end.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.sql.aggregates.aggregate import (
    LARGEST_SIZE,
    Aggregate,
    AggregateInput,
    AggregateParameter,
    AggregateState,
    Types,
    double_inputs,
    needs_all,
    needs_comparable,
    needs_kinds,
    needs_unsigned_last,
    nullable_like,
)
from penstock.sql.aggregates.array_state import (
    NAN,
    AggregateTraits,
    bind_lambda,
    equal_runs,
    float_ratio,
    fold_rows_or_null,
    group_by_key,
    list_aggregate,
)
from penstock.sql.aggregates.count_sum_avg import default_unless_nullable
from penstock.sql.expr.spark_types import function_default, value_type
from penstock.sql.spark_text import string_literal

_FIRST_REFUSED_PLACE = 16777215
"""From this position on ClickHouse fails."""
_needs_numbers = needs_kinds((t.Int, t.Float, t.Decimal), "a number")


def _array(types: Types) -> Type:
    return t.Array(unwrap_type(types[0]))


def _filling(of: Type, parameters: tuple[AggregateParameter, ...]) -> str | None:
    """SQL of what stands at positions without a row; None where the given parameter is no value of the type."""
    if not parameters:
        return function_default(of)
    match of, parameters[0]:
        case t.String(), str(text):
            return string_literal(text)
        case t.Int(), int(number) if of.low <= number <= of.high:
            return f"CAST({number} AS {value_type(of)})"
        case t.Float(), int(number) | float(number):
            return f"CAST({number!r} AS {value_type(of)})"
        case _:
            return None


def _insert_needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    if isinstance(unwrap_type(types[0]), t.Enum):
        return "values other than an Enum: toString(x)"
    if _filling(unwrap_type(types[0]), parameters) is None:
        return f"a {unwrap_type(types[0])} as its first parameter, which must be a String or a number"
    if len(parameters) > 1 and not (isinstance(parameters[1], int) and 1 <= parameters[1] <= LARGEST_SIZE):
        return f"a size from 1 to {LARGEST_SIZE:,} as its second parameter"
    return None


def _inserted(state: AggregateState) -> str:
    """The first row of each position, and what fills the gaps between them."""
    filling = _filling(unwrap_type(state.types[0]), state.parameters)
    size = int(state.parameters[1]) if len(state.parameters) > 1 else None
    far = f"raise_error('a position of groupArrayInsertAt is not below {_FIRST_REFUSED_PLACE:,}')"
    place = f"if(` x`.col2 >= {_FIRST_REFUSED_PLACE}, {far}, CAST(` x`.col2 AS INT))"
    rows = state.sql if size is None else f"filter({state.sql}, ` x` -> ` x`.col2 < {size})"
    placed = f"transform({rows}, ` x` -> struct({place} AS k, ` x`.col1 AS v))"
    gap = "` p`.k - if(` j` = 0, 0, get(` q`, ` j` - 1).k + 1)"
    parts = f"transform(` q`, (` p`, ` j`) -> concat(array_repeat({filling}, {gap}), array(` p`.v)))"
    whole = bind_lambda(group_by_key(placed, lambda values: f"get({values}, 0)"), lambda _: f"flatten({parts})", "` q`")
    if size is None:
        return whole
    return bind_lambda(whole, lambda a: f"concat({a}, array_repeat({filling}, {size} - size({a})))", "` a`")


def _intersection(state: AggregateState) -> str:
    spark = value_type(unwrap_type(state.types[0]))
    step = "if(` a` IS NULL, array_distinct(` x`), array_intersect(` a`, ` x`))"
    found = f"aggregate({state.sql}, CAST(NULL AS {spark}), (` a`, ` x`) -> {step})"
    return f"coalesce({found}, CAST(array() AS {spark}))"


def _ranks(rows: str, column: str) -> str:
    """The rank of each row by a column, in the order of the rows; equal ones share the mean of their places."""
    placed = f"array_sort(transform({rows}, (` x`, ` i`) -> struct(CAST(` x`.{column} AS DOUBLE) AS k, ` i` AS i)))"
    rank = "CAST(` r`.place AS DOUBLE) + (` r`.count + 1) / 2D"
    ranked = f"transform(slice(` g`.s, ` r`.place + 1, ` r`.count), ` e` -> struct(` e`.i AS i, {rank} AS rank))"
    runs = bind_lambda(placed, lambda s: f"struct({s} AS s, {equal_runs(s, '` x`.k')} AS runs)", "` w`")
    flat = bind_lambda(runs, lambda g: f"flatten(transform({g}.runs, ` r` -> {ranked}))", "` g`")
    return f"transform(array_sort({flat}), ` e` -> ` e`.rank)"


def _rank_correlation(state: AggregateState) -> str:
    """Spearman's, by ClickHouse's formula for ranks without ties."""
    squares = "zip_with(` k`.a, ` k`.b, (` x`, ` y`) -> (` x` - ` y`) * (` x` - ` y`))"
    total = f"aggregate({squares}, 0D, (` a`, ` x`) -> ` a` + ` x`)"
    n = "CAST(size(` k`.a) AS DOUBLE)"
    ratio = bind_lambda(
        f"struct({total} * 6D AS over, {n} * ({n} * {n} - 1D) AS under)",
        lambda q: f"1D - {float_ratio(f'{q}.over', f'{q}.under')}",
        "` q`",
    )
    none = "CAST(NULL AS DOUBLE)" if any(map(is_nullable, state.types)) else NAN
    known = f"if(size(` k`.a) = 0, {none}, {ratio})"
    pair = bind_lambda(state.sql, lambda v: f"struct({_ranks(v, 'col1')} AS a, {_ranks(v, 'col2')} AS b)", "` v`")
    return bind_lambda(pair, lambda _: known, "` k`")


_AVERAGE = "STRUCT<`value`: DOUBLE, `time`: DOUBLE>"
_NO_AVERAGE = "named_struct('value', 0D, 'time', 0D)"


def _average_needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    if not isinstance(parameters[0], (int, float)) or parameters[0] <= 0:
        return "a half-life above 0 as its parameter"
    return _needs_numbers(types, parameters)


def _weighed_step(half_life: float, value: str, time: str) -> str:
    """A value at a time added to the state ` a`: what is earlier counts half for each half-life that passed. Times that
    are equal, or one of which is NaN, are one time (ClickHouse's ExponentiallySmoothedAverage::merge)."""
    faded = f"` a`.value * pow(2D, -({time} - ` a`.time) / {half_life}D) + {value}"
    late = f"` a`.value + {value} * pow(2D, -(` a`.time - {time}) / {half_life}D)"
    newer = f"named_struct('value', {faded}, 'time', {time})"
    older = f"named_struct('value', {late}, 'time', ` a`.time)"
    same = f"named_struct('value', ` a`.value + {value}, 'time', ` a`.time)"
    is_newer, is_older = f"{time} > ` a`.time AND NOT isnan({time})", f"{time} < ` a`.time AND NOT isnan(` a`.time)"
    return f"CASE WHEN {is_newer} THEN {newer} WHEN {is_older} THEN {older} ELSE {same} END"


def _weighed(rows: str, parameters: tuple[AggregateParameter, ...], fields: tuple[str, str]) -> str:
    value, time = (f"` x`.{field}" for field in fields)
    return fold_rows_or_null(rows, _NO_AVERAGE, _weighed_step(float(parameters[0]), value, time))


def _weighed_state(call: AggregateInput) -> str:
    value, time = call.args
    row = f"if({call.all_given}, named_struct('value', {value}, 'time', {time}), NULL)"
    return _weighed(f"collect_list({row}){call.over}", call.parameters, ("value", "time"))


def _weighed_mean(state: AggregateState) -> str:
    weights = f"(1D / (1D - pow(2D, -1D / {float(state.parameters[0])}D)))"
    return default_unless_nullable(f"({state.sql}).value / {weights}", state.types, "0D")


ALL_ROWS = (
    list_aggregate(
        "groupArrayInsertAt",
        (2, 2),
        _array,
        _inserted,
        AggregateTraits(
            needs_all(needs_unsigned_last, needs_comparable, _insert_needs),
            (0, 2),
            "of rows with one position, the first",
            ordered=True,
        ),
    ),
    list_aggregate(
        "groupArrayIntersect",
        (1, 1),
        lambda types: unwrap_type(types[0]),
        _intersection,
        AggregateTraits(
            needs_all(needs_kinds((t.Array,), "arrays"), needs_comparable),
            error="the order of the values: that of the first array; in ClickHouse that of a hash table",
            ordered=True,
            exact=False,
        ),
    ),
    list_aggregate(
        "rankCorr",
        (2, 2),
        lambda types: nullable_like(t.Float(64), types),
        _rank_correlation,
        AggregateTraits(_needs_numbers),
    ),
    Aggregate(
        name="exponentialMovingAverage",
        arity=(2, 2),
        result=lambda types: nullable_like(t.Float(64), types),
        result_spark=lambda types: "DOUBLE",
        storage=lambda types: _AVERAGE,
        state=_weighed_state,
        merge=lambda state: _weighed(f"collect_list({state.sql}){state.over}", state.parameters, ("value", "time")),
        finish=_weighed_mean,
        empty=lambda types: f"CAST(NULL AS {_AVERAGE})",
        inputs=double_inputs,
        parameters=(1, 1),
        gather=lambda rows: _weighed(rows.sql, rows.parameters, ("col1", "col2")),
        needs=_average_needs,
        exact=False,
        error="the last digits, where rows come in another order",
        null_over_none=True,
    ),
)
