"""The combinators that keep the state of their row: -OrNull, -OrDefault and, inside of others, -If.

In: a row of the table. Out: a row. Called by `combinators` and `array_reduce`. Invariant: -OrNull and -OrDefault
count the rows beside the state, so a state of no rows is known for one after any merge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from penstock.model import types as t
from penstock.model.types import Type, bare, nullable
from penstock.sql.aggregates.aggregate import Aggregate, Input, Parameter, State, Types
from penstock.sql.aggregates.arrays import bound
from penstock.sql.aggregates.wrappers import WRAPPERS, Wrap, collected, element_needs
from penstock.sql.value_types import value_type, value_zero


def _or(row: Aggregate, ending: str, result: Callable[[Types], Type]) -> Aggregate:
    """A row that has its own answer to no rows: beside the state it counts them."""

    def whole(types: Types) -> Types:
        return tuple(bare(of) for of in types)

    def given(call: Input) -> str:
        return f"if({call.all_given}, 1, NULL)" if call.args else "1"

    def state(call: Input) -> str:
        return f"named_struct('state', {row.state(call)}, 'rows', count({given(call)}){call.over})"

    def answer(value: str, rows: str, types: Types) -> str:
        of = result(types)
        return f"if({rows} = 0L, {value_zero(of)}, CAST({value} AS {value_type(of)}))"

    def finish(state: State) -> str:
        value = row.finish(replace(state, sql="` o`.state"))
        body = answer(value, "coalesce(` o`.rows, 0L)", state.types)
        return bound(state.sql, lambda _: body, "` o`")

    def merge(state: State) -> str:
        inner = row.merge(replace(state, sql=f"{state.sql}.state"))
        return f"named_struct('state', {inner}, 'rows', coalesce(sum({state.sql}.rows){state.over}, 0L))"

    def plain(call: Input) -> str:
        state = State(row.state(call), call.types, call.parameters) if row.plain is None else None
        value = row.finish(state) if state is not None else row.plain(call) if row.plain is not None else ""
        return answer(value, f"count({given(call)}){call.over}", call.types)

    def empty(types: Types) -> str:
        return f"named_struct('state', {row.empty(types)}, 'rows', 0L)"

    def gather(rows: State) -> str:
        inner = collected(row)
        assert inner.gather is not None
        both = f"named_struct('state', {inner.gather(replace(rows, sql='` q`'))}, 'rows', CAST(size(` q`) AS BIGINT))"
        return bound(rows.sql, lambda _: both, "` q`")

    return replace(
        row,
        name=row.name + ending,
        result=result,
        result_spark=lambda types: value_type(result(types)),
        storage=lambda types: f"STRUCT<`state`: {row.storage(types)}, `rows`: BIGINT>",
        state=state,
        merge=merge,
        finish=finish,
        empty=empty,
        plain=plain,
        merged=None,
        gather=None if row.gather is None else gather,
        null_over_none=False,
    )


def or_null(row: Aggregate) -> Aggregate | None:
    """-OrNull: NULL over no rows."""

    def result(types: Types) -> Type:
        of = row.result(types)
        plain = isinstance(bare(of), (t.Array, t.Map, t.Tuple)) or nullable(of)
        return of if plain else t.Nullable(of)

    def needs(types: Types, parameters: tuple[Parameter, ...]) -> str | None:
        said = row.needs(types, parameters)
        if said is None and isinstance(bare(row.result(types)), t.Tuple):
            return "a result that is no Tuple: a Tuple is never NULL here"
        return said

    return replace(_or(row, "OrNull", result), needs=needs)


def or_default(row: Aggregate) -> Aggregate | None:
    """-OrDefault: the type's zero value over no rows."""
    return _or(row, "OrDefault", row.result)


def condition(row: Aggregate) -> Aggregate | None:
    """-If inside another combinator, as in sumIfArray: the last argument is a condition."""
    if row.gather is None:
        return None
    gather = row.gather

    def rest(types: Types) -> Types:
        return types[:-1]

    def gathered(rows: State) -> str:
        inner = rest(rows.types)
        place = len(rows.types)
        if not inner:
            return gather(State(f"filter({rows.sql}, ` x` -> ` x`)", inner, rows.parameters))
        fields = ", ".join(f"` x`.col{each}" for each in range(1, place))
        kept_fields = fields if place == 2 else f"struct({fields})"
        kept = f"transform(filter({rows.sql}, ` x` -> ` x`.col{place}), ` x` -> {kept_fields})"
        return gather(State(kept, inner, rows.parameters))

    def needs(types: Types, parameters: tuple[Parameter, ...]) -> str | None:
        if not types or not isinstance(bare(types[-1]), (t.Int, t.Bool)):
            return "a condition as its last argument"
        return element_needs(row, rest(types), parameters)

    def of_rest(form: Callable[[State], str]) -> Callable[[State], str]:
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


ANSWERS: Mapping[str, Wrap] = {**WRAPPERS, "OrDefault": or_default, "OrNull": or_null, "If": condition}
