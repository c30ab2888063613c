"""Aggregates that pick one of the values: min, max, any, anyLast.

In: `Input`s. Out: rows of the table. Called by `aggregates.table` and maps. Invariant: over no rows they give the zero
value; NULL where the argument is Nullable.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.model.types import bare
from penstock.sql.aggregates.aggregate import Aggregate, Parameter, State, Types, anything, holds_map, value_inputs
from penstock.sql.aggregates.arrays import bound
from penstock.sql.aggregates.numbers import or_default
from penstock.sql.kept_order import holds_kept_text, is_kept_text, order_key
from penstock.sql.value_types import value_type, value_zero


def _comparable(types: Types, parameters: tuple[Parameter, ...]) -> str | None:
    return "a value that can be compared" if holds_map(types[0]) or holds_kept_text(types[0]) else None


def _pick(name: str, spark: str, gather: str) -> Aggregate:
    """An aggregate whose state is one of the values."""

    def choose(sql: str, over: str, types: Types) -> str:
        if name == "max" and isinstance(bare(types[0]), t.Float):
            # Spark's greatest number is NaN, which ClickHouse passes over where there is any other.
            return f"(- min(- {sql.removeprefix('DISTINCT ')}){over})"
        if not name.startswith("any") and is_kept_text(types[0]):
            value = sql.removeprefix("DISTINCT ")
            return f"{name}_by({value}, {order_key(types[0], value)}){over}"
        return spark.format(sql) + over

    def chosen(rows: State) -> str:
        if not name.startswith("any") and is_kept_text(rows.types[0]):
            pairs = f"transform({rows.sql}, ` y` -> struct({order_key(rows.types[0], '` y`')} AS k, ` y` AS v))"
            return f"(array_{name}({pairs})).v"
        if name == "max" and isinstance(bare(rows.types[0]), t.Float):
            numbers = "array_max(filter(` v`, ` x` -> NOT isnan(` x`)))"
            return bound(rows.sql, lambda v: f"coalesce({numbers}, array_max({v}))")
        return gather.format(rows.sql)

    return Aggregate(
        name=name,
        arity=(1, 1),
        result=lambda types: types[0],
        result_spark=lambda types: value_type(types[0]),
        storage=lambda types: value_type(types[0]),
        state=lambda call: choose(call.args[0], call.over, call.types),
        merge=lambda state: choose(state.sql, state.over, state.types),
        finish=lambda state: or_default(state.sql, state.types, value_zero(bare(state.types[0]))),
        empty=lambda types: f"CAST(NULL AS {value_type(types[0])})",
        inputs=value_inputs,
        gather=chosen,
        needs=anything if name.startswith("any") else _comparable,
        ordered=name.startswith("any"),
        null_over_none=True,
    )


PICKS = (
    _pick("min", "min({0})", "array_min({0})"),
    _pick("max", "max({0})", "array_max({0})"),
    _pick("any", "first({0}, true)", "get({0}, 0)"),
    _pick("anyLast", "last({0}, true)", "try_element_at({0}, -1)"),
)
