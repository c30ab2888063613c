"""The combinators that make another aggregate of one: -Array, -ForEach, -Map and -Distinct

In: a row of the table. Out: a row. Called by `combinators`. Invariant: all but -Array have all rows as their
state and read them by the inner row's `gather` and `finish`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from penstock.model import types as t
from penstock.model.types import Type, bare
from penstock.sql.aggregates.aggregate import Aggregate, Input, Parameter, State, Types, holds_map
from penstock.sql.aggregates.array_state import Traits, bound, grouped, listed, packed, packed_type, rows_of
from penstock.sql.expr.spark_types import value_type

Wrap = Callable[[Aggregate], "Aggregate | None"]


def collected(row: Aggregate) -> Aggregate:
    """The row that works over rows in an array."""
    return row.collected or row


def read_rows(row: Aggregate, rows: State) -> str:
    """The result of an aggregate over rows in an array, which is never NULL."""
    assert row.gather is not None
    return row.finish(State(row.gather(rows), rows.types, rows.parameters))


def _elements(types: Types) -> Types:
    return tuple(of.of for each in types if isinstance(of := bare(each), t.Array))


def _all_arrays(row: Aggregate) -> Callable[[Types, tuple[Parameter, ...]], str | None]:
    def needs(types: Types, parameters: tuple[Parameter, ...]) -> str | None:
        inner = _elements(types)
        if not types or len(inner) != len(types):
            return "arrays"
        return element_needs(row, inner, parameters)

    return needs


def element_needs(row: Aggregate, inner: Types, parameters: tuple[Parameter, ...]) -> str | None:
    if any(bare(of) == t.Tuple(()) for of in inner):
        return "arrays of values with a type"
    if row.takes == "number" and not all(isinstance(bare(of), (t.Int, t.Float, t.Decimal, t.Bool)) for of in inner):
        return "numbers inside"
    return row.needs(inner, parameters)


def _array_inputs(row: Aggregate, types: Types) -> tuple[str, ...]:
    return tuple(f"ARRAY<{spark}>" for spark in row.inputs(_elements(types)))


def array(outer: Aggregate) -> Aggregate | None:
    """-Array: over the elements of arrays; what a row's array gives is merged like a state."""
    row = collected(outer)
    if row.gather is None:
        return None
    gather = row.gather

    def state(call: Input) -> str:
        inner = _elements(call.types)
        return row.merge(State(gather(State(rows_of(call.args), inner, call.parameters)), inner, over=call.over))

    def of_elements(form: Callable[[State], str]) -> Callable[[State], str]:
        return lambda state: form(replace(state, types=_elements(state.types)))

    return replace(
        row,
        name=f"{outer.name}Array",
        arity=(max(row.arity[0], 1), max(row.arity[1], 1)),
        result=lambda types: row.result(_elements(types)),
        result_spark=lambda types: row.result_spark(_elements(types)),
        storage=lambda types: row.storage(_elements(types)),
        state=state,
        merge=of_elements(row.merge),
        finish=of_elements(row.finish),
        merged=None if row.merged is None else of_elements(row.merged),
        empty=lambda types: row.empty(_elements(types)),
        inputs=lambda types: _array_inputs(row, types),
        plain=None,
        takes="any",
        gather=None,
        needs=_all_arrays(row),
        null_over_none=False,
    )


def for_each(outer: Aggregate) -> Aggregate | None:
    """-ForEach: of the first elements of all arrays, of the second ones, and so on."""
    row = collected(outer)
    if row.gather is None or row.arity[0] > 1:
        return None

    def read(state: State) -> str:
        inner = _elements(state.types)
        values = "filter(transform(` f`, ` x` -> get(` x`, ` p`)), ` x` -> ` x` IS NOT NULL)"
        one = read_rows(row, State(values, inner, state.parameters))
        longest = "coalesce(array_max(transform(` f`, ` x` -> size(` x`))), 0)"
        places = f"slice(sequence(0, {longest}), 1, {longest})"
        return bound(state.sql, lambda _: f"transform({places}, ` p` -> {one})", "` f`")

    made = listed(
        f"{outer.name}ForEach",
        (1, 1),
        lambda types: t.Array(row.result(_elements(types))),
        read,
        Traits(_all_arrays(row), row.parameters, row.error, row.ordered, row.exact),
    )
    return replace(
        made,
        storage=lambda types: f"ARRAY<{_array_inputs(row, types)[0]}>",
        state=lambda call: f"collect_list({call.args[0]}){call.over}",
        finish=lambda state: read(replace(state, sql=f"coalesce({state.sql}, array())")),
        empty=lambda types: f"CAST(array() AS ARRAY<{_array_inputs(row, types)[0]}>)",
        inputs=lambda types: _array_inputs(row, types),
    )


def _map_of(types: Types) -> t.Map:
    of = bare(types[0])
    assert isinstance(of, t.Map)
    return of


def map_values(outer: Aggregate) -> Aggregate | None:
    """-Map: of the values of each key."""
    row = collected(outer)
    if row.gather is None or row.arity[0] > 1:
        return None

    def needs(types: Types, parameters: tuple[Parameter, ...]) -> str | None:
        of = bare(types[0]) if len(types) == 1 else None
        return element_needs(row, (of.value,), parameters) if isinstance(of, t.Map) else "a Map"

    def result(types: Types) -> Type:
        return t.Map(_map_of(types).key, row.result((_map_of(types).value,)))

    def read(state: State) -> str:
        inner = (_map_of(state.types).value,)
        entry = "struct(` y`.key AS k, ` y`.value AS v)"
        pairs = f"flatten(transform(` h`, ` x` -> transform(map_entries(` x`), ` y` -> {entry})))"
        spark = row.inputs(inner)[0]

        def of_key(values: str) -> str:
            rows = f"transform(filter({values}, ` x` -> ` x` IS NOT NULL), ` x` -> CAST(` x` AS {spark}))"
            return read_rows(row, State(rows, inner, state.parameters))

        whole = bound(state.sql, lambda _: grouped(pairs, of_key), "` h`")
        return f"CAST(map_from_entries({whole}) AS {value_type(result(state.types))})"

    return listed(
        f"{outer.name}Map",
        (1, 1),
        result,
        read,
        Traits(needs, row.parameters, row.error, row.ordered, row.exact),
    )


def distinct(outer: Aggregate) -> Aggregate | None:
    """-Distinct: over the different rows of arguments."""
    row = collected(outer)
    if row.gather is None:
        return None

    def storage(types: Types) -> str:
        return f"ARRAY<{packed_type(row.inputs(types))}>"

    def needs(types: Types, parameters: tuple[Parameter, ...]) -> str | None:
        return "values without a Map" if any(map(holds_map, types)) else row.needs(types, parameters)

    def finish(state: State) -> str:
        return read_rows(row, replace(state, sql=f"coalesce({state.sql}, CAST(array() AS {storage(state.types)}))"))

    return replace(
        row,
        name=f"{outer.name}Distinct",
        arity=(max(row.arity[0], 1), max(row.arity[1], 1)),
        storage=storage,
        state=lambda call: f"CAST(collect_set({packed(call)}){call.over} AS {storage(call.types)})",
        merge=lambda state: f"array_distinct(flatten(collect_list({state.sql}){state.over}))",
        finish=finish,
        empty=lambda types: f"CAST(array() AS {storage(types)})",
        plain=None,
        merged=None,
        gather=lambda rows: f"array_distinct({rows.sql})",
        needs=needs,
        null_over_none=False,
    )


WRAPPERS: Mapping[str, Wrap] = {
    "Distinct": distinct,
    "ForEach": for_each,
    "Array": array,
    "Map": map_values,
}
