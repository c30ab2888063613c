"""Dispatch of syntax nodes: `HANDLERS` maps each kind of sqlglot node to the function that translates it.

`translate_call` resolves a function's name: first the special forms (arguments that are more than values), then
the table of scalar functions, then the aggregate functions. `f(x) FILTER (WHERE c)`, RESPECT NULLS and IGNORE NULLS
after an aggregate are rewritten as the call of another function: `sum(x) FILTER (WHERE c)` is `sumIf(x, c)`.
Invariant: a kind of node without a handler, and a function in none of the tables, is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from penstock.errors import near_names_hint
from penstock.model import types as t
from penstock.sql.aggregates.name_parser import names_for_hints, parse_aggregate_name
from penstock.sql.calls import subqueries, windows
from penstock.sql.calls.aggregate_calls import aggregate_call
from penstock.sql.calls.lambda_arguments import build_or_refuse
from penstock.sql.calls.named_lambdas import expand_named_lambda, with_named_lambda
from penstock.sql.calls.special_forms import SPECIAL_FORMS, find_special_form, translate_cast
from penstock.sql.calls.tuple_distances import VECTOR_FORMS
from penstock.sql.calls.windows import WINDOW_FUNCTIONS, find_window_function
from penstock.sql.compiler.constants import known_constant, known_texts
from penstock.sql.compiler.translator import NodeHandler, Translator, refuse_intervals
from penstock.sql.expr.bind_once import READS_DOCUMENT, bind_document_reads, bind_repeated, depends_on_lambda
from penstock.sql.expr.fine_times import as_microseconds
from penstock.sql.expr.json_documents import dynamic_hint, is_json, size_of, string_of, text_of
from penstock.sql.expr.kept_digits import with_kept_digits
from penstock.sql.expr.spark_types import FINE_TIME, value_type
from penstock.sql.expr.typed import NOTHING, NULL, TypedSql, as_spark, integer, is_null, typed_sql
from penstock.sql.functions.arrays.elements import array_or_map_element
from penstock.sql.functions.dynamic_uses import dynamic_use, wider_result
from penstock.sql.functions.function import Function, is_kind, kind_name
from penstock.sql.functions.refused_functions import missing_function_hint
from penstock.sql.functions.strings.format_concat import concat
from penstock.sql.functions.table import find_function, fine_time_use, function_names, json_use
from penstock.sql.operators import arithmetic, case, comparisons, literals, logic, names
from penstock.sql.operators.dynamic_values import Apply, dynamic_result, fixed_result, is_dynamic_value
from penstock.sql.operators.json_paths import json_element, json_path, json_sub_object, names_of_path, refuse_dynamic
from penstock.sql.spark_text import string_literal
from penstock.sql.syntax.column_names import EXTRACT_FUNCTIONS, EXTRACT_MODES, place_before_offset
from penstock.sql.syntax.problems import Refused
from penstock.sql.syntax.tokens import CALL_MARK
from penstock.sql.syntax.tree import call_name, call_parts, filter_as_if

_RESPECT_NULLS_FUNCTIONS: Mapping[str, str] = {
    "any": "any_respect_nulls",
    "any_value": "any_respect_nulls",
    "first_value": "any_respect_nulls",
    "anyLast": "anyLast_respect_nulls",
    "last_value": "anyLast_respect_nulls",
}


def _translate_bracket(tr: Translator, node: exp.Expr) -> TypedSql:
    """`array[index]`. sqlglot has subtracted 1 from a literal index (unless `offset` is 1), so 1 is added again."""
    if len(node.expressions) != 1:
        raise tr.refusal(node, "unsupported-syntax", "expected one index in `[…]`")
    base, steps = _steps_in_brackets(node)
    value = tr.translate(base)
    if steps and is_json(value.type):
        return json_path(tr, node, value, steps)
    value = tr.translate(node.this) if steps[1:] else value
    computed = place_before_offset(node.expressions[0])
    key = tr.translate(node.expressions[0] if computed is None else computed)
    if t.has_part(value.type, t.Dynamic):
        hint = "write `data.items.:`Array(Nullable(String))`[1]`"
        raise tr.refusal(node, "wrong-argument-type", f"an element of {value.type} is not supported", hint)
    if is_json(value.type):
        if not isinstance(key.constant, str):
            raise tr.refusal(node, "wrong-argument-type", "expected a text literal after a JSON in `[…]`")
        return json_path(tr, node, value, [key.constant])
    if (
        computed is None
        and isinstance(key.constant, int)
        and node.args.get("offset") != 1
        and isinstance(key.bare, t.Int)
    ):
        key = integer(key.constant + 1)
    return build_or_refuse(tr, node, lambda: array_or_map_element([value, key]))


def _steps_in_brackets(node: exp.Expr) -> tuple[exp.Expr, list[str]]:
    """What stands before brackets that hold text literals, and these: `data` of `data['a']['b']`. The array of any
    other brackets, and no texts."""
    steps: list[str] = []
    base = node
    while isinstance(base, exp.Bracket) and len(base.expressions) == 1 and base.expressions[0].is_string:
        steps, base = [base.expressions[0].name, *steps], base.this
    return (base, steps) if steps else (node.this, [])


def _translate_sub_object(tr: Translator, node: exp.Expr) -> TypedSql:
    """`document.^a.b`."""
    return json_sub_object(tr, node, tr.translate(node.this), names_of_path(node.expression))


def _translate_concatenation(tr: Translator, node: exp.Expr) -> TypedSql:
    pair = [tr.translate(node.this), tr.translate(node.expression)]
    if any(map(is_null, pair)):
        return NULL
    pair = [text_of(value) if is_dynamic_value(value) else value for value in pair]
    return build_or_refuse(tr, node, lambda: concat(pair))


def _translate_extract(tr: Translator, node: exp.Expr) -> TypedSql:
    """EXTRACT(part FROM time). `extract(text, pattern)` is a function of the table and does not come here."""
    name = EXTRACT_FUNCTIONS.get(node.name.upper())
    if name is None:
        raise tr.refusal(node, "unsupported-syntax", f"cannot extract `{node.name}`", ", ".join(EXTRACT_FUNCTIONS))
    mode = EXTRACT_MODES.get(node.name.upper())
    modes = [] if mode is None else [exp.Literal.number(mode)]
    return translate_call(tr, exp.Anonymous(this=name + CALL_MARK, expressions=[node.expression, *modes]))


def _translate_trim(tr: Translator, node: exp.Expr) -> TypedSql:
    """TRIM([LEADING|TRAILING|BOTH] characters FROM text)."""
    characters = node.args.get("expression")
    name = {"LEADING": "trimLeft", "TRAILING": "trimRight"}.get(
        str(node.args.get("position") or "").upper(), "trimBoth"
    )
    given = [node.this] if characters is None else [node.this, characters]
    return translate_call(tr, exp.Anonymous(this=name + CALL_MARK, expressions=given))


def translate_call(tr: Translator, node: exp.Expr) -> TypedSql:
    """A function call by its name. Raises Refused, with the nearest known name, for an unknown function."""
    name = call_name(node)
    if name is None or not isinstance(node, exp.Anonymous):
        raise tr.refusal(node, "unsupported-syntax", "this call is not supported")
    body = expand_named_lambda(tr, node)
    if body is not None:
        return tr.translate(body)
    if not names.counts_rows(node):
        node = names.expand_star_arguments(tr, node)
    node = with_named_lambda(tr, node)
    special = find_special_form(name)
    if special is not None:
        value = special(tr, node)
        return value if tr.locals else _read_outside_lambdas(value)
    function = find_function(name)
    if function is not None:
        return apply_function(tr, node, function)
    aggregate = parse_aggregate_name(name)
    if aggregate is not None:
        return aggregate_call(tr, node, aggregate)
    if find_window_function(name) is not None:
        raise tr.refusal(node, "misplaced-window", f"`{name}` needs OVER (…)")
    hint = missing_function_hint(name) or _near_functions_hint(name)
    raise tr.refusal(node, "unknown-function", f"unknown function `{name}`", hint)


def _near_functions_hint(name: str) -> str:
    """Near names and where all are: there are too many to list them."""
    known = (*function_names(), *SPECIAL_FORMS, *names_for_hints(), *WINDOW_FUNCTIONS)
    near = near_names_hint(name, known)
    if near is not None and near.endswith("?"):
        return near
    return f"{f'{near}; ' if near else ''}docs/sql-functions.md lists the functions that there are"


def apply_function(tr: Translator, node: exp.Anonymous, function: Function) -> TypedSql:
    """A function of the table applied to the arguments of a call. Raises Refused for the number or types of
    arguments."""
    parameters, arguments = call_parts(node)
    if parameters:
        raise tr.refusal(node, "wrong-argument-count", f"`{function.name}` takes no parameters")
    low, high = function.arity
    if not low <= len(arguments) <= high:
        expected = str(low) if low == high else f"{low} to {high}"
        message = f"`{function.name}` takes {expected} arguments, {len(arguments)} are given"
        raise tr.refusal(node, "wrong-argument-count", message)
    values = [_with_known_constant(tr, each, tr.translate(each)) for each in arguments]
    refuse_intervals(tr, node, values)
    if any(t.has_part(value.type, t.Dynamic) for value in values):
        return _apply_to_dynamic_values(tr, node, function, values)
    if values and isinstance(values[0].bare, t.Tuple) and function.name in VECTOR_FORMS:
        return _bind_long_arguments(VECTOR_FORMS[function.name](tr, node, values), values)
    return _apply_to_values(tr, node, function, values)


def _apply_to_dynamic_values(
    tr: Translator, node: exp.Anonymous, function: Function, values: list[TypedSql]
) -> TypedSql:
    """A function of values whose types are only known for each row. Raises Refused where it takes none."""
    use = dynamic_use(function.name)
    if use in ("as a String", "as its text"):
        read = string_of if use == "as a String" else text_of
        shown = [read(value) if is_dynamic_value(value) else value for value in values]
        refuse_dynamic(tr, node, shown, f"`{function.name}`")
        return _apply_to_values(tr, node, function, shown)
    if use == "its length" and is_dynamic_value(values[0]):
        return build_or_refuse(tr, node, lambda: size_of(values[0], function.build))
    if use in ("by its type", "to Dynamic"):
        found = _apply_by_type(tr, node, function, values, fixed_result if use == "by its type" else dynamic_result)
        wider = wider_result(function.name)
        if found is not None:
            return found if wider is None else typed_sql(as_spark(found, value_type(wider)), t.Nullable(wider))
    if use != "as it is":
        refuse_dynamic(tr, node, values, f"`{function.name}`")
    return _apply_to_values(tr, node, function, values)


def _apply_by_type(
    tr: Translator,
    node: exp.Anonymous,
    function: Function,
    values: list[TypedSql],
    result: Callable[[Sequence[TypedSql], Apply], TypedSql | None],
) -> TypedSql | None:
    """A function applied to the type that each row has; None if it takes no type that there is."""

    def apply(given: Sequence[TypedSql]) -> TypedSql | None:
        try:
            return _apply_to_values(tr, node, function, list(given))
        except Refused:
            return None

    return result(values, apply)


def _apply_to_values(tr: Translator, node: exp.Anonymous, function: Function, values: list[TypedSql]) -> TypedSql:
    """A function of arguments of any type. Raises Refused for those that it does not take."""
    arguments = call_parts(node)[1]
    _check_documents(tr, node, function, values)
    for place, value in enumerate(values):
        kind = function.takes[min(place, len(function.takes) - 1)]
        if not is_kind(value, kind):
            message = f"argument {place + 1} of `{function.name}` must be {kind_name(kind)}, this is {value.type}"
            raise tr.refusal(arguments[place], "wrong-argument-type", message, dynamic_hint(value))
    if function.strict and any(map(is_null, values)):
        return TypedSql("NULL", NULL.type, "VOID") if NULL.bare == NOTHING else NULL
    return _build_call(tr, node, function, values)


def _check_documents(tr: Translator, node: exp.Anonymous, function: Function, values: list[TypedSql]) -> None:
    """Raises Refused for documents in a function that would take their stored text for a String, or that Spark would
    have to call inside of a lambda."""
    if not any(t.has_json(value.type) for value in values):
        return
    use = json_use(function.name)
    if use is None:
        message = f"`{function.name}` of JSON is not supported"
        raise tr.refusal(node, "wrong-argument-type", message, "toString(…) of it")
    if use == "by a function" and tr.locals and any(depends_on_lambda(value.sql) for value in values):
        raise tr.refusal(node, "unsupported-syntax", f"`{function.name}` of JSON inside a lambda is not supported")


def _build_call(tr: Translator, node: exp.Anonymous, function: Function, values: list[TypedSql]) -> TypedSql:
    """The call of values of the right kinds. Raises Refused for a time whose nanoseconds the function would lose."""
    fine = next((value for value in values if value.spark == FINE_TIME and isinstance(value.bare, t.DateTime64)), None)
    if fine is None:
        built = build_or_refuse(tr, node, lambda: _read_outside_lambdas(with_kept_digits(values, function.build)))
        return _bind_long_arguments(built, values)
    use = None if any("%f" in str(value.constant) for value in values) else fine_time_use(function.name)
    given = list(map(as_microseconds, values)) if use == "in microseconds" else values
    result = build_or_refuse(tr, node, lambda: function.build(given)) if use is not None else None
    if result is None or (use == "in microseconds" and isinstance(result.bare, t.DateTime64)):
        message = f"`{function.name}` of {fine.type} is not supported"
        raise tr.refusal(node, "wrong-argument-type", message, "toDateTime64(…, 6) cuts off the nanoseconds")
    return result


def _bind_long_arguments(result: TypedSql, values: Sequence[TypedSql]) -> TypedSql:
    """The result, whose text does not grow by a factor with each call in a call."""
    sql = bind_repeated(result.sql, [value.sql for value in values])
    return result if sql == result.sql else replace(result, sql=sql, whole=None)


def _read_outside_lambdas(value: TypedSql) -> TypedSql:
    """What is made of lambdas, with what is read from documents read outside of them: Spark runs no function of Python
    inside."""
    if READS_DOCUMENT not in value.sql or "->" not in value.sql:
        return value
    return replace(value, sql=bind_document_reads(value.sql), whole=None)


def _with_known_constant(tr: Translator, node: exp.Expr, value: TypedSql) -> TypedSql:
    """The value of an argument with its constant, where that is written as an expression: `24 * 3600`."""
    if isinstance(value.bare, t.Array) and not isinstance(node, exp.Array):
        texts = known_texts(tr, node)
        return value if not texts else replace(value, sql=f"array({', '.join(map(string_literal, texts))})")
    if value.constant is not None or isinstance(value.bare, (t.Map, t.Tuple)):
        return value
    constant = known_constant(tr, node)
    return value if constant is None else replace(value, computed=constant)


def _call_with_filter(tr: Translator, node: exp.Expr) -> TypedSql:
    """`f(x) FILTER (WHERE c)` as the call `fIf(x, c)`."""
    renamed = filter_as_if(node)
    if renamed is None:
        raise tr.refusal(node, "unsupported-syntax", "only a call of an aggregate function can have FILTER")
    return translate_call(tr, renamed)


def _call_respecting_nulls(tr: Translator, node: exp.Expr) -> TypedSql:
    """`any(x) RESPECT NULLS` as the call `any_respect_nulls(x)`."""
    inner = node.this
    name = _RESPECT_NULLS_FUNCTIONS.get(call_name(inner) or "")
    if name is None:
        raise tr.refusal(node, "unsupported-syntax", "only any, anyLast, first_value and last_value have RESPECT NULLS")
    renamed = exp.Anonymous(this=name + CALL_MARK, expressions=[each.copy() for each in inner.expressions])
    return translate_call(tr, renamed)


def _call_ignoring_nulls(tr: Translator, node: exp.Expr) -> TypedSql:
    """`any(x) IGNORE NULLS` as `any(x)`: these functions ignore NULLs anyway."""
    if call_name(node.this) not in _RESPECT_NULLS_FUNCTIONS:
        raise tr.refusal(node, "unsupported-syntax", "only any, anyLast, first_value and last_value have IGNORE NULLS")
    return translate_call(tr, node.this)


HANDLERS: Mapping[type[exp.Expr], NodeHandler] = {
    exp.Column: names.translate_column,
    exp.Identifier: names.translate_identifier,
    exp.Dot: names.translate_dot,
    exp.Alias: literals.translate_alias,
    exp.Paren: literals.translate_parentheses,
    exp.Literal: literals.translate_literal,
    exp.HexString: literals.translate_hex_literal,
    exp.Boolean: literals.translate_boolean,
    exp.Null: literals.translate_null,
    exp.Neg: literals.translate_minus,
    exp.Array: literals.translate_array,
    exp.Tuple: literals.translate_tuple,
    exp.Interval: literals.translate_interval,
    exp.Filter: _call_with_filter,
    exp.RespectNulls: _call_respecting_nulls,
    exp.IgnoreNulls: _call_ignoring_nulls,
    exp.Bracket: _translate_bracket,
    exp.DPipe: _translate_concatenation,
    **dict.fromkeys(arithmetic.ARITHMETIC_OPERATORS, arithmetic.translate_arithmetic),
    **dict.fromkeys(comparisons.COMPARISON_OPERATORS, comparisons.translate_comparison),
    exp.NullSafeEQ: comparisons.translate_null_safe_equality,
    exp.NullSafeNEQ: comparisons.translate_null_safe_equality,
    exp.And: logic.translate_and_or,
    exp.Or: logic.translate_and_or,
    exp.Not: logic.translate_not,
    exp.Is: logic.translate_is_null,
    exp.Between: comparisons.translate_between,
    exp.Like: comparisons.translate_like,
    exp.ILike: comparisons.translate_like,
    exp.Case: case.translate_case,
    exp.If: logic.translate_ternary,
    exp.In: subqueries.membership,
    exp.Exists: subqueries.exists_test,
    exp.Subquery: subqueries.scalar_subquery,
    exp.Select: subqueries.scalar_subquery,
    exp.Cast: translate_cast,
    exp.CastToStrType: translate_cast,
    exp.JSONCast: lambda tr, node: json_element(tr, node, tr.translate(node.this)),
    exp.NestedJSONSelect: _translate_sub_object,
    exp.Extract: _translate_extract,
    exp.Trim: _translate_trim,
    exp.Anonymous: translate_call,
    exp.Window: windows.translate_window,
}
