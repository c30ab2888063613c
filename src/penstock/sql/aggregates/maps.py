"""sumMap, minMap and maxMap: over a Map, or over an array of keys and an array of values.

Out: rows of the table. Invariant: keys are returned in their order; from arrays, keys with a sum of zero are left out,
from a Map they are not (as in ClickHouse).
"""

from __future__ import annotations

from dataclasses import replace

from penstock.model import types as t
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.sql.aggregates.aggregate import Aggregate, AggregateParameter, AggregateState, Types, contains_map
from penstock.sql.aggregates.array_state import AggregateTraits, bind_lambda, group_by_key, list_aggregate
from penstock.sql.aggregates.combinators import aggregate_rows, combine_map
from penstock.sql.aggregates.count_sum_avg import SUM, SUM_WITH_OVERFLOW
from penstock.sql.aggregates.min_max_any import MIN_MAX_ANY
from penstock.sql.expr.sort_order import contains_stored_as_text, is_stored_as_text


def _key_value_types(types: Types) -> tuple[Type, Type]:
    keys, values = (unwrap_type(of) for of in types)
    assert isinstance(keys, t.Array)
    assert isinstance(values, t.Array)
    return keys.of, values.of


def _of_key_value_arrays(row: Aggregate, name: str) -> Aggregate:
    """Over keys and values in two arrays. A sum of zero is left out."""

    def result(types: Types) -> Type:
        key, value = _key_value_types(types)
        return t.Tuple(((None, t.Array(key)), (None, t.Array(row.result((value,))))))

    def needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
        if len(types) != 2 or not all(isinstance(unwrap_type(of), t.Array) for of in types):
            return "a Map, or an array of keys and one of values"
        key, value = _key_value_types(types)
        if is_stored_as_text(key) or contains_stored_as_text(key):
            return "keys other than Enum, UUID or IP address: toString(…) of them"
        if is_nullable(key) or is_nullable(value) or contains_map(key) or unwrap_type(value) == t.Tuple(()):
            return "keys and values that are neither Nullable nor a Map"
        kinds = (t.Int, t.Float) if row.takes == "number" else (t.Int, t.Float, t.String, t.Date, t.DateTime)
        return (
            row.needs((value,), ()) if isinstance(unwrap_type(value), kinds) else "values that are integers or floats"
        )

    def read(state: AggregateState) -> str:
        _, value = _key_value_types(state.types)
        spark = row.inputs((value,))[0]
        one = f"struct(` y` AS k, CAST(get(` x`.col2, ` i`) AS {spark}) AS v)"
        wrong = "raise_error('the keys and values of a map have different sizes')"
        rows = f"if(size(` x`.col1) <> size(` x`.col2), {wrong}, transform(` x`.col1, (` y`, ` i`) -> {one}))"
        pairs = f"flatten(transform({state.sql}, ` x` -> {rows}))"
        whole = group_by_key(pairs, lambda values: aggregate_rows(row, AggregateState(values, (value,))))
        if row.takes == "number":
            whole = f"filter({whole}, ` x` -> ` x`.v <> 0)"
        both = "named_struct('_1', transform(` m`, ` x` -> ` x`.k), '_2', transform(` m`, ` x` -> ` x`.v))"
        return bind_lambda(whole, lambda _: both, "` m`")

    return list_aggregate(name, (2, 2), result, read, AggregateTraits(needs))


def _map_or_arrays(of_map: Aggregate, of_arrays: Aggregate) -> Aggregate:
    """One function for both kinds of arguments."""

    def row(types: Types) -> Aggregate:
        return of_map if types and isinstance(unwrap_type(types[0]), t.Map) else of_arrays

    return replace(
        of_arrays,
        arity=(1, 2),
        result=lambda types: row(types).result(types),
        result_spark=lambda types: row(types).result_spark(types),
        storage=lambda types: row(types).storage(types),
        state=lambda call: row(call.types).state(call),
        merge=lambda state: row(state.types).merge(state),
        finish=lambda state: row(state.types).finish(state),
        empty=lambda types: row(types).empty(types),
        inputs=lambda types: row(types).inputs(types),
        needs=lambda types, parameters: row(types).needs(types, parameters),
    )


def _map_row(name: str, row: Aggregate) -> Aggregate:
    of_map = combine_map(row)
    assert of_map is not None
    return _map_or_arrays(of_map, _of_key_value_arrays(row, name))


_LEAST, _GREATEST = (next(row for row in MIN_MAX_ANY if row.name == name) for name in ("min", "max"))
MAP_SUMS = (
    _map_row("sumMap", SUM),
    _map_row("minMap", _LEAST),
    _map_row("maxMap", _GREATEST),
    _of_key_value_arrays(SUM_WITH_OVERFLOW, "sumMapWithOverflow"),
)
MAPPED_ARRAYS = {
    "sumMappedArrays": _of_key_value_arrays(SUM, "sumMap"),
    "minMappedArrays": _of_key_value_arrays(_LEAST, "minMap"),
    "maxMappedArrays": _of_key_value_arrays(_GREATEST, "maxMap"),
}
"""Names for arrays alone. Their states are those of sumMap, minMap and maxMap."""
