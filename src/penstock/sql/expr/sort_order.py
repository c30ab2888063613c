"""The order of types that are stored as texts but ordered as numbers: enums, UUIDs, IP addresses.

In: a type and SQL of it. Out: SQL that Spark orders as ClickHouse orders the values. Invariant: equal values have
equal keys; the key of NULL is NULL.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.model.types import Type, unwrap_type
from penstock.sql.expr.ip_addresses import ipv4_number, ipv6_digits
from penstock.sql.spark_text import string_literal

_STORED_AS_TEXT = (t.Enum, t.UUID, t.IPv4, t.IPv6)
ORDER_HINT = "use toString(…) of them if the order of their texts is enough"
"""Hint of the error for values that cannot be ordered here."""


def is_stored_as_text(of: Type) -> bool:
    """Whether values of the type are stored as texts but ordered by `order_key`."""
    return isinstance(unwrap_type(of), _STORED_AS_TEXT)


def contains_stored_as_text(of: Type) -> bool:
    """Whether an array, tuple or map of this type contains such values."""
    match unwrap_type(of):
        case t.Array(inner):
            inside = [inner]
        case t.Tuple(fields):
            inside = [each for _, each in fields]
        case t.Map(key, value):
            inside = [key, value]
        case _:
            return False
    return any(is_stored_as_text(each) or contains_stored_as_text(each) for each in inside)


def order_key(of: Type, sql: str) -> str:
    """What to order values by: the value itself, except for types that are stored as texts."""
    match unwrap_type(of):
        case t.Enum() as texts:
            return enum_number(texts, sql)
        case t.UUID():  # The second half counts more.
            return f"concat(substring({sql}, 20, 17), substring({sql}, 1, 18))"
        case t.IPv4():
            return ipv4_number(sql)
        case t.IPv6():
            return ipv6_digits(sql)
        case _:
            return sql


def enum_number(of: t.Enum, sql: str) -> str:
    """The number of an enum's value, given its text."""
    cases = " ".join(f"WHEN {string_literal(name)} THEN {number}" for name, number in of.values)
    return f"CASE {sql} {cases} END"
