"""arrayReduce, arrayReduceInRanges and initializeAggregation: an aggregate function over values of one row.

The function is named by a text literal, `'quantile(0.9)'`. It is looked up in the same table as an aggregate call;
`Aggregate.gather` makes its state of arrays, and `Aggregate.finish` makes the result of the state. Invariant: a
function without `gather` is refused.
"""

from __future__ import annotations

import re

from sqlglot import exp

from penstock.errors import near_names_hint
from penstock.model import types as t
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Type
from penstock.sql.aggregates.aggregate import Aggregate, AggregateParameter, AggregateState, Types
from penstock.sql.aggregates.array_state import zip_argument_arrays
from penstock.sql.aggregates.combinators import array_row, combine_if
from penstock.sql.aggregates.name_parser import (
    ParsedAggregate,
    names_for_hints,
    parse_aggregate_name,
    with_state_combinators,
)
from penstock.sql.compiler.translator import Translator
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.typed import TypedSql, as_spark, is_null
from penstock.sql.spark_text import quote_identifier
from penstock.sql.stored_types import parse_parameter, spark_type, state_type
from penstock.sql.syntax.tree import call_name, call_parts

_CALL = re.compile(r"(\w+)(?:\((.*)\))?", re.DOTALL)
_PARAMETER = re.compile(r"\s*('(?:[^'\\]|\\.)*'|[^,']+)\s*(?:,|$)")
_NUMBERS = (t.Int, t.Float, t.Decimal, t.Bool)


@dataclass(frozen=True, slots=True)
class _NamedAggregate:
    """An aggregate function that a text names, such as `quantile(0.9)`."""

    call: ParsedAggregate
    row: Aggregate
    parameters: tuple[AggregateParameter, ...]


def array_reduce(tr: Translator, node: exp.Anonymous) -> TypedSql:
    """arrayReduce('f(parameter, …)', array, …). Raises Refused."""
    named, values = _read_call(tr, node)
    for value in values:
        if not isinstance(value.bare, t.Array):
            raise tr.refusal(node, "wrong-argument-type", f"`arrayReduce` needs arrays, this is {value.type}")
    types = tuple(value.bare.of for value in values if isinstance(value.bare, t.Array))
    _check_arguments(tr, node, named, types)
    arrays = [as_spark(value, f"ARRAY<{spark}>") for value, spark in zip(values, named.row.inputs(types), strict=True)]
    return _apply_aggregate(tr, node, named, AggregateState(zip_argument_arrays(arrays), types, named.parameters))


def array_reduce_in_ranges(tr: Translator, node: exp.Anonymous) -> TypedSql:
    """arrayReduceInRanges('f', [(place, length), …], array, …): the function over parts of the arrays. A place counts
    from 1, a negative one from the end; outside of the array there is no value. Raises Refused."""
    named, (ranges, *values) = _read_call(tr, node)
    if not values or not all(isinstance(value.bare, t.Array) for value in values):
        raise tr.refusal(node, "wrong-argument-type", "`arrayReduceInRanges` needs ranges and arrays")
    types = tuple(value.bare.of for value in values if isinstance(value.bare, t.Array))
    _check_arguments(tr, node, named, types)
    fields = _range_fields(ranges)
    if fields is None:
        message = f"the ranges of `arrayReduceInRanges` must be pairs of integers, this is {ranges.type}"
        raise tr.refusal(node, "wrong-argument-type", message, "[(1, toUInt32(n)), …]")
    place, length = (f"CAST(` q`.{quote_identifier(field)} AS BIGINT)" for field in fields)
    given = zip(values, named.row.inputs(types), strict=True)
    parts = [_slice(as_spark(value, f"ARRAY<{spark}>"), place, length) for value, spark in given]
    part = _apply_aggregate(tr, node, named, AggregateState(zip_argument_arrays(parts), types, named.parameters))
    return TypedSql(f"transform({ranges.sql}, ` q` -> {part.sql})", t.Array(part.type), f"ARRAY<{part.spark}>")


def _range_fields(ranges: TypedSql) -> tuple[str, str] | None:
    """The names of place and length; None if there are none."""
    match ranges.bare:
        case t.Array(t.Tuple(((first, t.Int()), (second, t.Int(signed=False))))):
            return first or "_1", second or "_2"
        case _:
            return None


def _slice(array: str, place: str, length: str) -> str:
    def part(a: str) -> str:
        within = f"abs({place}) BETWEEN 1 AND size({a})"
        many = f"CAST(if({within}, least({length}, size({a})), 0) AS INT)"
        return f"slice({a}, CAST(if({within}, {place}, 1) AS INT), {many})"

    return bind_if_long(array, part)


def initialize_aggregation(tr: Translator, node: exp.Anonymous) -> TypedSql:
    """initializeAggregation('f', value, …): the function over the values of this row alone. Raises Refused."""
    named, values = _read_call(tr, node)
    types = tuple(value.type for value in values)
    _check_arguments(tr, node, named, types)
    inputs = named.row.inputs(types)
    arrays = [f"array({as_spark(value, spark)})" for value, spark in zip(values, inputs, strict=True)]
    return _apply_aggregate(tr, node, named, AggregateState(zip_argument_arrays(arrays), types, named.parameters))


def _read_call(tr: Translator, node: exp.Anonymous) -> tuple[_NamedAggregate, list[TypedSql]]:
    name = call_name(node)
    _, arguments = call_parts(node)
    if len(arguments) < 2:
        raise tr.refusal(node, "wrong-argument-count", f"`{name}` takes the name of a function and its arguments")
    text = tr.translate(arguments[0]).constant
    if not isinstance(text, str):
        raise tr.refusal(arguments[0], "wrong-argument-type", f"the first argument of `{name}` must be a text")
    return _find_aggregate(tr, arguments[0], text), tr.translate_all(arguments[1:])


def _find_aggregate(tr: Translator, node: exp.Expr, text: str) -> _NamedAggregate:
    matched = _CALL.fullmatch(text.strip())
    call = parse_aggregate_name(matched[1]) if matched is not None else None
    if matched is None or call is None or call.form not in ("plain", "State"):
        hint = near_names_hint(matched[1] if matched else text, names_for_hints())
        raise tr.refusal(node, "unknown-function", f"unknown aggregate function `{text}`", hint)
    row = with_state_combinators(call)
    row = array_row(row) if row is not None else None
    if row is not None and call.on_condition:
        row = combine_if(row)
    if row is None or row.gather is None:
        message = f"`{text}` is not supported over an array"
        raise tr.refusal(node, "unsupported-syntax", message, "use it over rows, after arrayJoin")
    return _NamedAggregate(
        call, row, tuple(parse_parameter(each.strip()) for each in _PARAMETER.findall(matched[2] or ""))
    )


def _check_arguments(tr: Translator, node: exp.Anonymous, named: _NamedAggregate, types: Types) -> None:
    low, high = named.row.arity
    if not max(low, 1) <= len(types) <= max(high, 1):
        message = f"`{named.call.name}` takes {low} arguments, {len(types)} are given"
        raise tr.refusal(node, "wrong-argument-count", message)
    fewest, most = named.row.parameters
    if not fewest <= len(named.parameters) <= most:
        message = f"`{named.call.name}` takes {fewest} to {most} parameters, {len(named.parameters)} are given"
        raise tr.refusal(node, "wrong-argument-count", message)
    needed = _unmet_need(named, types)
    if needed is not None:
        raise tr.refusal(node, "wrong-argument-type", f"`{named.call.name}` needs {needed}")


def _unmet_need(named: _NamedAggregate, types: Types) -> str | None:
    """What the function needs of its arguments and does not get, as text for the message; None if all is well."""
    for of in types:
        if is_null(TypedSql("", of, "")):
            return "values with a type"
        if named.row.takes == "number" and not isinstance(_bare_type(of), _NUMBERS):
            return "numbers"
    return named.row.needs(types, named.parameters)


def _bare_type(of: Type) -> Type:
    return TypedSql("", of, "").bare


def _apply_aggregate(tr: Translator, node: exp.Anonymous, named: _NamedAggregate, rows: AggregateState) -> TypedSql:
    assert named.row.gather is not None
    state = named.row.gather(rows)
    if named.call.form == "State":
        if with_state_combinators(named.call) is not named.row and not named.call.on_condition:
            message = f"states of `{named.call.name}` are not supported over an array"
            raise tr.refusal(node, "unsupported-state", message)
        of = state_type(named.call, rows.types, rows.parameters)
        return TypedSql(state, of, spark_type(of))
    sql = named.row.finish(AggregateState(state, rows.types, rows.parameters))
    return TypedSql(sql, named.row.result(rows.types), named.row.result_spark(rows.types))
