"""Conversions to texts and to types stored as texts: String, FixedString, UUID, enums, JSON, IP addresses.

In: a value and a type. Out: `Conversion`. Invariant: numbers and times are written as ClickHouse writes them (1 for
1.0, no trailing zeros in decimals).
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.model.json_documents.spark_functions import FLOAT_TEXT
from penstock.model.types import Type
from penstock.sql.conversions.array_texts import nested_text
from penstock.sql.conversions.conversion import Conversion, Overflow
from penstock.sql.expr.dates import wall_clock
from penstock.sql.expr.fine_times import as_microseconds, fraction_text
from penstock.sql.expr.ip_addresses import (
    IPV4_PATTERN,
    STRICT_IPV4_PATTERN,
    ipv4_number,
    ipv4_text,
    ipv6_digits,
    ipv6_text,
)
from penstock.sql.expr.json_documents import shown_json, stored_json
from penstock.sql.expr.spark_types import FINE_TIME, value_type
from penstock.sql.expr.typed import TypedSql, as_spark
from penstock.sql.spark_text import string_literal

_HEX = "[0-9a-fA-F]"
_UUID = string_literal(rf"^({_HEX}{{8}}-({_HEX}{{4}}-){{3}}{_HEX}{{12}}|{_HEX}{{32}})\z")
_WITHOUT_SIGNS = "'^(.{8})(.{4})(.{4})(.{4})(.{12})$', '$1-$2-$3-$4-$5'"
_TEXTS = (t.String, t.FixedString, t.UUID, t.Enum, t.Json, t.IPv4, t.IPv6)


def to_text(value: TypedSql, want: Type, overflow: Overflow) -> Conversion | None:
    """A value as a type that is stored as text; None if ClickHouse has no such conversion."""
    if isinstance(want, t.Enum):
        return _to_enum(value, want)
    if isinstance(want, t.IPv4) and isinstance(value.bare, (t.Int, t.Bool)):
        return _ipv4_of_number(value, overflow)
    shown = as_text(value)
    if shown is None or isinstance(want, t.String):
        return Conversion(shown) if shown is not None else None
    if isinstance(want, t.FixedString):
        padded = f"concat({shown}, repeat(chr(0), {want.length} - octet_length({shown})))"
        return Conversion(padded, f"octet_length({shown}) <= {want.length}")
    if isinstance(want, t.IPv6) and isinstance(value.bare, t.IPv4):
        return Conversion(ipv6_text(ipv6_digits(shown)))
    if not isinstance(value.bare, (t.String, type(want))) or value.bare == want:
        return Conversion(value.sql) if value.bare == want else None
    return _to_kept_text(shown, want, overflow)


def _to_kept_text(shown: str, want: Type, overflow: Overflow) -> Conversion | None:
    """A text as a type whose texts have one format."""
    match want:
        case t.UUID():
            return Conversion(f"regexp_replace(lower({shown}), {_WITHOUT_SIGNS})", f"{shown} RLIKE {_UUID}")
        case t.IPv4():
            pattern = STRICT_IPV4_PATTERN if overflow == "refused" else IPV4_PATTERN
            return Conversion(ipv4_text(ipv4_number(shown)), f"{shown} RLIKE {pattern}")
        case t.IPv6():
            return Conversion(ipv6_text(ipv6_digits(shown)), f"{ipv6_digits(shown)} IS NOT NULL")
        case t.Json():
            return Conversion(stored_json(shown, want), f"{stored_json(shown, want)} IS NOT NULL")
        case _:
            return None


def _ipv4_of_number(value: TypedSql, overflow: Overflow) -> Conversion | None:
    """The address of the lowest 32 bits of an unsigned integer. ClickHouse has no accurate form of it."""
    of = value.bare if isinstance(value.bare, t.Int) else t.Int(8, signed=False)
    if of.signed or overflow == "refused":
        return None
    number = as_spark(value, value_type(of) if of.bits == 64 else "BIGINT")
    return Conversion(ipv4_text(number if of.bits < 64 else f"CAST(pmod({number}, {2**32}) AS BIGINT)"))


def _to_enum(value: TypedSql, want: t.Enum) -> Conversion | None:
    if isinstance(value.bare, t.Int):
        pairs = ", ".join(f"{number}, {string_literal(name)}" for name, number in want.values)
        sql = f"map({pairs})[{as_spark(value, 'INT')}]"
        return Conversion(sql, f"{sql} IS NOT NULL")
    if not isinstance(value.bare, (t.String, t.FixedString, t.Enum)):
        return None
    names = ", ".join(string_literal(name) for name, _ in want.values)
    return Conversion(value.sql, f"{value.sql} IN ({names})")


def as_text(value: TypedSql) -> str | None:
    """The text that ClickHouse writes for a value; None if that is not supported."""
    match value.bare:
        case t.FixedString() if value.constant is None:
            return f"rtrim(chr(0), {value.sql})"
        case of if isinstance(of, _TEXTS):
            return shown_json(value.sql) if isinstance(value.bare, t.Json) else value.sql
        case t.Int() if value.spark == "BOOLEAN":
            return f"CAST({as_spark(value, 'INT')} AS STRING)"
        case t.Int() | t.Bool() | t.Date():
            return f"CAST({value.sql} AS STRING)"
        case t.DateTime() | t.DateTime64() as of:
            return _time_text(value, of)
        case t.Decimal(_, scale):
            shown = f"CAST({value.sql} AS STRING)"
            return f"regexp_replace({shown}, '[.]?0+$', '')" if scale else shown
        case t.Float():
            return f"{FLOAT_TEXT}({as_spark(value, value_type(value.bare))})"
        case _:
            return nested_text(value, as_text)


def _time_text(value: TypedSql, of: t.DateTime | t.DateTime64) -> str:
    """The time on the clock of its zone, with the digits of its type."""
    precision = of.precision if isinstance(of, t.DateTime64) else 0
    if value.spark == FINE_TIME:
        second = f"date_format({wall_clock(as_microseconds(value))}, 'yyyy-MM-dd HH:mm:ss')"
        return f"concat({second}, '.', {fraction_text(value.sql, precision)})"
    fraction = f".{'S' * precision}" if precision else ""
    return f"date_format({wall_clock(value)}, 'yyyy-MM-dd HH:mm:ss{fraction}')"
