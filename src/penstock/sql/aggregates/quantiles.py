"""The quantile functions: each reads one level of the sorted values, in its plural (quantiles…) several.

Out: rows of the table. Invariant: a state keeps every value, so the result is the quantile of all rows, also where
ClickHouse takes a sample; NULL and NaN are ignored. The formulas are those of ClickHouse's
src/AggregateFunctions/QuantileExact.h and its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from penstock.model import types as t
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.sql.aggregates.aggregate import (
    Aggregate,
    AggregateInput,
    AggregateParameter,
    AggregateState,
    Needs,
    Types,
    double_inputs,
    nullable_like,
    value_inputs,
)
from penstock.sql.aggregates.array_state import (
    NAN,
    bind_lambda,
    list_state,
    merge_lists,
    packed_array_type,
    rows_of_state,
)
from penstock.sql.aggregates.count_sum_avg import default_unless_nullable
from penstock.sql.expr.spark_types import value_default, value_type

QuantileSql = Callable[[float], str]
"""The quantile at a level as SQL over ` v`, the sorted values, of which there is at least one."""
_LINEAR_ERROR = "ClickHouse's own is of a sample of 8,192 values; this one is of all"


@dataclass(frozen=True, slots=True)
class QuantileFamily:
    """A quantile function with its plural."""

    name: str
    read: QuantileSql
    result: Callable[[Types], Type]
    """The type of one quantile."""
    needs: Needs
    inputs: Callable[[Types], tuple[str, ...]] = value_inputs
    arity: int = 1
    """2 for a function with weights."""
    skipped: int = 0
    """The number of parameters before the levels."""
    error: str = ""


_DIGITS_OF_DOUBLES = 15


def _double(types: Types) -> Type:
    return t.Float(64)


def _double_or_decimal(types: Types) -> Type:
    """A Decimal for Decimals, a Float64 for other numbers."""
    of = unwrap_type(types[0])
    return of if isinstance(of, t.Decimal) else t.Float(64)


def _unscaled(of: Type, sql: str) -> str:
    """A number, or the integer that is behind a Decimal, as a double. ClickHouse interpolates Decimals in longer floats
    than Spark has: values of more than 15 digits fail."""
    if not isinstance(of, t.Decimal):
        return sql
    whole = f"rint({sql} * {float(10**of.scale)!r}D)"
    if of.precision <= _DIGITS_OF_DOUBLES:
        return whole
    raised = f"raise_error('a quantile of a Decimal of more than {_DIGITS_OF_DOUBLES} digits: toFloat64(x)')"
    return f"if(abs({sql}) >= {float(10 ** (_DIGITS_OF_DOUBLES - of.scale))!r}D, {raised}, {whole})"


def _rescaled(of: Type, sql: str) -> str:
    """The inverse of `_unscaled`: the fraction of the integer is cut off."""
    if not isinstance(of, t.Decimal):
        return sql
    unit = f"CAST('1e-{of.scale}' AS DECIMAL({of.scale + 1},{of.scale}))"
    return f"CAST(CAST(CAST({sql} AS BIGINT) AS DECIMAL(19,0)) * {unit} AS {value_type(of)})"


def _small_float(types: Types) -> Type:
    return t.Float(32)


def _argument_type(types: Types) -> Type:
    return unwrap_type(types[0])


def _value_at(place: str) -> str:
    return f"get(` v`, CAST({place} AS INT))"


def _linear_quantile(level: float) -> str:
    # Between a value and the next one, even where the share of the next is 0, which makes NaN of infinity.
    place = f"(size(` v`) - 1) * {level}D"
    low, high = _value_at(f"floor({place})"), _value_at(f"floor({place}) + 1")
    between = f"{low} * (floor({place}) + 1 - {place}) + {high} * ({place} - floor({place}))"
    return f"if({place} >= size(` v`) - 1, element_at(` v`, -1), {between})"


def _exact_quantile(level: float) -> str:
    return _value_at("size(` v`) - 1" if level >= 1 else f"floor({level}D * size(` v`))")


def _exact_low_quantile(level: float) -> str:
    return _value_at("(size(` v`) - 1) div 2") if level == 0.5 else _exact_quantile(level)


def _rank_quantile(level: float) -> str:
    return _value_at(f"greatest(ceil({level}D * size(` v`)) - 1, 0)")


def _timing_quantile(level: float) -> str:
    return f"least({_exact_quantile(level)}, 30000)"


def _interpolate_at(place: str) -> str:
    """Interpolated between two neighbours, at a place that counts from 1."""
    low, high = _value_at(f"floor({place}) - 1"), _value_at(f"floor({place})")
    inside = f"{low} + ({place} - floor({place})) * ({high} - {low})"
    first, last = "element_at(` v`, 1)", "element_at(` v`, -1)"
    return f"CASE WHEN {place} < 1D THEN {first} WHEN floor({place}) >= size(` v`) THEN {last} ELSE {inside} END"


def _exclusive_quantile(level: float) -> str:
    return _interpolate_at(f"({level}D * (size(` v`) + 1))")


def _inclusive_quantile(level: float) -> str:
    return _interpolate_at(f"({level}D * (size(` v`) - 1) + 1D)")


def _weighted_quantile(level: float) -> str:
    """The first value up to which the weights reach their share of the total."""
    n = "CAST(` a`.n + ` x`.col2 AS DECIMAL(38,0))"
    zero = "CAST(0 AS DECIMAL(38,0))"
    start = f"named_struct('n', {zero}, 'r', if(false, get(` v`, 0).col1, NULL))"
    reached = f"if(` a`.r IS NULL AND {n} >= ` t`, ` x`.col1, ` a`.r)"
    total = f"aggregate(` v`, {zero}, (` a`, ` x`) -> CAST(` a` + ` x`.col2 AS DECIMAL(38,0)))"
    share = f"CAST(ceil(CAST({total} AS DOUBLE) * {level}D) AS DECIMAL(38,0))"
    step = f"(` a`, ` x`) -> named_struct('n', {n}, 'r', {reached})"
    return bind_lambda(share, lambda _: f"aggregate(` v`, {start}, {step}, ` a` -> ` a`.r)", "` t`")


def _levels(parameters: tuple[AggregateParameter, ...], skipped: int) -> tuple[float, ...]:
    return tuple(float(each) for each in parameters[skipped:]) or (0.5,)


def _level_needs(family: QuantileFamily, types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    texts = any(isinstance(each, str) for each in parameters)
    if texts or not all(0 <= float(level) <= 1 for level in parameters[family.skipped :]):
        return "levels from 0 to 1"
    if family.name == "quantileExactExclusive" and any(each in (0, 1) for each in parameters):
        return "levels between 0 and 1"
    return family.needs(types, parameters)


def _default_value(family: QuantileFamily, types: Types) -> str:
    of = family.result(types)
    spark = value_type(of)
    return f"CAST('NaN' AS {spark})" if isinstance(of, t.Float) else value_default(of)


def _default_of_none(value: str, rows: str, types: Types, default: str) -> str:
    """`default` in place of NULL; for Nullable arguments only over `rows` (so many) that are all NaN."""
    if isinstance(unwrap_type(types[0]), t.Float) and any(map(is_nullable, types)):
        return f"coalesce({value}, if({rows} > 0, {default}, NULL))"
    return default_unless_nullable(value, types, default)


def _sorted_values(family: QuantileFamily, state: AggregateState) -> str:
    rows = rows_of_state(state) if family.inputs is value_inputs else f"coalesce({state.sql}, array())"
    if isinstance(unwrap_type(state.types[0]), t.Float):
        value = "` x`" if family.arity == 1 else "` x`.col1"
        rows = f"filter({rows}, ` x` -> NOT isnan({value}))"
    of = family.result(state.types)
    if family.inputs is double_inputs and isinstance(of, t.Decimal):
        rows = f"transform({rows}, ` x` -> {_unscaled(of, '` x`')})"
    return f"array_sort({rows})"


def _one_level(family: QuantileFamily, state: AggregateState, of: str) -> str:
    level = _levels(state.parameters, family.skipped)[0]
    body = f"if(size(` v`) = 0, NULL, {_read_level(family, state.types, level, of)})"
    found = bind_lambda(_sorted_values(family, state), lambda _: body)
    default = _default_value(family, state.types)
    if family.name == "quantileGK" and isinstance(of_values := _argument_type(state.types), t.Float):
        # Of values that are all NaN it is NaN, of no values 0: that of the other families is NaN.
        default = f"if(size({state.sql}) > 0, {default}, {value_default(of_values)})"
    return _default_of_none(found, f"size({state.sql})", state.types, default)


def _several_levels(family: QuantileFamily, state: AggregateState, of: str) -> str:
    levels = _levels(state.parameters, family.skipped)
    # Over no rows, ClickHouse gives zeros where a quantile is one of the values, for floats too.
    picks = family.result is _argument_type
    default = value_default(_argument_type(state.types)) if picks else _default_value(family, state.types)
    values = (_read_level(family, state.types, each, of) for each in levels)
    read = ", ".join(f"if(size(` v`) = 0, {default}, {value})" for value in values)
    return bind_lambda(_sorted_values(family, state), lambda _: f"array({read})")


def _read_level(family: QuantileFamily, types: Types, level: float, of: str) -> str:
    found = family.read(level)
    if family.inputs is double_inputs:
        found = _rescaled(family.result(types), found)
    return f"CAST({found} AS {of})"


def _storage(family: QuantileFamily, types: Types) -> str:
    return packed_array_type(types) if family.inputs is value_inputs else "ARRAY<DOUBLE>"


def _family_row(
    family: QuantileFamily, plural: str, finish: Callable[[QuantileFamily, AggregateState, str], str]
) -> Aggregate:
    def result(types: Types) -> Type:
        of = family.result(types)
        return t.Array(of) if plural else nullable_like(of, types)

    def state(call: AggregateInput) -> str:
        return list_state(call) if family.inputs is value_inputs else f"collect_list({call.args[0]}){call.over}"

    return Aggregate(
        name=family.name.replace("quantile", "quantiles") if plural else family.name,
        arity=(family.arity, family.arity),
        result=result,
        result_spark=lambda types: value_type(result(types)),
        storage=lambda types: _storage(family, types),
        state=state,
        merge=merge_lists,
        finish=lambda state: finish(family, state, value_type(family.result(state.types))),
        empty=lambda types: f"CAST(array() AS {_storage(family, types)})",
        inputs=family.inputs,
        parameters=(family.skipped + bool(plural), 64 if plural else 1 + family.skipped),
        exact=not family.error,
        gather=lambda rows: rows.sql,
        needs=lambda types, parameters: _level_needs(family, types, parameters),
        error=family.error,
        null_over_none=not plural,
    )


_INTEGERS = (t.Int, t.Bool)
_NUMBERS = (t.Int, t.Bool, t.Float)


def _needs_kind(kinds: tuple[type, ...], needed: str) -> Needs:
    def needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
        return None if isinstance(unwrap_type(types[0]), kinds) else needed

    return needs


def _ordered_needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    if unwrap_type(types[0]) == t.Date(wide=True):
        return "a Date, not a Date32: toDate(x)"
    return _KINDS_IN_ORDER(types, parameters)


def _weight_needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    weight = unwrap_type(types[1])
    if not isinstance(weight, t.Int) or weight.signed:
        return "an unsigned integer as the weight"
    return _ordered_needs(types, parameters)


def _unsigned_needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    of = unwrap_type(types[0])
    small = isinstance(of, t.Int) and not of.signed and of.bits <= 32
    return None if small else "an unsigned integer of at most 32 bits: toUInt32(x)"


def _accuracy_needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    accurate = parameters and isinstance(parameters[0], int) and parameters[0] > 0
    return _plain_number_needs(types, parameters) if accurate else "an accuracy, a whole number, as first parameter"


_number_needs = _needs_kind(_NUMBERS, "an integer or a float: toFloat64(x)")
_KINDS_IN_ORDER = _needs_kind((t.Int, t.Float, t.Decimal, t.Date, t.DateTime, t.DateTime64), "a number or a time")
_plain_number_needs = _needs_kind((t.Int, t.Float), "an integer or a float")

_EXACT = "ClickHouse's own is approximate; this one is exact"
_FAMILIES = (
    QuantileFamily("quantileExact", _exact_quantile, _argument_type, _ordered_needs),
    QuantileFamily("quantileExactLow", _exact_low_quantile, _argument_type, _ordered_needs),
    QuantileFamily("quantileExactHigh", _exact_quantile, _argument_type, _ordered_needs),
    QuantileFamily("quantileExactExclusive", _exclusive_quantile, _double, _number_needs, inputs=double_inputs),
    QuantileFamily("quantileExactInclusive", _inclusive_quantile, _double, _number_needs, inputs=double_inputs),
    QuantileFamily("quantileExactWeighted", _weighted_quantile, _argument_type, _weight_needs, arity=2),
    QuantileFamily(
        "quantileTDigest",
        _rank_quantile,
        _small_float,
        _plain_number_needs,
        error=_EXACT + " (of rank, after some 200 values)",
    ),
    QuantileFamily(
        "quantileTiming",
        _timing_quantile,
        _small_float,
        _unsigned_needs,
        error=_EXACT + " (of some 5,670 values or more)",
    ),
    QuantileFamily(
        "quantileGK",
        _rank_quantile,
        _argument_type,
        _accuracy_needs,
        skipped=1,
        error=_EXACT + " (within 1/accuracy of rank)",
    ),
)


def _percentile(call: AggregateInput) -> str:
    """Spark's own function, which gives the same result and keeps no state."""
    level = _levels(call.parameters, 0)[0]
    value = call.args[0]
    of = unwrap_type(call.types[0])
    if not isinstance(of, t.Float):
        found = _rescaled(of, f"percentile({_unscaled(of, value)}, {level}D){call.over}")
        return default_unless_nullable(found, call.types, _default_value(_LINEAR, call.types))
    given = f"if(isnan({value}), NULL, {value})"
    found = f"percentile({given}, {level}D){call.over}"
    if level < 1:
        found = f"if({_meets_infinity(given, level, call.over)}, {NAN}, {found})"
    return _default_of_none(found, f"count({value}){call.over}", call.types, NAN)


def _meets_infinity(value: str, level: float, over: str) -> str:
    """Whether the quantile is one value whose next is infinite: ClickHouse adds the next, times 0, which is NaN."""
    rows = f"count({value}){over}"
    low, high = (f"count(if({value} = double('{sign}Infinity'), 1, NULL)){over}" for sign in ("-", ""))
    place = f"({rows} - 1) * {level}D"
    beside = f"({place} + 1D < {low} OR {place} + 1D >= {rows} - {high})"
    return f"{low} + {high} > 0 AND {place} = floor({place}) AND {place} < {rows} - 1 AND {beside}"


def _finish_quantile(state: AggregateState) -> str:
    """The formula of `quantile` itself, over a state."""
    of = unwrap_type(state.types[0])
    body = _rescaled(of, _linear_quantile(_levels(state.parameters, 0)[0]))
    values = state.sql
    if isinstance(unwrap_type(state.types[0]), t.Float):
        values = f"filter({values}, ` x` -> NOT isnan(` x`))"
    if isinstance(of, t.Decimal):
        values = f"transform({values}, ` x` -> {_unscaled(of, '` x`')})"
    value = bind_lambda(f"array_sort({values})", lambda v: f"if(size({v}) = 0, NULL, {body})")
    return _default_of_none(value, f"size({state.sql})", state.types, _default_value(_LINEAR, state.types))


def _linear_needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    of = unwrap_type(types[0])
    if isinstance(of, t.Decimal):
        return None if of.precision <= _MOST_DIGITS else "a Decimal of at most 18 digits: toFloat64(x)"
    return _number_needs(types, parameters)


_MOST_DIGITS = 18
_LINEAR = QuantileFamily(
    "quantile", _linear_quantile, _double_or_decimal, _linear_needs, inputs=double_inputs, error=_LINEAR_ERROR
)
_PLAIN = _family_row(_LINEAR, "", _one_level)


def _deterministic_row(row: Aggregate, name: str) -> Aggregate:
    """Over all values: the argument by which ClickHouse takes its sample is not needed, but its type is checked."""

    def needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
        sampled = unwrap_type(types[1])
        if not isinstance(sampled, t.Bool) and (not isinstance(sampled, t.Int) or sampled.signed):
            return "an unsigned integer as its second argument"
        return _number_needs(types, parameters) or row.needs(types, parameters)

    return replace(
        row,
        name=name,
        arity=(2, 2),
        inputs=lambda types: ("DOUBLE", value_type(unwrap_type(types[1]))),
        state=lambda call: f"collect_list(if({call.all_given}, {call.args[0]}, NULL)){call.over}",
        needs=needs,
        gather=lambda rows: f"transform({rows.sql}, ` x` -> ` x`.col1)",
    )


_PLURAL = _family_row(_LINEAR, "plural", _several_levels)
QUANTILES: tuple[Aggregate, ...] = (
    replace(_PLAIN, plain=_percentile, finish=_finish_quantile),
    _PLURAL,
    _deterministic_row(_PLAIN, "quantileDeterministic"),
    _deterministic_row(_PLURAL, "quantilesDeterministic"),
    *(_family_row(family, "", _one_level) for family in _FAMILIES),
    *(_family_row(family, "plural", _several_levels) for family in _FAMILIES),
)
_WITHOUT_MEDIAN = ("quantileExactExclusive", "quantileExactInclusive")
MEDIANS = {
    row.name.replace("quantile", "median"): row.name
    for row in QUANTILES
    if "quantiles" not in row.name and row.name not in _WITHOUT_MEDIAN
}
"""The names of the median of each family, as far as ClickHouse has one."""
