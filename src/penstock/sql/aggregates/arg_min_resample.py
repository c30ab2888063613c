"""The combinators whose last argument says which rows count: -ArgMin, -ArgMax and -Resample.

In: a row of the table. Out: a row. Called by `combinators`. Invariant: the state is all rows with their keys; the
inner row reads those that its key leaves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from penstock.model import types as t
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.sql.aggregates.aggregate import (
    Aggregate,
    AggregateParameter,
    AggregateState,
    Types,
    contains_map,
    value_inputs,
)
from penstock.sql.aggregates.array_map_distinct import Combinator, array_row, read_rows
from penstock.sql.aggregates.array_state import bind_lambda, merge_lists, packed_arguments, packed_type
from penstock.sql.aggregates.or_null_or_default import ANSWERS

MOST_RESAMPLE_STEPS = 10_000
Needs = Callable[[Types, tuple[AggregateParameter, ...]], str | None]


def _last_field(types: Types) -> str:
    """The key of a row ` x`."""
    return "` x`" if len(types) == 1 else f"` x`.col{len(types)}"


def _without_key(rows: str, types: Types) -> str:
    if len(types) == 1:
        return rows
    fields = ", ".join(f"` x`.col{place}" for place in range(1, len(types)))
    return f"transform({rows}, ` x` -> {fields if len(types) == 2 else f'struct({fields})'})"


def _keyed_row(row: Aggregate, ending: str, read: Callable[[AggregateState], str], needs: Needs) -> Aggregate:
    def inputs(types: Types) -> tuple[str, ...]:
        return (*row.inputs(types[:-1]), value_inputs(types)[-1])

    def storage(types: Types) -> str:
        return f"ARRAY<{packed_type(inputs(types))}>"

    def all_needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
        said = needs(types, parameters)
        inner = parameters[: max(len(parameters) - 3, 0)] if ending == "Resample" else parameters
        if said is None and row.takes == "number":
            numbers = (t.Int, t.Float, t.Decimal, t.Bool)
            said = None if all(isinstance(unwrap_type(of), numbers) for of in types[:-1]) else "numbers"
        return row.needs(types[:-1], inner) if said is None else said

    return replace(
        row,
        name=f"{row.name}{ending}",
        arity=(row.arity[0] + 1, row.arity[1] + 1),
        result=lambda types: row.result(types[:-1]),
        result_spark=lambda types: row.result_spark(types[:-1]),
        storage=storage,
        state=lambda call: f"CAST(collect_list({packed_arguments(call)}){call.over} AS {storage(call.types)})",
        merge=merge_lists,
        finish=lambda state: read(
            replace(state, sql=f"coalesce({state.sql}, CAST(array() AS {storage(state.types)}))")
        ),
        empty=lambda types: f"CAST(array() AS {storage(types)})",
        inputs=inputs,
        takes="any",
        plain=None,
        merged=None,
        gather=lambda rows: rows.sql,
        needs=all_needs,
        null_over_none=False,
    )


def _arg_combinator(ending: str, spark: str) -> Combinator:
    """-ArgMin, -ArgMax: the rows whose last argument is the least or greatest."""

    def wrap(outer: Aggregate) -> Aggregate | None:
        row = array_row(outer)
        if row.gather is None:
            return None

        def read(state: AggregateState) -> str:
            key = _last_field(state.types)
            best = f"array_{spark}(transform(` k`, ` x` -> {key}))"
            kept = bind_lambda(best, lambda b: f"filter(` k`, ` x` -> {key} = {b})", "` b`")
            rows = bind_lambda(state.sql, lambda _: _without_key(kept, state.types), "` k`")
            return read_rows(row, AggregateState(rows, state.types[:-1], state.parameters))

        return _keyed_row(row, ending, read, _arg_needs)

    return wrap


def _arg_needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    last = unwrap_type(types[-1]) if types else None
    if last is None or is_nullable(types[-1]) or contains_map(last) or isinstance(last, t.Float):
        return "a last argument that is neither Nullable nor a float nor a Map"
    return None


def _row_types(types: Types) -> Types:
    """The arguments as they are in rows: those with a NULL are left out before, for all steps."""
    return tuple(unwrap_type(of) for of in types[:-1])


def _resample_bounds(parameters: tuple[AggregateParameter, ...]) -> tuple[int, int, int] | None:
    """Start, end and step, which are the last parameters."""
    last = parameters[-3:]
    if len(last) < 3 or not all(isinstance(each, int) for each in last):
        return None
    start, end, step = (int(each) for each in last)
    return (start, end, step) if step > 0 and (end - start) / step <= MOST_RESAMPLE_STEPS else None


def _resample_needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    if _resample_bounds(parameters) is None:
        return "start, end and step, whole numbers, as its last parameters"
    last = unwrap_type(types[-1]) if types else None
    return None if isinstance(last, t.Int) else "an integer as its last argument"


def _combine_resample(outer: Aggregate) -> Aggregate | None:
    """-Resample: the rows of each step of the last argument from start on, as an array of results."""
    row = array_row(outer)
    if row.gather is None:
        return None

    def read(state: AggregateState) -> str:
        bounds = _resample_bounds(state.parameters)
        assert bounds is not None
        start, end, step = bounds
        many = max(math.ceil((end - start) / step), 0)
        key = _last_field(state.types)
        place = f"floor((CAST({key} AS DECIMAL(20,0)) - {start}) / {step})"
        inside = f"{key} >= {start} AND {key} < {end} AND {place} = ` p`"
        rows = _without_key(f"filter(` k`, ` x` -> {inside})", state.types)
        one = read_rows(row, AggregateState(rows, _row_types(state.types), state.parameters[:-3]))
        places = f"slice(sequence(0, {many}), 1, {many})"
        return bind_lambda(state.sql, lambda _: f"transform({places}, ` p` -> {one})", "` k`")

    made = _keyed_row(row, "Resample", read, _resample_needs)

    def result(types: Types) -> Type:
        return t.Array(row.result(_row_types(types)))

    return replace(
        made,
        parameters=(row.parameters[0] + 3, row.parameters[1] + 3),
        result=result,
        result_spark=lambda types: f"ARRAY<{row.result_spark(_row_types(types))}>",
    )


COMBINATORS: Mapping[str, Combinator] = {
    "Resample": _combine_resample,
    "ArgMin": _arg_combinator("ArgMin", "min"),
    "ArgMax": _arg_combinator("ArgMax", "max"),
    **ANSWERS,
}
