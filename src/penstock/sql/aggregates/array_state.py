"""Aggregates whose state is an array of all their rows, and Spark SQL over such arrays.

In: SQL of arrays; for `list_aggregate` a formula over the array of rows. Out: SQL; a row of the table. Invariant: a
lambda uses no columns, only parameters of lambdas, so columns come in through `bind_lambda`; states merge by
concatenation, in whatever order Spark brings them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.model import types as t
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Type, unwrap_type
from penstock.sql.aggregates.aggregate import (
    Aggregate,
    AggregateInput,
    AggregateState,
    Needs,
    Types,
    needs_nothing,
    value_inputs,
)
from penstock.sql.expr import bind_once
from penstock.sql.expr.spark_types import value_type
from penstock.sql.spark_text import replace_columns

NAN = "double('NaN')"


def bind_lambda(sql: str, body: Callable[[str], str], name: str = "` v`") -> str:
    """`body` of a name that stands for `sql`, which is written once."""
    return bind_once.bind_once(sql, name, body(name))


def packed_arguments(call: AggregateInput) -> str:
    """The argument itself, or a struct of several arguments; NULL where one of them is."""
    if len(call.args) == 1:
        return call.args[0]
    return f"if({call.all_given}, struct({', '.join(call.args)}), NULL)"


def packed_type(inputs: Sequence[str]) -> str:
    """The Spark type of `packed_arguments`, for arguments of these Spark types."""
    if len(inputs) == 1:
        return inputs[0]
    return "STRUCT<" + ", ".join(f"`col{place}`: {spark}" for place, spark in enumerate(inputs, 1)) + ">"


def packed_array_type(types: Types) -> str:
    """The Spark type of an array of packed arguments as they are stored."""
    return f"ARRAY<{packed_type(value_inputs(types))}>"


def zip_argument_arrays(arrays: Sequence[str]) -> str:
    """One array for each argument as one array of packed arguments, without those that contain NULL. Raises an error
    in Spark if the arrays have different sizes."""
    if len(arrays) == 1:
        return f"filter({arrays[0]}, ` x` -> ` x` IS NOT NULL)"
    named = ", ".join(f"{sql} AS `{place}`" for place, sql in enumerate(arrays, 1))
    fields = ", ".join(f"element_at(` s`.`{place}`, ` i` + 1) AS col{place}" for place in range(1, len(arrays) + 1))
    given = " AND ".join(f"` x`.col{place} IS NOT NULL" for place in range(1, len(arrays) + 1))
    wrong = " OR ".join(f"size(` s`.`1`) <> size(` s`.`{place}`)" for place in range(2, len(arrays) + 1))
    rows = f"filter(transform(` s`.`1`, (` e`, ` i`) -> struct({fields})), ` x` -> {given})"
    error = "raise_error('the arrays of an aggregate function have different sizes')"
    return bind_lambda(f"struct({named})", lambda s: f"if({wrong}, {error}, {rows})", "` s`")


def fold_rows(rows: str, zero: str, step: str) -> str:
    """A fold over an array of rows: `step` is SQL of ` a` (the result so far) and ` x` (a row)."""
    return f"aggregate({rows}, {zero}, (` a`, ` x`) -> {step})"


def fold_rows_or_null(rows: str, zero: str, step: str) -> str:
    """As `fold_rows`, but NULL for no rows."""
    return bind_lambda(rows, lambda v: f"if(size({v}) = 0, NULL, {fold_rows(v, zero, step)})")


def equal_runs(rows: str, key: str = "` x`") -> str:
    """Sorted rows as runs of equal keys: structs of the first `row`, its `place` and the `count` of rows. `key` is
    the SQL of the key of ` x`."""
    before = replace_columns(key, {" x": "get(` s`, ` i` - 1)"})
    starts = f"filter(transform(` s`, (` x`, ` i`) -> if(` i` = 0 OR NOT ({key} <=> {before}), ` i`, NULL)),"
    starts += " ` i` -> ` i` IS NOT NULL)"
    last = "coalesce(try_element_at(` p`.starts, ` j` + 2), size(` p`.s))"
    run = f"struct(get(` p`.s, ` i`) AS row, ` i` AS place, {last} - ` i` AS count)"
    both = bind_lambda(rows, lambda s: f"struct({s} AS s, {starts} AS starts)", "` s`")
    return bind_lambda(both, lambda p: f"transform({p}.starts, (` i`, ` j`) -> {run})", "` p`")


def group_by_key(rows: str, read: Callable[[str], str]) -> str:
    """An array of structs (k, v) as one struct (k, v) for each key, ordered by key. The new `v` is what `read` makes
    of the array of the key's values, which are in their original order."""
    placed = f"array_sort(transform({rows}, (` x`, ` i`) -> struct(` x`.k AS k, ` i` AS i, ` x`.v AS v)))"
    values = "transform(slice(` g`.s, ` r`.place + 1, ` r`.count), ` x` -> ` x`.v)"
    ran = bind_lambda(placed, lambda s: f"struct({s} AS s, {equal_runs(s, '` x`.k')} AS runs)", "` w`")
    return bind_lambda(
        ran, lambda g: f"transform({g}.runs, ` r` -> struct(` r`.row.k AS k, {read(values)} AS v))", "` g`"
    )


def float_ratio(over: str, under: str) -> str:
    """A division of doubles as in ClickHouse: by zero it is infinite, or NaN."""
    sign = f"CASE WHEN {over} > 0D AND NOT isnan({over}) THEN double('Infinity') "
    sign += f"WHEN {over} < 0D THEN double('-Infinity') ELSE {NAN} END"
    return f"coalesce(try_divide({over}, {under}), {sign})"


def list_state(call: AggregateInput) -> str:
    """The array of all packed arguments."""
    return f"CAST(collect_list({packed_arguments(call)}){call.over} AS {packed_array_type(call.types)})"


def distinct_values(call: AggregateInput) -> str:
    """The array of all different packed arguments. Spark's collect_set keeps each NaN, array_distinct one."""
    whole = f"collect_set({packed_arguments(call)}){call.over}"
    return f"array_distinct({whole})" if any(map(contains_float, call.types)) else whole


def contains_float(of: Type) -> bool:
    """Whether a type is a float or contains one."""
    match unwrap_type(of):
        case t.Float():
            return True
        case t.Array(inner):
            return contains_float(inner)
        case t.Tuple(fields):
            return any(contains_float(inner) for _, inner in fields)
        case _:
            return False


def merge_lists(state: AggregateState) -> str:
    """The arrays of all states, concatenated."""
    return f"flatten(collect_list({state.sql}){state.over})"


def empty_list(types: Types) -> str:
    """No rows, as an array."""
    return f"CAST(array() AS {packed_array_type(types)})"


def rows_of_state(state: AggregateState) -> str:
    """A state that is an array; no rows where it is NULL."""
    return f"coalesce({state.sql}, {empty_list(state.types)})"


@dataclass(frozen=True, slots=True)
class AggregateTraits:
    """The less common properties of a function; see `Aggregate`."""

    needs: Needs = needs_nothing
    parameters: tuple[int, int] = (0, 0)
    error: str = ""
    ordered: bool = False
    exact: bool = True


_COMMON = AggregateTraits()


def list_aggregate(
    name: str,
    arity: tuple[int, int],
    result: Callable[[Types], Type],
    read: Callable[[AggregateState], str],
    traits: AggregateTraits = _COMMON,
) -> Aggregate:
    """A function whose state is all its rows. `read` makes the SQL of the result from a state, which is then an
    array and never NULL."""

    def finish(state: AggregateState) -> str:
        return read(AggregateState(rows_of_state(state), state.types, state.parameters))

    return Aggregate(
        name=name,
        arity=arity,
        result=result,
        result_spark=lambda types: value_type(result(types)),
        storage=packed_array_type,
        state=list_state,
        merge=merge_lists,
        finish=finish,
        empty=empty_list,
        inputs=value_inputs,
        parameters=traits.parameters,
        exact=traits.exact,
        gather=lambda rows: rows.sql,
        needs=traits.needs,
        error=traits.error,
        ordered=traits.ordered,
    )
