"""A call of an aggregate function: plain, -If, -State, -Merge, -MergeState, -SimpleState, -Distinct.

In: the call's node and its `Called`. Out: `Typed`. Called by calls and windows. Invariant: aggregates
stand only in a select list, HAVING or ORDER BY, never inside each other.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.model import types as t
from penstock.model.types import bare
from penstock.sql.aggregates.aggregate import Input, State
from penstock.sql.aggregates.combinators import Called
from penstock.sql.aggregates.table import AGGREGATES, aggregate_named
from penstock.sql.spark_types import spark_type, state_arguments
from penstock.sql.translator import Translator
from penstock.sql.tree import call_name, call_parts
from penstock.sql.typed import Typed, as_spark, condition, is_null

_SIMPLE = ("sum", "min", "max", "any", "anyLast")
_NUMBERS = (t.Int, t.Float, t.Decimal, t.Bool)


def aggregate_call(tr: Translator, node: exp.Anonymous, call: Called, over: str = "") -> Typed:
    """The call as Spark SQL. Raises Refused."""
    if tr.place != "select" and not (tr.place == "window" and not over):
        where = {"filter": "in WHERE", "aggregate": "inside another aggregate"}.get(tr.place, "here")
        message = f"the aggregate `{call_name(node)}` is not allowed {where}"
        hint = "use HAVING" if tr.place == "filter" else None
        raise tr.refused(node, "misplaced-aggregate", message, hint)
    if not over:
        tr.trace.aggregates += 1
    mark = len(tr.trace.free)
    parameters, arguments, call = _parts(tr, node, call)
    inner = tr.at("window" if over else "aggregate")
    values = inner.all(arguments)
    if not over:
        del tr.trace.free[mark:]
    if call.form in ("Merge", "MergeState"):
        return _merge(tr, node, call, values, (parameters, over))
    return _fresh(tr, node, call, values, (parameters, over))


def _parts(tr: Translator, node: exp.Anonymous, call: Called) -> tuple[tuple[float, ...], list[exp.Expr], Called]:
    """Parameters as numbers, arguments without `*` and DISTINCT, and the call with what DISTINCT means."""
    given, arguments = call_parts(node)
    low, high = call.row.parameters
    if not low <= len(given) <= high:
        message = f"`{call_name(node)}` takes {high or 'no'} parameters, {len(given)} are given"
        raise tr.refused(node, "wrong-argument-count", message)
    constants = [tr.translate(each).constant for each in given]
    if not all(isinstance(value, (int, float)) for value in constants):
        raise tr.refused(node, "wrong-argument-type", f"the parameters of `{call_name(node)}` must be numbers")
    parameters = tuple(float(value) for value in constants if isinstance(value, (int, float)))
    if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
        call, arguments = replace(call, distinct=True), list(arguments[0].expressions)
    if call.row.name == "count":
        arguments = [each for each in arguments if not isinstance(each, exp.Star)]
    return parameters, arguments, call


def _merge(
    tr: Translator, node: exp.Anonymous, call: Called, values: list[Typed], extras: tuple[tuple[float, ...], str]
) -> Typed:
    """States to a value, or to a state."""
    parameters, over = extras
    if len(values) != 1 + call.on_condition:
        raise tr.refused(node, "wrong-argument-count", f"`{call_name(node)}` takes one state")
    of = bare(values[0].type)
    if not isinstance(of, t.AggregateFunction):
        raise tr.refused(node, "wrong-argument-type", f"`{call_name(node)}` needs a state, this is {values[0].type}")
    if not _merges(call, of):
        message = f"`{call_name(node)}` needs a state of `{call.row.name}`, this is {of}"
        raise tr.refused(node, "wrong-argument-type", message, f"did you mean `{of.function}Merge`?")
    sql = f"if({condition(values[1])}, {values[0].sql}, NULL)" if call.on_condition else values[0].sql
    types = state_arguments(of)
    state = State(sql, types, parameters or tuple(map(float, of.parameters)), over)
    if call.form == "MergeState":
        return Typed(call.row.merge(state), of, spark_type(of))
    if call.row.merged is not None:
        value = call.row.merged(state)
    else:
        value = call.row.finish(replace(state, sql=call.row.merge(state)))
    return Typed(value, call.row.result(types), call.row.result_spark(types))


def _merges(call: Called, of: t.AggregateFunction) -> bool:
    row = aggregate_named(of.function.removesuffix("If"))
    quantiles = {"quantile", "median"}
    return row is call.row or (row is not None and {row.name, call.row.name} <= quantiles)


def _fresh(
    tr: Translator, node: exp.Anonymous, call: Called, values: list[Typed], extras: tuple[tuple[float, ...], str]
) -> Typed:
    """Values to a value, or to a state."""
    parameters, over = extras
    tests = [values.pop()] if call.on_condition and values else []
    call = _distinct_row(tr, node, call)
    _check(tr, node, call, values)
    types = tuple(value.type for value in values)
    inputs = call.row.inputs(types)
    args = [_argument(value, spark, tests) for value, spark in zip(values, inputs, strict=True)]
    if not args and tests:
        args = [f"if({condition(tests[0])}, 1, NULL)"]
    if call.distinct and args:
        args[0] = f"DISTINCT {args[0]}"
    given = Input(tuple(args), types, parameters, over)
    if call.form == "State":
        return _state(tr, node, call, given)
    return _value(tr, node, call, given)


def _argument(value: Typed, spark: str, tests: list[Typed]) -> str:
    sql = as_spark(value, spark)
    return f"if({condition(tests[0])}, {sql}, NULL)" if tests else sql


def _distinct_row(tr: Translator, node: exp.Anonymous, call: Called) -> Called:
    """DISTINCT of count is uniqExact, of groupArray groupUniqArray; min, max and sets do not mind it."""
    if not call.distinct:
        return call
    replaced = {"count": "uniqExact", "groupArray": "groupUniqArray"}.get(call.row.name)
    if replaced is not None:
        return replace(call, row=AGGREGATES[replaced], distinct=False)
    if call.row.name in ("min", "max", "any", "uniq", "uniqExact", "groupUniqArray"):
        return replace(call, distinct=False)
    if call.row.name == "sum" and call.form == "plain":
        return call
    message = f"`{call_name(node)}` with DISTINCT is not supported"
    raise tr.refused(node, "unsupported-syntax", message)


def _check(tr: Translator, node: exp.Anonymous, call: Called, values: list[Typed]) -> None:
    low, high = call.row.arity
    name = call_name(node)
    if not low <= len(values) <= high:
        expected = str(low) if low == high else f"{low} to {high}"
        raise tr.refused(node, "wrong-argument-count", f"`{name}` takes {expected} arguments, {len(values)} are given")
    for value in values:
        if isinstance(value.bare, t.AggregateFunction):
            message = f"`{name}` of a state is not supported, {value.type} is read by -Merge"
            raise tr.refused(node, "wrong-argument-type", message, f"did you mean `{value.bare.function}Merge`?")
        if is_null(value) or (call.row.takes == "number" and not isinstance(value.bare, _NUMBERS)):
            needed = "a number" if call.row.takes == "number" else "a value with a type"
            raise tr.refused(node, "wrong-argument-type", f"`{name}` needs {needed}, this is {value.type}")


def _state(tr: Translator, node: exp.Anonymous, call: Called, given: Input) -> Typed:
    if not call.row.has_state:
        raise tr.refused(node, "unsupported-state", f"states of `{call.row.name}` are not supported")
    name = (call_name(node) or "").removesuffix("State")
    inner = name.removesuffix("If").removesuffix("State") if call.on_condition else name
    of = t.AggregateFunction(inner, given.types, tuple(f"{value:g}" for value in given.parameters))
    return Typed(call.row.state(given), of, spark_type(of))


def _value(tr: Translator, node: exp.Anonymous, call: Called, given: Input) -> Typed:
    types = tuple(t.Nullable(bare(of)) for of in given.types) if call.or_null else given.types
    given = replace(given, types=types)
    if call.row.plain is not None:
        sql = call.row.plain(given)
    else:
        sql = call.row.finish(State(call.row.state(given), types, given.parameters))
    result, spark = call.row.result(types), call.row.result_spark(types)
    if call.form == "SimpleState":
        if call.row.name not in _SIMPLE:
            raise tr.refused(node, "unsupported-state", f"`{call_name(node)}` is not supported")
        return Typed(sql, t.SimpleAggregateFunction(call.row.name, result), spark)
    return Typed(sql, result, spark)


def finalize(tr: Translator, node: exp.Anonymous, value: Typed) -> Typed:
    """finalizeAggregation: the value of one state."""
    of = value.bare
    row = aggregate_named(of.function.removesuffix("If")) if isinstance(of, t.AggregateFunction) else None
    if row is None or not isinstance(of, t.AggregateFunction):
        raise tr.refused(node, "wrong-argument-type", f"finalizeAggregation needs a state, this is {value.type}")
    types = state_arguments(of)
    sql = row.finish(State(value.sql, types, tuple(map(float, of.parameters))))
    return Typed(sql, row.result(types), row.result_spark(types))
