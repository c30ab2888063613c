"""Conversions to dates and times: from texts, numbers, other dates and times.

In: a value and a date or time type. Out: `Conversion`. Called by conversions. Invariant: a number
out of a type's range becomes its border, a time out of it wraps around, as in ClickHouse.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.best_effort import best_effort
from penstock.sql.conversion import Conversion, Overflow
from penstock.sql.conversion_time_texts import LAST_SECOND, date_of, datetime64_of, datetime_of
from penstock.sql.dates import (
    FIRST_DAY,
    FIRST_SECOND,
    at_least,
    from_wall_clock,
    narrowed,
    wall_clock,
    within,
    zone_of,
)
from penstock.sql.typed import Typed, as_spark, number_sql, unless_null

_TEXTS = (t.String, t.FixedString, t.Json)
_SECONDS = t.Int(32, signed=False)
"""The numbers that an accurate conversion takes for a Date or DateTime."""


def to_time(value: Typed, want: Type, overflow: Overflow) -> Conversion | None:
    match want:
        case t.Date():
            return _to_date(value, want, None if want.wide or overflow == "wraps" else _SECONDS)
        case t.DateTime():
            return _to_datetime(value, want, _SECONDS if overflow == "refused" else None)
        case t.DateTime64():
            return _to_datetime64(value, want, overflow)
        case _:
            return None


def _to_date(value: Typed, want: t.Date, seconds: t.Int | None) -> Conversion | None:
    """`seconds`: the numbers that are taken, if not all."""
    match value.bare:
        case t.Date(wide):
            return Conversion(narrowed(value.sql, want) if wide else value.sql)
        case t.DateTime() as have:
            day = f"CAST({wall_clock(value)} AS DATE)"
            clamps = zone_of(have) is not None and not want.wide
            return Conversion(at_least(day, FIRST_DAY, nullable=value.nullable) if clamps else day)
        case t.DateTime64():
            return Conversion(narrowed(f"CAST({wall_clock(value)} AS DATE)", want))
        case t.Int() | t.Bool():
            return Conversion(_day_of_number(value, want), _in_range(value, seconds))
        case of if isinstance(of, _TEXTS):
            return _of_text(value, date_of(value.sql, want))
        case _:
            return None


def _of_text(value: Typed, found: Conversion) -> Conversion:
    """A NULL stays one, whatever the formula makes of it."""
    return Conversion(unless_null(found.sql, value), found.valid)


def _day_of_number(value: Typed, want: t.Date) -> str:
    """Days since 1970 below 65536, seconds from there on; what is out of a Date's range becomes its border."""
    number = number_sql(value)
    of = value.bare
    signed = isinstance(of, t.Int) and of.signed
    from_zero = at_least(number, "0", nullable=value.nullable) if signed and not want.wide else number
    if isinstance(of, t.Int) and of.bits <= 16:
        return f"date_from_unix_date(CAST({from_zero} AS INT))"
    low = f"least({number}, 65535)" if want.wide else f"greatest(least({number}, 65535), 0)"
    days = f"date_from_unix_date(CAST({low} AS INT))"
    seconds = f"CAST(timestamp_seconds(least({number}, 4294967295)) AS DATE)"
    shown = f"if({number} < 65536, {days}, {seconds})"
    return f"if({number} IS NULL, NULL, {shown})" if value.nullable else shown


def _to_datetime(value: Typed, want: t.DateTime, seconds: t.Int | None) -> Conversion | None:
    """`seconds`: the numbers that are taken, if not all."""
    match value.bare:
        case t.DateTime():
            return Conversion(value.sql)
        case t.DateTime64():
            return Conversion(narrowed(value.sql, want))
        case t.Date():
            return Conversion(narrowed(from_wall_clock(f"CAST({value.sql} AS TIMESTAMP)", zone_of(want)), want))
        case t.Int() | t.Bool() | t.Float() | t.Decimal():
            return Conversion(_second_of_number(value), _in_range(value, seconds))
        case of if isinstance(of, _TEXTS):
            return _of_text(value, datetime_of(value.sql, want)) if seconds is None else _guessed(value, want)
        case _:
            return None


def _guessed(value: Typed, want: t.DateTime | t.DateTime64) -> Conversion:
    """An accurate conversion of a text, as parseDateTimeBestEffort reads it."""
    found = best_time(value.sql, want, "")
    return Conversion(found, f"{found} IS NOT NULL")


def best_time(text: str, want: t.DateTime | t.DateTime64, american: str) -> str:
    """A text of many shapes as a time of a type; NULL where it is none."""
    if isinstance(want, t.DateTime64):
        return cut(best_effort(text, american, "fractions", zone_of(want)), want.precision)
    second = f"date_trunc('SECOND', {best_effort(text, american, '', zone_of(want))})"
    return within(second, FIRST_SECOND, LAST_SECOND, nullable=True)


def _second_of_number(value: Typed) -> str:
    """The nearest second that a DateTime can be."""
    of = value.bare
    if isinstance(of, t.Bool) or (isinstance(of, t.Int) and of.bits <= 32 and not of.signed):
        return f"timestamp_seconds({as_spark(value, 'BIGINT')})"
    if isinstance(value.constant, int) and 0 <= value.constant < 2**32:
        return f"timestamp_seconds({as_spark(value, 'BIGINT')})"
    return f"timestamp_seconds(CAST({within(value.sql, '0', '4294967295', nullable=value.nullable)} AS BIGINT))"


def _in_range(value: Typed, seconds: t.Int | None) -> str | None:
    """The condition under which a number is one of these, and whole; None where it always is."""
    have = value.bare
    if seconds is None or isinstance(have, t.Bool) or (isinstance(have, t.Int) and have.low >= 0 and have.bits <= 32):
        return None
    whole = "" if isinstance(have, t.Int) else f" AND {value.sql} = floor({value.sql})"
    return f"{value.sql} BETWEEN {seconds.low} AND {seconds.high}{whole}"


def _to_datetime64(value: Typed, want: t.DateTime64, overflow: Overflow) -> Conversion | None:
    match value.bare:
        case t.DateTime64(precision, _):
            return Conversion(value.sql if precision <= want.precision else cut(value.sql, want.precision))
        case t.DateTime():
            return Conversion(value.sql)
        case t.Date():
            return Conversion(from_wall_clock(f"CAST({value.sql} AS TIMESTAMP)", zone_of(want)))
        case t.Int() | t.Bool():
            return Conversion(f"timestamp_seconds({as_spark(value, 'BIGINT')})")
        case t.Float() | t.Decimal():
            micros = f"timestamp_micros(CAST({value.sql} * 1000000 AS BIGINT))"
            return Conversion(cut(micros, want.precision))
        case of if isinstance(of, _TEXTS) and overflow == "refused":
            return _guessed(value, want)
        case of if isinstance(of, _TEXTS):
            found = _of_text(value, datetime64_of(value.sql, want))
            return Conversion(cut(found.sql, want.precision), found.valid)
        case _:
            return None


def cut(sql: str, precision: int) -> str:
    """A time without the digits of its fraction after `precision`."""
    if precision >= 6:
        return sql
    unit = {0: "SECOND", 3: "MILLISECOND"}.get(precision)
    if unit:
        return f"date_trunc('{unit}', {sql})"
    step = 10 ** (6 - precision)
    return f"timestamp_micros(floor(unix_micros({sql}) / {step}) * {step})"
