"""Time zones: toTimeZone, timezoneOf, timezoneOffset, toUTCTimestamp, fromUTCTimestamp

A zone is part of a value's type and must be a literal. `apply_zone_argument` gives the value the zone that a function's
zone argument names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.dates import FIRST_SECOND, LAST_SECOND, clamp, wall_clock, zone_of
from penstock.sql.expr.typed import TypedSql, nullable_if_any, typed_sql
from penstock.sql.functions.arguments import literal_zone
from penstock.sql.functions.function import STRING, BadArguments, Function
from penstock.sql.spark_text import string_literal


def apply_zone_argument(value: TypedSql, values: Sequence[TypedSql], place: int) -> TypedSql:
    """The value in the zone that the literal argument at `place` names, or unchanged if there is none. Raises
    BadArguments for a Date."""
    if len(values) <= place:
        return value
    zone = literal_zone(values[place])
    match value.bare:
        case t.DateTime():
            of: Type = t.DateTime(zone)
        case t.DateTime64(precision, _):
            of = t.DateTime64(precision, zone)
        case _:
            raise BadArguments(f"{value.type} has no time zone")
    return replace(value, type=nullable_if_any(of, [value]))


def _to_time_zone(values: Sequence[TypedSql]) -> TypedSql:
    value = values[0]
    if isinstance(value.bare, t.Date):
        raise BadArguments("a Date has no time zone", "convert it by toDateTime first")
    return apply_zone_argument(value, values, 1)


def _time_zone_offset(values: Sequence[TypedSql]) -> TypedSql:
    value = values[0]
    if not isinstance(value.bare, (t.DateTime, t.DateTime64)):
        raise BadArguments("`timezoneOffset` needs a DateTime")
    moved = f"CAST(unix_seconds({wall_clock(value)}) - unix_seconds({value.sql}) AS INT)"
    return TypedSql(
        moved if zone_of(value.bare) else f"(0 * second({value.sql}))", nullable_if_any(t.Int(32), [value]), "INT"
    )


def _time_zone_name(values: Sequence[TypedSql]) -> TypedSql:
    of = values[0].bare if values else t.DateTime()
    if not isinstance(of, (t.DateTime, t.DateTime64)):
        raise BadArguments("`timezoneOf` needs a DateTime")
    if of.zone is None and values:
        raise BadArguments("the time zone is the server's", "timezoneOf(toTimeZone(…, 'UTC'))")
    return typed_sql(string_literal(of.zone or "UTC"), STRING)


def _require_zoneless(value: TypedSql, name: str) -> t.DateTime | t.DateTime64:
    if not isinstance(value.bare, (t.DateTime, t.DateTime64)) or value.bare.zone is not None:
        raise BadArguments(f"`{name}` takes a DateTime or DateTime64 that names no zone, this is {value.type}")
    return value.bare


def _clip_datetime(value: TypedSql, sql: str) -> TypedSql:
    if isinstance(value.bare, t.DateTime):
        sql = clamp(sql, FIRST_SECOND, LAST_SECOND, nullable=value.nullable)
    return typed_sql(sql, value.type)


def _to_utc_timestamp(values: Sequence[TypedSql]) -> TypedSql:
    """ClickHouse subtracts the offset that the zone has when this time is read as UTC."""
    value, zone = values[0], string_literal(literal_zone(values[1]))
    _require_zoneless(value, "toUTCTimestamp")
    sql = bind_if_long(
        value.sql, lambda v: f"timestamp_micros(2 * unix_micros({v}) - unix_micros(from_utc_timestamp({v}, {zone})))"
    )
    return _clip_datetime(value, sql)


def _from_utc_timestamp(values: Sequence[TypedSql]) -> TypedSql:
    value, zone = values[0], string_literal(literal_zone(values[1]))
    _require_zoneless(value, "fromUTCTimestamp")
    return _clip_datetime(value, f"from_utc_timestamp({value.sql}, {zone})")


FUNCTIONS: tuple[Function, ...] = (
    Function("toTimeZone", (2, 2), ("time", "constant"), _to_time_zone),
    Function("timezoneOffset", (1, 1), ("time",), _time_zone_offset),
    Function("timezoneOf", (1, 1), ("time",), _time_zone_name),
    Function("timezone", (0, 0), ("any",), _time_zone_name),
    Function("toUTCTimestamp", (2, 2), ("time", "constant"), _to_utc_timestamp),
    Function("fromUTCTimestamp", (2, 2), ("time", "constant"), _from_utc_timestamp),
)
ALIASES: dict[str, str] = {
    "toTimezone": "toTimeZone",
    "timeZoneOffset": "timezoneOffset",
    "timeZoneOf": "timezoneOf",
    "timeZone": "timezone",
    "to_utc_timestamp": "toUTCTimestamp",
    "from_utc_timestamp": "fromUTCTimestamp",
}
ANY_CASE: tuple[str, ...] = ("to_utc_timestamp", "from_utc_timestamp", "timeZone")
