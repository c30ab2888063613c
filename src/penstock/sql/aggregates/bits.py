"""Sums that wrap, sums with counts, and bits: sumWithOverflow, sumCount, groupBitAnd/Or/Xor, groupBitmap.

In: `Input`s. Out: rows of the table. Called by `aggregates.table`. Invariant: an integer result is within its
ClickHouse type, reduced modulo 2 to the power of its bits where ClickHouse lets it overflow.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.model import types as t
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.sql.aggregates.aggregate import (
    Aggregate,
    AggregateInput,
    AggregateState,
    Types,
    needs_integers,
    nullable_like,
    value_inputs,
)
from penstock.sql.aggregates.array_state import bind_lambda, fold_rows, fold_rows_or_null
from penstock.sql.aggregates.count_sum_avg import (
    AVG,
    SUM,
    UINT64,
    default_unless_nullable,
    sum_rows,
    sum_step,
    sum_storage,
    sum_type,
)
from penstock.sql.aggregates.uniq_group_array import UNIQ_EXACT
from penstock.sql.expr.spark_types import value_type


def wrap_to_type(sql: str, of: Type) -> str:
    """An integer as the one of the type that it is equal to modulo its size."""
    assert isinstance(of, t.Int)
    size = f"CAST({2**of.bits} AS DECIMAL(38,0))"
    rest = f"pmod(CAST({sql} AS DECIMAL(38,0)), {size})"
    if not of.signed:
        return f"CAST({rest} AS {value_type(of)})"
    return bind_lambda(rest, lambda v: f"CAST(if({v} > {of.high}, {v} - {size}, {v}) AS {value_type(of)})")


def _overflow_storage(types: Types) -> str:
    return "DECIMAL(38,0)" if value_type(unwrap_type(types[0])) != "INT" else sum_storage(types)


def _overflow_sum(call: AggregateInput) -> str:
    return f"CAST(sum({call.args[0]}){call.over} AS {_overflow_storage(call.types)})"


SUM_WITH_OVERFLOW = Aggregate(
    name="sumWithOverflow",
    arity=(1, 1),
    result=lambda types: types[0],
    result_spark=lambda types: value_type(types[0]),
    storage=_overflow_storage,
    state=_overflow_sum,
    merge=lambda state: _overflow_sum(AggregateInput((state.sql,), state.types, over=state.over)),
    finish=lambda state: default_unless_nullable(
        wrap_to_type(state.sql, unwrap_type(state.types[0])), state.types, f"CAST(0 AS {value_type(state.types[0])})"
    ),
    empty=lambda types: f"CAST({'NULL' if is_nullable(types[0]) else 0} AS {_overflow_storage(types)})",
    inputs=lambda types: (_overflow_storage(types),),
    takes="number",
    gather=lambda rows: fold_rows_or_null(
        rows.sql, f"CAST(0 AS {_overflow_storage(rows.types)})", f"CAST(` a` + ` x` AS {_overflow_storage(rows.types)})"
    ),
    needs=needs_integers,
    null_over_none=True,
)


def _sum_count_type(types: Types) -> Type:
    return t.Tuple(((None, sum_type(types)), (None, UINT64)))


def _sum_count_finish(state: AggregateState) -> str:
    """The state of avg as a pair; the average's sum of small integers is a double, exact to 2**53."""
    spark = SUM.result_spark(state.types)
    total = SUM.finish(AggregateState("` m`.`sum`", tuple(unwrap_type(of) for of in state.types)))
    empty = f"named_struct('sum', CAST(0 AS {sum_storage(state.types)}), 'count', 0L)"
    pair = f"named_struct('_1', CAST({total} AS {spark}), '_2', CAST(` m`.`count` AS {value_type(UINT64)}))"
    return bind_lambda(f"coalesce({state.sql}, {empty})", lambda _: pair, "` m`")


def _sum_count_state(call: AggregateInput) -> str:
    total = f"coalesce({sum_rows(call)}, 0)"
    return f"named_struct('sum', CAST({total} AS {sum_storage(call.types)}), 'count', count({call.args[0]}){call.over})"


def _sum_count_merge(state: AggregateState) -> str:
    rows = sum_rows(AggregateInput((f"{state.sql}.`sum`",), state.types, over=state.over))
    total = f"CAST(coalesce({rows}, 0) AS {sum_storage(state.types)})"
    return f"named_struct('sum', {total}, 'count', coalesce(sum({state.sql}.`count`){state.over}, 0L))"


def _sum_count_gather(rows: AggregateState) -> str:
    of = sum_storage(rows.types)
    total = fold_rows("` v`", f"CAST(0 AS {of})", sum_step(rows.types))
    return bind_lambda(rows.sql, lambda v: f"named_struct('sum', {total}, 'count', CAST(size({v}) AS BIGINT))")


SUM_COUNT = replace(
    AVG,
    name="sumCount",
    result=_sum_count_type,
    result_spark=lambda types: value_type(_sum_count_type(types)),
    storage=lambda types: f"STRUCT<`sum`: {sum_storage(types)}, `count`: BIGINT>",
    state=_sum_count_state,
    merge=_sum_count_merge,
    finish=_sum_count_finish,
    empty=lambda types: f"named_struct('sum', CAST(0 AS {sum_storage(types)}), 'count', 0L)",
    inputs=SUM.inputs,
    plain=None,
    merged=None,
    gather=_sum_count_gather,
    null_over_none=False,
)


def _as_bigint_bits(sql: str, of: Type) -> str:
    """The bits of a UInt64 as a BIGINT; other integers are theirs already."""
    if value_type(of) != "DECIMAL(20,0)":
        return sql
    return f"CAST(if({sql} > {2**63 - 1}, {sql} - CAST({2**64} AS DECIMAL(20,0)), {sql}) AS BIGINT)"


def _from_bigint_bits(sql: str, of: Type) -> str:
    if value_type(of) != "DECIMAL(20,0)":
        return sql
    bits = f"if(` b` < 0, CAST(` b` AS DECIMAL(20,0)) + CAST({2**64} AS DECIMAL(20,0)), ` b`)"
    return bind_lambda(sql, lambda _: f"CAST({bits} AS DECIMAL(20,0))", "` b`")


def _bit_aggregate(name: str, spark: str, sign: str) -> Aggregate:
    """The state is a value of the argument's type, so it may be the column of a SimpleAggregateFunction."""

    def none(of: Type) -> str:
        assert isinstance(of, t.Int)
        every_bit = -1 if of.signed else of.high
        return f"CAST({every_bit if name == 'groupBitAnd' else 0} AS {value_type(of)})"

    def together(sql: str, types: Types, over: str) -> str:
        of = unwrap_type(types[0])
        return _from_bigint_bits(f"{spark}({_as_bigint_bits(sql, of)}){over}", of)

    def gathered(rows: AggregateState) -> str:
        of = unwrap_type(rows.types[0])
        start = f"CAST({-1 if name == 'groupBitAnd' else 0} AS {'INT' if value_type(of) == 'INT' else 'BIGINT'})"
        whole = fold_rows(rows.sql, start, f"` a` {sign} {_as_bigint_bits('` x`', of)}")
        return bind_lambda(
            rows.sql, lambda v: f"if(size({v}) = 0, NULL, {_from_bigint_bits(whole.replace(rows.sql, v), of)})"
        )

    return Aggregate(
        name=name,
        arity=(1, 1),
        result=lambda types: nullable_like(unwrap_type(types[0]), types),
        result_spark=lambda types: value_type(types[0]),
        storage=lambda types: value_type(types[0]),
        state=lambda call: together(call.args[0], call.types, call.over),
        merge=lambda state: together(state.sql, state.types, state.over),
        finish=lambda state: default_unless_nullable(state.sql, state.types, none(unwrap_type(state.types[0]))),
        empty=lambda types: f"CAST(NULL AS {value_type(types[0])})",
        inputs=value_inputs,
        takes="number",
        gather=gathered,
        needs=needs_integers,
        null_over_none=True,
    )


BITS = (
    _bit_aggregate("groupBitAnd", "bit_and", "&"),
    _bit_aggregate("groupBitOr", "bit_or", "|"),
    _bit_aggregate("groupBitXor", "bit_xor", "^"),
)

GROUP_BITMAP = replace(
    UNIQ_EXACT,
    name="groupBitmap",
    arity=(1, 1),
    result=lambda types: nullable_like(unwrap_type(types[0]), types),
    result_spark=lambda types: value_type(types[0]),
    finish=lambda state: default_unless_nullable(
        f"if(size({state.sql}) = 0, NULL, {wrap_to_type(f'size({state.sql})', unwrap_type(state.types[0]))})",
        state.types,
        f"CAST(0 AS {value_type(state.types[0])})",
    ),
    plain=None,
    takes="number",
    needs=needs_integers,
)
