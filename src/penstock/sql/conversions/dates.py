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
from penstock.sql.conversions.parse_best_effort import parse_best_effort
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

_TEXTS = (t.String, t.FixedString)
_SECONDS = t.Int(32, signed=False)
"""The numbers that an accurate conversion takes for a Date or DateTime."""
_SEPARATOR = "[ -/:-~]"
"""What may stand between numbers: any character but a digit."""
_DAY_PATTERN = f"[0-9]{{4}}{_SEPARATOR}[0-9]{{2}}{_SEPARATOR}[0-9]{{2}}"
_CLOCK_PATTERN = f"[ T][0-9]{{2}}{_SEPARATOR}[0-9]{{2}}{_SEPARATOR}[0-9]{{2}}"
_LOOSE_DAY_PATTERN = f"[0-9]{{4}}{_SEPARATOR}[0-9]{{1,2}}{_SEPARATOR}[0-9]{{1,2}}"
_DATE_TEXT = f"^({_LOOSE_DAY_PATTERN}|[0-9]{{8}}|{_DAY_PATTERN}{_CLOCK_PATTERN}([.][0-9]+)?)$"
_TIME_TEXT = f"^{_DAY_PATTERN}({_CLOCK_PATTERN})?$"
_TIME64_TEXT = f"^{_DAY_PATTERN}({_CLOCK_PATTERN}([.][0-9]{{0,9}})?)?$"
_PARTS = f"^([0-9]{{4}}){_SEPARATOR}?([0-9]{{1,2}}){_SEPARATOR}?([0-9]{{1,2}}).*$"
_SECONDS_TEXT = "^[0-9]{5,}$"
_FINE_SECONDS_TEXT = "^(-[0-9]{1,19}|[0-9]{5,19})([.][0-9]{0,9})?$"
_SECONDS64_TEXT = "^(-[0-9]{1,16}|[0-9]{5,16})([.][0-9]{0,9})?$"


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
        case of if isinstance(of, _TEXTS):
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
        case of if isinstance(of, _TEXTS):
            return (
                _null_unless_given(value, parse_datetime(value.sql, want))
                if seconds is None
                else _convert_best_effort(value, want)
            )
        case _:
            return None


def _convert_best_effort(value: TypedSql, want: t.DateTime | t.DateTime64) -> Conversion:
    """The accurate conversion of a text, which ClickHouse reads as parseDateTimeBestEffort does."""
    found = parse_time_best_effort(value.sql, want, month_first=False)
    return Conversion(found, f"{found} IS NOT NULL")


def time_of_text(value: TypedSql, unit: str) -> TypedSql:
    """A text to which ClickHouse adds units of time: a DateTime64 with the digits that the unit needs, in any format of
    parseDateTimeBestEffort. A text that is no time is an error."""
    of = t.DateTime64(6 if unit == "MICROSECOND" else 3)
    found = parse_time_best_effort(value.sql, of, month_first=False)
    error = unless_null(f"raise_error(concat('cannot read a time from ', {value.sql}))", value)
    return typed_sql(f"coalesce({found}, {error})", nullable_if_any(of, [value]))


def parse_time_best_effort(text: str, want: t.DateTime | t.DateTime64, *, month_first: bool) -> str:
    """A text of many formats as a time, NULL if it is none. `month_first`: 2/1/2026 is in February."""
    if isinstance(want, t.DateTime64):
        moment = parse_best_effort(text, zone_of(want), month_first=month_first, fractions=True)
        if is_fine_time(want):
            digits = f"regexp_extract({text}, '(:[0-9]{{2}}|^[0-9]{{9,10}})([.][0-9]+)', 2)"
            fraction = f"coalesce(try_cast(concat('0', {digits}) AS DECIMAL(10,9)), 0)"
            second = fine_from_timestamp(f"date_trunc('SECOND', {moment})")
            return cut_fine_time(f"{second} + {fraction}", want.precision)
        return truncate_fraction(moment, want.precision)
    moment = parse_best_effort(text, zone_of(want), month_first=month_first, fractions=False)
    second = f"date_trunc('SECOND', {moment})"
    return clamp(second, FIRST_SECOND, LAST_SECOND, nullable=True)


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
        case of if isinstance(of, _TEXTS) and overflow == "refused":
            return _convert_best_effort(value, want)
        case of if isinstance(of, _TEXTS):
            found = _null_unless_given(value, parse_datetime64(value.sql, want))
            return Conversion(truncate_fraction(found.sql, want.precision), found.valid)
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
        case of if isinstance(of, _TEXTS) and overflow != "refused":
            return _null_unless_given(value, _parse_fine_time(value.sql, want))
        case _:
            return None


def _parse_fine_time(text: str, want: t.DateTime64) -> Conversion:
    """A text as a fine time: the second as Spark reads it, and the digits of the fraction beside it."""
    second = parse_datetime64(f"substring_index({text}, '.', 1)", t.DateTime64(0, want.zone)).sql
    fraction = f"coalesce(try_cast(concat('0', regexp_extract({text}, '[.][0-9]+', 0)) AS DECIMAL(10,9)), 0)"
    moment = f"{fine_from_timestamp(second)} + {fraction}"
    number = f"try_cast({text} AS DECIMAL(28,9))"
    units = f"{number} / {10**want.precision}"
    seconds = f"if({number} >= {10 ** (9 + want.precision)}, {units}, {number})"
    whole = f"if({text} RLIKE '{_FINE_SECONDS_TEXT}', CAST({seconds} AS {FINE_TIME}), {moment})"
    valid = f"{text} RLIKE '{_FINE_SECONDS_TEXT}' OR {text} RLIKE '{_TIME64_TEXT}'"
    return Conversion(cut_fine_time(whole, want.precision), valid)


def truncate_fraction(sql: str, precision: int) -> str:
    """A time without the digits of its fraction after the first `precision`."""
    if precision >= 6:
        return sql
    unit = {0: "SECOND", 3: "MILLISECOND"}.get(precision)
    if unit:
        return f"date_trunc('{unit}', {sql})"
    step = 10 ** (6 - precision)
    return f"timestamp_micros(floor(unix_micros({sql}) / {step}) * {step})"


def cut_toward_1970(sql: str, precision: int) -> str:
    """As `truncate_fraction`, but before 1970 to the next later time: ClickHouse divides a number of units, which
    drops the rest."""
    step = 10 ** (6 - min(precision, 6))
    if precision == 0:
        return f"timestamp_seconds(unix_micros({sql}) DIV 1000000L)"
    return sql if step == 1 else f"timestamp_micros(unix_micros({sql}) DIV {step}L * {step}L)"


def parse_date(text: str, want: t.Date) -> Conversion:
    """YYYY-MM-DD, also with one digit for month or day, and YYYYMMDD. A time after the day is ignored."""
    found = _parse_day(text)
    day = found if want.wide else f"least(greatest({found}, {FIRST_DAY}), {LAST_DAY})"
    return Conversion(day, f"{text} RLIKE '{_DATE_TEXT}'")


def _parse_day(text: str) -> str:
    first = f"try_cast(regexp_replace({text}, '{_PARTS}', '$1-$2-1') AS DATE)"
    place = f"try_cast(regexp_replace({text}, '{_PARTS}', '$3') AS INT)"
    overflowing = f"if({place} BETWEEN 1 AND 31, date_add({first}, {place} - 1), NULL)"
    return f"coalesce(try_cast(left({text}, 10) AS DATE), {overflowing}, DATE'1900-01-01')"


def _parse_wall_clock(text: str) -> str:
    """The time on the clock; hours, minutes and seconds beyond their range count into the next unit."""
    hours, minutes, seconds = (f"try_cast(substring({text}, {place}, 2) AS BIGINT)" for place in (12, 15, 18))
    passed = f"coalesce({hours} * 3600000000 + {minutes} * 60000000 + {seconds} * 1000000, 0)"
    fraction = f"coalesce(CAST(try_cast(concat('0', substring({text}, 20)) AS DECIMAL(10,9)) * 1000000 AS BIGINT), 0)"
    overflowing = f"timestampadd(MICROSECOND, {passed} + {fraction}, CAST({_parse_day(text)} AS TIMESTAMP))"
    never = f"if({text} LIKE '0000-00-00%', {FIRST_SECOND}, NULL)"
    return f"coalesce(try_cast({text} AS TIMESTAMP), {never}, {overflowing})"


def parse_datetime(text: str, want: t.DateTime) -> Conversion:
    """A time on the wall clock of the zone. Five or more digits alone are seconds since 1970."""
    moment = (
        f"least(greatest({from_written_clock(_parse_wall_clock(text), zone_of(want))}, {FIRST_SECOND}), {LAST_SECOND})"
    )
    seconds = f"timestamp_seconds(coalesce(least(try_cast({text} AS DECIMAL(20,0)), 4294967295), 4294967295))"
    sql = f"if({text} RLIKE '{_SECONDS_TEXT}', {seconds}, {moment})"
    return Conversion(sql, f"{text} RLIKE '{_SECONDS_TEXT}' OR {text} RLIKE '{_TIME_TEXT}'")


def parse_datetime64(text: str, want: t.DateTime64) -> Conversion:
    """As a DateTime, with a fraction (not yet cut to the precision). A number too large for seconds counts the units
    of the precision."""
    number = f"try_cast({text} AS DECIMAL(26,9))"
    units = f"{number} * {10 ** (6 - want.precision)}"
    scaled = f"if({number} >= {10 ** (9 + want.precision)}, {units}, {number} * 1000000)"
    seconds = f"timestamp_micros(CAST({scaled} AS BIGINT))"
    moment = from_written_clock(_parse_wall_clock(text), zone_of(want))
    sql = f"if({text} RLIKE '{_SECONDS64_TEXT}', {seconds}, {moment})"
    return Conversion(sql, f"{text} RLIKE '{_SECONDS64_TEXT}' OR {text} RLIKE '{_TIME64_TEXT}'")
