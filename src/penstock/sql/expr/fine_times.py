"""Times finer than microseconds: DateTime64(7), (8) and (9), stored as decimals.

Spark's timestamps have microseconds. A finer time is stored as the decimal number of seconds since 1970, with nine
digits after the point, so it keeps its nanoseconds, sorts and compares as it is, and two precisions have one stored
form. In: typed SQL. Out: the same. Invariant: what is taken to microseconds is cut off towards the past, as in
ClickHouse; no conversion goes through a double.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from penstock.model import types as t
from penstock.model.types import Type, unwrap_type
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.spark_types import FINE_TIME, is_fine_time
from penstock.sql.expr.typed import TypedSql, fine_from_timestamp, nullable_if_any, typed_sql

_NANOSECONDS = 10**9


def has_fine_time(of: Type) -> bool:
    """Whether a type is a fine time or contains one."""
    match unwrap_type(of):
        case t.Array(inner):
            return has_fine_time(inner)
        case t.Map(key, value):
            return has_fine_time(key) or has_fine_time(value)
        case t.Tuple(fields):
            return any(has_fine_time(inner) for _, inner in fields)
        case plain:
            return is_fine_time(plain)


def as_microseconds(value: TypedSql) -> TypedSql:
    """A fine time as a DateTime64(6), without its nanoseconds; every other value as it is."""
    of = value.bare
    if not isinstance(of, t.DateTime64) or not is_fine_time(of):
        return value
    sql = f"timestamp_micros(CAST(floor({value.sql} * 1000000) AS BIGINT))"
    return typed_sql(sql, nullable_if_any(t.DateTime64(6, of.zone), [value]))


def as_fine_time(value: TypedSql, want: t.DateTime64) -> str:
    """The SQL of a time as a fine time of a precision; what is finer is cut off."""
    if value.spark != FINE_TIME:
        return fine_from_timestamp(value.sql)
    have = value.bare
    fits = isinstance(have, t.DateTime64) and have.precision <= want.precision
    return value.sql if fits else cut_fine_toward_1970(value.sql, want.precision)


def cut_fine_time(sql: str, precision: int) -> str:
    """Decimal seconds without the digits after the first `precision`, as a fine time."""
    return f"CAST(floor({sql}, {precision}) AS {FINE_TIME})"


def cut_fine_toward_1970(sql: str, precision: int) -> str:
    """As `cut_fine_time`, but before 1970 to the next later time, as ClickHouse converts."""
    unit = f"{10.0**-precision:.{precision}f}BD" if precision else "1"
    return bind_if_long(sql, lambda x: f"CAST({x} - {x} % {unit} AS {FINE_TIME})")


def nanoseconds(sql: str) -> str:
    """A fine time as the number of nanoseconds since 1970, as a BIGINT."""
    return f"CAST({sql} * {_NANOSECONDS} AS BIGINT)"


def from_nanoseconds(sql: str) -> str:
    """The fine time that is so many nanoseconds after 1970."""
    return f"CAST(CAST({sql} AS DECIMAL(20,0)) * 0.000000001BD AS {FINE_TIME})"


def fraction_text(sql: str, precision: int) -> str:
    """The digits of a fine time after the point, as text."""
    return f"left(lpad(CAST(CAST(pmod({sql}, 1) * {_NANOSECONDS} AS BIGINT) AS STRING), 9, '0'), {precision})"


def move_fine_time(value: TypedSql, move: Callable[[TypedSql], TypedSql]) -> TypedSql:
    """A fine time moved by what moves its microseconds; the nanoseconds below them stay. Beyond the 64 bits in which
    ClickHouse counts the units of a precision, it wraps around."""
    of = value.bare
    assert isinstance(of, t.DateTime64), "a fine time"
    half = Decimal(2**63).scaleb(-of.precision)

    def formula(sql: str) -> str:
        micros = as_microseconds(typed_sql(sql, value.type))
        seconds = f"CAST(unix_micros({move(micros).sql}) AS DECIMAL(20,0)) * 0.000001BD"
        return f"({seconds} + pmod({sql}, 0.000001BD))"

    moved = move(as_microseconds(value))
    sql = f"CAST(pmod({bind_if_long(value.sql, formula)} + {half}BD, {half * 2}BD) - {half}BD AS {FINE_TIME})"
    return typed_sql(sql, nullable_if_any(of, [value, moved]))
