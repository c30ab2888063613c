"""Special forms: functions whose arguments are more than values, and operators that are called by name.

`SPECIAL_FORMS` maps a function's name to a `SpecialForm`, which takes the call's node and gives its `TypedSql` Spark
SQL: CAST and its kin, `if`, lambdas, `grouping`, `arrayJoin`, `plus(a, b)` … Invariant: a form checks the number and
types of its own arguments, and a refusal points at the argument that is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from penstock.model import types as t
from penstock.model.types import Type, has_json, is_nullable, unwrap_type
from penstock.parse.column_types import parse_type
from penstock.parse.lexer import InvalidSyntax
from penstock.sql.calls.aggregate_calls import finalize_state
from penstock.sql.calls.array_reduce import array_reduce, array_reduce_in_ranges, initialize_aggregation
from penstock.sql.calls.lambda_arguments import hint_for_array
from penstock.sql.calls.lambdas import LAMBDA_FORMS
from penstock.sql.calls.polygons import POLYGON_FORMS
from penstock.sql.calls.running_functions import RUNNING_FORMS
from penstock.sql.calls.special_dates import TIME_FORMS
from penstock.sql.calls.subqueries import membership_call
from penstock.sql.calls.tuple_distances import NORMALIZING_FORMS
from penstock.sql.calls.tuples import TUPLE_FORMS
from penstock.sql.compiler.constants import literal_text
from penstock.sql.compiler.translator import SpecialForm, Translator, call_arguments, refuse_intervals
from penstock.sql.conversions.explicit import (
    CAST_MODE,
    STRICT_FAILURES,
    ConversionMode,
    convert,
    gives_null_for_text,
    require_not_null,
)
from penstock.sql.conversions.literal_texts import read_literal_text
from penstock.sql.conversions.literals import literal_hint
from penstock.sql.expr.common_type import supertype
from penstock.sql.expr.dates import zone_of
from penstock.sql.expr.spark_types import function_default
from penstock.sql.expr.typed import TypedSql, is_null, text, typed_sql
from penstock.sql.functions.maps import pairs_of_map
from penstock.sql.functions.table import find_function
from penstock.sql.operators import arithmetic, comparisons, logic
from penstock.sql.operators.json_paths import refuse_dynamic
from penstock.sql.operators.literals import make_tuple
from penstock.sql.stored_types import column_default
from penstock.sql.syntax.tree import call_name, call_parts, is_aggregate


def _arithmetic_form(symbol: str) -> SpecialForm:
    def form(tr: Translator, node: exp.Anonymous) -> TypedSql:
        left, right = tr.translate_all(call_arguments(tr, node, 2, 2))
        return arithmetic.apply_operator(tr, node, symbol, (left, right))

    return form


def _comparison_form(symbol: str) -> SpecialForm:
    def form(tr: Translator, node: exp.Anonymous) -> TypedSql:
        left, right = tr.translate_all(call_arguments(tr, node, 2, 2))
        return comparisons.compare(tr, node, symbol, (left, right))

    return form


def _is_not_distinct_from(tr: Translator, node: exp.Anonymous) -> TypedSql:
    left, right = tr.translate_all(call_arguments(tr, node, 2, 2))
    return comparisons.compare_null_safe(tr, node, (left, right))


def _is_distinct_from(tr: Translator, node: exp.Anonymous) -> TypedSql:
    same = _is_not_distinct_from(tr, node)
    return replace(same, sql=f"(NOT {same.sql})")


def _logical_form(word: str) -> SpecialForm:
    def form(tr: Translator, node: exp.Anonymous) -> TypedSql:
        return logic.join_conditions(tr, node, word, tr.translate_all(call_arguments(tr, node, 2, 64)))

    return form


def _xor(tr: Translator, node: exp.Anonymous) -> TypedSql:
    return logic.join_by_xor(tr, node, tr.translate_all(call_arguments(tr, node, 2, 64)))


def _not(tr: Translator, node: exp.Anonymous) -> TypedSql:
    (argument,) = call_arguments(tr, node, 1, 1)
    return logic.translate_not(tr, exp.Not(this=argument))


def _like_form(word: str) -> SpecialForm:
    def form(tr: Translator, node: exp.Anonymous) -> TypedSql:
        left, right = tr.translate_all(call_arguments(tr, node, 2, 2))
        return comparisons.match_like(tr, node, (left, right), word)

    return form


def _if(tr: Translator, node: exp.Anonymous) -> TypedSql:
    test, yes, no = tr.translate_all(call_arguments(tr, node, 3, 3))
    return logic.choose_value(tr, node, [test], [yes, no])


def _if_not_finite(tr: Translator, node: exp.Anonymous) -> TypedSql:
    """ifNotFinite(x, y): x, or y where x is NaN, infinite or NULL."""
    value, other = tr.translate_all(call_arguments(tr, node, 2, 2))
    test = find_function("isFinite")
    assert test is not None, "a function of the table"
    if not is_null(value) and not isinstance(value.bare, (t.Int, t.Float)):
        raise tr.refusal(node, "wrong-argument-type", f"`ifNotFinite` needs a number, this is {value.type}")
    finite = replace(value, sql="false") if is_null(value) else test.build([value])
    return logic.choose_value(tr, node, [finite], [value, other])


def _multi_if(tr: Translator, node: exp.Anonymous) -> TypedSql:
    values = tr.translate_all(call_arguments(tr, node, 3, 255))
    if len(values) % 2 == 0:
        raise tr.refusal(
            node, "wrong-argument-count", "`multiIf` takes pairs of a condition and a value, and then a default"
        )
    return logic.choose_value(tr, node, values[0:-1:2], [*values[1:-1:2], values[-1]])


def _null_if(tr: Translator, node: exp.Anonymous) -> TypedSql:
    """nullIf(x, y): x, or NULL where `x = y`; a comparison that is NULL leaves x."""
    first, second = tr.translate_all(call_arguments(tr, node, 2, 2))
    refuse_dynamic(tr, node, [first], "`nullIf`")
    if isinstance(first.bare, (t.Array, t.Map, t.Tuple)) and not is_null(first):
        raise tr.refusal(node, "wrong-argument-type", f"a {first.type} is never NULL")
    literals = first.constant is not None and second.constant is not None
    if literals and not is_null(first) and not is_null(second) and supertype((first.type, second.type)) is None:
        message = f"there is no common type of {first.type}, {second.type}"
        raise tr.refusal(node, "no-common-type", message, "cast one of them")
    same = comparisons.compare(tr, node, "=", (first, second))
    never = is_null(first) or is_null(second)
    return TypedSql(first.sql if never else f"if({same.sql}, NULL, {first.sql})", t.Nullable(first.bare), first.spark)


def translate_cast(tr: Translator, node: exp.Expr) -> TypedSql:
    """CAST(x AS T), x::T and CAST(x, 'T')."""
    return cast_in_mode(tr, node, CAST_MODE)


def cast_in_mode(tr: Translator, node: exp.Expr, mode: ConversionMode) -> TypedSql:
    """A cast in a conversion mode."""
    to = node.args["to"]
    name = to.name if isinstance(to, exp.Literal) else to.sql(dialect="clickhouse")
    value = tr.translate(node.this)
    want = _parse_type_name(tr, node, "Date" if name == "DATE" else name)
    known = _known_value(tr, node, value, want)
    return known if known is not None else _convert_to_type(tr, node, value, want, mode)


def _known_value(tr: Translator, node: exp.Expr, value: TypedSql, want: Type) -> TypedSql | None:
    """The value of a text literal; None for every other value, and where the conversion of a column decides. Raises
    Refused if the type has no such value, and NULL does not take its place."""
    if not isinstance(value.literal, str):
        return None
    try:
        return read_literal_text(value.literal, want)
    except ValueError:
        if gives_null_for_text(value, want):
            return None  # in a FORWARD_QUERY, which is strict, an error of its rows
        message = f"'{value.literal}' is not a value of {want}"
        hint = _converted_hint(value.literal, want) or literal_hint(value.literal, t.unwrap_type(want))
        raise tr.refusal(node, "invalid-literal", message, hint) from None


def _converted_hint(written: str, want: Type) -> str | None:
    """`::` behind a number or a bracket reads what is written; CAST takes its value."""
    if re.fullmatch(r"-?\s*[0-9][0-9A-Za-z_.+-]*|[\[(].*[\])]", written, re.DOTALL) is None:
        return None
    return f"`::` reads the text of the literal; CAST({written} AS {want}) converts its value"


def _parse_type_name(tr: Translator, node: exp.Expr, name: str) -> Type:
    """The ClickHouse type that a text names. Raises Refused for an unknown type."""
    try:
        return parse_type(name)
    except InvalidSyntax as error:
        raise tr.refusal(node, "unknown-type", str(error), error.hint) from error


def _convert_to_type(tr: Translator, node: exp.Expr, value: TypedSql, want: Type, mode: ConversionMode) -> TypedSql:
    """A value explicitly converted to a type, in a conversion mode. Raises Refused if ClickHouse has no such
    conversion."""
    if tr.locals and (has_json(want) or has_json(value.type)):
        raise tr.refusal(node, "unsupported-syntax", "a conversion to or from JSON inside a lambda is not supported")
    if is_null(value) and mode.failure == "zero" and not is_nullable(want):
        return typed_sql(mode.default or column_default(want), want)
    if is_null(value) and mode.failure != "null" and not is_nullable(want):
        raise tr.refusal(node, "no-conversion", f"NULL cannot be converted to {want}", f"Nullable({want})")
    if mode.failure == "zero" and mode.default is None and value.nullable and not is_nullable(want):
        mode = replace(mode, default=column_default(want))
    want = _in_zone_of(value, want)
    result = convert(value, want, mode)
    if result is None:
        lenient = mode.failure not in STRICT_FAILURES and convert(value, want) is not None
        hint = "accurateCast is strict; arrayMap(e -> …) converts elements one by one" if lenient else None
        default = " with a default" if lenient else ""
        raise tr.refusal(node, "no-conversion", f"{value.type} cannot be converted to {want}{default}", hint)
    return require_not_null(result, want) if mode.failure in STRICT_FAILURES and not is_nullable(want) else result


def _in_zone_of(value: TypedSql, want: Type) -> Type:
    """A time type without a time zone takes that of a converted time; one inside of an array does not."""
    zone = zone_of(value.bare)
    match unwrap_type(want):
        case (t.DateTime(None) | t.DateTime64(_, None)) as bare if zone is not None:
            in_zone = replace(bare, zone=zone)
            return t.Nullable(in_zone) if is_nullable(want) else in_zone
        case _:
            return want


def accurate_cast_form(mode: ConversionMode, arity: int = 2) -> SpecialForm:
    """accurateCast and its variants, by their conversion mode."""

    def form(tr: Translator, node: exp.Anonymous) -> TypedSql:
        arguments = call_arguments(tr, node, 2, arity)
        value = tr.translate(arguments[0])
        want = _parse_type_name(tr, arguments[1], literal_text(tr, arguments[1]))
        used = mode
        if len(arguments) == 3:
            default = _convert_to_type(tr, arguments[2], tr.translate(arguments[2]), want, CAST_MODE)
            used = ConversionMode(mode.failure, mode.overflow, default.sql)
        return _convert_to_type(tr, node, value, want, used)

    return form


def _default_value_of_type(tr: Translator, node: exp.Anonymous) -> TypedSql:
    (argument,) = call_arguments(tr, node, 1, 1)
    of = _parse_type_name(tr, argument, literal_text(tr, argument))
    return typed_sql(function_default(of) if isinstance(of, t.Date) else column_default(of), of)


def _square(tr: Translator, node: exp.Anonymous) -> TypedSql:
    (value,) = tr.translate_all(call_arguments(tr, node, 1, 1))
    if value.unit or not isinstance(value.bare, (t.Int, t.Float, t.Decimal)):
        raise tr.refusal(node, "wrong-argument-type", f"`sqr` needs a number, this is {value.type}")
    if "rand()" in value.sql:
        raise tr.refusal(node, "wrong-argument-type", "`sqr` of a random number is not supported", "pow")
    return arithmetic.apply_operator(tr, node, "*", (value, value))


def _type_name(tr: Translator, node: exp.Anonymous) -> TypedSql:
    (argument,) = call_arguments(tr, node, 1, 1)
    value = tr.translate(argument)
    _refuse_lost_low_cardinality(tr, argument)
    return text(f"Interval{value.unit.capitalize()}" if value.unit else _pretty_type_name(value.type))


def _refuse_lost_low_cardinality(tr: Translator, node: exp.Expr) -> None:
    """Raises Refused for what may be LowCardinality in ClickHouse: a function of one LowCardinality argument mostly
    gives another one there, unless it takes several, or has no such result: a rule of each function."""
    meant, inside = node, frozenset[str]()
    # In its own alias a name is a column: `carrier AS carrier`.
    while isinstance(meant, exp.Column) and not meant.table and meant.name in tr.scope.aliases.keys() - inside:
        inside |= {meant.name}
        meant = tr.scope.aliases[meant.name].unalias()
    if not isinstance(meant, exp.Column) and _has_low_cardinality(tr, meant, inside):
        message = "`toTypeName` of what may keep the LowCardinality of its argument is not supported"
        hint = "toTypeName of a column; functions keep LowCardinality in ClickHouse, which has no meaning here"
        raise tr.refusal(node, "wrong-argument-type", message, hint)


def _has_low_cardinality(tr: Translator, node: exp.Expr, inside: frozenset[str]) -> bool:
    """Whether a part of an expression is LowCardinality; aggregates lose it. `inside`: the aliases around it."""
    for part in node.walk(prune=is_aggregate):
        if part is not node and "LowCardinality" in f"{call_name(part)} {part.args.get('to')}":
            return True
        if not isinstance(part, exp.Column) or part.name in tr.locals:
            continue
        alias = tr.scope.aliases.get(part.name) if not part.table and part.name not in inside else None
        table = tr.scope.relation(part.table) if part.table else tr.scope.find(part.name)
        of = table.columns.get(part.name) if table is not None else None
        if alias is not None and _has_low_cardinality(tr, alias, inside | {part.name}):
            return True
        if alias is None and of is not None and "LowCardinality" in str(of.type):
            return True
    return False


def _tuple_of_arguments(tr: Translator, node: exp.Anonymous) -> TypedSql:
    values = tr.translate_all(call_arguments(tr, node, 1, 64))
    refuse_intervals(tr, node, values)
    return make_tuple(values)


def _finalize_aggregation(tr: Translator, node: exp.Anonymous) -> TypedSql:
    (argument,) = call_arguments(tr, node, 1, 1)
    return finalize_state(tr, node, tr.translate(argument))


def _array_join(tr: Translator, node: exp.Anonymous) -> TypedSql:
    """arrayJoin(array): the row is repeated for each element (of a map: each pair), before WHERE and GROUP BY. Calls
    with the same array share one expansion."""
    (argument,) = call_arguments(tr, node, 1, 1)
    before = tr.trace.aggregates
    value = tr.translate(argument)
    if tr.trace.aggregates != before or tr.locals:
        message = "arrayJoin inside a lambda, or of an aggregate beside these clauses, is not supported"
        raise tr.refusal(node, "unsupported-syntax", message, "group in a subquery, and use it around that")
    value = pairs_of_map(value) if isinstance(value.bare, t.Map) else value
    if not isinstance(value.bare, t.Array):
        message = f"arrayJoin needs an Array, this is {value.type}"
        raise tr.refusal(argument, "wrong-argument-type", message, hint_for_array(value))
    name = tr.trace.spread.setdefault(value.sql, f"__spread{len(tr.trace.spread)}")
    tr.trace.free.append(node)
    return typed_sql(f"`{name}`.`value`", value.bare.of)


def _misplaced_elements(tr: Translator, node: exp.Anonymous) -> TypedSql:
    """untuple(tuple) is replaced by its columns where it is an item of a select list."""
    message = "`untuple` is an item of the select list, and nothing else"
    raise tr.refusal(node, "unsupported-syntax", message, "tupleElement(…, 1)")


def is_key_absent(bit: int) -> str:
    """Spark SQL: whether the grouping set of a row lacks the key of this bit of Spark's grouping_id()."""
    return f"(grouping_id() & {2**bit}) <> 0"


def _grouping_bits(tr: Translator, node: exp.Anonymous) -> TypedSql:
    """grouping(key, …): an integer with one bit for each key, 1 if the grouping set of the row lacks it.

    In Spark's grouping_id() the first key of `Translator.absent` is the highest bit.
    """
    _, arguments = call_parts(node)
    if tr.place != "select" or not arguments:
        raise tr.refusal(node, "misplaced-aggregate", "`grouping` takes keys of GROUP BY, outside of aggregates")
    plain = replace(tr, absent={})
    bits = []
    for place, argument in enumerate(reversed(arguments)):
        sql = plain.with_new_trace().translate(argument).sql
        if sql not in tr.keys:
            raise tr.refusal(argument, "not-grouped", "`grouping` takes keys of GROUP BY only")
        if sql in tr.absent:
            bit = len(tr.absent) - 1 - list(tr.absent).index(sql)
            bits.append(f"if({is_key_absent(bit)}, {2**place}L, 0L)")
    return TypedSql(f"({' + '.join(bits)})" if bits else "CAST(0 AS BIGINT)", t.Int(64, signed=False), "BIGINT")


def _pretty_type_name(of: Type, level: int = 0) -> str:
    """The name of a type as toTypeName writes it: named fields of a tuple on lines of their own,
    except within Nullable.

    The format is that of ClickHouse's `DataTypeTuple::doGetPrettyName`; `level` is the depth of indentation.
    """
    match of:
        case t.Array(inner):
            return f"Array({_pretty_type_name(inner, level)})"
        case t.Map(key, value):
            return f"Map({_pretty_type_name(key, level)}, {_pretty_type_name(value, level)})"
        case t.Tuple(fields) if any(name for name, _ in fields):
            indent = "    " * (level + 1)
            lines = (f"{indent}{_quote_field_name(name)} {_pretty_type_name(part, level + 1)}" for name, part in fields)
            return "Tuple(\n" + ",\n".join(lines) + ")"
        case t.Tuple(fields) if fields:
            return f"Tuple({', '.join(_pretty_type_name(part, level) for _, part in fields)})"
        case _:
            return str(of)


def _quote_field_name(name: str | None) -> str:
    """A field's name, in back-quotes if a type's text needs them."""
    return str(t.Tuple(((name, t.Bool()),))).removeprefix("Tuple(").removesuffix(" Bool)")


SPECIAL_FORMS: Mapping[str, SpecialForm] = {
    "plus": _arithmetic_form("+"),
    "minus": _arithmetic_form("-"),
    "multiply": _arithmetic_form("*"),
    "divide": _arithmetic_form("/"),
    "modulo": _arithmetic_form("%"),
    "intDiv": _arithmetic_form("intDiv"),
    "mod": _arithmetic_form("%"),
    "equals": _comparison_form("="),
    "notEquals": _comparison_form("<>"),
    "less": _comparison_form("<"),
    "greater": _comparison_form(">"),
    "lessOrEquals": _comparison_form("<="),
    "greaterOrEquals": _comparison_form(">="),
    "and": _logical_form("AND"),
    "or": _logical_form("OR"),
    "not": _not,
    "xor": _xor,
    "like": _like_form("LIKE"),
    "ilike": _like_form("ILIKE"),
    "notLike": _like_form("NOT LIKE"),
    "notILike": _like_form("NOT ILIKE"),
    "in": membership_call,
    "notIn": membership_call,
    "if": _if,
    "multiIf": _multi_if,
    "ifNotFinite": _if_not_finite,
    "nullIf": _null_if,
    "isNotDistinctFrom": _is_not_distinct_from,
    "isDistinctFrom": _is_distinct_from,
    "accurateCast": accurate_cast_form(ConversionMode("by type", "refused")),
    "accurateCastOrNull": accurate_cast_form(ConversionMode("null", "refused")),
    "accurateCastOrDefault": accurate_cast_form(ConversionMode("zero", "refused"), 3),
    "defaultValueOfTypeName": _default_value_of_type,
    "toTypeName": _type_name,
    "finalizeAggregation": _finalize_aggregation,
    "grouping": _grouping_bits,
    "arrayReduce": array_reduce,
    "arrayReduceInRanges": array_reduce_in_ranges,
    "initializeAggregation": initialize_aggregation,
    "tuple": _tuple_of_arguments,
    "arrayJoin": _array_join,
    "unnest": _array_join,
    "untuple": _misplaced_elements,
    "sqr": _square,
    **TUPLE_FORMS,
    **NORMALIZING_FORMS,
    **TIME_FORMS,
    **LAMBDA_FORMS,
    **RUNNING_FORMS,
    **POLYGON_FORMS,
}
_ANY_CASE = {
    name.lower(): name
    for name in (
        *("scalarProduct", "vectorSum", "vectorDifference", "nullIf"),
        *(name for name in NORMALIZING_FORMS if name.startswith("normalize")),
    )
}
"""Names with capital letters that ClickHouse takes in any case, by their lower case."""


def find_special_form(name: str) -> SpecialForm | None:
    """The form of a name, None if there is none."""
    lower = name.lower()
    return SPECIAL_FORMS.get(name) or SPECIAL_FORMS.get(_ANY_CASE.get(lower, lower))
