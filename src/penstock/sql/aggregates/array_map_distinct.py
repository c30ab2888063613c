"""The combinators that make another aggregate of one: -Array, -ForEach, -Map and -Distinct

In: a row of the table. Out: a row. Called by `combinators`. Invariant: all but -Array have all rows as their
state and read them by the inner row's `gather` and `finish`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from penstock.model import types as t
from penstock.model.types import Type, unwrap_type
from penstock.sql.aggregates.aggregate import (
    Aggregate,
    AggregateInput,
    AggregateParameter,
    AggregateState,
    Types,
    contains_map,
)
from penstock.sql.aggregates.array_state import (
    AggregateTraits,
    bind_lambda,
    group_by_key,
    list_aggregate,
    packed_arguments,
    packed_type,
    rows_of,
)
from penstock.sql.expr.spark_types import value_type

Combinator = Callable[[Aggregate], "Aggregate | None"]


def array_row(row: Aggregate) -> Aggregate:
    """The row that works over rows in an array."""
    return row.collected or row


def read_rows(row: Aggregate, rows: AggregateState) -> str:
    """The result of an aggregate over rows in an array, which is never NULL."""
    assert row.gather is not None
    return row.finish(AggregateState(row.gather(rows), rows.types, rows.parameters))


def _element_types(types: Types) -> Types:
    return tuple(of.of for each in types if isinstance(of := unwrap_type(each), t.Array))


def _array_needs(row: Aggregate) -> Callable[[Types, tuple[AggregateParameter, ...]], str | None]:
    def needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
        inner = _element_types(types)
        if not types or len(inner) != len(types):
            return "arrays"
        return element_needs(row, inner, parameters)

    return needs


def element_needs(row: Aggregate, inner: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    if any(unwrap_type(of) == t.Tuple(()) for of in inner):
        return "arrays of values with a type"
    if row.takes == "number" and not all(
        isinstance(unwrap_type(of), (t.Int, t.Float, t.Decimal, t.Bool)) for of in inner
    ):
        return "numbers inside"
    return row.needs(inner, parameters)


def _array_inputs(row: Aggregate, types: Types) -> tuple[str, ...]:
    return tuple(f"ARRAY<{spark}>" for spark in row.inputs(_element_types(types)))


def combine_array(outer: Aggregate) -> Aggregate | None:
    """-Array: over the elements of arrays; what a row's array gives is merged like a state."""
    row = array_row(outer)
    if row.gather is None:
        return None
    gather = row.gather

    def state(call: AggregateInput) -> str:
        inner = _element_types(call.types)
        return row.merge(
            AggregateState(gather(AggregateState(rows_of(call.args), inner, call.parameters)), inner, over=call.over)
        )

    def of_elements(form: Callable[[AggregateState], str]) -> Callable[[AggregateState], str]:
        return lambda state: form(replace(state, types=_element_types(state.types)))

    return replace(
        row,
        name=f"{outer.name}Array",
        arity=(max(row.arity[0], 1), max(row.arity[1], 1)),
        result=lambda types: row.result(_element_types(types)),
        result_spark=lambda types: row.result_spark(_element_types(types)),
        storage=lambda types: row.storage(_element_types(types)),
        state=state,
        merge=of_elements(row.merge),
        finish=of_elements(row.finish),
        merged=None if row.merged is None else of_elements(row.merged),
        empty=lambda types: row.empty(_element_types(types)),
        inputs=lambda types: _array_inputs(row, types),
        plain=None,
        takes="any",
        gather=None,
        needs=_array_needs(row),
        null_over_none=False,
    )


def combine_for_each(outer: Aggregate) -> Aggregate | None:
    """-ForEach: of the first elements of all arrays, of the second ones, and so on."""
    row = array_row(outer)
    if row.gather is None or row.arity[0] > 1:
        return None

    def read(state: AggregateState) -> str:
        inner = _element_types(state.types)
        values = "filter(transform(` f`, ` x` -> get(` x`, ` p`)), ` x` -> ` x` IS NOT NULL)"
        one = read_rows(row, AggregateState(values, inner, state.parameters))
        longest = "coalesce(array_max(transform(` f`, ` x` -> size(` x`))), 0)"
        places = f"slice(sequence(0, {longest}), 1, {longest})"
        return bind_lambda(state.sql, lambda _: f"transform({places}, ` p` -> {one})", "` f`")

    made = list_aggregate(
        f"{outer.name}ForEach",
        (1, 1),
        lambda types: t.Array(row.result(_element_types(types))),
        read,
        AggregateTraits(_array_needs(row), row.parameters, row.error, row.ordered, row.exact),
    )
    return replace(
        made,
        storage=lambda types: f"ARRAY<{_array_inputs(row, types)[0]}>",
        state=lambda call: f"collect_list({call.args[0]}){call.over}",
        finish=lambda state: read(replace(state, sql=f"coalesce({state.sql}, array())")),
        empty=lambda types: f"CAST(array() AS ARRAY<{_array_inputs(row, types)[0]}>)",
        inputs=lambda types: _array_inputs(row, types),
    )


def _map_type(types: Types) -> t.Map:
    of = unwrap_type(types[0])
    assert isinstance(of, t.Map)
    return of


def combine_map(outer: Aggregate) -> Aggregate | None:
    """-Map: of the values of each key."""
    row = array_row(outer)
    if row.gather is None or row.arity[0] > 1:
        return None

    def needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
        of = unwrap_type(types[0]) if len(types) == 1 else None
        return element_needs(row, (of.value,), parameters) if isinstance(of, t.Map) else "a Map"

    def result(types: Types) -> Type:
        return t.Map(_map_type(types).key, row.result((_map_type(types).value,)))

    def read(state: AggregateState) -> str:
        inner = (_map_type(state.types).value,)
        entry = "struct(` y`.key AS k, ` y`.value AS v)"
        pairs = f"flatten(transform(` h`, ` x` -> transform(map_entries(` x`), ` y` -> {entry})))"
        spark = row.inputs(inner)[0]

        def of_key(values: str) -> str:
            rows = f"transform(filter({values}, ` x` -> ` x` IS NOT NULL), ` x` -> CAST(` x` AS {spark}))"
            return read_rows(row, AggregateState(rows, inner, state.parameters))

        whole = bind_lambda(state.sql, lambda _: group_by_key(pairs, of_key), "` h`")
        return f"CAST(map_from_entries({whole}) AS {value_type(result(state.types))})"

    return list_aggregate(
        f"{outer.name}Map",
        (1, 1),
        result,
        read,
        AggregateTraits(needs, row.parameters, row.error, row.ordered, row.exact),
    )


def combine_distinct(outer: Aggregate) -> Aggregate | None:
    """-Distinct: over the different rows of arguments."""
    row = array_row(outer)
    if row.gather is None:
        return None

    def storage(types: Types) -> str:
        return f"ARRAY<{packed_type(row.inputs(types))}>"

    def needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
        return "values without a Map" if any(map(contains_map, types)) else row.needs(types, parameters)

    def finish(state: AggregateState) -> str:
        return read_rows(row, replace(state, sql=f"coalesce({state.sql}, CAST(array() AS {storage(state.types)}))"))

    return replace(
        row,
        name=f"{outer.name}Distinct",
        arity=(max(row.arity[0], 1), max(row.arity[1], 1)),
        storage=storage,
        state=lambda call: f"CAST(collect_set({packed_arguments(call)}){call.over} AS {storage(call.types)})",
        merge=lambda state: f"array_distinct(flatten(collect_list({state.sql}){state.over}))",
        finish=finish,
        empty=lambda types: f"CAST(array() AS {storage(types)})",
        plain=None,
        merged=None,
        gather=lambda rows: f"array_distinct({rows.sql})",
        needs=needs,
        null_over_none=False,
    )


WRAPPERS: Mapping[str, Combinator] = {
    "Distinct": combine_distinct,
    "ForEach": combine_for_each,
    "Array": combine_array,
    "Map": combine_map,
}
