"""Conversions to dates and times: from texts, numbers, other dates and times.

In: a value and a date or time type. Out: `Conversion`. Called by conversions. Invariant: a text is
`YYYY-MM-DD`, with ` hh:mm:ss` and a fraction for times; anything else is not valid.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.conversion import Conversion, Overflow
from penstock.sql.dates import from_wall_clock, wall_clock, zone_of
from penstock.sql.typed import Typed, as_spark

_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = "[ T][0-9]{2}:[0-9]{2}:[0-9]{2}"
_DATE_TEXT = f"^{_DAY}({_CLOCK}([.][0-9]+)?)?$"
_TIME_TEXT = f"^{_DAY}({_CLOCK})?$"
_TIME64_TEXT = f"^{_DAY}({_CLOCK}([.][0-9]{{0,9}})?)?$"
_NUMBER_TEXT = "^[0-9]{5,10}$"
_TEXTS = (t.String, t.FixedString, t.Json)
_SECONDS = t.Int(32, signed=False)
"""The numbers that an accurate conversion takes for a Date or DateTime."""


def to_time(value: Typed, want: Type, overflow: Overflow) -> Conversion | None:
    match want:
        case t.Date():
            return _to_date(value, None if want.wide or overflow == "wraps" else _SECONDS)
        case t.DateTime():
            return _to_datetime(value, want, _SECONDS if overflow == "refused" else None)
        case t.DateTime64():
            return _to_datetime64(value, want)
        case _:
            return None


def _to_date(value: Typed, seconds: t.Int | None) -> Conversion | None:
    """`seconds`: the numbers that are taken, if not all."""
    match value.bare:
        case t.Date():
            return Conversion(value.sql)
        case t.DateTime() | t.DateTime64():
            return Conversion(f"CAST({wall_clock(value)} AS DATE)")
        case t.Int():
            days = f"date_from_unix_date(CAST({value.sql} AS INT))"
            moment = f"CAST(timestamp_seconds({value.sql}) AS DATE)"
            day = days if value.bare.bits <= 16 else f"if({value.sql} < 65536, {days}, {moment})"
            return Conversion(day, _in_range(value, seconds))
        case of if isinstance(of, _TEXTS):
            day = f"try_cast(left({value.sql}, 10) AS DATE)"
            return Conversion(day, f"{value.sql} RLIKE '{_DATE_TEXT}' AND {day} IS NOT NULL")
        case _:
            return None


def _to_datetime(value: Typed, want: t.DateTime, seconds: t.Int | None) -> Conversion | None:
    """`seconds`: the numbers that are taken, if not all."""
    match value.bare:
        case t.DateTime():
            return Conversion(value.sql)
        case t.DateTime64():
            return Conversion(f"date_trunc('SECOND', {value.sql})")
        case t.Date():
            return Conversion(from_wall_clock(f"CAST({value.sql} AS TIMESTAMP)", zone_of(want)))
        case t.Int() | t.Bool():
            return Conversion(f"timestamp_seconds({as_spark(value, 'BIGINT')})", _in_range(value, seconds))
        case t.Float() | t.Decimal():
            return Conversion(f"timestamp_seconds(CAST({value.sql} AS BIGINT))", _in_range(value, seconds))
        case of if isinstance(of, _TEXTS):
            return _from_text(value, _TIME_TEXT, zone_of(want))
        case _:
            return None


def _in_range(value: Typed, seconds: t.Int | None) -> str | None:
    """The condition under which a number is one of these, and whole; None where it always is."""
    have = value.bare
    if seconds is None or isinstance(have, t.Bool) or (isinstance(have, t.Int) and have.low >= 0 and have.bits <= 32):
        return None
    whole = "" if isinstance(have, t.Int) else f" AND {value.sql} = floor({value.sql})"
    return f"{value.sql} BETWEEN {seconds.low} AND {seconds.high}{whole}"


def _from_text(value: Typed, pattern: str, zone: str | None) -> Conversion:
    """A text as a time on the wall clock of a zone; five to ten digits are seconds since 1970."""
    wall = from_wall_clock(f"try_cast({value.sql} AS TIMESTAMP)", zone)
    seconds = f"timestamp_seconds(try_cast({value.sql} AS BIGINT))"
    sql = f"if({value.sql} RLIKE '{_NUMBER_TEXT}', {seconds}, {wall})"
    is_time = f"{value.sql} RLIKE '{pattern}' AND try_cast({value.sql} AS TIMESTAMP) IS NOT NULL"
    return Conversion(sql, f"{value.sql} RLIKE '{_NUMBER_TEXT}' OR ({is_time})")


def _to_datetime64(value: Typed, want: t.DateTime64) -> Conversion | None:
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
        case of if isinstance(of, _TEXTS):
            found = _from_text(value, _TIME64_TEXT, zone_of(want))
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
