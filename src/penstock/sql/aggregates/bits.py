"""Bitwise aggregates: groupBitAnd, groupBitOr, groupBitXor, groupBitmap.

Out: rows of the table. Invariant: the state is a value of the argument's type, so it can be stored in a
SimpleAggregateFunction column.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.model import types as t
from penstock.model.types import Type, unwrap_type
from penstock.sql.aggregates.aggregate import (
    Aggregate,
    AggregateState,
    Types,
    needs_integers,
    nullable_like,
    value_inputs,
)
from penstock.sql.aggregates.array_state import bind_lambda, fold_rows
from penstock.sql.aggregates.count_sum_avg import (
    default_unless_nullable,
    wrap_to_type,
)
from penstock.sql.aggregates.uniq import UNIQ_EXACT
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import computed_type


def _as_bigint_bits(sql: str, of: Type) -> str:
    """The bits of a UInt64, which Spark keeps as a decimal, as a BIGINT; other integers as they are."""
    if value_type(of) != "DECIMAL(20,0)":
        return sql
    return f"CAST(if({sql} > {2**63 - 1}, {sql} - CAST({2**64} AS DECIMAL(20,0)), {sql}) AS BIGINT)"


def _from_bigint_bits(sql: str, of: Type) -> str:
    """The inverse of `_as_bigint_bits`."""
    if value_type(of) != "DECIMAL(20,0)":
        return sql
    bits = f"if(` b` < 0, CAST(` b` AS DECIMAL(20,0)) + CAST({2**64} AS DECIMAL(20,0)), ` b`)"
    return bind_lambda(sql, lambda _: f"CAST({bits} AS DECIMAL(20,0))", "` b`")


def _bit_aggregate(name: str, spark: str, sign: str) -> Aggregate:
    """One function: `spark` is the aggregate of Spark, `sign` the operator between two values."""

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
        result=lambda types: nullable_like(computed_type(unwrap_type(types[0])), types),
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
    result=lambda types: nullable_like(computed_type(unwrap_type(types[0])), types),
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
