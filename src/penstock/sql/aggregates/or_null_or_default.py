"""The combinators that keep the state of their row: -OrNull, -OrDefault and, inside of others, -If.

In: a row of the table. Out: a row. Called by `combinators` and `array_reduce`. Invariant: -OrNull and -OrDefault
count the rows beside the state, so a state of no rows is known for one after any merge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from penstock.model import types as t
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.sql.aggregates.aggregate import Aggregate, AggregateInput, AggregateParameter, AggregateState, Types
from penstock.sql.aggregates.array_map_distinct import WRAPPERS, Combinator, array_row, element_needs
from penstock.sql.aggregates.array_state import bind_lambda
from penstock.sql.expr.spark_types import value_type, value_zero


@dataclass(frozen=True, slots=True)
class _Counting:
    """A row that has its own answer to no rows: beside the state it counts them."""

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
        return f"if({rows} = 0L, {value_zero(of)}, CAST({value} AS {value_type(of)}))"


def _count_rows(call: AggregateInput) -> str:
    """How many rows are given, over the call's window."""
    given = f"if({call.all_given}, 1, NULL)" if call.args else "1"
    return f"count({given}){call.over}"


def combine_or_null(row: Aggregate) -> Aggregate | None:
    """-OrNull: NULL over no rows."""

    def result(types: Types) -> Type:
        of = row.result(types)
        plain = isinstance(unwrap_type(of), (t.Array, t.Map, t.Tuple)) or is_nullable(of)
        return of if plain else t.Nullable(of)

    def needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
        said = row.needs(types, parameters)
        if said is None and isinstance(unwrap_type(row.result(types)), t.Tuple):
            return "a result that is no Tuple: a Tuple is never NULL here"
        return said

    return replace(_Counting(row, result).named("OrNull"), needs=needs)


def combine_or_default(row: Aggregate) -> Aggregate | None:
    """-OrDefault: the type's zero value over no rows."""
    return _Counting(row, row.result).named("OrDefault")


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


ANSWERS: Mapping[str, Combinator] = {
    **WRAPPERS,
    "OrDefault": combine_or_default,
    "OrNull": combine_or_null,
    "If": combine_if,
}
