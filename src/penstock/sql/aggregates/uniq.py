"""The number of different values: uniq, uniqExact, uniqCombined, uniqHLL12, uniqTheta.

Out: rows of the table. Invariant: NULL arguments are ignored; states merge in any order to the same set. uniqExact
keeps the values, the others a Theta sketch of their hashes.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.model import types as t
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.sql.aggregates.aggregate import (
    Aggregate,
    AggregateInput,
    AggregateParameter,
    AggregateState,
    Types,
    contains_map,
    nullable_like,
    value_inputs,
)
from penstock.sql.aggregates.array_state import distinct_values, packed_arguments, packed_array_type
from penstock.sql.aggregates.count_sum_avg import UINT64
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.spark_types import value_type
from penstock.sql.spark_text import quote_identifier


def needs_no_map(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    """No argument may contain a Map: Spark does not compare maps."""
    return "a value without a Map" if any(map(contains_map, types)) else None


THETA_LOG_SIZE = 16
"""The sketch keeps 2^16 hashes, so that up to 65,536 different values are counted exactly, as by ClickHouse's uniq."""


def _hash_inputs(types: Types) -> tuple[str, ...]:
    """Integers of all widths hash alike, so that states stay valid when a column becomes wider."""
    small = {"INT": "BIGINT", "FLOAT": "DOUBLE", "BOOLEAN": "BIGINT"}
    return tuple(small.get(value_type(unwrap_type(of)), value_type(unwrap_type(of))) for of in types)


def _hides_values(of: Type, *, alone: bool) -> bool:
    """Whether Spark's hash is the same for different values: it skips NULLs inside, and where an array ends."""
    match unwrap_type(of):
        case t.Array(inner):
            return not alone or is_nullable(inner) or _hides_values(inner, alone=False)
        case t.Tuple(fields):
            return any(is_nullable(inner) or _hides_values(inner, alone=False) for _, inner in fields)
        case _:
            return False


def _told_apart(of: Type, sql: str) -> str:
    """A value with what the hash skips: the size of each array, and which values inside are NULL."""
    match unwrap_type(of):
        case t.Array(inner):
            each = f", ` h` -> {_inner_told_apart(inner, '` h`')})"
            return bind_if_long(sql, lambda array: f"struct(size({array}), transform({array}{each})")
        case t.Tuple(fields):
            names = (quote_identifier(name or f"_{place}") for place, (name, _) in enumerate(fields, start=1))
            parts = (_inner_told_apart(inner, f"{sql}.{name}") for name, (_, inner) in zip(names, fields, strict=True))
            return f"struct({', '.join(parts)})"
        case _:
            return sql


def _inner_told_apart(of: Type, sql: str) -> str:
    told = _told_apart(of, sql)
    return f"struct({sql} IS NULL, {told})" if is_nullable(of) else told


def _sketch_state(call: AggregateInput) -> str:
    pairs = zip(call.types, call.args, strict=True)
    values = [_told_apart(of, arg) if _hides_values(of, alone=len(call.args) == 1) else arg for of, arg in pairs]
    hashed = f"if({call.all_given}, xxhash64({', '.join(values)}), NULL)"
    return f"theta_sketch_agg({hashed}, {THETA_LOG_SIZE}){call.over}"


def _estimate(sketch: str) -> str:
    """The number of different values; 0 without a sketch. Spark takes a sketch for never NULL and drops the default,
    but beside a count of distinct values there is none over no rows: so it reads the sketch as one that may be NULL."""
    return f"coalesce(theta_sketch_estimate(array_max(array({sketch}))), 0L)"


def _sketch(name: str) -> Aggregate:
    combined = name.startswith("uniqCombined")
    return Aggregate(
        name=name,
        arity=(1, 64),
        result=_combined_type if combined else lambda types: UINT64,
        result_spark=lambda types: "BIGINT",
        storage=lambda types: "BINARY",
        state=_sketch_state,
        merge=lambda state: f"theta_union_agg({state.sql}, {THETA_LOG_SIZE}){state.over}",
        finish=lambda state: _combined_count(_estimate(state.sql), state.types if combined else ()),
        empty=lambda types: "CAST(NULL AS BINARY)",
        inputs=_hash_inputs,
        parameters=(0, 1) if combined else (0, 0),
        exact=False,
        error="exact up to 65,536 different values, then within 1 % (99 times of 100)",
        collected=_COMBINED_EXACT if combined else UNIQ_EXACT,
        needs=needs_no_map,
    )


def _set_state(call: AggregateInput) -> str:
    return f"CAST({distinct_values(call)} AS {packed_array_type(call.types)})"


def merge_sets(state: AggregateState) -> str:
    """The different values of all states."""
    return f"array_distinct(flatten(collect_list({state.sql}){state.over}))"


def _count_distinct(call: AggregateInput) -> str:
    if call.over or call.keeps_order:
        return f"size({_set_state(call)})"
    return f"count(DISTINCT {packed_arguments(call)})"


UNIQ_EXACT = Aggregate(
    name="uniqExact",
    arity=(1, 64),
    result=lambda types: UINT64,
    result_spark=lambda types: "BIGINT",
    storage=packed_array_type,
    state=_set_state,
    merge=merge_sets,
    finish=lambda state: f"CAST(coalesce(array_size({state.sql}), 0) AS BIGINT)",
    empty=lambda types: f"CAST(array() AS {packed_array_type(types)})",
    inputs=value_inputs,
    plain=_count_distinct,
    gather=lambda rows: f"array_distinct({rows.sql})",
    needs=needs_no_map,
)


def _combined_type(types: Types) -> Type:
    """uniqCombined is the one that is Nullable for Nullable values."""
    return nullable_like(UINT64, types)


def _combined_count(count: str, types: Types) -> str:
    """NULL in place of 0 where a value is Nullable."""
    return f"nullif({count}, 0L)" if any(map(is_nullable, types)) else count


_COMBINED_EXACT = replace(
    UNIQ_EXACT,
    result=_combined_type,
    finish=lambda state: _combined_count(UNIQ_EXACT.finish(state), state.types),
    plain=None,
)
"""uniqCombined of values in an array."""
SKETCHES = tuple(map(_sketch, ("uniq", "uniqCombined", "uniqCombined64", "uniqHLL12", "uniqTheta")))
