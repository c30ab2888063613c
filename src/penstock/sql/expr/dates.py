"""Dates and times: the clock of a zone, clamping to a type's range, and the start of a day, week, month ….

In: typed SQL of dates and times. Out: the same. Invariant: Spark's session time zone is UTC; the time zone of a
ClickHouse type is applied by converting to and from its wall clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

from penstock.model import types as t
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import TypedSql, as_spark, is_null, nullable_if_any, typed_sql
from penstock.sql.spark_text import quote_identifier, string_literal

MONTHS_PER_UNIT = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
"""Units that are counted in months."""
_SECONDS_PER_UNIT = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86400, "WEEK": 604800}
FIRST_DAY, FIRST_SECOND = "DATE'1970-01-01'", "TIMESTAMP'1970-01-01 00:00:00'"
LAST_DAY, LAST_SECOND = "DATE'2149-06-06'", "TIMESTAMP'2106-02-07 06:28:15'"
"""The range of a Date and of a DateTime."""
_LAST_WHOLE_DAY = "DATE'2106-02-06'"
_LAST_MIDNIGHT = "TIMESTAMP'2106-02-06 00:00:00'"
"""What a later Date becomes beside a DateTime, in ClickHouse."""
_LITERAL_TIME = re.compile(r"TIMESTAMP'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d'")


def zone_of(of: Type) -> str | None:
    """The time zone of a time type; None for UTC and for types without one."""
    zone = of.zone if isinstance(of, (t.DateTime, t.DateTime64)) else None
    return None if zone in (None, "UTC", "Etc/UTC") else zone


def wall_clock(value: TypedSql) -> str:
    """SQL of a time as the clock in its zone shows it (a Spark timestamp that reads like that clock)."""
    zone = zone_of(value.bare)
    return f"from_utc_timestamp({value.sql}, {string_literal(zone)})" if zone else value.sql


def from_wall_clock(sql: str, zone: str | None) -> str:
    """The inverse of `wall_clock`: the moment at which the clock of `zone` shows `sql`."""
    return f"to_utc_timestamp({sql}, {string_literal(zone)})" if zone and zone not in ("UTC", "Etc/UTC") else sql


def from_written_clock(sql: str, zone: str | None) -> str:
    """As `from_wall_clock`, for a clock time that somebody wrote, which the change to summer time may skip:
    ClickHouse reads a skipped time with the offset after the change, Java with the one before."""
    if not zone or zone in ("UTC", "Etc/UTC"):
        return sql
    java = from_wall_clock(sql, zone)
    shown = f"from_utc_timestamp({java}, {string_literal(zone)})"
    return f"timestamp_micros(unix_micros({java}) + unix_micros({sql}) - unix_micros({shown}))"


def wrap_to_range(sql: str, of: Type) -> str:
    """A date or time out of the range of Date or DateTime, wrapped around: ClickHouse stores them as unsigned
    integers of 16 and 32 bits."""
    match of:
        case t.Date(wide=False):
            return f"date_from_unix_date(unix_date({sql}) & 65535)"
        case t.DateTime():
            return f"timestamp_seconds(unix_seconds({sql}) & 4294967295L)"
        case _:
            return sql


def clamp_below(sql: str, low: str, *, nullable: bool) -> str:
    """The greater of `sql` and `low`. Spark's `greatest` ignores NULL, so a nullable value, whose NULL has to stay,
    is compared by hand."""
    return bind_if_long(sql, lambda x: f"if({x} < {low}, {low}, {x})") if nullable else f"greatest({sql}, {low})"


def clamp(sql: str, low: str, high: str, *, nullable: bool) -> str:
    """The value of `low` … `high` that is nearest to `sql`; NULL stays NULL."""
    if not nullable:
        return f"least(greatest({sql}, {low}), {high})"
    return bind_if_long(sql, lambda x: f"CASE WHEN {x} < {low} THEN {low} WHEN {x} > {high} THEN {high} ELSE {x} END")


def as_common_type(value: TypedSql, of: Type) -> str:
    """The SQL of a value as the common type of several; a Date, also one inside of it, beside a DateTime ends with the
    last whole day that this has."""
    spark = value_type(of)
    if is_null(value) and spark != "VOID":
        return f"CAST(NULL AS {spark})"
    if not _has_days_as_times(value.type, of):
        return as_spark(value, spark)
    return f"CAST({_early_days(value.sql, value.type, of)} AS {spark})"


def _has_days_as_times(have: Type, of: Type) -> bool:
    """Whether a Date becomes a DateTime where a value of one type becomes one of another."""
    match unwrap_type(have), unwrap_type(of):
        case t.Date(wide=False), t.DateTime():
            return True
        case t.Array(a), t.Array(b):
            return _has_days_as_times(a, b)
        case t.Map(k, v), t.Map(key, item):
            return _has_days_as_times(k, key) or _has_days_as_times(v, item)
        case t.Tuple(fields), t.Tuple(others):
            return any(_has_days_as_times(a, b) for (_, a), (_, b) in zip(fields, others, strict=False))
        case _:
            return False


def _early_days(sql: str, have: Type, of: Type) -> str:
    """The value with each Date that becomes a DateTime cut off at the last whole day."""
    if not _has_days_as_times(have, of):
        return sql
    match unwrap_type(have), unwrap_type(of):
        case t.Array(a), t.Array(b):
            return f"transform({sql}, ` d` -> {_early_days('` d`', a, b)})"
        case t.Map(k, v), t.Map(key, item):
            keys = f"transform(map_keys({sql}), ` d` -> {_early_days('` d`', k, key)})"
            return f"map_from_arrays({keys}, transform(map_values({sql}), ` d` -> {_early_days('` d`', v, item)}))"
        case t.Tuple(fields), t.Tuple(others):
            pairs = list(zip(fields, others, strict=True))
            return bind_if_long(sql, lambda x: f"named_struct({', '.join(_early_fields(x, pairs))})")
        case _:
            return clamp_above(sql, _LAST_WHOLE_DAY, nullable=is_nullable(have) or sql == "` d`")


def _early_fields(sql: str, pairs: list[tuple[tuple[str | None, Type], tuple[str | None, Type]]]) -> Iterator[str]:
    """Name and value of each element of a tuple."""
    for place, ((name, have), (_, of)) in enumerate(pairs, 1):
        field = name or f"_{place}"
        yield f"{string_literal(field)}, {_early_days(f'{sql}.{quote_identifier(field)}', have, of)}"


def up_to_last_midnight(day: TypedSql) -> str:
    """A Date, not later than the last one that has a midnight as a DateTime."""
    return clamp_above(day.sql, _LAST_WHOLE_DAY, nullable=day.nullable)


def beside_time(day: TypedSql, time: TypedSql) -> str:
    """A Date that is compared with a DateTime without a zone, as a timestamp. Where the DateTime surely precedes the
    days that it has no midnight for, they need not be cut off, and a filter on the Date still skips files."""
    if _LITERAL_TIME.fullmatch(time.sql) is not None:
        return f"CAST({day.sql if time.sql < _LAST_MIDNIGHT else up_to_last_midnight(day)} AS TIMESTAMP)"
    if "`" in time.sql:  # it differs from row to row
        return f"CAST({up_to_last_midnight(day)} AS TIMESTAMP)"
    return f"CAST(if({time.sql} < {_LAST_MIDNIGHT}, {day.sql}, {up_to_last_midnight(day)}) AS TIMESTAMP)"


def as_timestamp(value: TypedSql) -> str:
    return f"CAST({value.sql} AS TIMESTAMP)" if value.spark == "DATE" else value.sql


def clamp_to_1970(sql: str, of: Type, *, nullable: bool) -> str:
    """For a Date or DateTime, 1970 is the least start of a month, week or other unit in ClickHouse."""
    match of:
        case t.Date(wide=False):
            return clamp_below(sql, FIRST_DAY, nullable=nullable)
        case t.DateTime():
            return clamp_below(sql, FIRST_SECOND, nullable=nullable)
        case _:
            return sql


def start_of_unit(value: TypedSql, unit: str, step: int = 1) -> TypedSql:
    """The start of the unit (or of the group of `step` units) that the time lies in. A Date for weeks, months,
    quarters and years, a DateTime for the smaller units."""
    if unit in MONTHS_PER_UNIT or unit == "WEEK":
        first = first_day_of_unit(value, unit, step)
        if is_extended(value.bare):
            first = clamp(first, FIRST_DAY, LAST_DAY, nullable=value.nullable)
        elif _may_precede(value) or unit == "WEEK" or step > 1:
            first = clamp_to_1970(first, t.Date(), nullable=value.nullable)
        return typed_sql(first, nullable_if_any(t.Date(), [value]))
    named = t.DateTime(value.bare.zone if isinstance(value.bare, (t.DateTime, t.DateTime64)) else None)
    sql = start_of_short_unit(value, unit, step)
    zone = zone_of(value.bare)
    if is_extended(value.bare):
        sql = clamp(sql, FIRST_SECOND, LAST_SECOND, nullable=value.nullable)
    elif unit == "DAY" and zone and isinstance(value.bare, t.DateTime):
        sql = clamp_below(sql, _first_midnight(zone), nullable=value.nullable)
    elif isinstance(value.bare, t.Date) and value.constant is None:
        # A Date may lie after the last DateTime.
        sql = clamp_above(sql, LAST_SECOND, nullable=value.nullable)
    elif _may_precede(value):
        sql = clamp_to_1970(sql, named, nullable=value.nullable)
    return typed_sql(sql, nullable_if_any(named, [value]))


def is_extended(of: Type) -> bool:
    """Whether a type has values before 1970 and after the last Date and DateTime."""
    return isinstance(of, t.DateTime64) or of == t.Date(wide=True)


def clamp_above(sql: str, high: str, *, nullable: bool) -> str:
    """The lesser of `sql` and `high`; Spark's `least` ignores NULL."""
    return bind_if_long(sql, lambda x: f"if({x} > {high}, {high}, {x})") if nullable else f"least({sql}, {high})"


def start_of_short_unit(value: TypedSql, unit: str, step: int = 1) -> str:
    """The start of a day, hour, minute or second (or of a group of `step` of them), before 1970 too."""
    return _start_of_days(value, step) if unit == "DAY" else _start_of_clock_unit(value, unit, step)


def midnight_of(day: TypedSql, zone: str | None) -> str:
    """The moment at which a Date begins in a zone; of 1970-01-01 where that is before 1970 in UTC, the next
    midnight."""
    moment = from_wall_clock(f"CAST({day.sql} AS TIMESTAMP)", zone)
    if day.bare != t.Date() or not zone or offset_at_1970(zone) <= 0:
        return moment
    return clamp_below(moment, _first_midnight(zone), nullable=day.nullable)


def _first_midnight(zone: str) -> str:
    """The first midnight on the clock of a zone since 1970 began in UTC: the least start of a day in ClickHouse."""
    return f"timestamp_seconds({-offset_at_1970(zone) % 86400})"


def first_day_of_unit(value: TypedSql, unit: str, step: int = 1) -> str:
    """The first day of the group of `step` weeks, months, quarters or years, before 1970 too."""
    if unit == "YEAR" and step > 1:
        return f"make_date(CAST(floor(year({wall_clock(value)}) / {step}) * {step} AS INT), 1, 1)"
    if unit in MONTHS_PER_UNIT:
        return _start_of_months(wall_clock(value), MONTHS_PER_UNIT[unit] * step)
    return _start_of_weeks(value, step)


def _may_precede(value: TypedSql) -> bool:
    """Whether a value may lie before 1970."""
    return is_extended(value.bare) or zone_of(value.bare) is not None


def _start_of_weeks(value: TypedSql, step: int) -> str:
    wall = wall_clock(value)
    passed = f"CAST(floor(datediff({wall}, DATE'1970-01-05') / {7 * step}) * {7 * step} AS INT)"
    return f"CAST(date_trunc('WEEK', {wall}) AS DATE)" if step == 1 else f"date_add(DATE'1970-01-05', {passed})"


def _start_of_days(value: TypedSql, step: int) -> str:
    wall, zone = wall_clock(value), zone_of(value.bare)
    if step == 1:
        return from_wall_clock(f"date_trunc('DAY', {wall})", zone)
    days = f"CAST({wall} AS TIMESTAMP)" if value.spark == "DATE" else wall
    seconds = 86400 * step
    return from_wall_clock(f"timestamp_seconds(floor(unix_seconds({days}) / {seconds}) * {seconds})", zone)


def _start_of_clock_unit(value: TypedSql, unit: str, step: int) -> str:
    """Groups of hours are counted from midnight in the time zone. Minutes, seconds and single hours are counted from
    1970 in UTC; so are hours where the zone is always whole hours from UTC, so that the two equal hours of the
    change to winter time stay different."""
    zone = zone_of(value.bare)
    if unit == "HOUR" and step > 1:
        wall = wall_clock(value)
        hours = f"timestampadd(HOUR, CAST(floor(hour({wall}) / {step}) * {step} AS INT), date_trunc('DAY', {wall}))"
        return from_wall_clock(hours, zone)
    if unit == "HOUR" and zone and not has_whole_hour_offsets(zone):
        day = f"unix_seconds({_start_of_days(value, 1)})"
        return f"timestamp_seconds({day} + floor((unix_seconds({value.sql}) - {day}) / 3600) * 3600)"
    if step == 1:
        return f"date_trunc('{unit}', {value.sql})"
    seconds = _SECONDS_PER_UNIT[unit] * step
    return f"timestamp_seconds(floor(unix_seconds({as_timestamp(value)}) / {seconds}) * {seconds})"


@lru_cache(maxsize=512)
def has_whole_hour_offsets(zone: str) -> bool:
    """Whether a zone has always been whole hours from UTC since 1970 (looked at every fifth day)."""
    info = ZoneInfo(zone)
    days = (datetime.fromtimestamp(day * 86400, timezone.utc) for day in range(0, 24000, 5))
    return all((day.astimezone(info).utcoffset() or timedelta()).total_seconds() % 3600 == 0 for day in days)


def shows_1969(zone: str | None) -> bool:
    """Whether the clock of a zone showed 1969 when 1970 began in UTC."""
    return zone is not None and offset_at_1970(zone) < 0


@lru_cache(maxsize=512)
def offset_at_1970(zone: str) -> int:
    """Seconds that a zone was ahead of UTC in the first second of 1970."""
    offset = datetime.fromtimestamp(0, timezone.utc).astimezone(ZoneInfo(zone)).utcoffset()
    return int(offset.total_seconds()) if offset is not None else 0


def _start_of_months(wall: str, months: int) -> str:
    """ClickHouse counts groups of years from the year 0, groups of quarters and months from 1900."""
    unit = {1: "MONTH", 3: "QUARTER", 12: "YEAR"}.get(months)
    if unit:
        return f"CAST(date_trunc('{unit}', {wall}) AS DATE)"
    since = f"((year({wall}) - 1900) * 12 + month({wall}) - 1)"
    return f"add_months(DATE'1900-01-01', CAST(floor({since} / {months}) * {months} AS INT))"
