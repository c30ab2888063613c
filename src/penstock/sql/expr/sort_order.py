"""The order of values that are kept as texts and ordered by numbers: enumerations, UUIDs, IP addresses.

In: a type and SQL. Out: SQL of what Spark orders as ClickHouse orders the values. Called by comparisons, ordering
and aggregates. Invariant: equal values have equal keys; NULL has NULL.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.model.types import Type, unwrap_type
from penstock.sql.expr.ip_addresses import ipv4_number, ipv6_digits
from penstock.sql.spark_text import string_literal

_STORED_AS_TEXT = (t.Enum, t.UUID, t.IPv4, t.IPv6)
ORDER_HINT = "toString(…) of them, if the order of texts will do"


def is_stored_as_text(of: Type) -> bool:
    """Whether the values of a type are ordered by `order_key`."""
    return isinstance(unwrap_type(of), _STORED_AS_TEXT)


def contains_stored_as_text(of: Type) -> bool:
    """Whether there are such values inside of an array, a tuple or a map."""
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
    """What to order values by: themselves, but for those that are kept as texts."""
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
    """The number behind a text of an enumeration."""
    cases = " ".join(f"WHEN {string_literal(name)} THEN {number}" for name, number in of.values)
    return f"CASE {sql} {cases} END"
