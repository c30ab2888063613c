"""Statistics from sums: variance, covariance, correlation, skewness, kurtosis, linear regression, avgWeighted.

Out: rows of the table. Invariant: the state is the number of rows and sums of products of doubles; the formulas over
them are those of ClickHouse's src/AggregateFunctions/Moments.h, cancellation included. avgWeighted adds integers as
integers, wrapping at 64 bits, and floats as floats; a float with an integer is refused, as ClickHouse cuts the float
to an integer there. Float32 and Decimal are added as doubles, which ClickHouse does not: the last digits may differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from penstock.model import types as t
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.sql.aggregates.aggregate import (
    Aggregate,
    AggregateInput,
    AggregateParameter,
    AggregateState,
    Types,
    double_inputs,
    nullable_like,
)
from penstock.sql.aggregates.array_state import NAN, bind_lambda, float_ratio, fold_rows
from penstock.sql.aggregates.count_sum_avg import wrap_to_type
from penstock.sql.expr.spark_types import value_type

_DOUBLE = t.Float(64)
Sums = Mapping[str, str]
"""Each sum's name and what is added: SQL with {0} and {1} for the arguments."""


def _moment_needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    """ClickHouse has no functions of two Decimals."""
    decimal = any(isinstance(unwrap_type(of), t.Decimal) for of in types)
    return "integers or floats: toFloat64(x)" if decimal and len(types) > 1 else None


def _not_nullable_needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    """The result for Nullable values is a Nullable tuple in ClickHouse, which does not exist here."""
    nulls = any(map(is_nullable, types))
    return "values that are not Nullable" if nulls else _moment_needs(types, parameters)


def _float_of(types: Types) -> Type:
    """The type of a result: Float32 if all arguments are."""
    return t.Float(32) if all(unwrap_type(of) == t.Float(32) for of in types) else _DOUBLE


def _struct(parts: Mapping[str, str]) -> str:
    return f"named_struct({', '.join(f'{name!r}, {sql}' for name, sql in parts.items())})"


def moment_aggregate(name: str, arity: int, sums: Sums, formula: str, result: Type | None = None) -> Aggregate:
    """A function over sums. `formula` is SQL of ` m`: its sums and `n`, the number of rows, all doubles. Without a
    `result` the type is that of `_float_of`."""

    def type_for(types: Types) -> Type:
        return _float_of(types) if result is None else result

    def zeros() -> str:
        return _struct(dict.fromkeys(("n", *sums), "0D"))

    def added(call: AggregateInput) -> str:
        args = [f"if({call.all_given}, {each}, NULL)" if arity > 1 else each for each in call.args]
        parts = {key: f"coalesce(sum({sql.format(*args)}){call.over}, 0D)" for key, sql in sums.items()}
        return _struct({"n": f"CAST(count({args[0]}){call.over} AS DOUBLE)", **parts})

    def merged(state: AggregateState) -> str:
        return _struct({key: f"coalesce(sum({state.sql}.{key}){state.over}, 0D)" for key in ("n", *sums)})

    def gathered(rows: AggregateState) -> str:
        args = ("` x`",) if arity == 1 else tuple(f"` x`.col{place}" for place in range(1, arity + 1))
        steps = {key: f"` a`.{key} + {sql.format(*args)}" for key, sql in sums.items()}
        return fold_rows(rows.sql, zeros(), _struct({"n": "` a`.n + 1D", **steps}))

    def finish(state: AggregateState) -> str:
        whole = f"coalesce({state.sql}, {zeros()})"
        wraps = any(map(is_nullable, state.types))
        guarded = f"if(` m`.n = 0D, NULL, {formula})" if wraps else formula
        return bind_lambda(whole, lambda _: f"CAST({guarded} AS {value_type(type_for(state.types))})", "` m`")

    return Aggregate(
        name=name,
        arity=(arity, arity),
        result=lambda types: nullable_like(type_for(types), types),
        result_spark=lambda types: value_type(type_for(types)),
        storage=lambda types: "STRUCT<" + ", ".join(f"`{key}`: DOUBLE" for key in ("n", *sums)) + ">",
        state=added,
        merge=merged,
        finish=finish,
        empty=lambda types: zeros(),
        inputs=double_inputs,
        takes="number",
        gather=gathered,
        needs=_not_nullable_needs if isinstance(result, t.Tuple) else _moment_needs,
        error="the last digits, where doubles are added in another order",
    )


_N, _S1, _S2, _S3, _S4 = (f"` m`.{name}" for name in ("n", "s1", "s2", "s3", "s4"))
_POWERS = {"s1": "{0}", "s2": "{0} * {0}", "s3": "{0} * {0} * {0}", "s4": "{0} * {0} * {0} * {0}"}
_SPREAD = f"({_S2} - {_S1} * {_S1} / {_N})"


def _variance(under: str, least: int) -> str:
    """A variance over at least `least` rows; a result below zero comes from rounding. ClickHouse's `max(0, …)` makes 0
    of NaN."""
    return f"if({_N} < {least}D, {NAN}, nanvl(greatest(0D, {_SPREAD} / {under}), 0D))"


_VAR_POP, _VAR_SAMP = _variance(_N, 1), _variance(f"({_N} - 1D)", 2)
_THIRD = f"({_S3} - (3D * {_S2} - 2D * {_S1} * {_S1} / {_N}) * {_S1} / {_N}) / {_N}"
_FOURTH = f"({_S4} - (4D * {_S3} - (6D * {_S2} - 3D * {_S1} * {_S1} / {_N}) * {_S1} / {_N}) * {_S1} / {_N}) / {_N}"


def _standardized_moment(moment: str, variance: str, power: str) -> str:
    body = f"if(` w` > 0D AND NOT isnan(` w`), {moment} / pow(` w`, {power}), {NAN})"
    return bind_lambda(variance, lambda _: body, "` w`")


def _power_sums(*names: str) -> Sums:
    return {name: _POWERS[name] for name in names}


_ONE: Mapping[str, tuple[str, str]] = {
    "varPop": ("s2", _VAR_POP),
    "varSamp": ("s2", _VAR_SAMP),
    "stddevPop": ("s2", f"sqrt({_VAR_POP})"),
    "stddevSamp": ("s2", f"sqrt({_VAR_SAMP})"),
    "skewPop": ("s3", _standardized_moment(_THIRD, _VAR_POP, "1.5D")),
    "skewSamp": ("s3", _standardized_moment(_THIRD, _VAR_SAMP, "1.5D")),
    "kurtPop": ("s4", _standardized_moment(_FOURTH, _VAR_POP, "2D")),
    "kurtSamp": ("s4", _standardized_moment(_FOURTH, _VAR_SAMP, "2D")),
}
_PAIR = {"x": "{0}", "y": "{1}", "xy": "{0} * {1}"}
_PAIR2 = {**_PAIR, "xx": "{0} * {0}", "yy": "{1} * {1}"}
_M = {name: f"` m`.{name}" for name in ("n", *_PAIR2)}
_JOINT = "({xy} - {x} * {y} / {n})".format(**_M)
_COVAR_POP = f"if({_N} = 0D, {NAN}, {_JOINT} / {_N})"
_COVAR_SAMP = f"if({_N} < 2D, {NAN}, {_JOINT} / ({_N} - 1D))"
_SPREADS = "sqrt(({n} * {xx} - {x} * {x}) * ({n} * {yy} - {y} * {y}))".format(**_M)
_CORR = float_ratio("({n} * {xy} - {x} * {y})".format(**_M), _SPREADS)
_SLOPE_UNDER = "({xx} * {n} - {x} * {x})".format(**_M)
_SLOPE = f"if({_SLOPE_UNDER} = 0D, {NAN}, ({{xy}} * {{n}} - {{x}} * {{y}}) / {_SLOPE_UNDER})".format(**_M)
_OFFSET = f"if({_N} = 0D, {NAN}, ({{y}} - {_SLOPE} * {{x}}) / {_N})".format(**_M)
_LINE = t.Tuple((("k", t.Float(64)), ("b", t.Float(64))))

MOMENTS: tuple[Aggregate, ...] = (
    *(
        moment_aggregate(name, 1, _power_sums(*[each for each in _POWERS if each <= last]), formula)
        for name, (last, formula) in _ONE.items()
    ),
    moment_aggregate("covarPop", 2, _PAIR, _COVAR_POP),
    moment_aggregate("covarSamp", 2, _PAIR, _COVAR_SAMP),
    moment_aggregate("corr", 2, _PAIR2, _CORR),
    moment_aggregate(
        "simpleLinearRegression",
        2,
        {key: _PAIR2[key] for key in ("x", "y", "xy", "xx")},
        f"named_struct('k', {_SLOPE}, 'b', {_OFFSET})",
        _LINE,
    ),
)
WEIGHTED = moment_aggregate(
    "avgWeighted", 2, {"xw": "{0} * {1}", "w": "{1}"}, float_ratio("` m`.xw", "` m`.w"), _DOUBLE
)
"""avgWeighted of two floats; of integers ClickHouse's sums are integers."""


def _stable_value(spark: str, args: list[str], over: str) -> str:
    """A call of Spark's function; its `corr` fails for one row and for constants, so the ratio is made here."""
    if spark != "corr":
        return f"{spark}({', '.join(args)}){over}"
    joint, *spreads = (f"covar_pop({a}, {b}){over}" for a, b in (args, args[:1] * 2, args[1:] * 2))
    return float_ratio(joint, f"sqrt({spreads[0]} * {spreads[1]})")


def _stable_aggregate(name: str, spark: str, arity: int) -> Aggregate:
    """Spark's own functions are numerically stable, too; over too few rows ClickHouse gives infinity, over one row 0
    as its population's, whatever its value."""

    def plain(call: AggregateInput) -> str:
        args = [f"if({call.all_given}, {each}, NULL)" if arity > 1 else each for each in call.args]
        rows = f"count({args[0]}){call.over}"
        value = f"coalesce({_stable_value(spark, args, call.over)}, {NAN})"
        if "Pop" in name:
            return f"CASE {rows} WHEN 0 THEN double('Infinity') WHEN 1 THEN 0D ELSE {value} END"
        return f"if({rows} < 2, double('Infinity'), {value})"

    def no_state(_: object) -> str:
        raise AssertionError(f"{name} has no state")

    no_storage: Callable[[Types], str] = no_state
    return Aggregate(
        name=name,
        arity=(arity, arity),
        result=lambda types: nullable_like(t.Float(64), types),
        result_spark=lambda types: "DOUBLE",
        storage=no_storage,
        state=no_state,
        merge=no_state,
        finish=no_state,
        empty=no_storage,
        inputs=double_inputs,
        plain=plain,
        takes="number",
        has_state=False,
        needs=_not_nullable_needs,
        error="the last digits: both engines' sums depend on the order of rows",
        exact=False,
    )


STABLE = (
    _stable_aggregate("varPopStable", "var_pop", 1),
    _stable_aggregate("varSampStable", "var_samp", 1),
    _stable_aggregate("stddevPopStable", "stddev_pop", 1),
    _stable_aggregate("stddevSampStable", "stddev_samp", 1),
    _stable_aggregate("covarPopStable", "covar_pop", 2),
    _stable_aggregate("covarSampStable", "covar_samp", 2),
    _stable_aggregate("corrStable", "corr", 2),
)


_SUM = "DECIMAL(38,0)"


def _weighted_struct(n: str, over: str, under: str) -> str:
    return f"named_struct('n', {n}, 'xw', {over}, 'w', {under})"


_NO_WEIGHTED_ROWS = _weighted_struct("0L", f"CAST(0 AS {_SUM})", f"CAST(0 AS {_SUM})")


def _weighted_needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    if all(unwrap_type(of) == t.Float(64) for of in types):
        return None
    small = all(
        isinstance(of := unwrap_type(each), t.Bool) or (isinstance(of, t.Int) and of.bits <= 32) for each in types
    )
    return None if small else "two Float64 or two integers of at most 32 bits: toFloat64(x)"


def _weighted_state(call: AggregateInput) -> str:
    x, w = call.args
    product = f"if({call.all_given}, CAST({x} * {w} AS {_SUM}), NULL)"
    weight = f"if({call.all_given}, CAST({w} AS {_SUM}), NULL)"
    sums = (f"CAST(coalesce(sum({each}){call.over}, 0) AS {_SUM})" for each in (product, weight))
    return _weighted_struct(f"count({weight}){call.over}", *sums)


def _weighted_merge(state: AggregateState) -> str:
    sums = (f"CAST(coalesce(sum({state.sql}.{name}){state.over}, 0) AS {_SUM})" for name in ("xw", "w"))
    return _weighted_struct(f"coalesce(sum({state.sql}.n){state.over}, 0L)", *sums)


def _gather_integers(rows: AggregateState) -> str:
    x, w = "` x`.col1", "` x`.col2"
    sums = f"'xw', CAST(` a`.xw + {x} * {w} AS {_SUM}), 'w', CAST(` a`.w + {w} AS {_SUM})"
    return fold_rows(rows.sql, _NO_WEIGHTED_ROWS, f"named_struct('n', ` a`.n + 1L, {sums})")


def _weighted_finish(state: AggregateState) -> str:
    # Both sums are signed as the weight is: with an unsigned weight, a negative value wraps around, as in ClickHouse.
    weight = unwrap_type(state.types[1])
    signed = isinstance(weight, t.Int) and weight.signed
    over, under = (f"CAST({wrap_to_type(f'` m`.{name}', t.Int(64, signed))} AS DOUBLE)" for name in ("xw", "w"))
    pair = bind_lambda(
        f"struct({over} AS over, {under} AS under)", lambda _: float_ratio("` q`.over", "` q`.under"), "` q`"
    )
    whole = f"coalesce({state.sql}, {_NO_WEIGHTED_ROWS})"
    wraps = any(map(is_nullable, state.types))
    return bind_lambda(whole, lambda _: f"if(` m`.n = 0L, NULL, {pair})" if wraps else pair, "` m`")


_OF_INTEGERS = replace(
    WEIGHTED,
    storage=lambda types: f"STRUCT<`n`: BIGINT, `xw`: {_SUM}, `w`: {_SUM}>",
    state=_weighted_state,
    merge=_weighted_merge,
    finish=_weighted_finish,
    empty=lambda types: _NO_WEIGHTED_ROWS,
    inputs=lambda types: ("DECIMAL(11,0)",) * len(types),
    gather=_gather_integers,
)


def _weighted_row(types: Types) -> Aggregate:
    floats = all(isinstance(unwrap_type(of), t.Float) for of in types)
    return WEIGHTED if floats else _OF_INTEGERS


AVG_WEIGHTED = replace(
    WEIGHTED,
    result=lambda types: nullable_like(t.Float(64), types),
    storage=lambda types: _weighted_row(types).storage(types),
    state=lambda call: _weighted_row(call.types).state(call),
    merge=lambda state: _weighted_row(state.types).merge(state),
    finish=lambda state: _weighted_row(state.types).finish(state),
    empty=lambda types: _weighted_row(types).empty(types),
    inputs=lambda types: _weighted_row(types).inputs(types),
    gather=lambda rows: _gather_integers(rows) if _weighted_row(rows.types) is _OF_INTEGERS else _gather_floats(rows),
    needs=_weighted_needs,
)


def _gather_floats(rows: AggregateState) -> str:
    assert WEIGHTED.gather is not None
    return WEIGHTED.gather(rows)
