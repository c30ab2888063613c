"""Dates as numbers and numbers as dates: Julian days, months since 1970, YYYYMMDDhhmmss, clocks of zones.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: what is before the first
value of the type becomes the first one, what is after the last one the last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from penstock.model import types as t
from penstock.sql.conversion_time_texts import LAST_SECOND
from penstock.sql.conversions import CAST, convert
from penstock.sql.dates import FIRST_SECOND, at_least, from_clock_text, wall_clock, within, zone_of
from penstock.sql.functions.date_changes import whole
from penstock.sql.functions.datetimes import in_zone
from penstock.sql.functions.function import INT32, STRING, UINT8, UINT16, UINT32, UINT64, BadArguments, Function
from penstock.sql.functions.text_arguments import constant_text
from penstock.sql.let import let
from penstock.sql.typed import Typed, null_if_any, typed
from penstock.sql.value_types import text_literal, value_type

_DAY_OF_1970 = 40587
_FIRST_JULIAN, _LAST_JULIAN = -678941, 2973483
_DATE = text_literal(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\z")
_FIRST_WIDE = "TIMESTAMP'1900-01-01 00:00:00'"


def _of_day(name: str, of: t.Int, formula: Callable[[str], str]) -> Function:
    """A number of a time's day, never below 0."""

    def build(values: Sequence[Typed]) -> Typed:
        value = in_zone(values[0], values, 1)
        number = at_least(formula(wall_clock(value)), "0", nullable=value.nullable)
        return typed(f"CAST({number} AS {value_type(of)})", null_if_any(of, [value]))

    return Function(name, (1, 2), ("time", "constant"), build)


def _to_julian(name: str, *, lenient: bool) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        text = values[0].sql
        wrong = "NULL" if lenient else f"if({text} IS NULL, NULL, raise_error('the text is no date'))"
        day = f"if({text} RLIKE {_DATE}, unix_date(try_cast({text} AS DATE)), NULL)"
        sql = f"CAST(coalesce({day} + {_DAY_OF_1970}, {wrong}) AS INT)"
        return typed(sql, t.Nullable(INT32) if lenient else null_if_any(INT32, list(values)))

    return Function(name, (1, 1), ("bytes",), build)


def _from_julian(name: str, *, lenient: bool) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        def formula(n: str) -> str:
            near = f"greatest(least({n}, {_LAST_JULIAN}), {_FIRST_JULIAN}) - {_DAY_OF_1970}"
            day = f"CAST(date_from_unix_date(CAST({near} AS INT)) AS STRING)"
            wrong = "NULL" if lenient else "raise_error('the number is no day')"
            inside = f"{n} BETWEEN {_FIRST_JULIAN} AND {_LAST_JULIAN}"
            return f"CASE WHEN {n} IS NULL THEN NULL WHEN {inside} THEN {day} ELSE {wrong} END"

        if values[0].bare == UINT64:
            raise BadArguments(f"`{name}` of a UInt64 is not supported", "toInt64(…)")
        return typed(
            let(whole(values[0]), formula), t.Nullable(STRING) if lenient else null_if_any(STRING, [values[0]])
        )

    return Function(name, (1, 1), ("integer",), build)


def _plain(value: Typed, name: str) -> t.DateTime | t.DateTime64:
    if not isinstance(value.bare, (t.DateTime, t.DateTime64)) or value.bare.zone is not None:
        raise BadArguments(f"`{name}` takes a DateTime or DateTime64 that names no zone, this is {value.type}")
    return value.bare


def _moved(value: Typed, sql: str) -> Typed:
    if isinstance(value.bare, t.DateTime):
        sql = within(sql, FIRST_SECOND, LAST_SECOND, nullable=value.nullable)
    return typed(sql, value.type)


def _to_utc(values: Sequence[Typed]) -> Typed:
    """ClickHouse takes the offset that the zone has when it is this time in UTC."""
    value, zone = values[0], text_literal(constant_text(values[1], "the time zone"))
    _plain(value, "toUTCTimestamp")
    sql = let(
        value.sql, lambda v: f"timestamp_micros(2 * unix_micros({v}) - unix_micros(from_utc_timestamp({v}, {zone})))"
    )
    return _moved(value, sql)


def _from_utc(values: Sequence[Typed]) -> Typed:
    value, zone = values[0], text_literal(constant_text(values[1], "the time zone"))
    _plain(value, "fromUTCTimestamp")
    return _moved(value, f"from_utc_timestamp({value.sql}, {zone})")


def _timestamp(values: Sequence[Typed]) -> Typed:
    found = convert(values[0], t.DateTime64(6), CAST)
    if found is None:
        raise BadArguments(f"{values[0].type} cannot be read as a time")
    return replace(found, sql=f"if({values[0].sql} = '', {FIRST_SECOND}, {found.sql})")


def _clock(numbers: Sequence[str]) -> tuple[str, str]:
    """The wall clock of six numbers, and the condition that they are one, whatever the year."""
    year, month, day, hour, minute, second = numbers
    inside = f"{month} BETWEEN 1 AND 12 AND {day} BETWEEN 1 AND 31"
    fits = " AND ".join(f"{number} BETWEEN 0 AND 99" for number in (hour, minute, second))
    near = f"least(greatest({year}, 1), 9999)", f"least(greatest({month}, 1), 12)", f"least(greatest({day}, 1), 31)"
    first = f"make_date(CAST({near[0]} AS INT), CAST({near[1]} AS INT), 1)"
    seconds = f"({near[2]} - 1) * 86400 + {hour} * 3600 + {minute} * 60 + {second}"
    return f"timestampadd(SECOND, {seconds}, CAST({first} AS TIMESTAMP))", f"{inside} AND {fits}"


def _from_digits(values: Sequence[Typed]) -> Typed:
    zone = constant_text(values[1], "the time zone") if len(values) > 1 else None
    of = t.DateTime(zone)

    def formula(n: str) -> str:
        numbers = [f"({n} DIV 10000000000)", *(f"({n} DIV {10**at} % 100)" for at in (8, 6, 4, 2, 0))]
        wall, inside = _clock(numbers)
        moment = within(from_clock_text(wall, zone_of(of)), FIRST_SECOND, LAST_SECOND, nullable=False)
        late = f"WHEN {numbers[0]} > 9999 THEN {LAST_SECOND} "
        empty = f"WHEN {n} IS NULL THEN NULL WHEN {n} < 0 OR {numbers[0]} < 1970 OR NOT ({inside}) THEN {FIRST_SECOND} "
        return f"CASE {empty}{late}ELSE {moment} END"

    return typed(let(whole(values[0]), formula), null_if_any(of, [values[0]]))


def _make_datetime64(values: Sequence[Typed]) -> Typed:
    precision = values[7].constant if len(values) > 7 else 3
    if not isinstance(precision, int) or not 0 <= precision <= 6:
        raise BadArguments("the precision must be a literal from 0 to 6")
    of = t.DateTime64(precision, constant_text(values[8], "the time zone") if len(values) > 8 else None)
    if any(value.nullable for value in values[:7]):
        raise BadArguments("`makeDateTime64` of Nullable numbers is not supported", "assumeNotNull")
    numbers = [whole(value) for value in values[:6]]
    wall, inside = _clock(numbers)
    moment = from_clock_text(wall, zone_of(of))
    if zone_of(of):
        raise BadArguments("`makeDateTime64` in a time zone is not supported", "toTimeZone")
    last = f"TIMESTAMP'2299-12-31 23:59:59{'.' + '9' * precision if precision else ''}'"
    if len(values) > 6 and precision:
        parts = f"least(greatest({whole(values[6])}, 0), {10**precision - 1}) * {10 ** (6 - precision)}"
        moment = f"timestampadd(MICROSECOND, {parts}, {moment})"
    early = f"WHEN {numbers[0]} < 1900 OR NOT ({inside}) THEN {_FIRST_WIDE}"
    return typed(f"CASE {early} WHEN {numbers[0]} > 2299 THEN {last} ELSE {moment} END", of)


_MONTHS = "((year({0}) - 1970) * 12 + month({0}) - 1)"
FUNCTIONS: tuple[Function, ...] = (
    _of_day("toDaysInMonth", UINT8, "dayofmonth(last_day({0}))".format),
    _of_day("toYearNumSinceEpoch", UINT16, "(year({0}) - 1970)".format),
    _of_day("toMonthNumSinceEpoch", UINT32, _MONTHS.format),
    _to_julian("toModifiedJulianDay", lenient=False),
    _to_julian("toModifiedJulianDayOrNull", lenient=True),
    _from_julian("fromModifiedJulianDay", lenient=False),
    _from_julian("fromModifiedJulianDayOrNull", lenient=True),
    Function("toUTCTimestamp", (2, 2), ("time", "constant"), _to_utc),
    Function("fromUTCTimestamp", (2, 2), ("time", "constant"), _from_utc),
    Function("UTCTimestamp", (0, 0), ("any",), lambda values: typed("date_trunc('SECOND', current_timestamp())",
                                                                     t.DateTime("UTC"))),
    Function("timestamp", (1, 1), ("bytes",), _timestamp, exact=False),
    Function("YYYYMMDDhhmmssToDateTime", (1, 2), ("integer", "constant"), _from_digits, exact=False),
    Function("makeDateTime64", (6, 9), (*("integer",) * 7, "constant", "constant"), _make_datetime64, exact=False),
)  # fmt: skip
ALIASES = {
    "UTC_timestamp": "UTCTimestamp", "to_utc_timestamp": "toUTCTimestamp", "from_utc_timestamp": "fromUTCTimestamp",
}  # fmt: skip
ANY_CASE = ("UTCTimestamp", "UTC_timestamp", "to_utc_timestamp", "from_utc_timestamp", "timestamp",
            "YYYYMMDDhhmmssToDateTime", "makeDateTime64")  # fmt: skip
