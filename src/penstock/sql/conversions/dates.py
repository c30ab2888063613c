"""Conversions to dates and times, from texts, numbers, and other dates and times.

In: a value and a date or time type. Out: `Conversion`. Texts are those that ClickHouse's toDate, toDateTime and
toDateTime64 take. Invariant: a number out of the type's range becomes the nearest value in it, a date or time wraps
around; in a text, a day after the end of a month counts into the next month, and an impossible month gives the
default of the type.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.conversions.conversion import Conversion, Overflow
from penstock.sql.conversions.parse_best_effort import (
    parse_best_effort,
    refuse_without_year,
    truncate_fraction,
)
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.dates import (
    FIRST_DAY,
    FIRST_SECOND,
    LAST_DAY,
    LAST_SECOND,
    clamp,
    clamp_below,
    from_written_clock,
    midnight_of,
    wall_clock,
    wrap_to_range,
    zone_of,
)
from penstock.sql.expr.fine_times import (
    as_fine_time,
    as_microseconds,
    cut_fine_time,
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

TEXTS = (t.String, t.FixedString)
_SECONDS = t.Int(32, signed=False)
"""The numbers that an accurate conversion takes for a Date or DateTime."""
_SEPARATOR, _ANY = "[ -/:-~]", "[ -~]"
"""What may stand between numbers: any character but a digit, or any at all."""
_DAY_PATTERN = f"[0-9]{{4}}{_SEPARATOR}[0-9]{{2}}{_ANY}[0-9]{{2}}"
_CLOCK_PATTERN = f"[ T][0-9]{{2}}{_ANY}[0-9]{{2}}{_ANY}[0-9]{{2}}"
_ONE_DAY = f"([0-9]{{4}}{_SEPARATOR}[0-9]{{1,2}}{_SEPARATOR}[0-9]{{1,2}}|[0-9]{{8}})"
_DATE_TEXT = string_literal(rf"^{_ONE_DAY}\z")
_DATE_BEFORE_MORE = string_literal(f"^{_ONE_DAY}[ T]")
_FRACTION_AFTER_TIME = string_literal(r"^[ -~]{19}[.][0-9]+\z")
_TIME_TEXT = string_literal(rf"^{_DAY_PATTERN}({_CLOCK_PATTERN})?\z")
_TIME64_TEXT = string_literal(rf"^{_DAY_PATTERN}({_CLOCK_PATTERN})?([.][0-9]*)?\z")
_PARTS = string_literal(rf"^([0-9]{{4}}){_SEPARATOR}?([0-9]{{1,2}}){_SEPARATOR}?([0-9]{{1,2}})(?s:.*)\z")
_SECONDS_TEXT = string_literal(r"^[0-9]{5,19}\z")
_SECONDS64_TEXT = string_literal(r"^(-[0-9]{0,19}|[0-9]{5,19}|[+][0-9]{15,19}(?=[.]))([.][0-9]*)?\z")
_LOST_SIGN = string_literal(r"^-0*(?=[.]|\z)")
_MOST_SECONDS = {8: "92233720368.54775807BD", 9: "9223372036.854775807BD"}
"""The greatest number of seconds in 64 bits, by the digits after its point; of fewer digits every year is less."""


def to_time(value: TypedSql, want: Type, overflow: Overflow) -> Conversion | None:
    """A value as a Date, DateTime or DateTime64; None if ClickHouse has no such conversion."""
    if isinstance(want, t.DateTime64) and is_fine_time(want):
        return _to_fine_time(value, want, overflow)
    value = as_microseconds(value)
    match want:
        case t.Date():
            return _to_date(value, want, None if want.wide or overflow == "wraps" else _SECONDS)
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
            return Conversion(_day_of_number(value, want), _in_range(value, seconds))
        case of if isinstance(of, TEXTS):
            return _null_unless_given(value, parse_date(value.sql, want))
        case _:
            return None


def _null_unless_given(value: TypedSql, found: Conversion) -> Conversion:
    """NULL for a NULL, whatever the formula makes of it."""
    return Conversion(unless_null(found.sql, value), found.valid)


def _day_of_number(value: TypedSql, want: t.Date) -> str:
    """Below 65536 a number counts days since 1970, from there on seconds; a number out of the range becomes its
    nearest border."""
    number = number_sql(value)
    of = value.bare
    signed = isinstance(of, t.Int) and of.signed
    from_zero = clamp_below(number, "0", nullable=value.nullable) if signed and not want.wide else number
    if isinstance(of, t.Int) and of.bits <= 16:
        return f"date_from_unix_date(CAST({from_zero} AS INT))"
    low = f"least({number}, 65535)" if want.wide else f"greatest(least({number}, 65535), 0)"
    days = f"date_from_unix_date(CAST({low} AS INT))"
    seconds = f"CAST(timestamp_seconds(least({number}, 4294967295)) AS DATE)"
    shown = f"if({number} < 65536, {days}, {seconds})"
    return f"if({number} IS NULL, NULL, {shown})" if value.nullable else shown


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
            return _null_unless_given(value, parse_datetime(value.sql, want))
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
            micros = f"timestamp_micros(CAST({value.sql} * 1000000 AS BIGINT))"
            return Conversion(cut_toward_1970(micros, want.precision))
        case of if isinstance(of, TEXTS):
            return _null_unless_given(value, parse_datetime64(value.sql, want))
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
            return _null_unless_given(value, _parse_fine_time(value.sql, want))
        case _:
            return None


def _parse_fine_time(text: str, want: t.DateTime64) -> Conversion:
    """A text as a fine time: the second as Spark reads it, and the digits of the fraction beside it."""
    after_day = f"substring({text}, 11, 1) = '.'"
    second = from_written_clock(_parse_wall_clock(f"left({text}, if({after_day}, 10, 19))"), zone_of(want))
    fraction = f"if({after_day}, {_fraction(text, 11)}, {_fraction(text, 20)})"
    moment = f"{fine_from_timestamp(second)} + {fraction}"
    number = f"try_cast({_decimal_of_text(text)} AS DECIMAL(29,9))"
    units = f"{number} / {10**want.precision}"
    seconds = f"if({number} >= {10 ** (9 + want.precision)}, {units}, {number})"
    is_number = f"{text} RLIKE {_SECONDS64_TEXT}"
    whole = f"if({is_number}, CAST({seconds} AS {FINE_TIME}), {moment})"
    last = _MOST_SECONDS.get(want.precision)
    known = f"{text} RLIKE {_TIME64_TEXT}"
    if last:
        known = f"{known} AND abs(unix_seconds({second})) < {last.partition('.')[0]}"
        is_number = f"{is_number} AND coalesce(abs({seconds}) <= {last}, false)"
    return Conversion(cut_fine_time(whole, want.precision), f"{is_number} OR ({known})")


def cut_toward_1970(sql: str, precision: int) -> str:
    """As `truncate_fraction`, but before 1970 to the next later time: ClickHouse divides a number of units, which
    drops the rest."""
    step = 10 ** (6 - min(precision, 6))
    if precision == 0:
        return f"timestamp_seconds(unix_micros({sql}) DIV 1000000L)"
    return sql if step == 1 else f"timestamp_micros(unix_micros({sql}) DIV {step}L * {step}L)"


def parse_date(text: str, want: t.Date) -> Conversion:
    """YYYY-MM-DD, also with one digit for month or day, and YYYYMMDD. What follows after a blank or T is ignored if the
    text is as long as YYYY-MM-DD hh:mm:ss, or a fraction follows there."""
    found = _parse_day(text)
    day = found if want.wide else f"least(greatest({found}, {FIRST_DAY}), {LAST_DAY})"
    longer = f"{text} RLIKE {_DATE_BEFORE_MORE} AND (octet_length({text}) = 19 OR {text} RLIKE {_FRACTION_AFTER_TIME})"
    return Conversion(day, f"({text} RLIKE {_DATE_TEXT} OR ({longer}))")


def _parse_day(text: str) -> str:
    first = f"try_cast(regexp_replace({text}, {_PARTS}, '$1-$2-1') AS DATE)"
    place = f"try_cast(regexp_replace({text}, {_PARTS}, '$3') AS INT)"
    overflowing = f"if({place} BETWEEN 1 AND 31, date_add({first}, {place} - 1), NULL)"
    return f"coalesce(try_cast(left({text}, 10) AS DATE), {overflowing}, DATE'1900-01-01')"


def _parse_wall_clock(text: str) -> str:
    """The time on the clock; hours, minutes and seconds beyond their range count into the next unit. Spark reads a
    text by its separators, which may be any: then, and of what it does not read, the places count."""
    hours, minutes, seconds = (f"try_cast(substring({text}, {place}, 2) AS BIGINT)" for place in (12, 15, 18))
    passed = f"coalesce({hours} * 3600000000 + {minutes} * 60000000 + {seconds} * 1000000, 0)"
    overflowing = f"timestampadd(MICROSECOND, {passed} + {_microseconds(text, 20)}, {_midnight_by_places(text)})"
    never = f"if({text} LIKE '0000-00-00%', {FIRST_SECOND}, NULL)"
    colons = f"concat(substring({text}, 14, 1), substring({text}, 17, 1)) IN ('', '::')"
    return f"coalesce(if({colons}, try_cast({text} AS TIMESTAMP), NULL), {never}, {overflowing})"


def _parse_fine_clock(text: str) -> str:
    """As `_parse_wall_clock`, also of a day with a fraction and no clock."""
    day = f"timestampadd(MICROSECOND, {_microseconds(text, 11)}, {_midnight_by_places(text)})"
    return f"if(substring({text}, 11, 1) = '.', {day}, {_parse_wall_clock(text)})"


def _fraction(text: str, place: int) -> str:
    """The seconds of a point and digits from a place on; 0 where there are none."""
    return f"coalesce(try_cast(concat('0', left(substring({text}, {place}), 10)) AS DECIMAL(10,9)), 0)"


def _microseconds(text: str, place: int) -> str:
    return f"CAST({_fraction(text, place)} * 1000000 AS BIGINT)"


def _midnight_by_places(text: str) -> str:
    """The beginning of a day YYYY-MM-DD with any separators."""
    parts = ", '-', ".join(f"substring({text}, {place}, {length})" for place, length in ((1, 4), (6, 2), (9, 2)))
    return f"CAST({_parse_day(f'concat({parts})')} AS TIMESTAMP)"


def parse_datetime(text: str, want: t.DateTime) -> Conversion:
    """A time on the wall clock of the zone. Five or more digits alone are seconds since 1970."""
    moment = (
        f"least(greatest({from_written_clock(_parse_wall_clock(text), zone_of(want))}, {FIRST_SECOND}), {LAST_SECOND})"
    )
    seconds = f"timestamp_seconds(least(try_cast({text} AS BIGINT), 4294967295))"
    is_number = f"{text} RLIKE {_SECONDS_TEXT}"
    valid = f"if({is_number}, try_cast({text} AS BIGINT) IS NOT NULL, {text} RLIKE {_TIME_TEXT})"
    return Conversion(f"if({is_number}, {seconds}, {moment})", valid)


def _decimal_of_text(text: str) -> str:
    """A number of seconds; ClickHouse does not see the sign before a zero."""
    return f"floor(try_cast(regexp_replace({text}, {_LOST_SIGN}, '0') AS DECIMAL(38,18)), 9)"


def parse_datetime64(text: str, want: t.DateTime64) -> Conversion:
    """As a DateTime, with a fraction. A number too large for seconds counts the units of the precision; one that is no
    time of the years 0 to 9999 is an error, which ClickHouse brings to their borders."""
    number = f"try_cast({_decimal_of_text(text)} AS DECIMAL(28,9))"
    units = f"{number} * {10 ** (6 - want.precision)}"
    scaled = f"if({number} >= {10 ** (9 + want.precision)}, {units}, {number} * 1000000)"
    error = f"raise_error(concat('beyond the years of a DateTime64: ', {text}))"
    inside = f"{scaled} BETWEEN -62167219200000000 AND 253402300799999999"
    seconds = cut_toward_1970(f"timestamp_micros(CAST(if({inside}, {scaled}, {error}) AS BIGINT))", want.precision)
    moment = truncate_fraction(from_written_clock(_parse_fine_clock(text), zone_of(want)), want.precision)
    sql = f"if({text} RLIKE {_SECONDS64_TEXT}, {seconds}, {moment})"
    return Conversion(sql, f"{text} RLIKE {_SECONDS64_TEXT} OR {text} RLIKE {_TIME64_TEXT}")
