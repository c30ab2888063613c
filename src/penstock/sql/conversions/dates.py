"""Conversions to dates and times, from texts, numbers, and other dates and times.

In: a value and a date or time type. Out: `Conversion`. Texts are those that ClickHouse's toDate, toDateTime and
toDateTime64 take, which Java classes of ours read. Invariant: a number out of the type's range becomes the nearest
value in it, a date or time wraps around; in a text, a day after the end of a month counts into the next month, and an
impossible month gives the default of the type.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.conversions.conversion import Conversion, Overflow
from penstock.sql.conversions.parse_best_effort import (
    parse_best_effort,
    refuse_without_year,
)
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.dates import (
    FIRST_DAY,
    clamp,
    clamp_below,
    midnight_of,
    wall_clock,
    wrap_to_range,
    zone_of,
)
from penstock.sql.expr.fine_times import (
    as_fine_time,
    as_microseconds,
    cut_fine_toward_1970,
    from_nanoseconds,
)
from penstock.sql.expr.spark_types import FINE_TIME, is_fine_time
from penstock.sql.expr.typed import (
    TypedSql,
    as_spark,
    fine_from_timestamp,
    nullable_if_any,
    number_sql,
    replace_sql,
    typed_sql,
    unless_null,
)
from penstock.sql.spark_text import string_literal

_FIRST_WIDE_DAY, _LAST_WIDE_DAY = -719162, 2932896
"""0001-01-01 and 9999-12-31, in days since 1970."""
_YEAR_0 = -719528
"""0000-01-01, which ClickHouse has."""
_LAST_WIDE_SECOND = 253402300799
"""The last second of the year 9999."""
_FIRST_SECOND, _FIRST_TIME = -62167219200, "timestamp_seconds(-62167219200L)"
"""The first one of the year 0."""
TEXTS = (t.String, t.FixedString)
_SECONDS = t.Int(32, signed=False)
"""The numbers that an accurate conversion takes for a Date or DateTime."""


def to_time(value: TypedSql, want: Type, overflow: Overflow) -> Conversion | None:
    """A value as a Date, DateTime or DateTime64; None if ClickHouse has no such conversion."""
    if isinstance(want, t.DateTime64) and is_fine_time(want):
        return _to_fine_time(value, want, overflow)
    value = as_microseconds(value)
    match want:
        case t.Date():
            return _to_date(value, want, None if overflow == "wraps" else _SECONDS)
        case t.DateTime():
            return _to_datetime(value, want, _SECONDS if overflow == "refused" else None)
        case t.DateTime64():
            return _to_datetime64(value, want, overflow)
        case _:
            return None


def _to_date(value: TypedSql, want: t.Date, seconds: t.Int | None) -> Conversion | None:
    """`seconds`: the range of numbers that are accepted; None for all."""
    match value.bare:
        case t.Date(wide):
            return Conversion(wrap_to_range(value.sql, want) if wide else value.sql)
        case t.DateTime() as have:
            day = f"CAST({wall_clock(value)} AS DATE)"
            clamps = zone_of(have) is not None and not want.wide
            return Conversion(clamp_below(day, FIRST_DAY, nullable=value.nullable) if clamps else day)
        case t.DateTime64(precision):
            whole = value if want.wide or precision == 0 else replace_sql(value, cut_toward_1970(value.sql, 0))
            return Conversion(wrap_to_range(f"CAST({wall_clock(whole)} AS DATE)", want))
        case t.Int() | t.Bool():
            return Conversion(_day_of_number(value, want), _is_some_day(value, want, seconds))
        case of if isinstance(of, TEXTS):
            return Conversion(date_of_text(value.sql, want), null_if_invalid=True)
        case _:
            return None


def _is_some_day(value: TypedSql, want: t.Date, seconds: t.Int | None) -> str | None:
    """The condition that a number is a day, or a second, of the type; None if every number is taken."""
    if not want.wide or not isinstance(value.bare, t.Int) or (value.bare.bits < 64 and not value.bare.signed):
        return _in_range(value, seconds)
    return f"{value.sql} BETWEEN {_YEAR_0} AND {_LAST_WIDE_SECOND}" if seconds else None


def _day_of_number(value: TypedSql, want: t.Date) -> str:
    """Below 65536 a number counts days since 1970, from there on seconds; a number out of the range becomes its
    nearest border."""
    number = number_sql(value)
    of = value.bare
    if want.wide and isinstance(of, t.Int) and of.bits > 16:
        return _wide_day_of_number(number, of, nullable=value.nullable)
    signed = isinstance(of, t.Int) and of.signed
    from_zero = clamp_below(number, "0", nullable=value.nullable) if signed and not want.wide else number
    if isinstance(of, t.Int) and of.bits <= 16:
        return f"date_from_unix_date(CAST({from_zero} AS INT))"
    days = f"date_from_unix_date(CAST(greatest(least({number}, 65535), 0) AS INT))"
    seconds = f"CAST(timestamp_seconds(least({number}, 4294967295)) AS DATE)"
    shown = f"if({number} < 65536, {days}, {seconds})"
    return f"if({number} IS NULL, NULL, {shown})" if value.nullable else shown


def _wide_day_of_number(number: str, of: t.Int, *, nullable: bool) -> str:
    """A Date32 of a number: it counts days where that is a day up to 9999-12-31, else seconds. Before the year 1 there
    is no Date32 here."""

    def formula(n: str) -> str:
        near = (
            f"greatest(least({n}, {_LAST_WIDE_DAY}), {_FIRST_WIDE_DAY})"
            if of.signed
            else f"least({n}, {_LAST_WIDE_DAY})"
        )
        days = f"date_from_unix_date(CAST({near} AS INT))"
        seconds = f"CAST(timestamp_seconds(least({n}, {_LAST_WIDE_SECOND})) AS DATE)"
        early = f"WHEN {n} < {_FIRST_WIDE_DAY} THEN raise_error('a day before the year 1') " if of.signed else ""
        null = f"WHEN {n} IS NULL THEN NULL " if nullable else ""
        return f"CASE {null}{early}WHEN {n} <= {_LAST_WIDE_DAY} THEN {days} ELSE {seconds} END"

    return bind_if_long(number, formula)


def _to_datetime(value: TypedSql, want: t.DateTime, seconds: t.Int | None) -> Conversion | None:
    """`seconds`: the range of numbers that are accepted; None for all."""
    match value.bare:
        case t.DateTime():
            return Conversion(value.sql)
        case t.DateTime64():
            return Conversion(wrap_to_range(value.sql, want))
        case t.Date():
            return Conversion(wrap_to_range(midnight_of(value, zone_of(want)), want))
        case t.Int() | t.Bool() | t.Float() | t.Decimal():
            return Conversion(_second_of_number(value), _in_range(value, seconds))
        case of if isinstance(of, TEXTS):
            return Conversion(_time_of_text(value.sql, want), null_if_invalid=True)
        case _:
            return None


def read_any_format(value: TypedSql, want: t.DateTime | t.DateTime64) -> Conversion:
    """The conversion of a text of any format, as parseDateTimeBestEffort reads it."""
    return Conversion(parse_best_effort(value.sql, want, month_first=False), null_if_invalid=True)


def read_with_year(value: TypedSql, want: t.DateTime | t.DateTime64) -> Conversion:
    """As `read_any_format`, where a text that does not convert is no error: one that only lacks a year is."""
    found = parse_best_effort(value.sql, want, month_first=False)
    return Conversion(refuse_without_year(value.sql, found, month_first=False), null_if_invalid=True)


def time_of_text(value: TypedSql, unit: str) -> TypedSql:
    """A text to which ClickHouse adds units of time: a DateTime64 with the digits that the unit needs, in any format of
    parseDateTimeBestEffort. A text that is no time is an error."""
    of = t.DateTime64(6 if unit == "MICROSECOND" else 3)
    found = parse_best_effort(value.sql, of, month_first=False)
    error = unless_null(f"raise_error(concat('cannot read a time from ', {value.sql}))", value)
    return typed_sql(f"coalesce({found}, {error})", nullable_if_any(of, [value]))


def _second_of_number(value: TypedSql) -> str:
    """The nearest second that a DateTime can hold."""
    of = value.bare
    if isinstance(of, t.Bool) or (isinstance(of, t.Int) and of.bits <= 32 and not of.signed):
        return f"timestamp_seconds({as_spark(value, 'BIGINT')})"
    if isinstance(value.constant, int) and 0 <= value.constant < 2**32:
        return f"timestamp_seconds({as_spark(value, 'BIGINT')})"
    return f"timestamp_seconds(CAST({clamp(value.sql, '0', '4294967295', nullable=value.nullable)} AS BIGINT))"


def _in_range(value: TypedSql, seconds: t.Int | None) -> str | None:
    """The condition that a number is whole and in range; None if it always is."""
    have = value.bare
    if seconds is None or isinstance(have, t.Bool) or (isinstance(have, t.Int) and have.low >= 0 and have.bits <= 32):
        return None
    whole = "" if isinstance(have, t.Int) else f" AND {value.sql} = floor({value.sql})"
    return f"{value.sql} BETWEEN {seconds.low} AND {seconds.high}{whole}"


def _to_datetime64(value: TypedSql, want: t.DateTime64, overflow: Overflow) -> Conversion | None:
    match value.bare:
        case t.DateTime64(precision, _):
            return Conversion(value.sql if precision <= want.precision else cut_toward_1970(value.sql, want.precision))
        case t.DateTime():
            return Conversion(value.sql)
        case t.Date():
            return Conversion(midnight_of(value, zone_of(want)))
        case t.Int() | t.Bool():
            return Conversion(_time_of_seconds(value, want.precision))
        case t.Float() | t.Decimal():
            return Conversion(_time_of_fraction(value, want.precision))
        case of if isinstance(of, TEXTS):
            return Conversion(_time64_of_text(value, want), null_if_invalid=True)
        case _:
            return None


def _time_of_seconds(value: TypedSql, precision: int) -> str:
    """A number of seconds; beyond the years 0 to 9999 the first or last time of them."""
    if not isinstance(value.bare, t.Int) or value.bare.bits < 64 or value.constant is not None:
        return f"timestamp_seconds({as_spark(value, 'BIGINT')})"
    last = f"timestamp_micros(253402300800000000L - {10 ** (6 - precision)}L)"

    def formula(number: str) -> str:
        inside = f"timestamp_seconds(CAST(greatest({number}, -62167219200) AS BIGINT))"
        return f"CASE WHEN {number} IS NULL THEN NULL WHEN {number} >= 253402300800 THEN {last} ELSE {inside} END"

    return bind_if_long(number_sql(value), formula)


def _time_of_fraction(value: TypedSql, precision: int) -> str:
    """A number of seconds with a fraction. A Float beyond the years 0 to 9999 is the first or last time of them; such a
    Decimal is an error: ClickHouse shows it as one of these, and keeps the number."""
    last = "TIMESTAMP'9999-12-31 23:59:59.999999'"
    wrong = "raise_error('a time beyond the years 0 to 9999')"

    def formula(number: str) -> str:
        inside = f"timestamp_micros(CAST({number} * 1000000 AS BIGINT))"
        late, early = f"{number} >= {_LAST_WIDE_SECOND + 1}", f"{number} < {_FIRST_SECOND}"
        if isinstance(value.bare, t.Decimal):
            return f"CASE WHEN {late} OR {early} THEN {wrong} ELSE {inside} END"
        odd = f"WHEN isnan({number}) THEN raise_error('NaN is no time')"
        return f"CASE {odd} WHEN {late} THEN {last} WHEN {early} THEN {_FIRST_TIME} ELSE {inside} END"

    return cut_toward_1970(bind_if_long(value.sql, formula), precision)


def _to_fine_time(value: TypedSql, want: t.DateTime64, overflow: Overflow) -> Conversion | None:
    """A value as a time of more than six digits; None if ClickHouse has no such conversion."""
    match value.bare:
        case t.DateTime64() | t.DateTime():
            return Conversion(as_fine_time(value, want))
        case t.Date():
            moment = midnight_of(value, zone_of(want))
            return Conversion(fine_from_timestamp(moment))
        case t.Int() | t.Bool():
            return Conversion(f"CAST({number_sql(value)} AS {FINE_TIME})")
        case t.Decimal():
            # A difference of decimals of 38 digits would lose the last one.
            return Conversion(cut_fine_toward_1970(f"CAST({value.sql} AS DECIMAL(37,9))", want.precision))
        case t.Float():
            ticks = f"CAST({as_spark(value, 'DOUBLE')} * {float(10**want.precision)!r}D AS BIGINT)"
            return Conversion(from_nanoseconds(f"{ticks} * {10 ** (9 - want.precision)}L"))
        case of if isinstance(of, TEXTS):
            return Conversion(_fine_time_of_text(value.sql, want), null_if_invalid=True)
        case _:
            return None


def cut_toward_1970(sql: str, precision: int) -> str:
    """As `truncate_fraction`, but before 1970 to the next later time: ClickHouse divides a number of units, which
    drops the rest."""
    step = 10 ** (6 - min(precision, 6))
    if precision == 0:
        return f"timestamp_seconds(unix_micros({sql}) DIV 1000000L)"
    return sql if step == 1 else f"timestamp_micros(unix_micros({sql}) DIV {step}L * {step}L)"


def date_of_text(text: str, want: t.Date) -> str:
    """YYYY-MM-DD, also with one digit for month or day, and YYYYMMDD. What follows after a blank or T is ignored if the
    text is as long as YYYY-MM-DD hh:mm:ss, or a fraction follows there. NULL for any other text."""
    return f"{'penstock_fixed_date32' if want.wide else 'penstock_fixed_date'}({text})"


def _time_of_text(text: str, want: t.DateTime) -> str:
    """A time on the wall clock of the zone. Five or more digits alone are seconds since 1970."""
    return f"penstock_fixed_time({text}, {_zone(want)})"


def _time64_of_text(value: TypedSql, want: t.DateTime64) -> str:
    """As a DateTime, with a fraction. A number too large for seconds counts the units of the precision; one that is no
    time of the years 0 to 9999 is an error, which ClickHouse brings to their borders."""
    found = f"penstock_fixed_time64({value.sql}, {_zone(want)}, {want.precision})"
    error = f"raise_error(concat('beyond the years of a DateTime64: ', {value.sql}))"
    return f"coalesce({found}, if(penstock_is_far_time({value.sql}, {want.precision}), {error}, NULL))"


def _fine_time_of_text(text: str, want: t.DateTime64) -> str:
    return f"CAST(penstock_fixed_fine_time({text}, {_zone(want)}, {want.precision}) AS {FINE_TIME})"


def _zone(want: t.DateTime | t.DateTime64) -> str:
    return string_literal(zone_of(want) or "")
