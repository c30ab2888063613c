"""Functions of dates and times whose arguments are more than values: units, intervals and time zones.

dateDiff, age, date_trunc, toStartOfInterval, date_add, tumble … `TIME_FORMS` maps each name to its `SpecialForm`.
Invariant: a unit is a text literal or a bare word, in upper or lower case, singular or plural, long or short (`dd`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from penstock.errors import did_you_mean
from penstock.model import types as t
from penstock.sql.compiler.constants import literal_text
from penstock.sql.compiler.translator import SpecialForm, Translator, call_arguments
from penstock.sql.conversions.dates import cut_toward_1970
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.dates import (
    LAST_SECOND,
    MONTHS_PER_UNIT,
    clamp_above,
    first_day_of_unit,
    is_extended,
    offset_at_1970,
    shows_1969,
    start_of_short_unit,
    start_of_unit,
    wall_clock,
    zone_of,
)
from penstock.sql.expr.fine_times import as_fine_time, as_microseconds, nanoseconds
from penstock.sql.expr.spark_types import is_fine_time
from penstock.sql.expr.typed import TypedSql, nullable_if_any, replace_sql, typed_sql, unless_null
from penstock.sql.functions.dates.time_zones import apply_zone_argument
from penstock.sql.functions.function import BadArguments
from penstock.sql.operators import arithmetic
from penstock.sql.operators.dynamic_values import fixed_result, is_dynamic_value
from penstock.sql.operators.literals import INTERVAL_UNITS, make_tuple
from penstock.sql.syntax.tree import call_name

_SUBSECOND_DIGITS = {"MILLISECOND": 3, "MICROSECOND": 6}
"""Decimal digits of a second that the unit keeps."""
_UNIT_MICROSECONDS = {
    "DAY": 86_400_000_000,
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1000,
    "MICROSECOND": 1,
}


_TIMES = (t.Date, t.DateTime, t.DateTime64)
_NANOSECONDS = ("NANOSECOND", "NANOSECONDS", "NS")


def _unit_name(tr: Translator, node: exp.Expr) -> str:
    return (node.name if isinstance(node, (exp.Column, exp.Var)) else literal_text(tr, node)).upper()


def _nanoseconds_between(tr: Translator, arguments: list[exp.Expr]) -> TypedSql:
    """dateDiff of nanoseconds, in whatever zone."""
    first, last = (tr.translate(each) for each in arguments)
    for value, argument in ((first, arguments[0]), (last, arguments[1])):
        if not isinstance(value.bare, (t.DateTime, t.DateTime64)):
            raise tr.refusal(argument, "wrong-argument-type", f"`dateDiff` needs times, this is {value.type}")
    a, b = (nanoseconds(as_fine_time(value, t.DateTime64(9))) for value in (first, last))
    return typed_sql(f"({b} - {a})", nullable_if_any(t.Int(64), [first, last]))


def _read_unit(tr: Translator, node: exp.Expr) -> str:
    """The unit that an argument names, as in `INTERVAL_UNITS`: a text literal or a bare word. Raises Refused."""
    name = _unit_name(tr, node)
    short = {
        "YY": "YEAR",
        "YYYY": "YEAR",
        "QQ": "QUARTER",
        "MM": "MONTH",
        "WW": "WEEK",
        "DD": "DAY",
        "HH": "HOUR",
        "MI": "MINUTE",
        "SS": "SECOND",
        "MS": "MILLISECOND",
    }
    unit = short.get(name, name.removesuffix("S"))
    if unit not in INTERVAL_UNITS:
        raise tr.refusal(
            node, "wrong-argument-type", f"unknown unit `{name.lower()}`", did_you_mean(unit, INTERVAL_UNITS)
        )
    return unit


def _date_diff(tr: Translator, node: exp.Anonymous) -> TypedSql:
    """dateDiff(unit, start, end[, zone]): how many times the unit begins between two times."""
    arguments = call_arguments(tr, node, 3, 4)
    if _unit_name(tr, arguments[0]) in _NANOSECONDS:
        return _nanoseconds_between(tr, arguments[1:3])
    unit = _read_unit(tr, arguments[0])
    first, last = (_value_in_zone(tr, node, each, arguments[3:]) for each in arguments[1:3])
    for value, argument in ((first, arguments[1]), (last, arguments[2])):
        if not isinstance(value.bare, (*_TIMES, t.Dynamic)):
            raise tr.refusal(argument, "wrong-argument-type", f"`dateDiff` needs times, this is {value.type}")
    if any(map(is_dynamic_value, (first, last))):
        found = fixed_result([first, last], lambda given: _units_between(list(map(as_microseconds, given)), unit))
        if found is not None:
            return found
    return _units_between([first, last], unit) or first


def _units_between(values: list[TypedSql], unit: str) -> TypedSql | None:
    """How many times the unit begins between two times; None for other values."""
    if not all(isinstance(value.bare, _TIMES) for value in values):
        return None
    a, b = (_unit_number(value, unit) for value in values)
    return typed_sql(f"CAST({b} - {a} AS BIGINT)", nullable_if_any(t.Int(64), values))


def _value_in_zone(tr: Translator, node: exp.Expr, argument: exp.Expr, zone: list[exp.Expr]) -> TypedSql:
    """The argument as a value, moved to a time zone if one is given (zero or one node)."""
    value = as_microseconds(tr.translate(argument))
    if not zone:
        return value
    try:
        return apply_zone_argument(value, [value, tr.translate(zone[0])], 1)
    except BadArguments as error:
        raise tr.refusal(node, "wrong-argument-type", error.message) from error


def _unit_number(value: TypedSql, unit: str) -> str:
    """The ordinal of the unit that a time lies in (of the year, month, day …), so that a difference counts units."""
    wall = wall_clock(value)
    match unit:
        case "YEAR":
            return f"year({wall})"
        case "QUARTER":
            return f"(year({wall}) * 4 + quarter({wall}))"
        case "MONTH":
            return f"(year({wall}) * 12 + month({wall}))"
        case "WEEK":
            day = f"CAST({wall} AS DATE)"
            # Before 1970 ClickHouse divides the day of the next Monday toward zero.
            before = f"((unix_date({day}) + 7 - weekday({day})) DIV 7)"
            return before if is_extended(value.bare) else f"floor((unix_date({day}) + 3) / 7)"
        case "DAY":
            day, early = f"unix_date(CAST({wall} AS DATE))", isinstance(value.bare, t.DateTime)
            return f"({day} & 65535)" if early and shows_1969(zone_of(value.bare)) else day
    moment = f"CAST({value.sql} AS TIMESTAMP)" if value.spark == "DATE" else value.sql
    if value.bare == t.Date() and unit == "SECOND":
        moment = clamp_above(moment, LAST_SECOND, nullable=value.nullable)
    zone = zone_of(value.bare)
    if unit == "HOUR" and zone:
        return f"floor((unix_seconds({moment}) + {-offset_at_1970(zone)}) / 3600)"
    if unit in ("MILLISECOND", "MICROSECOND"):  # counted toward 1970
        return f"unix_micros({moment})" if unit == "MICROSECOND" else f"(unix_micros({moment}) DIV 1000)"
    seconds = f"unix_seconds({moment})"
    return seconds if unit == "SECOND" else f"floor({seconds} / {3600 if unit == 'HOUR' else 60})"


def _start_of_interval(tr: Translator, node: exp.Anonymous) -> TypedSql:
    """toStartOfInterval(time, INTERVAL n unit[, zone]), or with a time in place of the zone, from which it counts."""
    arguments = call_arguments(tr, node, 2, 3)
    origin = tr.translate(arguments[2]) if len(arguments) > 2 else None
    if origin is not None and isinstance(origin.bare, _TIMES):
        return _start_from_origin(tr, node, arguments, origin)
    value, step = _value_in_zone(tr, node, arguments[0], arguments[2:]), tr.translate(arguments[1])
    if step.unit is None or not isinstance(step.constant, int) or step.constant < 1:
        raise tr.refusal(arguments[1], "wrong-argument-type", "expected an INTERVAL of a constant number from 1")
    if step.unit in _SUBSECOND_DIGITS and is_fine_time(tr.translate(arguments[0]).bare):
        message = f"the start of a {step.unit.lower()} of a time with nanoseconds is not supported"
        raise tr.refusal(arguments[0], "wrong-argument-type", message, "toDateTime64(…, 6)")
    if value.bare == t.Date(wide=True):
        message = "toStartOfInterval of a Date32 is not supported: ClickHouse stores the result as a Date or DateTime"
        raise tr.refusal(arguments[0], "wrong-argument-type", message, "toDate(…) of it")
    start = _start_of_unit(tr, node, value, step.unit, step.constant)
    return replace(start, type=nullable_if_any(start.type, [step]))


def _start_from_origin(tr: Translator, node: exp.Anonymous, given: list[exp.Expr], origin: TypedSql) -> TypedSql:
    """The start of the interval that a time lies in, where the first one begins at `origin`. A time before that is an
    error."""
    value, step = tr.translate(given[0]), tr.translate(given[1])
    if step.unit is None or not isinstance(step.constant, int) or step.constant < 1:
        raise tr.refusal(given[1], "wrong-argument-type", "expected an INTERVAL of a constant number from 1")
    _check_origin(tr, given[2], origin, value)
    of_dates = ("DAY", "WEEK", *MONTHS_PER_UNIT)
    known = of_dates if isinstance(value.bare, t.Date) else ("SECOND", "MINUTE", "HOUR", "DAY", "WEEK")
    if step.unit not in known or (step.unit == "HOUR" and step.constant > 1):
        message = f"{step.constant} {step.unit.lower()} from an origin is not supported for a {value.bare}"
        hint = "months and years from a Date, one hour: ClickHouse counts others in part from midnight"
        raise tr.refusal(given[1], "wrong-argument-type", message, hint)
    unit, number = step.unit, step.constant
    start, moment = (f"CAST({each.sql} AS TIMESTAMP)" if each.spark == "DATE" else each.sql for each in (origin, value))
    found = bind_if_long(moment, lambda x: _counted_from(start, x, unit, number))
    sql = f"CAST({found} AS DATE)" if isinstance(value.bare, t.Date) else found
    return typed_sql(unless_null(sql, value), nullable_if_any(value.bare, [value, step]))


def _check_origin(tr: Translator, node: exp.Expr, origin: TypedSql, value: TypedSql) -> None:
    """Raises Refused unless the origin is a constant of the time's type, in UTC."""
    reads = len(tr.trace.free)
    tr.translate(node)
    if origin.type != value.bare or len(tr.trace.free) > reads:
        message = f"the origin must be a constant of the type of the time, {value.bare}"
        raise tr.refusal(node, "wrong-argument-type", message, "toDate('…'), toDateTime('…') or toDateTime64('…', 3)")
    if zone_of(value.bare) or is_fine_time(value.bare) or value.bare == t.Date(wide=True):
        message = f"an origin for a {value.bare} is not supported"
        raise tr.refusal(node, "wrong-argument-type", message, "a Date, a DateTime or a DateTime64(6) in UTC")


def _counted_from(origin: str, moment: str, unit: str, step: int) -> str:
    if unit in MONTHS_PER_UNIT:
        months = MONTHS_PER_UNIT[unit] * step
        start = f"timestampadd(MONTH, CAST({_whole_months(origin, moment, months)} * {months} AS INT), {origin})"
    else:
        size = step * (7 * _UNIT_MICROSECONDS["DAY"] if unit == "WEEK" else _UNIT_MICROSECONDS[unit])
        passed = f"(unix_micros({moment}) - unix_micros({origin})) DIV {size}L * {size}L"
        start = f"timestamp_micros(unix_micros({origin}) + {passed})"
    return f"if({moment} < {origin}, raise_error('a time before the origin'), {start})"


def _date_trunc(tr: Translator, node: exp.Anonymous) -> TypedSql:
    """date_trunc(unit, time[, zone])."""
    arguments = call_arguments(tr, node, 2, 3)
    value, unit = _value_in_zone(tr, node, arguments[1], arguments[2:]), _read_unit(tr, arguments[0])
    if isinstance(value.bare, t.Date) and unit in ("SECOND", "MINUTE", "HOUR"):
        raise tr.refusal(node, "wrong-argument-type", f"a {value.bare} has no {unit.lower()}s", "toDateTime")
    if is_extended(value.bare) and unit not in _SUBSECOND_DIGITS:
        return _truncated_extended(value, unit)
    return _start_of_unit(tr, node, value, unit, 1)


def _truncated_extended(value: TypedSql, unit: str) -> TypedSql:
    """date_trunc of a Date32 or DateTime64: a Date32 for weeks and more, else a DateTime64 of whole seconds. The
    fraction of a second is dropped first, toward 1970."""
    of = value.bare
    if isinstance(of, t.DateTime64) and of.precision > 0:
        value = replace_sql(value, cut_toward_1970(value.sql, 0))
    if unit in MONTHS_PER_UNIT or unit == "WEEK":
        return typed_sql(first_day_of_unit(value, unit), nullable_if_any(t.Date(wide=True), [value]))
    zone = of.zone if isinstance(of, t.DateTime64) else None
    return typed_sql(start_of_short_unit(value, unit), nullable_if_any(t.DateTime64(0, zone), [value]))


def _start_of_unit(tr: Translator, node: exp.Expr, value: TypedSql, unit: str, step: int) -> TypedSql:
    if not isinstance(value.bare, (t.Date, t.DateTime, t.DateTime64)):
        raise tr.refusal(node, "wrong-argument-type", f"`{call_name(node)}` needs a time, this is {value.type}")
    if unit in _SUBSECOND_DIGITS:
        return _start_of_subsecond(tr, node, value, unit, step)
    if isinstance(value.bare, t.Date) and unit in ("SECOND", "MINUTE", "HOUR"):
        raise tr.refusal(node, "wrong-argument-type", f"a {value.bare} has no {unit.lower()}s", "toDateTime")
    return start_of_unit(value, unit, step)


def _start_of_subsecond(tr: Translator, node: exp.Expr, value: TypedSql, unit: str, step: int) -> TypedSql:
    """The start of a number of milliseconds or microseconds; only a DateTime64 has them."""
    if not isinstance(value.bare, t.DateTime64):
        raise tr.refusal(node, "wrong-argument-type", f"{value.type} has no {unit.lower()}s", "toDateTime64")
    micros = step * 10 ** (6 - _SUBSECOND_DIGITS[unit])
    sql = value.sql if micros == 1 else f"timestamp_micros(floor(unix_micros({value.sql}) / {micros}) * {micros})"
    of = t.DateTime64(_SUBSECOND_DIGITS[unit], value.bare.zone)
    return typed_sql(sql, nullable_if_any(of, [value]))


def _age(tr: Translator, node: exp.Anonymous) -> TypedSql:
    """age(unit, start, end): the number of whole units between two times."""
    arguments = call_arguments(tr, node, 3, 3)
    unit, (first, last) = _read_unit(tr, arguments[0]), map(as_microseconds, tr.translate_all(arguments[1:]))
    for value, argument in ((first, arguments[1]), (last, arguments[2])):
        if not isinstance(value.bare, (t.Date, t.DateTime, t.DateTime64)):
            raise tr.refusal(argument, "wrong-argument-type", f"`age` needs times, this is {value.type}")
    if zone_of(first.bare) != zone_of(last.bare):
        message = "`age` between two time zones is not supported"
        raise tr.refusal(node, "wrong-argument-type", message, "convert both to one zone by toTimeZone")
    if unit == "WEEK":
        raise tr.refusal(arguments[0], "wrong-argument-type", "`age` in weeks is not supported", "'day'")
    by_clock = unit == "DAY" or unit in MONTHS_PER_UNIT
    a, b = (wall_clock(value) if by_clock else value.sql for value in (first, last))
    a, b = (f"CAST({x} AS TIMESTAMP)" if v.spark == "DATE" else x for x, v in ((a, first), (b, last)))
    if unit == "SECOND":
        pairs = ((a, first), (b, last))
        a, b = (clamp_above(x, LAST_SECOND, nullable=v.nullable) if v.bare == t.Date() else x for x, v in pairs)
    if unit in MONTHS_PER_UNIT:
        sql = bind_if_long(a, lambda x: bind_if_long(b, lambda y: _whole_months(x, y, MONTHS_PER_UNIT[unit])))
    else:
        sql = f"(unix_micros({b}) - unix_micros({a})) DIV {_UNIT_MICROSECONDS[unit]}"
    return typed_sql(f"CAST({sql} AS BIGINT)", nullable_if_any(t.Int(64), [first, last]))


def _whole_months(a: str, b: str, months: int) -> str:
    """Whole months from `a` to `b`, divided by `months`: the last month counts once its day and time of day are
    reached."""
    since = [f"(unix_micros({x}) - unix_micros(date_trunc('MONTH', {x})))" for x in (a, b)]
    count = f"((year({b}) - year({a})) * 12 + month({b}) - month({a}))"
    early, late = f"{count} > 0 AND {since[1]} < {since[0]}", f"{count} < 0 AND {since[1]} > {since[0]}"
    return f"({count} + CASE WHEN {early} THEN -1 WHEN {late} THEN 1 ELSE 0 END) DIV {months}"


def _date_add_form(sign: int) -> SpecialForm:
    """date_add(unit, n, time) and date_add(time, INTERVAL n unit)."""

    def form(tr: Translator, node: exp.Anonymous) -> TypedSql:
        arguments = call_arguments(tr, node, 2, 3)
        symbol = "+" if sign > 0 else "-"
        if len(arguments) == 2:
            left, right = tr.translate_all(arguments)
            return arithmetic.apply_operator(tr, node, symbol, (left, right))
        step = exp.Interval(this=arguments[1], unit=exp.var(_read_unit(tr, arguments[0])))
        return arithmetic.apply_operator(tr, node, symbol, (tr.translate(arguments[2]), tr.translate(step)))

    return form


def _add_interval_form(sign: int) -> SpecialForm:
    """addDate and subDate(time, INTERVAL n unit): nothing but an interval may be added."""

    def form(tr: Translator, node: exp.Anonymous) -> TypedSql:
        time, step = tr.translate_all(call_arguments(tr, node, 2, 2))
        if step.unit is None or not isinstance(time.bare, (t.Date, t.DateTime, t.DateTime64)):
            raise tr.refusal(node, "wrong-argument-type", f"`{call_name(node)}` takes a time and an INTERVAL")
        return arithmetic.apply_operator(tr, node, "+" if sign > 0 else "-", (time, step))

    return form


def _time_window(tr: Translator, node: exp.Anonymous) -> tuple[TypedSql, TypedSql]:
    """Start and end of the window of fixed length that a time lies in."""
    arguments = call_arguments(tr, node, 2, 3)
    time, step = _value_in_zone(tr, node, arguments[0], arguments[2:]), tr.translate(arguments[1])
    if not isinstance(time.bare, t.DateTime) or time.nullable or zone_of(time.bare):
        message = f"`{call_name(node)}` needs a DateTime in UTC that is not Nullable"
        raise tr.refusal(arguments[0], "wrong-argument-type", message)
    if step.unit in (None, *_SUBSECOND_DIGITS) or not isinstance(step.constant, int) or step.constant < 1:
        raise tr.refusal(arguments[1], "wrong-argument-type", "expected an INTERVAL of a constant number from 1")
    if step.constant > 1 and step.unit not in ("SECOND", "MINUTE"):
        message = "only windows of seconds and minutes may be longer than one unit"
        raise tr.refusal(arguments[1], "wrong-argument-type", message)
    start = _start_of_unit(tr, node, time, str(step.unit), step.constant)
    return start, arithmetic.apply_operator(tr, node, "+", (start, step))


def _tumble_form(part: int | None) -> SpecialForm:
    """tumble (both bounds as a tuple), tumbleStart (part 0) and tumbleEnd (part 1)."""

    def form(tr: Translator, node: exp.Anonymous) -> TypedSql:
        window = _time_window(tr, node)
        return make_tuple([*window]) if part is None else window[part]

    return form


TIME_FORMS: Mapping[str, SpecialForm] = {
    **dict.fromkeys(("dateDiff", "date_diff", "datediff", "timestampdiff", "timestamp_diff"), _date_diff),
    **dict.fromkeys(("date_trunc", "dateTrunc", "datetrunc"), _date_trunc),
    **dict.fromkeys(("date_add", "dateAdd", "dateadd", "timestamp_add", "timestampadd"), _date_add_form(1)),
    **dict.fromkeys(("date_sub", "dateSub", "datesub", "timestamp_sub", "timestampsub"), _date_add_form(-1)),
    "age": _age,
    **dict.fromkeys(("toStartOfInterval", "date_bin", "time_bucket"), _start_of_interval),
    "adddate": _add_interval_form(1),
    "subdate": _add_interval_form(-1),
    "tumble": _tumble_form(None),
    "tumbleStart": _tumble_form(0),
    "tumbleEnd": _tumble_form(1),
}
