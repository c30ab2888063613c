"""Aggregates that keep many values: uniq and its kin, groupArray, argMin/argMax, quantiles.

In: `Input`s. Out: rows of the table. Called by `aggregates.table`. Invariant: a NULL argument is
passed over; states merge in any order to the same set.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.model import types as t
from penstock.model.types import bare
from penstock.sql.aggregates.aggregate import (
    Aggregate,
    Input,
    State,
    Types,
    double_inputs,
    nullable_like,
    value_inputs,
)
from penstock.sql.aggregates.numbers import NAN, UINT64, or_default
from penstock.sql.value_types import value_type, value_zero

THETA_LOG_SIZE = 16
"""2**16 hashes are kept, so up to 65,536 different values are counted exactly, as by ClickHouse's uniq."""


def _hash_inputs(types: Types) -> tuple[str, ...]:
    """Integers hash alike whatever their width, so widening a column keeps its states true."""
    small = {"INT": "BIGINT", "FLOAT": "DOUBLE", "BOOLEAN": "BIGINT"}
    return tuple(small.get(value_type(bare(of)), value_type(bare(of))) for of in types)


def _theta(call: Input) -> str:
    hashed = f"if({call.all_given}, xxhash64({', '.join(call.args)}), NULL)"
    return f"theta_sketch_agg({hashed}, {THETA_LOG_SIZE}){call.over}"


def _sketch(name: str) -> Aggregate:
    return Aggregate(
        name=name,
        arity=(1, 64),
        result=lambda types: UINT64,
        result_spark=lambda types: "BIGINT",
        storage=lambda types: "BINARY",
        state=_theta,
        merge=lambda state: f"theta_union_agg({state.sql}, {THETA_LOG_SIZE}){state.over}",
        finish=lambda state: f"coalesce(theta_sketch_estimate({state.sql}), 0L)",
        empty=lambda types: "CAST(NULL AS BINARY)",
        inputs=_hash_inputs,
        exact=False,
    )


SKETCHES = tuple(map(_sketch, ("uniq", "uniqCombined", "uniqCombined64", "uniqHLL12", "uniqTheta")))


def _packed(call: Input) -> str:
    """One value, or a struct of several; NULL where any of them is."""
    if len(call.args) == 1:
        return call.args[0]
    return f"if({call.all_given}, struct({', '.join(call.args)}), NULL)"


def _packed_type(types: Types) -> str:
    inputs = value_inputs(types)
    if len(inputs) == 1:
        return inputs[0]
    return "STRUCT<" + ", ".join(f"`col{place}`: {spark}" for place, spark in enumerate(inputs, 1)) + ">"


def _array_of(types: Types) -> str:
    return f"ARRAY<{_packed_type(types)}>"


def _set(call: Input) -> str:
    return f"CAST(collect_set({_packed(call)}){call.over} AS {_array_of(call.types)})"


def _merge_sets(state: State) -> str:
    return f"array_distinct(flatten(collect_list({state.sql}){state.over}))"


def _distinct(call: Input) -> str:
    if call.over:
        return f"size({_set(call)})"
    return f"count(DISTINCT {_packed(call)})"


UNIQ_EXACT = Aggregate(
    name="uniqExact",
    arity=(1, 64),
    result=lambda types: UINT64,
    result_spark=lambda types: "BIGINT",
    storage=_array_of,
    state=_set,
    merge=_merge_sets,
    finish=lambda state: f"CAST(coalesce(array_size({state.sql}), 0) AS BIGINT)",
    empty=lambda types: f"CAST(array() AS {_array_of(types)})",
    inputs=value_inputs,
    plain=_distinct,
)


def _list(name: str, collect: str, merge: Callable[[State], str]) -> Aggregate:
    """An aggregate that gives the values themselves."""

    def gather(call: Input) -> str:
        return f"CAST({collect}({call.args[0]}){call.over} AS {_array_of(call.types)})"

    def finish(state: State) -> str:
        whole = f"coalesce({state.sql}, CAST(array() AS {_array_of(state.types)}))"
        return f"slice({whole}, 1, {int(state.parameters[0])})" if state.parameters else whole

    return Aggregate(
        name=name,
        arity=(1, 1),
        result=lambda types: t.Array(bare(types[0])),
        result_spark=_array_of,
        storage=_array_of,
        state=gather,
        merge=merge,
        finish=finish,
        empty=lambda types: f"CAST(array() AS {_array_of(types)})",
        inputs=value_inputs,
        parameters=(0, 1),
    )


LISTS = (
    _list("groupArray", "collect_list", lambda state: f"flatten(collect_list({state.sql}){state.over})"),
    _list("groupUniqArray", "collect_set", _merge_sets),
)


def _best_storage(types: Types) -> str:
    argument, value = value_inputs(types)
    return f"STRUCT<`value`: {value}, `argument`: {argument}>"


def _best(name: str, spark: str) -> Aggregate:
    """argMin, argMax: the pair with the least or greatest value; ties go by the argument."""

    def best(call: Input) -> str:
        argument, value = call.args
        pair = f"named_struct('value', {value}, 'argument', {argument})"
        return f"{spark}(if({call.all_given}, {pair}, NULL)){call.over}"

    return Aggregate(
        name=name,
        arity=(2, 2),
        result=lambda types: nullable_like(types[0], types),
        result_spark=lambda types: value_type(types[0]),
        storage=_best_storage,
        state=best,
        merge=lambda state: f"{spark}({state.sql}){state.over}",
        finish=lambda state: or_default(f"({state.sql}).`argument`", state.types, value_zero(bare(state.types[0]))),
        empty=lambda types: f"CAST(NULL AS {_best_storage(types)})",
        inputs=value_inputs,
    )


BEST = (_best("argMin", "min"), _best("argMax", "max"))


def _quantile_of(values: str, level: float) -> str:
    """The quantile of an array by linear interpolation; the array is sorted once, under a name."""
    place = f"(size(` v`) - 1) * {level}D"
    low, high = f"` v`[CAST(floor({place}) AS INT)]", f"` v`[CAST(ceil({place}) AS INT)]"
    body = f"{low} + ({place} - floor({place})) * ({high} - {low})"
    return f"transform(array(array_sort({values})), ` v` -> if(size(` v`) = 0, NULL, {body}))[0]"


def _level(parameters: tuple[float, ...]) -> float:
    return parameters[0] if parameters else 0.5


def _quantile(name: str) -> Aggregate:
    def plain(call: Input) -> str:
        value = f"percentile({call.args[0]}, {_level(call.parameters)}D){call.over}"
        return or_default(value, call.types, NAN)

    return Aggregate(
        name=name,
        arity=(1, 1),
        result=lambda types: nullable_like(t.Float(64), types),
        result_spark=lambda types: "DOUBLE",
        storage=lambda types: "ARRAY<DOUBLE>",
        state=lambda call: f"collect_list({call.args[0]}){call.over}",
        merge=lambda state: f"flatten(collect_list({state.sql}){state.over})",
        finish=lambda state: or_default(_quantile_of(state.sql, _level(state.parameters)), state.types, NAN),
        empty=lambda types: "CAST(array() AS ARRAY<DOUBLE>)",
        inputs=double_inputs,
        plain=plain,
        takes="number",
        parameters=(0, 1),
        exact=False,
    )


QUANTILES = (_quantile("quantile"), _quantile("median"))
