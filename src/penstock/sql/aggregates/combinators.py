"""Combinators: -Array, -ForEach, -Map, -Distinct, -If (inside others), -OrNull, -OrDefault, -Resample, -ArgMin,
-ArgMax.

In: a row of the table. Out: the row with the combinator, None if there is no such combination. Invariant: the state of
-ForEach, -Map, -Distinct, -Resample, -ArgMin and -ArgMax is all rows, which are read by `gather` and `finish` of the
inner row. -OrNull and -OrDefault count rows beside the state, so that a state of no rows is still known after a merge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
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
    contains_map,
    value_inputs,
)
from penstock.sql.aggregates.array_state import (
    AggregateTraits,
    bind_lambda,
    distinct_values,
    group_by_key,
    list_aggregate,
    merge_lists,
    packed_arguments,
    packed_type,
    zip_argument_arrays,
)
from penstock.sql.expr.spark_types import missing_value, value_type

Combinator = Callable[[Aggregate], "Aggregate | None"]
"""Makes the row of a function with a combinator; None if there is no such function."""


MOST_RESAMPLE_STEPS = 10_000
"""-Resample over more steps is refused: each step filters all rows."""


def array_row(row: Aggregate) -> Aggregate:
    """The row to use for rows that are in an array."""
    return row.collected or row


def aggregate_rows(row: Aggregate, rows: AggregateState) -> str:
    """The result of an aggregate over rows in an array, which is never NULL."""
    assert row.gather is not None
    return row.finish(AggregateState(row.gather(rows), rows.types, rows.parameters))


def _element_types(types: Types) -> Types:
    return tuple(of.of for each in types if isinstance(of := unwrap_type(each), t.Array))


def _array_needs(row: Aggregate) -> Needs:
    def needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
        inner = _element_types(types)
        if not types or len(inner) != len(types):
            return "arrays"
        return element_needs(row, inner, parameters)

    return needs


def element_needs(row: Aggregate, inner: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    """What the inner function needs of the elements of its arguments."""
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
    """-Array: over the elements of arrays. What one array gives is merged as a state."""
    row = array_row(outer)
    if row.gather is None:
        return None
    gather = row.gather

    def state(call: AggregateInput) -> str:
        inner = _element_types(call.types)
        rows = gather(AggregateState(zip_argument_arrays(call.args), inner, call.parameters))
        return row.merge(AggregateState(rows, inner, call.parameters, call.over))

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
    """-ForEach: over the first elements of all arrays, over the second ones, and so on."""
    row = array_row(outer)
    if row.gather is None or row.arity[0] > 1:
        return None

    def read(state: AggregateState) -> str:
        inner = _element_types(state.types)
        values = "filter(transform(` f`, ` x` -> get(` x`, ` p`)), ` x` -> ` x` IS NOT NULL)"
        one = aggregate_rows(row, AggregateState(values, inner, state.parameters))
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
    """-Map: over the values of each key."""
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
            return aggregate_rows(row, AggregateState(rows, inner, state.parameters))

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
        return aggregate_rows(
            row, replace(state, sql=f"coalesce({state.sql}, CAST(array() AS {storage(state.types)}))")
        )

    return replace(
        row,
        name=f"{outer.name}Distinct",
        arity=(max(row.arity[0], 1), max(row.arity[1], 1)),
        storage=storage,
        state=lambda call: f"CAST({distinct_values(call)} AS {storage(call.types)})",
        merge=lambda state: f"array_distinct(flatten(collect_list({state.sql}){state.over}))",
        finish=finish,
        empty=lambda types: f"CAST(array() AS {storage(types)})",
        plain=None,
        merged=None,
        gather=lambda rows: f"array_distinct({rows.sql})",
        needs=needs,
        null_over_none=False,
    )


@dataclass(frozen=True, slots=True)
class _RowCounting:
    """A row with its own result for no rows: it counts the rows beside the state."""

    row: Aggregate
    result: Callable[[Types], Type]

    def named(self, ending: str) -> Aggregate:
        row = self.row
        return replace(
            row,
            name=row.name + ending,
            result=self.result,
            result_spark=lambda types: value_type(self.result(types)),
            storage=lambda types: f"STRUCT<`state`: {row.storage(types)}, `rows`: BIGINT>",
            state=self._state,
            merge=self._merge,
            finish=self._finish,
            empty=lambda types: f"named_struct('state', {row.empty(types)}, 'rows', 0L)",
            plain=self._plain,
            merged=None,
            gather=None if row.gather is None else self._gather,
            null_over_none=False,
        )

    def _state(self, call: AggregateInput) -> str:
        return f"named_struct('state', {self.row.state(call)}, 'rows', {_count_rows(call)})"

    def _merge(self, state: AggregateState) -> str:
        inner = self.row.merge(replace(state, sql=f"{state.sql}.state"))
        return f"named_struct('state', {inner}, 'rows', coalesce(sum({state.sql}.rows){state.over}, 0L))"

    def _finish(self, state: AggregateState) -> str:
        value = self.row.finish(replace(state, sql="` o`.state"))
        body = self._answer(value, "coalesce(` o`.rows, 0L)", state.types)
        return bind_lambda(state.sql, lambda _: body, "` o`")

    def _plain(self, call: AggregateInput) -> str:
        if self.row.plain is None:
            value = self.row.finish(AggregateState(self.row.state(call), call.types, call.parameters))
        else:
            value = self.row.plain(call)
        return self._answer(value, _count_rows(call), call.types)

    def _gather(self, rows: AggregateState) -> str:
        inner = array_row(self.row)
        assert inner.gather is not None
        both = f"named_struct('state', {inner.gather(replace(rows, sql='` q`'))}, 'rows', CAST(size(` q`) AS BIGINT))"
        return bind_lambda(rows.sql, lambda _: both, "` q`")

    def _answer(self, value: str, rows: str, types: Types) -> str:
        of = self.result(types)
        return f"if({rows} = 0L, {missing_value(of)}, CAST({value} AS {value_type(of)}))"


def _count_rows(call: AggregateInput) -> str:
    """How many rows have no NULL argument, in the window of the call if there is one."""
    given = f"if({call.all_given}, 1, NULL)" if call.args else "1"
    return f"count({given}){call.over}"


def combine_or_null(row: Aggregate) -> Aggregate | None:
    """-OrNull: NULL over no rows."""

    def result(types: Types) -> Type:
        of = row.result(types)
        plain = isinstance(unwrap_type(of), (t.Array, t.Map, t.Tuple)) or is_nullable(of)
        return of if plain else t.Nullable(of)

    def needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
        needed = row.needs(types, parameters)
        if needed is None and isinstance(unwrap_type(row.result(types)), t.Tuple):
            return "a result that is no Tuple: a Tuple is never NULL here"
        return needed

    return replace(_RowCounting(row, result).named("OrNull"), needs=needs)


def combine_or_default(row: Aggregate) -> Aggregate | None:
    """-OrDefault: the type's default value over no rows."""
    return _RowCounting(row, row.result).named("OrDefault")


def combine_if(row: Aggregate) -> Aggregate | None:
    """-If inside another combinator, as in sumIfArray: the last argument is a condition."""
    if row.gather is None:
        return None
    gather = row.gather

    def rest(types: Types) -> Types:
        return types[:-1]

    def gathered(rows: AggregateState) -> str:
        inner = rest(rows.types)
        place = len(rows.types)
        if not inner:
            return gather(AggregateState(f"filter({rows.sql}, ` x` -> ` x`)", inner, rows.parameters))
        fields = ", ".join(f"` x`.col{each}" for each in range(1, place))
        kept_fields = fields if place == 2 else f"struct({fields})"
        kept = f"transform(filter({rows.sql}, ` x` -> ` x`.col{place}), ` x` -> {kept_fields})"
        return gather(AggregateState(kept, inner, rows.parameters))

    def needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
        if not types or not isinstance(unwrap_type(types[-1]), (t.Int, t.Bool)):
            return "a condition as its last argument"
        return element_needs(row, rest(types), parameters)

    def of_rest(form: Callable[[AggregateState], str]) -> Callable[[AggregateState], str]:
        return lambda state: form(replace(state, types=rest(state.types)))

    return replace(
        row,
        name=f"{row.name}If",
        arity=(row.arity[0] + 1, row.arity[1] + 1),
        result=lambda types: row.result(rest(types)),
        result_spark=lambda types: row.result_spark(rest(types)),
        storage=lambda types: row.storage(rest(types)),
        merge=of_rest(row.merge),
        finish=of_rest(row.finish),
        merged=None,
        plain=None,
        empty=lambda types: row.empty(rest(types)),
        inputs=lambda types: (*row.inputs(rest(types)), "BOOLEAN"),
        takes="any",
        gather=gathered,
        needs=needs,
        null_over_none=False,
    )


def _last_field(types: Types) -> str:
    """SQL of the last argument, the key, of a row ` x`."""
    return "` x`" if len(types) == 1 else f"` x`.col{len(types)}"


def _rows_without_key(rows: str, types: Types) -> str:
    if len(types) == 1:
        return rows
    fields = ", ".join(f"` x`.col{place}" for place in range(1, len(types)))
    return f"transform({rows}, ` x` -> {fields if len(types) == 2 else f'struct({fields})'})"


def _keyed_row(row: Aggregate, ending: str, read: Callable[[AggregateState], str], needs: Needs) -> Aggregate:
    """A function with one more argument, the key, by which `read` picks rows of the state."""

    def inputs(types: Types) -> tuple[str, ...]:
        return (*row.inputs(types[:-1]), value_inputs(types)[-1])

    def storage(types: Types) -> str:
        return f"ARRAY<{packed_type(inputs(types))}>"

    def all_needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
        needed = needs(types, parameters)
        inner = parameters[: max(len(parameters) - 3, 0)] if ending == "Resample" else parameters
        if needed is None and row.takes == "number":
            numbers = (t.Int, t.Float, t.Decimal, t.Bool)
            needed = None if all(isinstance(unwrap_type(of), numbers) for of in types[:-1]) else "numbers"
        return row.needs(types[:-1], inner) if needed is None else needed

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
    """-ArgMin and -ArgMax: the rows whose last argument is the least or greatest."""

    def wrap(outer: Aggregate) -> Aggregate | None:
        row = array_row(outer)
        if row.gather is None:
            return None

        def read(state: AggregateState) -> str:
            key = _last_field(state.types)
            best = f"array_{spark}(transform(` k`, ` x` -> {key}))"
            kept = bind_lambda(best, lambda b: f"filter(` k`, ` x` -> {key} = {b})", "` b`")
            rows = bind_lambda(state.sql, lambda _: _rows_without_key(kept, state.types), "` k`")
            return aggregate_rows(row, AggregateState(rows, state.types[:-1], state.parameters))

        return _keyed_row(row, ending, read, _arg_needs)

    return wrap


def _arg_needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    last = unwrap_type(types[-1]) if types else None
    if last is None or is_nullable(types[-1]) or contains_map(last) or isinstance(last, t.Float):
        return "a last argument that is neither Nullable nor a float nor a Map"
    return None


def _row_types(types: Types) -> Types:
    """Types of the arguments in rows: rows with a NULL were left out before."""
    return tuple(unwrap_type(of) for of in types[:-1])


def _resample_bounds(parameters: tuple[AggregateParameter, ...]) -> tuple[int, int, int] | None:
    """Start, end and step, which are the last three parameters; None if they are not valid."""
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
    """-Resample: an array of results, one for the rows of each step of the last argument."""
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
        rows = _rows_without_key(f"filter(` k`, ` x` -> {inside})", state.types)
        one = aggregate_rows(row, AggregateState(rows, _row_types(state.types), state.parameters[:-3]))
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
    "Distinct": combine_distinct,
    "ForEach": combine_for_each,
    "Array": combine_array,
    "Map": combine_map,
    "OrDefault": combine_or_default,
    "OrNull": combine_or_null,
    "If": combine_if,
}
"""Every combinator but -If on the outside and the forms -State, -Merge …. Where two match the end of a name, the first
is meant."""
