"""count, sum, avg, sumWithOverflow, sumKahan and sumCount.

Out: rows of the table. Invariant: over no rows they give what ClickHouse gives: 0, the default value or NaN, and NULL
where the argument is Nullable; integer results wrap around where those of ClickHouse do.
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
    double_inputs,
    needs_integers,
    needs_kinds,
    nullable_like,
)
from penstock.sql.aggregates.array_state import NAN, bind_lambda, fold_rows, fold_rows_or_null
from penstock.sql.expr.overflow import add_wrapping, sum_wrapping
from penstock.sql.expr.spark_types import value_type

UINT64 = t.Int(64, signed=False)


def default_unless_nullable(sql: str, types: Types, default: str) -> str:
    """`default` in place of NULL, unless an argument is Nullable and NULL is the right result."""
    return sql if any(map(is_nullable, types)) else f"coalesce({sql}, {default})"


def wrap_to_type(sql: str, of: Type) -> str:
    """An integer reduced modulo the size of its type."""
    assert isinstance(of, t.Int)
    size = f"CAST({2**of.bits} AS DECIMAL(38,0))"
    rest = f"pmod(CAST({sql} AS DECIMAL(38,0)), {size})"
    if not of.signed:
        return f"CAST({rest} AS {value_type(of)})"
    return bind_lambda(rest, lambda v: f"CAST(if({v} > {of.high}, {v} - {size}, {v}) AS {value_type(of)})")


def _count_state(call: AggregateInput) -> str:
    return f"count({call.args[0] if call.args else 1}){call.over}"


COUNT = Aggregate(
    name="count",
    arity=(0, 1),
    result=lambda types: UINT64,
    result_spark=lambda types: "BIGINT",
    storage=lambda types: "BIGINT",
    state=_count_state,
    merge=lambda state: f"coalesce(sum({state.sql}){state.over}, 0L)",
    finish=lambda state: f"coalesce({state.sql}, 0L)",
    merged=lambda state: f"coalesce(sum({state.sql}){state.over}, 0L)",
    empty=lambda types: "0L",
    inputs=lambda types: tuple("STRING" if unwrap_type(of) == t.Tuple(()) else value_type(of) for of in types),
    plain=_count_state,
    gather=lambda rows: f"CAST(size({rows.sql}) AS BIGINT)",
)


def sum_type(types: Types) -> Type:
    """ClickHouse's type of a sum, without Nullable."""
    match unwrap_type(types[0]):
        case t.Int(_, signed):
            return t.Int(64, signed)
        case t.Decimal(_, scale):
            return t.Decimal(38, scale)
        case t.Bool():
            return UINT64
        case _:
            return t.Float(64)


def sum_storage(types: Types) -> str:
    """The Spark type in which a sum is kept."""
    match unwrap_type(types[0]):
        case t.Int(64, False):
            return "DECIMAL(38,0)"
        case t.Int() | t.Bool():
            return "BIGINT"
        case _:
            return value_type(sum_type(types))


def _sum_inputs(types: Types) -> tuple[str, ...]:
    of = unwrap_type(types[0])
    return ("DOUBLE",) if isinstance(of, t.Float) else ("INT",) if of == t.Bool() else (value_type(of),)


def sum_rows(call: AggregateInput) -> str:
    """The sum over rows. One of Int64 wraps around, and so do sums of such sums."""
    wraps = unwrap_type(call.types[0]) == t.Int(64) and not call.small
    return sum_wrapping(call.args[0], call.over) if wraps else f"sum({call.args[0]}){call.over}"


def sum_step(types: Types) -> str:
    """The step of a fold over rows in an array: ` x` added to ` a`, in the stored type."""
    of = sum_storage(types)
    return add_wrapping("` a`", "` x`") if unwrap_type(types[0]) == t.Int(64) else f"CAST(` a` + ` x` AS {of})"


def _sum_state(call: AggregateInput) -> str:
    all_rows = sum_rows(call)
    storage = sum_storage(call.types)
    return f"CAST({all_rows} AS {storage})" if storage.startswith("DECIMAL") else all_rows


def _sum_finish(state: AggregateState) -> str:
    """A sum of UInt64 wraps around, as in ClickHouse; its state keeps all digits."""
    spark = value_type(sum_type(state.types))
    whole = sum_storage(state.types) == "DECIMAL(38,0)"
    sql = f"CAST({state.sql} % {2**64} AS {spark})" if whole else state.sql
    return default_unless_nullable(sql, state.types, f"CAST(0 AS {_sum_result(state.types)})")


def _sum_result(types: Types) -> str:
    storage = sum_storage(types)
    return "DECIMAL(20,0)" if storage == "DECIMAL(38,0)" else storage


def _sum_gather(rows: AggregateState) -> str:
    return fold_rows_or_null(rows.sql, f"CAST(0 AS {sum_storage(rows.types)})", sum_step(rows.types))


SUM = Aggregate(
    name="sum",
    arity=(1, 1),
    result=lambda types: nullable_like(sum_type(types), types),
    result_spark=_sum_result,
    storage=sum_storage,
    state=_sum_state,
    merge=lambda state: _sum_state(AggregateInput((state.sql,), state.types, over=state.over)),
    finish=_sum_finish,
    empty=lambda types: f"CAST({'NULL' if is_nullable(types[0]) else 0} AS {sum_storage(types)})",
    inputs=_sum_inputs,
    takes="number",
    gather=_sum_gather,
    null_over_none=True,
)


def _avg_sum_storage(types: Types) -> str:
    """Sums of 64-bit integers and decimals are kept exactly, so that the result does not depend on the order of
    merges."""
    match unwrap_type(types[0]):
        case t.Int(64):
            return "DECIMAL(38,0)"
        case t.Decimal(_, scale):
            return f"DECIMAL(38,{scale})"
        case _:
            return "DOUBLE"


def _avg_state(call: AggregateInput) -> str:
    summed = call.args[0]
    if unwrap_type(call.types[0]) == t.Int(64) and not summed.startswith("DISTINCT "):
        summed = f"CAST({summed} AS DECIMAL(19,0))"  # their sum may need more than 64 bits
    total = f"CAST(coalesce(sum({summed}){call.over}, 0) AS {_avg_sum_storage(call.types)})"
    return f"named_struct('sum', {total}, 'count', count({call.args[0]}){call.over})"


def _avg_merge(state: AggregateState) -> str:
    total = f"CAST(coalesce(sum({state.sql}.`sum`){state.over}, 0) AS {_avg_sum_storage(state.types)})"
    return f"named_struct('sum', {total}, 'count', coalesce(sum({state.sql}.`count`){state.over}, 0L))"


def _avg_gather(rows: AggregateState) -> str:
    of = _avg_sum_storage(rows.types)
    total = fold_rows("` v`", f"CAST(0 AS {of})", f"CAST(` a` + ` x` AS {of})")
    return bind_lambda(rows.sql, lambda v: f"named_struct('sum', {total}, 'count', CAST(size({v}) AS BIGINT))")


def _average(total: str, count: str, types: Types) -> str:
    none = "CAST(NULL AS DOUBLE)" if is_nullable(types[0]) else NAN
    whole = total if _avg_sum_storage(types) == "DOUBLE" else f"CAST({_wrapped_uint64_sum(total, types)} AS DOUBLE)"
    return f"if(coalesce({count}, 0L) = 0L, {none}, {whole} / {count})"


def _wrapped_uint64_sum(total: str, types: Types) -> str:
    """A sum of UInt64 wraps around, as in ClickHouse; other sums as they are."""
    return f"{total} % {2**64}" if unwrap_type(types[0]) == UINT64 else total


def _wrapped_int64_sum(total: str, types: Types) -> str:
    """A sum of Int64, kept with all its digits, wraps around when it is read; other sums as they are."""
    return f"pmod({total} + {2**63}, {2**64}) - {2**63}" if unwrap_type(types[0]) == t.Int(64) else total


def _avg_plain(call: AggregateInput) -> str:
    if _avg_sum_storage(call.types) == "DOUBLE":
        return default_unless_nullable(f"avg({call.args[0]}){call.over}", call.types, NAN)
    count = f"count({call.args[0]}){call.over}"
    return _average(sum_rows(call), count, call.types)


def _avg_merged(state: AggregateState) -> str:
    count = f"sum({state.sql}.`count`){state.over}"
    return _average(_wrapped_int64_sum(f"sum({state.sql}.`sum`){state.over}", state.types), count, state.types)


AVG = Aggregate(
    name="avg",
    arity=(1, 1),
    result=lambda types: nullable_like(t.Float(64), types),
    result_spark=lambda types: "DOUBLE",
    storage=lambda types: f"STRUCT<`sum`: {_avg_sum_storage(types)}, `count`: BIGINT>",
    state=_avg_state,
    merge=_avg_merge,
    finish=lambda state: _average(
        _wrapped_int64_sum(f"({state.sql}).`sum`", state.types), f"({state.sql}).`count`", state.types
    ),
    empty=lambda types: f"named_struct('sum', CAST(0 AS {_avg_sum_storage(types)}), 'count', 0L)",
    inputs=lambda types: (
        _avg_sum_storage(types) if _avg_sum_storage(types) == "DOUBLE" else value_type(unwrap_type(types[0])),
    ),
    plain=_avg_plain,
    merged=_avg_merged,
    takes="number",
    gather=_avg_gather,
    null_over_none=True,
)


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


_KAHAN_STATE = "STRUCT<`sum`: DOUBLE, `lost`: DOUBLE>"
_KAHAN_ZERO = "named_struct('sum', 0D, 'lost', 0D)"
"""The state of sumKahan to begin with: a sum, and what was lost of it in the additions."""


def _kahan_step() -> str:
    """` x` added to the state ` a`, by Kahan's summation."""
    change = bind_lambda("` x` - ` a`.lost", lambda y: f"struct({y} AS y, ` a`.sum + {y} AS s)", "` y`")
    return bind_lambda(change, lambda n: f"named_struct('sum', {n}.s, 'lost', ({n}.s - ` a`.sum) - {n}.y)", "` n`")


def _kahan_merge_step() -> str:
    """The state ` x` added to the state ` a`."""
    raw = bind_lambda("` a`.sum + ` x`.sum", lambda r: f"struct({r} AS r, {r} - ` a`.sum AS d)", "` r`")
    lost = "((` x`.sum - ` n`.d) + (` a`.sum - (` n`.r - ` n`.d))) - ` a`.lost - ` x`.lost"
    found = bind_lambda(raw, lambda n: f"struct({n}.r AS r, {lost} AS c)", "` n`")
    total = "named_struct('sum', ` k`.r + ` k`.c, 'lost', -(` k`.c - ((` k`.r + ` k`.c) - ` k`.r)))"
    return bind_lambda(found, lambda _: total, "` k`")


SUM_KAHAN = Aggregate(
    name="sumKahan",
    arity=(1, 1),
    result=lambda types: nullable_like(t.Float(64), types),
    result_spark=lambda types: "DOUBLE",
    storage=lambda types: _KAHAN_STATE,
    state=lambda call: fold_rows_or_null(f"collect_list({call.args[0]}){call.over}", _KAHAN_ZERO, _kahan_step()),
    merge=lambda state: fold_rows_or_null(f"collect_list({state.sql}){state.over}", _KAHAN_ZERO, _kahan_merge_step()),
    finish=lambda state: default_unless_nullable(f"({state.sql}).`sum`", state.types, "0D"),
    empty=lambda types: f"CAST(NULL AS {_KAHAN_STATE})",
    inputs=double_inputs,
    takes="number",
    gather=lambda rows: fold_rows_or_null(rows.sql, _KAHAN_ZERO, _kahan_step()),
    needs=needs_kinds((t.Int, t.Float, t.Bool), "an integer or a float: `sum` of a Decimal loses nothing"),
    exact=False,
    error="the last digit depends on the order in which rows are added, as in ClickHouse; infinite values may give NaN",
    null_over_none=True,
)


def _sum_count_type(types: Types) -> Type:
    return t.Tuple(((None, sum_type(types)), (None, UINT64)))


def _sum_count_finish(state: AggregateState) -> str:
    """The pair of a state of avg. The sum of small integers is a double, exact up to 2^53."""
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
