"""A call of an aggregate function: plain, or with -If, -State, -Merge, -MergeState, -SimpleState, -Distinct …

`aggregate_call` takes the node and the name as `name_parser` has read it (`ParsedAggregate`), and gives the `TypedSql`
value or state; `over` is the text of an OVER clause. Invariant: an aggregate stands only in a select list, HAVING or
ORDER BY, never inside of another aggregate.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from sqlglot import exp

from penstock.model import types as t
from penstock.model.types import Type, unwrap_type
from penstock.parse.type_syntax.type_arguments import SIMPLE_FUNCTIONS
from penstock.sql.aggregates.aggregate import Aggregate, AggregateInput, AggregateParameter, AggregateState, Types
from penstock.sql.aggregates.filled_conditions import takes_own_result, type_over_none
from penstock.sql.aggregates.name_parser import ParsedAggregate, parse_aggregate_name, with_state_combinators
from penstock.sql.compiler.constants import known_constant
from penstock.sql.compiler.translator import Translator, refuse_intervals
from penstock.sql.expr.bind_once import depends_on_lambda
from penstock.sql.expr.json_documents import dynamic_hint, key_of
from penstock.sql.expr.kept_digits import keep_digits
from penstock.sql.expr.overflow import sum_fits_int64
from penstock.sql.expr.spark_types import is_fine_time, value_type
from penstock.sql.expr.typed import TypedSql, as_condition, as_spark, is_null, typed_sql
from penstock.sql.operators.dynamic_values import is_dynamic_value
from penstock.sql.operators.json_paths import refuse_dynamic
from penstock.sql.stored_types import spark_type, state_aggregate, state_arguments, state_parameters, state_type
from penstock.sql.syntax.tree import call_name, call_parts

_NUMBERS = (t.Int, t.Float, t.Decimal, t.Bool)
_TAKE_FINE_TIMES = frozenset(
    [
        "count",
        "min",
        "max",
        "any",
        "anyLast",
        "argMin",
        "argMax",
        "any_respect_nulls",
        "anyLast_respect_nulls",
        "singleValueOrNull",
        "topK",
        "uniq",
        "uniqExact",
        "uniqCombined",
        "uniqCombined64",
        "uniqHLL12",
        "groupArray",
        "groupUniqArray",
    ]
)
"""Aggregates that take a time of more than six digits: they only compare and keep values."""
_CallExtras: TypeAlias = tuple[tuple[AggregateParameter, ...], str]
"""The parameters of the function, and the text of its OVER clause (empty without one)."""


def aggregate_call(tr: Translator, node: exp.Anonymous, call: ParsedAggregate, over: str = "") -> TypedSql:
    """The call as Spark SQL. Raises Refused for its place, or for the number or types of its arguments."""
    if tr.place != "select" and not (tr.place == "window" and not over):
        where = {"filter": "in WHERE", "aggregate": "inside another aggregate"}.get(tr.place, "here")
        message = f"the aggregate `{call_name(node)}` is not allowed {where}"
        hint = "use HAVING" if tr.place == "filter" else None
        raise tr.refusal(node, "misplaced-aggregate", message, hint)
    if not over:
        tr.trace.aggregates += 1
    mark = len(tr.trace.free)
    parameters, arguments, call = _read_call(tr, node, call)
    inner = tr.at("window" if over else "aggregate")
    values = inner.translate_all(arguments)
    refuse_intervals(tr, node, values)
    for argument, value in zip(arguments, values, strict=True):
        _refuse_lambda_parameter(tr, node, argument, value)
    if not over:
        del tr.trace.free[mark:]
    compiled = _merge_states if call.form in ("Merge", "MergeState") else _aggregate_values
    found = compiled(tr, node, call, values, (parameters, over))
    if not over:
        tr.trace.aggregate_sqls.append(found.sql)
    return found


def _refuse_lambda_parameter(tr: Translator, node: exp.Anonymous, argument: exp.Expr, value: TypedSql) -> None:
    """Raises Refused for an argument with the parameter of a lambda around the aggregate: it has no value where the
    rows are read."""
    found = (name for name, each in tr.locals.items() if depends_on_lambda(each.sql) and each.sql in value.sql)
    name = next(found, None)
    if name is not None:
        message = f"the aggregate `{call_name(node)}` reads `{name}`, the parameter of a lambda around it"
        hint = "gather the values: arrayMap(i -> arrayCount(n -> n >= i, groupArray(n)), [1, 2])"
        raise tr.refusal(argument, "misplaced-aggregate", message, hint)


def _read_call(
    tr: Translator, node: exp.Anonymous, call: ParsedAggregate
) -> tuple[tuple[AggregateParameter, ...], list[exp.Expr], ParsedAggregate]:
    """The parameters as constants, the arguments without `*` and DISTINCT, and the call with DISTINCT noted in it."""
    given, arguments = call_parts(node)
    if call.row.name == "groupConcat" and call.form == "plain" and not given and len(arguments) == 2:
        given, arguments = (given, arguments) if call.on_condition else (arguments[1:], arguments[:1])
    low, high = call.row.parameters
    if not (low <= len(given) or call.form in ("Merge", "MergeState")) or len(given) > high:
        message = f"`{call_name(node)}` takes {_count_text(low, high)} parameters, {len(given)} are given"
        raise tr.refusal(node, "wrong-argument-count", message)
    parameters = tuple(_check_parameter(tr, node, known_constant(tr, each)) for each in given)
    if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
        if call.distinct or str(call_name(node)).lower().startswith("countdistinct"):
            message = f"`{call_name(node)}` has DISTINCT twice"
            raise tr.refusal(node, "unsupported-syntax", message, "leave one of them out")
        call, arguments = replace(call, distinct=True, name=f"{call.name}Distinct"), list(arguments[0].expressions)
    if call.row.name == "count":
        arguments = [each for each in arguments if not isinstance(each, exp.Star)]
    return parameters, arguments, call


def _count_text(low: int, high: int) -> str:
    """How many parameters are expected, for a message."""
    return "no" if high == 0 else str(low) if low == high else f"{low} to {high}"


def _check_parameter(tr: Translator, node: exp.Anonymous, value: object) -> AggregateParameter:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        message = f"the parameters of `{call_name(node)}` must be numbers or texts"
        raise tr.refusal(node, "wrong-argument-type", message)
    return value


def _merge_states(
    tr: Translator, node: exp.Anonymous, call: ParsedAggregate, values: list[TypedSql], extras: _CallExtras
) -> TypedSql:
    """-Merge and -MergeState: states to a value, or to a state."""
    parameters, over = extras
    if len(values) != 1 + call.on_condition:
        raise tr.refusal(node, "wrong-argument-count", f"`{call_name(node)}` takes one state")
    of = unwrap_type(values[0].type)
    if not isinstance(of, t.AggregateFunction):
        raise tr.refusal(node, "wrong-argument-type", f"`{call_name(node)}` needs a state, this is {values[0].type}")
    row, of = with_state_combinators(call), _as_plain_count(call, of)
    if row is None or not row.has_state or not _is_state_of(call, of):
        message = f"`{call_name(node)}` needs a state of `{call.name}`, this is {of}"
        raise tr.refusal(node, "wrong-argument-type", message, f"did you mean `{of.function}Merge`?")
    sql = f"if({as_condition(values[1])}, {values[0].sql}, NULL)" if call.on_condition else values[0].sql
    types = state_arguments(of)
    state = AggregateState(sql, types, parameters or state_parameters(of), over)
    _check_needs(tr, node, row, types, state.parameters)
    if call.form == "MergeState":
        return TypedSql(row.merge(state), of, spark_type(of))
    value = row.merged(state) if row.merged is not None else row.finish(replace(state, sql=row.merge(state)))
    return TypedSql(value, row.result(types), row.result_spark(types))


def _is_state_of(call: ParsedAggregate, of: t.AggregateFunction) -> bool:
    """Whether a state type belongs to the function; `quantile` and `quantiles` share their states."""
    kept = parse_aggregate_name(of.function)
    return kept is not None and _function_family(kept.name) == _function_family(call.name)


def _as_plain_count(call: ParsedAggregate, of: t.AggregateFunction) -> t.AggregateFunction:
    """A state of countIf(condition) as one of count, which has the same form: ClickHouse merges it as both."""
    of_condition = of.function == "countIf" and len(of.arguments) == 1
    return replace(of, function="count") if of_condition and call.name == "count" else of


def _function_family(name: str) -> str:
    return name.replace("quantiles", "quantile", 1) if name.startswith("quantiles") else name


def _aggregate_values(
    tr: Translator, node: exp.Anonymous, call: ParsedAggregate, values: list[TypedSql], extras: _CallExtras
) -> TypedSql:
    """Values to a value, or to a state, of all digits that they have; where these would not be in a Decimal of its own,
    but in an array or in a state that is stored, of those that their types say."""
    named, kept = _typed_aggregate(tr, node, call, list(values), extras), list(map(keep_digits, values))
    if kept == values or isinstance(named.bare, (t.Array, t.Map, t.Tuple)):
        return named
    found = _typed_aggregate(tr, node, call, kept, extras)
    is_stored = isinstance(named.bare, t.AggregateFunction)
    return named if is_stored and found.spark != named.spark else replace(found, type=named.type)


def _typed_aggregate(
    tr: Translator, node: exp.Anonymous, call: ParsedAggregate, values: list[TypedSql], extras: _CallExtras
) -> TypedSql:
    """Values of these types to a value, or to a state."""
    parameters, over = extras
    tests = [values.pop()] if call.on_condition and values else []
    refuse_dynamic(tr, node, tests, f"the condition of `{call_name(node)}`")
    if tests and _takes_own_result(tr, node, call, values, parameters):
        return _filled_values(tr, node, call, (values, tests[0]), extras)
    call = _resolve_distinct(tr, node, call)
    call, values = _for_dynamic_values(call, values)
    if tests and call.row.name.endswith("_respect_nulls"):
        message = f"`{call_name(node)}` is not supported: the condition would make NULLs of the values that it excludes"
        raise tr.refusal(node, "unsupported-syntax", message, "use a WHERE")
    _check_arguments(tr, node, call, values)
    _check_documents(tr, node, call, values)
    types = tuple(value.type for value in values)
    _check_needs(tr, node, call.row, types, parameters)
    inputs = call.row.inputs(types)
    args = [_argument_sql(value, spark, tests) for value, spark in zip(values, inputs, strict=True)]
    if not args and tests:
        args = [f"if({as_condition(tests[0])}, 1, NULL)"]
    if call.distinct and args:
        args[0] = f"DISTINCT {args[0]}"
    small = any(map(sum_fits_int64, values[:1]))
    given = AggregateInput(tuple(args), types, parameters, over, small, tr.scope.keeps_order)
    if call.form == "State":
        return _state_of_values(tr, node, call, given, () if call.outside else tuple(test.type for test in tests))
    return _result_of_values(tr, node, call, given)


def _takes_own_result(
    tr: Translator,
    node: exp.Anonymous,
    call: ParsedAggregate,
    values: list[TypedSql],
    parameters: tuple[AggregateParameter, ...],
) -> bool:
    """As `takes_own_result`, for values that the function takes. Raises Refused for others."""
    if call.filled is None:
        return False
    _check_arguments(tr, node, replace(call, row=call.filled), values)
    plain = tuple(unwrap_type(value.type) for value in values)
    _check_needs(tr, node, call.filled, plain, parameters)
    return takes_own_result(call, plain)


def _filled_values(
    tr: Translator,
    node: exp.Anonymous,
    call: ParsedAggregate,
    given: tuple[list[TypedSql], TypedSql],
    extras: _CallExtras,
) -> TypedSql:
    """fIfOrNull and fIfOrDefault: NULL or the default over no rows, f's own result where no row meets the condition."""
    (values, test), (_, over) = given, extras
    if call.form != "plain" or call.filled is None:
        hint = "write -If last: sumOrDefaultIfState(x, condition)"
        raise tr.refusal(node, "unsupported-state", f"`{call_name(node)}` is not supported", hint)
    plain = [TypedSql(value.sql, unwrap_type(value.type), value.spark) for value in values]
    inner = replace(call, row=call.filled, filled=None, or_null=False)
    found = _aggregate_values(tr, node, inner, [*plain, test], extras)
    tried = " AND ".join(f"{value.sql} IS NOT NULL" for value in (*values, test))
    of, none = type_over_none(call, tuple(value.type for value in (*values, test)), found.type)
    rows = f"count(if({tried}, 1, NULL)){over}"
    return typed_sql(f"if({rows} = 0, {none}, {as_spark(found, value_type(of))})", of)


_TAKE_JSON = frozenset(
    (
        *("any", "anyLast", "any_respect_nulls", "anyLast_respect_nulls"),
        *("argMin", "argMax", "count", "groupArray", "uniq", "uniqExact"),
    )
)


_NULL_TAKING = {"any": "any_respect_nulls", "anyLast": "anyLast_respect_nulls"}
_COUNTS_OF_VALUES = ("uniq", "uniqExact", "uniqCombined", "uniqCombined64", "uniqHLL12")


def _for_dynamic_values(call: ParsedAggregate, values: list[TypedSql]) -> tuple[ParsedAggregate, list[TypedSql]]:
    """The call for values whose types are only known for each row, for which having no value is a value of its own:
    `count` counts every row, `any` takes the first one's, `uniq` counts it as one."""
    if call.form != "plain" or not any(map(is_dynamic_value, values)):
        return call, values
    if call.row.name == "count":
        return call, []
    if call.row.name in _COUNTS_OF_VALUES:
        return call, [key_of(value) if is_dynamic_value(value) else value for value in values]
    taking = parse_aggregate_name(_NULL_TAKING.get(call.row.name, ""))
    return (call if taking is None else replace(call, row=taking.row)), values


_TAKE_DYNAMIC = frozenset(("any_respect_nulls", "anyLast_respect_nulls", "argMin", "argMax"))


def _check_documents(tr: Translator, node: exp.Anonymous, call: ParsedAggregate, values: list[TypedSql]) -> None:
    """Raises Refused for values that are only typed for each row (ClickHouse's count counts all rows of them), and for
    documents where their text would be taken for a String."""
    if call.form != "plain" or call.or_null or call.row.name not in _TAKE_DYNAMIC:
        refuse_dynamic(tr, node, values, f"`{call_name(node)}`")
    refuse_dynamic(tr, node, values[1:], f"`{call_name(node)}`")
    if call.row.name not in _TAKE_JSON and any(t.has_json(value.type) for value in values):
        message = f"`{call_name(node)}` of JSON is not supported"
        raise tr.refusal(node, "wrong-argument-type", message, "toString(…) of it, or one of its paths")


def _check_needs(
    tr: Translator, node: exp.Anonymous, row: Aggregate, types: Types, parameters: tuple[AggregateParameter, ...]
) -> None:
    needed = row.needs(types, parameters)
    if needed is not None:
        raise tr.refusal(node, "wrong-argument-type", f"`{call_name(node)}` needs {needed}")


def _argument_sql(value: TypedSql, spark: str, tests: list[TypedSql]) -> str:
    sql = as_spark(value, spark)
    return f"if({as_condition(tests[0])}, {sql}, NULL)" if tests else sql


def _resolve_distinct(tr: Translator, node: exp.Anonymous, call: ParsedAggregate) -> ParsedAggregate:
    """The call with the function that DISTINCT makes of it (count: uniqExact), or Refused."""
    if not call.distinct:
        return call if call.form != "State" else _combined_row(tr, node, call)
    if call.row.name == "sum" and call.form == "plain" and not call.or_null and not tr.scope.keeps_order:
        return call
    return _combined_row(tr, node, call)


def _combined_row(tr: Translator, node: exp.Anonymous, call: ParsedAggregate) -> ParsedAggregate:
    row = with_state_combinators(call)
    if row is None:
        message = f"`{call_name(node)}` with DISTINCT is not supported"
        raise tr.refusal(node, "unsupported-syntax", message)
    return replace(call, row=row, distinct=False, or_null=False)


def _check_arguments(tr: Translator, node: exp.Anonymous, call: ParsedAggregate, values: list[TypedSql]) -> None:
    low, high = call.row.arity
    name = call_name(node)
    if not low <= len(values) <= high:
        expected = str(low) if low == high else f"{low} to {high}"
        raise tr.refusal(node, "wrong-argument-count", f"`{name}` takes {expected} arguments, {len(values)} are given")
    for value in values:
        if is_fine_time(value.bare) and call.row.name not in _TAKE_FINE_TIMES:
            message = f"`{name}` of {value.type} is not supported"
            raise tr.refusal(node, "wrong-argument-type", message, "toDateTime64(…, 6) cuts off the nanoseconds")
        if isinstance(value.bare, t.AggregateFunction):
            message = f"`{name}` of a state is not supported, {value.type} is read by -Merge"
            raise tr.refusal(node, "wrong-argument-type", message, f"did you mean `{value.bare.function}Merge`?")
        if is_null(value) or (call.row.takes == "number" and not isinstance(value.bare, _NUMBERS)):
            needed = "a number" if call.row.takes == "number" else "a value with a type"
            message = f"`{name}` needs {needed}, this is {value.type}"
            raise tr.refusal(node, "wrong-argument-type", message, dynamic_hint(value))


def _state_of_values(
    tr: Translator, node: exp.Anonymous, call: ParsedAggregate, given: AggregateInput, tests: Types
) -> TypedSql:
    if not call.row.has_state:
        raise tr.refusal(node, "unsupported-state", f"states of `{call.row.name}` are not supported")
    of = state_type(call, (*given.types, *tests), given.parameters)
    return TypedSql(call.row.state(given), of, spark_type(of))


def _nullable_type(of: Type) -> Type:
    """The result type with -OrNull; arrays, maps and tuples are never Nullable."""
    return of if isinstance(unwrap_type(of), (t.Array, t.Map, t.Tuple)) else t.Nullable(unwrap_type(of))


def _result_of_values(tr: Translator, node: exp.Anonymous, call: ParsedAggregate, given: AggregateInput) -> TypedSql:
    types = tuple(map(_nullable_type, given.types)) if call.or_null else given.types
    if call.or_null and isinstance(unwrap_type(call.row.result(types)), t.Tuple):
        message = f"`{call_name(node)}` of a Tuple is not supported: a Tuple is never NULL here"
        raise tr.refusal(node, "wrong-argument-type", message, "use it without -OrNull, with count() beside it")
    given = replace(given, types=types)
    if call.row.plain is not None:
        sql = call.row.plain(given)
    else:
        sql = call.row.finish(AggregateState(call.row.state(given), types, given.parameters))
    result, spark = call.row.result(types), call.row.result_spark(types)
    if call.form == "SimpleState":
        if call.name not in SIMPLE_FUNCTIONS:
            message = f"states of `{call.name}` are not plain values"
            raise tr.refusal(node, "unsupported-state", message, f"use {call.name}State")
        plain = result.of if isinstance(result, t.LowCardinality) else result
        return TypedSql(sql, t.SimpleAggregateFunction(call.name, plain), spark)
    return TypedSql(sql, result, spark)


def finalize_state(tr: Translator, node: exp.Anonymous, value: TypedSql) -> TypedSql:
    """finalizeAggregation(state): the value of one state. Raises Refused for any other type."""
    of = value.bare
    if not isinstance(of, t.AggregateFunction):
        raise tr.refusal(node, "wrong-argument-type", f"finalizeAggregation needs a state, this is {value.type}")
    row, types = state_aggregate(of), state_arguments(of)
    sql = row.finish(AggregateState(value.sql, types, state_parameters(of)))
    return TypedSql(sql, row.result(types), row.result_spark(types))
