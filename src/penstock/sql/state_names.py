"""The type of a state, as ClickHouse writes it.

In: what is called, the types of its arguments and its parameters. Out: an `AggregateFunction`. Called by
aggregate_calls and array_reduce. Invariant: the type names the function without -State and with its parameters.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.sql.aggregates.aggregate import Parameter, Types
from penstock.sql.aggregates.combinators import Called
from penstock.sql.value_types import text_literal


def state_of(call: Called, types: Types, parameters: tuple[Parameter, ...]) -> t.AggregateFunction:
    plain = tuple(of.of if isinstance(of, t.LowCardinality) else of for of in types)
    return t.AggregateFunction(call.name, plain, tuple(map(_written, parameters)))


def _written(parameter: Parameter) -> str:
    if isinstance(parameter, str):
        return text_literal(parameter)
    return str(int(parameter)) if float(parameter).is_integer() else repr(parameter)
