"""How a column of any type is stored in Spark and Iceberg, and its default value; the types of aggregate states.

In: a ClickHouse type, or an aggregate call. Out: Spark DDL and SQL, or an `AggregateFunction` type. Invariant: one
type is always stored in one way. How a state is stored is up to its function; its type names the function without
-State and with its parameters.
"""

from __future__ import annotations

from functools import lru_cache

from penstock.errors import near_names_hint
from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.aggregates.aggregate import Aggregate, AggregateParameter, Types
from penstock.sql.aggregates.name_parser import ParsedAggregate, parse_aggregate_name, with_state_combinators
from penstock.sql.aggregates.table import aggregate_names
from penstock.sql.expr.spark_types import value_default, value_type
from penstock.sql.spark_text import string_literal


class UnknownState(ValueError):
    """A state type whose function is not supported. `hint` names the nearest one that is."""

    def __init__(self, of: t.AggregateFunction):
        super().__init__(f"the state type {of} is not supported")
        self.hint = near_names_hint(of.function, aggregate_names())


@lru_cache(maxsize=4096)
def spark_type(of: Type) -> str:
    """The Spark type in which a column of this type is stored. Raises UnknownState."""
    if isinstance(of, t.AggregateFunction):
        return state_aggregate(of).storage(state_arguments(of))
    return value_type(of)


def holds_floats(of: Type) -> bool:
    """Whether values of the type are numbers with a fraction, or have such ones in them, as an array or a tuple has:
    two of these may be equal and written differently (0.0 and -0.0)."""
    return any(each in spark_type(of) for each in ("FLOAT", "DOUBLE"))


@lru_cache(maxsize=4096)
def column_default(of: Type) -> str:
    """ClickHouse's default value of the type: NULL if it is Nullable; for a state, that of no rows."""
    if isinstance(of, t.AggregateFunction):
        return state_aggregate(of).empty(state_arguments(of))
    return value_default(of)


def state_aggregate(of: t.AggregateFunction) -> Aggregate:
    """The aggregate function of a state. Raises UnknownState."""
    found = parse_aggregate_name(of.function)
    types = state_arguments(of)
    if found is None or found.form != "plain" or not found.row.has_state or found.row.arity[0] > len(types):
        raise UnknownState(of)
    row = with_state_combinators(found)
    if row is None or row.needs(types, state_parameters(of)) is not None:
        raise UnknownState(of)
    return row


def state_arguments(of: t.AggregateFunction) -> tuple[Type, ...]:
    """The types of the values in a state; the condition of -If is not part of it."""
    found = parse_aggregate_name(of.function)
    return of.arguments[:-1] if found is not None and found.on_condition else of.arguments


def state_parameters(of: t.AggregateFunction) -> tuple[AggregateParameter, ...]:
    """The parameters of a state's function as values."""
    return tuple(map(parse_parameter, of.parameters))


def parse_parameter(text: str) -> AggregateParameter:
    """A parameter as it is written in a type: a number, or a text in quotes."""
    try:
        number = float(text)
    except ValueError:
        return text.strip("'")
    return int(number) if number.is_integer() and "." not in text and "e" not in text.lower() else number


def state_type(call: ParsedAggregate, types: Types, parameters: tuple[AggregateParameter, ...]) -> t.AggregateFunction:
    """The type of the states that a call makes."""
    plain = tuple(of.of if isinstance(of, t.LowCardinality) else of for of in types)
    return t.AggregateFunction(call.name, plain, tuple(map(_parameter_text, parameters)))


def _parameter_text(parameter: AggregateParameter) -> str:
    if isinstance(parameter, str):
        return string_literal(parameter)
    return str(int(parameter)) if float(parameter).is_integer() else repr(parameter)
