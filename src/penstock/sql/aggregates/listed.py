"""How an aggregate is built whose state is simply all its rows.

In: a formula over an array of rows. Out: a row of the table. Called by the tables of aggregates and by wrappers.
Invariant: states merge by putting their arrays together, in the order in which Spark brings them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.model.types import Type
from penstock.sql.aggregates.aggregate import Aggregate, Parameter, State, Types, anything, value_inputs
from penstock.sql.aggregates.arrays import all_rows, array_of, empty_list, listed_state, merged_lists
from penstock.sql.value_types import value_type


@dataclass(frozen=True, slots=True)
class Traits:
    """What else is to be said of a function; see `Aggregate`."""

    needs: Callable[[Types, tuple[Parameter, ...]], str | None] = anything
    parameters: tuple[int, int] = (0, 0)
    error: str = ""
    ordered: bool = False
    exact: bool = True


def listed(
    name: str,
    arity: tuple[int, int],
    result: Callable[[Types], Type],
    read: Callable[[State], str],
    traits: Traits = Traits(),
) -> Aggregate:
    """`read` is the SQL of the result; the state it is given is an array, never NULL."""

    def finish(state: State) -> str:
        return read(State(all_rows(state), state.types, state.parameters))

    return Aggregate(
        name=name,
        arity=arity,
        result=result,
        result_spark=lambda types: value_type(result(types)),
        storage=array_of,
        state=listed_state,
        merge=merged_lists,
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
