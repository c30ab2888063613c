"""Arrays of values: groupArray, groupUniqArray, groupArrayLast, groupArraySorted, groupArrayMovingSum/Avg,
groupConcat.

Out: rows of the table. Invariant: the result depends on the order of rows, as it does in ClickHouse, except for
groupArraySorted.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.model import types as t
from penstock.model.types import Type, unwrap_type
from penstock.sql.aggregates.aggregate import (
    LARGEST_SIZE,
    Aggregate,
    AggregateInput,
    AggregateParameter,
    AggregateState,
    Needs,
    Types,
    needs_all,
    needs_nothing,
    needs_numbers,
    needs_positive_sizes,
    needs_sortable,
    nullable_like,
    value_inputs,
)
from penstock.sql.aggregates.array_state import (
    AggregateTraits,
    bind_lambda,
    distinct_values,
    empty_list,
    list_aggregate,
    merge_lists,
    packed_array_type,
)
from penstock.sql.aggregates.count_sum_avg import default_unless_nullable, sum_type
from penstock.sql.aggregates.uniq import merge_sets, needs_no_map
from penstock.sql.expr.spark_types import value_type
from penstock.sql.spark_text import string_literal


def _without_zone(of: Type) -> Type:
    """The different values of a DateTime lose its time zone, as in ClickHouse."""
    bare = unwrap_type(of)
    return t.DateTime() if isinstance(bare, t.DateTime) else bare


def _group_array(name: str, collect: str, merge: Callable[[AggregateState], str], gather: str) -> Aggregate:
    """A function that returns the values themselves; `collect` is the aggregate of Spark."""

    def state(call: AggregateInput) -> str:
        values = distinct_values(call) if collect == "collect_set" else f"{collect}({call.args[0]}){call.over}"
        return f"CAST({values} AS {packed_array_type(call.types)})"

    def finish(state: AggregateState) -> str:
        whole = f"coalesce({state.sql}, CAST(array() AS {packed_array_type(state.types)}))"
        return f"slice({whole}, 1, {int(state.parameters[0])})" if state.parameters else whole

    return Aggregate(
        name=name,
        arity=(1, 1),
        result=lambda types: t.Array(_without_zone(types[0]) if collect == "collect_set" else unwrap_type(types[0])),
        result_spark=packed_array_type,
        storage=packed_array_type,
        state=state,
        merge=merge,
        finish=finish,
        empty=empty_list,
        inputs=value_inputs,
        parameters=(0, 1),
        gather=lambda rows: gather.format(rows.sql),
        ordered=True,
        needs=needs_no_map if collect == "collect_set" else needs_nothing,
    )


GROUP_ARRAYS = (
    _group_array("groupArray", "collect_list", merge_lists, "{0}"),
    _group_array("groupUniqArray", "collect_set", merge_sets, "array_distinct({0})"),
)


def _array(types: Types) -> Type:
    return t.Array(unwrap_type(types[0]))


def _size_parameter(state: AggregateState) -> int:
    return int(state.parameters[0])


def _last_values(state: AggregateState) -> str:
    """As ClickHouse leaves them: each further value takes the place of the first one that is left."""
    many = _size_parameter(state)
    last = f"slice(` v`, greatest(size(` v`) - {many - 1}, 1), {many})"
    turned = f"slice({last}, {many} - size(` v`) % {many} + 1, {many}), slice({last}, 1, {many} - size(` v`) % {many})"
    return bind_lambda(state.sql, lambda _: f"if(size(` v`) <= {many}, ` v`, concat({turned}))", "` v`")


def _sorted_as_there(state: AggregateState) -> str:
    """The values in ascending order, NaN first."""
    if not isinstance(unwrap_type(state.types[0]), t.Float):
        return f"array_sort({state.sql})"
    numbers, odd = (f"filter(` g`, ` x` -> {test})" for test in ("NOT isnan(` x`)", "isnan(` x`)"))
    return bind_lambda(state.sql, lambda _: f"concat({odd}, array_sort({numbers}))", "` g`")


def _concat_needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    if parameters and not isinstance(parameters[0], str):
        return "a text as its first parameter"
    if len(parameters) > 1 and not (isinstance(parameters[1], int) and 1 <= parameters[1] <= LARGEST_SIZE):
        return "a number of values as its second parameter"
    kinds = (t.String, t.Int, t.UUID, t.Enum)
    return None if isinstance(unwrap_type(types[0]), kinds) else "a String or an integer: toString(x)"


def _concat(state: AggregateState) -> str:
    between = string_literal(str(state.parameters[0])) if state.parameters else "''"
    rows = f"slice({state.sql}, 1, {int(state.parameters[1])})" if len(state.parameters) > 1 else state.sql
    texts = f"transform({rows}, ` x` -> CAST(` x` AS STRING))"
    joined = f"if(size(` c`) = 0, NULL, array_join({_from_first_text('` c`')}, {between}))"
    return default_unless_nullable(bind_lambda(texts, lambda _: joined, "` c`"), state.types, "''")


def _from_first_text(texts: str) -> str:
    """The texts from the first that is not empty: ClickHouse writes no separator before it."""
    first = f"array_position(transform({texts}, ` x` -> ` x` <> ''), true)"
    rest = f"slice({texts}, CAST(if({first} = 0, size({texts}), {first}) AS INT), size({texts}))"
    return f"if({texts}[0] = '', {rest}, {texts})"


def _moving_type(types: Types) -> Type:
    """Sums of integers have 64 bits; averages are floats."""
    return t.Array(sum_type(types))


def _running_sums(state: AggregateState, spark: str) -> str:
    """All sums from the first row on, beginning with the 0 before it."""
    zero = f"CAST(0 AS {spark})"
    added = f"CAST(element_at(` a`, -1) + ` x` AS {spark})"
    return f"aggregate({state.sql}, array({zero}), (` a`, ` x`) -> concat(` a`, array({added})))"


def _window_sums(state: AggregateState, spark: str) -> str:
    """The sum up to a row minus the sum up to the row one window before: ` s` holds one sum more than there are
    rows."""
    if not state.parameters:
        return "slice(` s`, 2, size(` s`))"
    before = f"if(` i` < {_size_parameter(state)}, CAST(0 AS {spark}), get(` s`, ` i` - {_size_parameter(state)} + 1))"
    return f"transform(slice(` s`, 2, size(` s`)), (` x`, ` i`) -> CAST(` x` - {before} AS {spark}))"


def _moving_sum(state: AggregateState) -> str:
    spark = value_type(sum_type(state.types))
    wide = "DECIMAL(38,0)" if spark == "DECIMAL(20,0)" else spark
    shifted = _window_sums(state, wide)
    return bind_lambda(_running_sums(state, wide), lambda s: f"CAST({shifted} AS ARRAY<{spark}>)", "` s`")


def _moving_average(state: AggregateState) -> str:
    window = str(_size_parameter(state)) if state.parameters else "(size(` s`) - 1)"
    shifted = _window_sums(state, "DOUBLE")
    return bind_lambda(
        _running_sums(state, "DOUBLE"), lambda s: f"transform({shifted}, ` x` -> ` x` / {window})", "` s`"
    )


_SIZED = AggregateTraits(needs_positive_sizes, (1, 1), ordered=True)
_MOVING: Needs = needs_all(needs_positive_sizes, needs_numbers)
DERIVED_GROUP_ARRAYS = (
    list_aggregate("groupArrayLast", (1, 1), _array, _last_values, _SIZED),
    list_aggregate(
        "groupArraySorted",
        (1, 1),
        _array,
        lambda state: f"slice({_sorted_as_there(state)}, 1, {_size_parameter(state)})",
        AggregateTraits(needs_all(needs_positive_sizes, needs_sortable), (1, 1)),
    ),
    list_aggregate(
        "groupConcat",
        (1, 1),
        lambda types: nullable_like(t.String(), types),
        _concat,
        AggregateTraits(_concat_needs, (0, 2), ordered=True),
    ),
    list_aggregate(
        "groupArrayMovingSum", (1, 1), _moving_type, _moving_sum, AggregateTraits(_MOVING, (0, 1), ordered=True)
    ),
    list_aggregate(
        "groupArrayMovingAvg",
        (1, 1),
        lambda types: t.Array(t.Float(64)),
        _moving_average,
        AggregateTraits(_MOVING, (0, 1), ordered=True),
    ),
)
"""Functions whose state is that of groupArray."""
