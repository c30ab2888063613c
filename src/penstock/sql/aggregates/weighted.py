"""avgWeighted: of integers by sums of integers, which wrap at 64 bits as ClickHouse's do; of floats by floats.

In: `Input`s. Out: a row of the table. Called by `aggregates.table`. Invariant: a float with an integer is refused:
ClickHouse cuts the float to an integer there.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.model import types as t
from penstock.model.types import bare, nullable
from penstock.sql.aggregates.aggregate import Aggregate, Input, Parameter, State, Types, nullable_like
from penstock.sql.aggregates.arrays import bound, float_ratio, folded
from penstock.sql.aggregates.bits import wrapped
from penstock.sql.aggregates.moments import WEIGHTED

_SUM = "DECIMAL(38,0)"


def _sums(n: str, over: str, under: str) -> str:
    return f"named_struct('n', {n}, 'xw', {over}, 'w', {under})"


_ZERO = _sums("0L", f"CAST(0 AS {_SUM})", f"CAST(0 AS {_SUM})")


def _needs(types: Types, parameters: tuple[Parameter, ...]) -> str | None:
    if all(bare(of) == t.Float(64) for of in types):
        return None
    small = all(isinstance(of := bare(each), t.Bool) or (isinstance(of, t.Int) and of.bits <= 32) for each in types)
    return None if small else "two Float64 or two integers of at most 32 bits: toFloat64(x)"


def _state(call: Input) -> str:
    x, w = call.args
    product = f"if({call.all_given}, CAST({x} * {w} AS {_SUM}), NULL)"
    weight = f"if({call.all_given}, CAST({w} AS {_SUM}), NULL)"
    sums = (f"CAST(coalesce(sum({each}){call.over}, 0) AS {_SUM})" for each in (product, weight))
    return _sums(f"count({weight}){call.over}", *sums)


def _merge(state: State) -> str:
    sums = (f"CAST(coalesce(sum({state.sql}.{name}){state.over}, 0) AS {_SUM})" for name in ("xw", "w"))
    return _sums(f"coalesce(sum({state.sql}.n){state.over}, 0L)", *sums)


def _gather(rows: State) -> str:
    x, w = "` x`.col1", "` x`.col2"
    sums = f"'xw', CAST(` a`.xw + {x} * {w} AS {_SUM}), 'w', CAST(` a`.w + {w} AS {_SUM})"
    return folded(rows.sql, _ZERO, f"named_struct('n', ` a`.n + 1L, {sums})")


def _finish(state: State) -> str:
    # Both sums are of the kind of the weight: a negative value with an unsigned weight wraps in ClickHouse too.
    weight = bare(state.types[1])
    signed = isinstance(weight, t.Int) and weight.signed
    over, under = (f"CAST({wrapped(f'` m`.{name}', t.Int(64, signed))} AS DOUBLE)" for name in ("xw", "w"))
    pair = bound(f"struct({over} AS over, {under} AS under)", lambda _: float_ratio("` q`.over", "` q`.under"), "` q`")
    whole = f"coalesce({state.sql}, {_ZERO})"
    wraps = any(map(nullable, state.types))
    return bound(whole, lambda _: f"if(` m`.n = 0L, NULL, {pair})" if wraps else pair, "` m`")


_OF_INTEGERS = replace(
    WEIGHTED,
    storage=lambda types: f"STRUCT<`n`: BIGINT, `xw`: {_SUM}, `w`: {_SUM}>",
    state=_state,
    merge=_merge,
    finish=_finish,
    empty=lambda types: _ZERO,
    inputs=lambda types: ("DECIMAL(11,0)",) * len(types),
    gather=_gather,
)


def _row(types: Types) -> Aggregate:
    floats = all(isinstance(bare(of), t.Float) for of in types)
    return WEIGHTED if floats else _OF_INTEGERS


AVG_WEIGHTED = replace(
    WEIGHTED,
    result=lambda types: nullable_like(t.Float(64), types),
    storage=lambda types: _row(types).storage(types),
    state=lambda call: _row(call.types).state(call),
    merge=lambda state: _row(state.types).merge(state),
    finish=lambda state: _row(state.types).finish(state),
    empty=lambda types: _row(types).empty(types),
    inputs=lambda types: _row(types).inputs(types),
    gather=lambda rows: _gather(rows) if _row(rows.types) is _OF_INTEGERS else _floats(rows),
    needs=_needs,
)


def _floats(rows: State) -> str:
    assert WEIGHTED.gather is not None
    return WEIGHTED.gather(rows)
