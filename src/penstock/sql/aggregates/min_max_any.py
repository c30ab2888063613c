"""One of the values: min, max, any, anyLast, singleValueOrNull, argMin, argMax and their variants.

Out: rows of the table. Invariant: over no rows they give the default value, and NULL where the argument is Nullable.
Of equal values, argMin takes the least argument and argMax the greatest, whatever the order of rows; ClickHouse takes
the first it sees.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.model import types as t
from penstock.model.types import unwrap_type
from penstock.sql.aggregates.aggregate import (
    Aggregate,
    AggregateInput,
    AggregateParameter,
    AggregateState,
    Needs,
    Types,
    contains_map,
    needs_all,
    needs_comparable,
    needs_nothing,
    nullable_like,
    value_inputs,
)
from penstock.sql.aggregates.array_state import bind_lambda
from penstock.sql.aggregates.count_sum_avg import default_unless_nullable
from penstock.sql.expr.sort_order import (
    contains_stored_as_text,
    is_stored_as_text,
    needs_nested_key,
    nested_key,
    order_key,
)
from penstock.sql.expr.spark_types import value_default, value_type


def _comparable_needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    return "a value that can be compared" if contains_map(types[0]) or contains_stored_as_text(types[0]) else None


def _least_needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    return _comparable_needs(types, parameters) or _min_needs(types[0])


def _has_key(name: str, of: t.Type) -> bool:
    """Whether min or max may not order values of the type by themselves."""
    return is_stored_as_text(of) or (name == "max" and needs_nested_key(of, "least"))


def _key(of: t.Type, sql: str) -> str:
    """What min or max orders values by. NULL and NaN inside of them lose: NaN is Spark's greatest number already."""
    return order_key(of, sql) if is_stored_as_text(of) else nested_key(of, sql, "least")


def _min_needs(of: t.Type) -> str | None:
    """With GROUP BY, and when it merges parts, ClickHouse's min takes a NULL inside for the least value, else not."""
    return "no NULL inside: ifNull(…) or minIf" if needs_nested_key(of, "greatest") else None


_PICK_NEEDS: dict[str, Needs] = {"min": _least_needs, "max": _comparable_needs}


def _pick_aggregate(name: str, spark: str, gather: str) -> Aggregate:
    """A function whose state is one of the values; `spark` and `gather` are templates of its SQL."""

    def choose(sql: str, over: str, types: Types) -> str:
        if name == "max" and isinstance(unwrap_type(types[0]), t.Float):
            # NaN is Spark's greatest number; ClickHouse ignores it where there is any other.
            return f"(- min(- {sql.removeprefix('DISTINCT ')}){over})"
        if not name.startswith("any") and _has_key(name, types[0]):
            value = sql.removeprefix("DISTINCT ")
            return f"{name}_by({value}, {_key(types[0], value)}){over}"
        return spark.format(sql) + over

    def chosen(rows: AggregateState) -> str:
        if not name.startswith("any") and _has_key(name, rows.types[0]):
            pairs = f"transform({rows.sql}, ` y` -> struct({_key(rows.types[0], '` y`')} AS k, ` y` AS v))"
            return f"(array_{name}({pairs})).v"
        if name == "max" and isinstance(unwrap_type(rows.types[0]), t.Float):
            numbers = "array_max(filter(` v`, ` x` -> NOT isnan(` x`)))"
            return bind_lambda(rows.sql, lambda v: f"coalesce({numbers}, array_max({v}))")
        return gather.format(rows.sql)

    return Aggregate(
        name=name,
        arity=(1, 1),
        result=lambda types: types[0],
        result_spark=lambda types: value_type(types[0]),
        storage=lambda types: value_type(types[0]),
        state=lambda call: choose(call.args[0], call.over, call.types),
        merge=lambda state: choose(state.sql, state.over, state.types),
        finish=lambda state: default_unless_nullable(
            state.sql, state.types, value_default(unwrap_type(state.types[0]))
        ),
        empty=lambda types: f"CAST(NULL AS {value_type(types[0])})",
        inputs=value_inputs,
        gather=chosen,
        needs=_PICK_NEEDS.get(name, needs_nothing),
        ordered=name.startswith("any"),
        null_over_none=True,
    )


MIN_MAX_ANY = (
    _pick_aggregate("min", "min({0})", "array_min({0})"),
    _pick_aggregate("max", "max({0})", "array_max({0})"),
    _pick_aggregate("any", "first({0}, true)", "get({0}, 0)"),
    _pick_aggregate("anyLast", "last({0}, true)", "try_element_at({0}, -1)"),
)


def _single_value(state: AggregateState) -> str:
    return f"if(({state.sql}).`low` <=> ({state.sql}).`high`, ({state.sql}).`low`, NULL)"


def _lowest_and_highest(sql: str, over: str) -> str:
    return f"named_struct('low', min({sql}){over}, 'high', max({sql}){over})"


def _single_storage(types: Types) -> str:
    of = value_type(unwrap_type(types[0]))
    return f"STRUCT<`low`: {of}, `high`: {of}>"


def _no_container(types: Types) -> str | None:
    return "a value that can be Nullable" if isinstance(unwrap_type(types[0]), (t.Array, t.Tuple)) else None


SINGLE_VALUE_OR_NULL = Aggregate(
    name="singleValueOrNull",
    arity=(1, 1),
    result=lambda types: t.Nullable(unwrap_type(types[0])),
    result_spark=lambda types: value_type(types[0]),
    storage=_single_storage,
    state=lambda call: _lowest_and_highest(call.args[0], call.over),
    merge=lambda state: (
        f"named_struct('low', min({state.sql}.`low`){state.over}, 'high', max({state.sql}.`high`){state.over})"
    ),
    finish=_single_value,
    empty=lambda types: f"CAST(NULL AS {_single_storage(types)})",
    inputs=value_inputs,
    gather=lambda rows: bind_lambda(rows.sql, lambda v: f"named_struct('low', array_min({v}), 'high', array_max({v}))"),
    needs=needs_all(needs_comparable, lambda types, parameters: _no_container(types)),
)


def _any_respecting_nulls(name: str, spark: str) -> Aggregate:
    """any and anyLast that take NULL as a value: it is kept in a struct."""

    def struct(types: Types) -> str:
        return f"STRUCT<`v`: {value_type(types[0])}>"

    def state(call: AggregateInput) -> str:
        return f"{spark}(named_struct('v', {call.args[0]}), true){call.over}"

    return Aggregate(
        name=name,
        arity=(1, 1),
        result=lambda types: types[0],
        result_spark=lambda types: value_type(types[0]),
        storage=struct,
        state=state,
        merge=lambda state: f"{spark}({state.sql}, true){state.over}",
        finish=lambda state: default_unless_nullable(
            f"({state.sql}).`v`", state.types, value_default(unwrap_type(state.types[0]))
        ),
        empty=lambda types: f"CAST(NULL AS {struct(types)})",
        inputs=lambda types: (value_type(types[0]),),
        ordered=True,
    )


RESPECT_NULLS = (
    _any_respecting_nulls("any_respect_nulls", "first"),
    _any_respecting_nulls("anyLast_respect_nulls", "last"),
)


def _arg_storage(types: Types) -> str:
    argument, value = value_inputs(types)
    return f"STRUCT<`value`: {value}, `argument`: {argument}>"


def _argument(state: AggregateState) -> str:
    """The argument of the pair; an array or a map is never NULL."""
    found, of = f"({state.sql}).`argument`", unwrap_type(state.types[0])
    if isinstance(of, (t.Array, t.Map)):
        return f"coalesce({found}, {value_default(of)})"
    return default_unless_nullable(found, state.types, value_default(of))


def _arg_pair(spark: str, types: Types, argument: str, value: str) -> str:
    if spark == "max" and isinstance(unwrap_type(types[1]), t.Float):
        # NaN is Spark's greatest number; ClickHouse ignores it where there is any other.
        value = f"if(isnan({value}), CAST('-Infinity' AS {value_type(unwrap_type(types[1]))}), {value})"
    return f"named_struct('value', {value}, 'argument', {argument})"


def _arg_needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    kept = is_stored_as_text(types[1]) or contains_stored_as_text(types[1])
    return "a second argument that can be compared" if kept or contains_map(types[1]) else None


def _arg_least_needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    return _arg_needs(types, parameters) or _min_needs(types[1])


def _arg_aggregate(name: str, spark: str) -> Aggregate:
    """argMin, argMax: the pair with the least or greatest value; of equal ones, the argument decides."""

    def chosen(sql: str, value: str, types: Types, over: str) -> str:
        """Spark does not compare maps: there, any row with the best value may be taken."""
        if not contains_map(types[0]) and not _has_key(spark, types[1]):
            return f"{spark}({sql}){over}"
        return f"{spark}_by({sql}, {_key(types[1], value) if _has_key(spark, types[1]) else value}){over}"

    def best(call: AggregateInput) -> str:
        argument, value = call.args
        pair = f"if({call.all_given}, {_arg_pair(spark, call.types, argument, value)}, NULL)"
        return chosen(pair, f"if({call.all_given}, {value}, NULL)", call.types, call.over)

    def gathered(rows: AggregateState) -> str:
        pair = _arg_pair(spark, rows.types, "` x`.col1", "` x`.col2")
        if not _has_key(spark, rows.types[1]):
            return f"array_{spark}(transform({rows.sql}, ` x` -> {pair}))"
        keyed = f"named_struct('key', {_key(rows.types[1], '` x`.col2')}, 'pair', {pair})"
        return f"(array_{spark}(transform({rows.sql}, ` x` -> {keyed}))).pair"

    return Aggregate(
        name=name,
        arity=(2, 2),
        result=lambda types: nullable_like(types[0], types),
        result_spark=lambda types: value_type(types[0]),
        storage=_arg_storage,
        state=best,
        merge=lambda state: chosen(state.sql, f"({state.sql}).`value`", state.types, state.over),
        finish=_argument,
        empty=lambda types: f"CAST(NULL AS {_arg_storage(types)})",
        inputs=value_inputs,
        gather=gathered,
        needs=_arg_least_needs if spark == "min" else _arg_needs,
        null_over_none=True,
        error="of rows with equal values, the one with the least (argMin) or greatest (argMax) argument",
    )


def _arg_and_value(row: Aggregate, name: str) -> Aggregate:
    """argAndMin, argAndMax: the value is returned beside its argument."""

    def result(types: Types) -> t.Type:
        return t.Tuple(tuple((None, unwrap_type(each)) for each in types))

    def needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
        plain = not any(map(t.is_nullable, types)) and not isinstance(unwrap_type(types[1]), t.Float)
        return row.needs(types, parameters) if plain else "arguments that are not Nullable, the second no float"

    def finish(state: AggregateState) -> str:
        pair = f"named_struct('_1', ({state.sql}).`argument`, '_2', ({state.sql}).`value`)"
        return f"coalesce(if({state.sql} IS NULL, NULL, {pair}), {value_default(result(state.types))})"

    return replace(
        row,
        name=name,
        result=result,
        result_spark=lambda types: value_type(result(types)),
        finish=finish,
        needs=needs,
        null_over_none=False,
    )


_ARG_MIN, _ARG_MAX = _arg_aggregate("argMin", "min"), _arg_aggregate("argMax", "max")
ARG_MIN_MAX = (_ARG_MIN, _ARG_MAX, _arg_and_value(_ARG_MIN, "argAndMin"), _arg_and_value(_ARG_MAX, "argAndMax"))
