"""Calls whose arguments are more than values: conditions, CAST, lambdas, operators by name.

In: the call's node. Out: `Typed`. Called by calls. Invariant: a form checks its own arguments and
reports at the node it blames.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from sqlglot import exp

from penstock.errors import did_you_mean
from penstock.model import types as t
from penstock.model.types import Type
from penstock.parse.lexer import InvalidSyntax
from penstock.parse.types import parse_type
from penstock.sql import arithmetic, comparisons
from penstock.sql.aggregate_calls import finalize
from penstock.sql.conversions import CAST, Mode, convert
from penstock.sql.dates import start_of, wall_clock
from penstock.sql.functions.datetimes import in_zone
from penstock.sql.functions.function import BadArguments
from penstock.sql.lambdas import LAMBDA_FORMS
from penstock.sql.literals import UNITS, make_tuple
from penstock.sql.spark_types import zero
from penstock.sql.subqueries import membership_call
from penstock.sql.translator import Translator
from penstock.sql.tree import call_name, call_parts
from penstock.sql.typed import Typed, null_if_any, text, typed

Form: TypeAlias = Callable[[Translator, exp.Anonymous], Typed]


def arguments_of(tr: Translator, node: exp.Anonymous, low: int, high: int) -> list[exp.Expr]:
    """The arguments of a call, so many at least and at most. Raises Refused."""
    parameters, arguments = call_parts(node)
    if parameters or not low <= len(arguments) <= high:
        expected = str(low) if low == high else f"{low} to {high}"
        message = f"`{call_name(node)}` takes {expected} arguments, {len(arguments)} are given"
        raise tr.refused(node, "wrong-argument-count", message)
    return arguments


def _operator(symbol: str) -> Form:
    def form(tr: Translator, node: exp.Anonymous) -> Typed:
        left, right = tr.all(arguments_of(tr, node, 2, 2))
        return arithmetic.combine(tr, node, symbol, (left, right))

    return form


def _comparison(symbol: str) -> Form:
    def form(tr: Translator, node: exp.Anonymous) -> Typed:
        left, right = tr.all(arguments_of(tr, node, 2, 2))
        return comparisons.compare(tr, node, symbol, (left, right))

    return form


def _connective(word: str) -> Form:
    def form(tr: Translator, node: exp.Anonymous) -> Typed:
        return comparisons.connect(tr, node, word, tr.all(arguments_of(tr, node, 1, 64)))

    return form


def _not(tr: Translator, node: exp.Anonymous) -> Typed:
    (argument,) = arguments_of(tr, node, 1, 1)
    return comparisons.negation(tr, exp.Not(this=argument))


def _like(word: str) -> Form:
    def form(tr: Translator, node: exp.Anonymous) -> Typed:
        left, right = tr.all(arguments_of(tr, node, 2, 2))
        return comparisons.like_of(tr, node, (left, right), word)

    return form


def _if(tr: Translator, node: exp.Anonymous) -> Typed:
    test, yes, no = tr.all(arguments_of(tr, node, 3, 3))
    return comparisons.choose(tr, node, [test], [yes, no])


def _multi_if(tr: Translator, node: exp.Anonymous) -> Typed:
    values = tr.all(arguments_of(tr, node, 3, 255))
    if len(values) % 2 == 0:
        raise tr.refused(node, "wrong-argument-count", "`multiIf` takes pairs of a condition and a value, and a last value")
    return comparisons.choose(tr, node, values[0:-1:2], [*values[1:-1:2], values[-1]])


def cast(tr: Translator, node: exp.Expr) -> Typed:
    """CAST(x AS T), x::T and CAST(x, 'T')."""
    to = node.args["to"]
    name = to.name if isinstance(to, exp.Literal) else to.sql(dialect="clickhouse")
    value = tr.translate(node.this)
    return cast_to(tr, node, value, type_named(tr, node, "Date" if name == "DATE" else name), CAST)


def type_named(tr: Translator, node: exp.Expr, name: str) -> Type:
    """The type of a name in SQL. Raises Refused."""
    try:
        return parse_type(name)
    except InvalidSyntax as error:
        raise tr.refused(node, "unknown-type", str(error), error.hint) from error


def cast_to(tr: Translator, node: exp.Expr, value: Typed, want: Type, mode: Mode) -> Typed:
    """An explicit conversion. Raises Refused where there is none."""
    result = convert(value, want, mode)
    if result is None:
        raise tr.refused(node, "no-conversion", f"{value.type} cannot be converted to {want}")
    return result


def _accurate(mode: Mode, arity: int = 2) -> Form:
    def form(tr: Translator, node: exp.Anonymous) -> Typed:
        arguments = arguments_of(tr, node, 2, arity)
        value = tr.translate(arguments[0])
        want = type_named(tr, arguments[1], _text_of(tr, arguments[1]))
        used = mode
        if len(arguments) == 3:
            default = cast_to(tr, arguments[2], tr.translate(arguments[2]), want, CAST)
            used = Mode(mode.failure, mode.accurate, default.sql)
        return cast_to(tr, node, value, want, used)

    return form


def _text_of(tr: Translator, node: exp.Expr) -> str:
    value = tr.translate(node).constant
    if not isinstance(value, str):
        raise tr.refused(node, "wrong-argument-type", "expected a text literal here")
    return value


def _default_of(tr: Translator, node: exp.Anonymous) -> Typed:
    (argument,) = arguments_of(tr, node, 1, 1)
    of = type_named(tr, argument, _text_of(tr, argument))
    return typed(zero(of), of)


def _type_name(tr: Translator, node: exp.Anonymous) -> Typed:
    (argument,) = arguments_of(tr, node, 1, 1)
    return text(str(tr.translate(argument).type))


def _unit(tr: Translator, node: exp.Expr) -> str:
    """A unit as a text, or as a bare word."""
    name = node.name.upper() if isinstance(node, (exp.Column, exp.Var)) else _text_of(tr, node).upper()
    short = {"YY": "YEAR", "YYYY": "YEAR", "QQ": "QUARTER", "MM": "MONTH", "WW": "WEEK", "DD": "DAY", "HH": "HOUR",
             "MI": "MINUTE", "SS": "SECOND", "MS": "MILLISECOND"}  # fmt: skip
    unit = short.get(name, name.removesuffix("S"))
    if unit not in UNITS:
        raise tr.refused(node, "wrong-argument-type", f"unknown unit `{name.lower()}`", did_you_mean(unit, UNITS))
    return unit


def _date_diff(tr: Translator, node: exp.Anonymous) -> Typed:
    """The number of unit borders between two times."""
    arguments = arguments_of(tr, node, 3, 4)
    unit = _unit(tr, arguments[0])
    first, last = (_in_zone(tr, node, each, arguments[3:]) for each in arguments[1:3])
    for value, argument in ((first, arguments[1]), (last, arguments[2])):
        if not isinstance(value.bare, (t.Date, t.DateTime, t.DateTime64)):
            raise tr.refused(argument, "wrong-argument-type", f"`dateDiff` needs times, this is {value.type}")
    a, b = (_border(value, unit) for value in (first, last))
    return typed(f"CAST({b} - {a} AS BIGINT)", null_if_any(t.Int(64), [first, last]))


def _in_zone(tr: Translator, node: exp.Expr, argument: exp.Expr, zone: list[exp.Expr]) -> Typed:
    value = tr.translate(argument)
    if not zone:
        return value
    try:
        return in_zone(value, [value, tr.translate(zone[0])], 1)
    except BadArguments as error:
        raise tr.refused(node, "wrong-argument-type", error.message) from error


def _border(value: Typed, unit: str) -> str:
    """The number of the unit that a time is in."""
    wall = wall_clock(value)
    match unit:
        case "YEAR":
            return f"year({wall})"
        case "QUARTER":
            return f"(year({wall}) * 4 + quarter({wall}))"
        case "MONTH":
            return f"(year({wall}) * 12 + month({wall}))"
        case "WEEK":
            return f"floor((unix_date(CAST({wall} AS DATE)) + 3) / 7)"
        case "DAY":
            return f"unix_date(CAST({wall} AS DATE))"
    moment = f"CAST({wall} AS TIMESTAMP)" if value.spark == "DATE" else wall
    micros = {"HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000, "MILLISECOND": 1000, "MICROSECOND": 1}
    return f"floor(unix_micros({moment}) / {micros[unit]})"


def _start_of_interval(tr: Translator, node: exp.Anonymous) -> Typed:
    arguments = arguments_of(tr, node, 2, 3)
    value, step = _in_zone(tr, node, arguments[0], arguments[2:]), tr.translate(arguments[1])
    if step.unit is None or not isinstance(step.constant, int) or step.constant < 1:
        raise tr.refused(arguments[1], "wrong-argument-type", "expected an INTERVAL of a literal number")
    return _start(tr, node, value, step.unit, step.constant)


def _date_trunc(tr: Translator, node: exp.Anonymous) -> Typed:
    arguments = arguments_of(tr, node, 2, 3)
    value = _in_zone(tr, node, arguments[1], arguments[2:])
    return _start(tr, node, value, _unit(tr, arguments[0]), 1)


def _start(tr: Translator, node: exp.Expr, value: Typed, unit: str, step: int) -> Typed:
    if not isinstance(value.bare, (t.Date, t.DateTime, t.DateTime64)) or unit in ("MILLISECOND", "MICROSECOND"):
        raise tr.refused(node, "wrong-argument-type", f"`{call_name(node)}` needs a time and a unit from SECOND on")
    return start_of(value, unit, step)


def _date_add(sign: int) -> Form:
    """date_add(unit, n, time) and date_add(time, INTERVAL n unit)."""

    def form(tr: Translator, node: exp.Anonymous) -> Typed:
        arguments = arguments_of(tr, node, 2, 3)
        symbol = "+" if sign > 0 else "-"
        if len(arguments) == 2:
            left, right = tr.all(arguments)
            return arithmetic.combine(tr, node, symbol, (left, right))
        step = exp.Interval(this=arguments[1], unit=exp.var(_unit(tr, arguments[0])))
        return arithmetic.combine(tr, node, symbol, (tr.translate(arguments[2]), tr.translate(step)))

    return form


def _tuple(tr: Translator, node: exp.Anonymous) -> Typed:
    return make_tuple(tr.all(arguments_of(tr, node, 1, 64)))


def _finalize(tr: Translator, node: exp.Anonymous) -> Typed:
    (argument,) = arguments_of(tr, node, 1, 1)
    return finalize(tr, node, tr.translate(argument))


def _array_join(tr: Translator, node: exp.Anonymous) -> Typed:
    """The rows are multiplied before WHERE and GROUP BY; the same array spreads once."""
    (argument,) = arguments_of(tr, node, 1, 1)
    before = tr.trace.aggregates
    value = tr.translate(argument)
    if tr.trace.aggregates != before or tr.locals:
        raise tr.refused(node, "unsupported-syntax", "arrayJoin of an aggregate or inside a lambda is not supported")
    if not isinstance(value.bare, t.Array):
        raise tr.refused(argument, "wrong-argument-type", f"arrayJoin needs an Array, this is {value.type}")
    name = tr.trace.spread.setdefault(value.sql, f"__spread{len(tr.trace.spread)}")
    return typed(f"`{name}`.`value`", value.bare.of)


SPECIAL_FORMS: Mapping[str, Form] = {
    "plus": _operator("+"), "minus": _operator("-"), "multiply": _operator("*"), "divide": _operator("/"),
    "modulo": _operator("%"), "intDiv": _operator("intDiv"), "mod": _operator("%"),
    "equals": _comparison("="), "notEquals": _comparison("<>"), "less": _comparison("<"), "greater": _comparison(">"),
    "lessOrEquals": _comparison("<="), "greaterOrEquals": _comparison(">="),
    "and": _connective("AND"), "or": _connective("OR"), "not": _not,
    "like": _like("LIKE"), "ilike": _like("ILIKE"), "notLike": _like("NOT LIKE"),
    "in": membership_call, "notIn": membership_call,
    "if": _if, "multiIf": _multi_if,
    "accurateCast": _accurate(Mode("error", accurate=True)),
    "accurateCastOrNull": _accurate(Mode("null", accurate=True)),
    "accurateCastOrDefault": _accurate(Mode("zero", accurate=True), 3),
    "defaultValueOfTypeName": _default_of, "toTypeName": _type_name, "finalizeAggregation": _finalize,
    "dateDiff": _date_diff, "date_diff": _date_diff, "datediff": _date_diff, "timestampdiff": _date_diff,
    "toStartOfInterval": _start_of_interval, "date_trunc": _date_trunc, "dateTrunc": _date_trunc,
    "datetrunc": _date_trunc, "date_add": _date_add(1), "dateAdd": _date_add(1), "dateadd": _date_add(1),
    "date_sub": _date_add(-1), "dateSub": _date_add(-1), "datesub": _date_add(-1),
    "tuple": _tuple, "arrayJoin": _array_join,
    **LAMBDA_FORMS,
}  # fmt: skip
