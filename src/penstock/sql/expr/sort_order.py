"""The order of types that are stored as texts but ordered as numbers (enums, UUIDs, IP addresses), and of arrays and
tuples, in which NULL and NaN have a place.

In: a type and SQL of it. Out: SQL that Spark orders as ClickHouse orders the values. Invariant: equal values have
equal keys; the key of NULL is NULL.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from penstock.model import types as t
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.sql.expr.bind_once import fresh_name
from penstock.sql.expr.ip_addresses import ipv4_number, ipv6_digits
from penstock.sql.spark_text import quote_identifier, string_literal

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


OddPlace: TypeAlias = Literal["greatest", "least"]
"""Whether NULL, and NaN beside it, are the greatest or the least elements inside arrays and tuples. ClickHouse takes
the side that loses: the greatest for min, least and ORDER BY, the least for max, greatest and ORDER BY … DESC."""


def nested_key(of: Type, sql: str, odd: OddPlace) -> str:
    """What to order arrays and tuples by; other values as they are. In Spark NULL is the least and NaN the greatest
    element."""
    return _element_key(unwrap_type(of), sql, odd) if needs_nested_key(of, odd) else sql


def needs_nested_key(of: Type, odd: OddPlace) -> bool:
    """Whether Spark orders the arrays or tuples of this type otherwise."""
    match unwrap_type(of):
        case t.Array(inner):
            return _is_odd(inner, odd)
        case t.Tuple(fields):
            return any(_is_odd(inner, odd) for _, inner in fields)
        case _:
            return False


def _is_odd(of: Type, odd: OddPlace) -> bool:
    if odd == "greatest" and is_nullable(of):
        return True
    return (odd == "least" and isinstance(unwrap_type(of), t.Float)) or needs_nested_key(of, odd)


def _element_key(of: Type, sql: str, odd: OddPlace) -> str:
    match unwrap_type(of):
        case t.Array(inner) if _is_odd(inner, odd):
            name = fresh_name("k", sql)
            return f"transform({sql}, {name} -> {_element_key(inner, name, odd)})"
        case t.Tuple(fields) if needs_nested_key(of, odd):
            names = (quote_identifier(name or f"_{place}") for place, (name, _) in enumerate(fields, 1))
            keys = (_element_key(inner, f"{sql}.{name}", odd) for name, (_, inner) in zip(names, fields, strict=True))
            return f"struct({', '.join(keys)})"
        case t.Float() if odd == "least":
            return f"struct(CASE WHEN {sql} IS NULL THEN 0 WHEN isnan({sql}) THEN 1 ELSE 2 END, {sql})"
        case _:
            return f"struct({sql} IS NULL, {sql})" if odd == "greatest" and is_nullable(of) else sql


def enum_number(of: t.Enum, sql: str) -> str:
    """The number of an enum's value, given its text."""
    cases = " ".join(f"WHEN {string_literal(name)} THEN {number}" for name, number in of.values)
    return f"CASE {sql} {cases} END"
