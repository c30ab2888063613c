"""The hash of arguments, one after the other: numbers, texts, times, and what holds them (tuples, arrays, maps).

In: arguments and a hash function. Out: SQL of its hash. Invariants: the bytes are those that ClickHouse has of a value,
the least significant first; NULL as an argument gives NULL, in a tuple or an array a hash of its own; no argument is
written more than once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.ip_addresses import ipv4_number, ipv6_digits
from penstock.sql.expr.sort_order import enum_number
from penstock.sql.expr.spark_types import is_fine_time, value_type
from penstock.sql.expr.typed import NOTHING, TypedSql, as_spark, typed_sql, unless_null
from penstock.sql.functions.arguments import binary_to_string
from penstock.sql.functions.function import BadArguments
from penstock.sql.functions.hashes.hash_family import HashFamily, number_bits, number_bytes
from penstock.sql.spark_text import quote_identifier

_ELEMENT, _HASH = "` e`", "` h`"
"""Parameters of the lambda over an array: its element, and the hash of what is before it."""
_DECIMAL_SIZES = ((9, 4), (18, 8), (38, 16))
"""By the most digits of a Decimal, the bytes that ClickHouse keeps it in."""


def hash_values(values: Sequence[TypedSql], family: HashFamily) -> str:
    """The hash of the arguments of a call. Raises BadArguments for types that have none."""
    found = None
    for value in values:
        found = _add(replace(value, type=value.bare), family, found)
    assert found is not None, "a call has an argument"
    return found


def _add(value: TypedSql, family: HashFamily, before: str | None) -> str:
    """The hash of a value after the hash `before`, if there is one. A tuple adds its fields, a map its entries, NULL
    a hash of its own."""
    match value.bare:
        case t.Tuple(fields) if fields:
            null = _join(before, family.of_null, family) if value.nullable else None
            return bind_if_long(value.sql, lambda sql: _unless(sql, null, _add_fields(sql, fields, family, before)))
        case t.Map(key, item):
            entry = t.Tuple((("key", key), ("value", item)))
            return _add_array(typed_sql(f"map_entries({value.sql})", t.Array(entry)), entry, family, before)
        case t.Array(of):
            return _add_array(value, of, family, before)
        case of:
            found = family.of_null if of == NOTHING else _hash_leaf(value, family)
            known = of == NOTHING or not value.nullable
            return _join(before, found if known else f"coalesce({found}, {family.of_null})", family)


def _unless(sql: str, null: str | None, found: str) -> str:
    return found if null is None else f"if({sql} IS NULL, {null}, {found})"


def _add_fields(sql: str, fields: Sequence[tuple[str | None, Type]], family: HashFamily, before: str | None) -> str:
    for place, (name, of) in enumerate(fields, 1):
        before = _add(typed_sql(f"{sql}.{quote_identifier(name or f'_{place}')}", of), family, before)
    assert before is not None, "a tuple has a field"
    return before


def _join(before: str | None, found: str, family: HashFamily) -> str:
    return found if before is None else family.combine(before, found)


def _add_array(value: TypedSql, of: Type, family: HashFamily, before: str | None) -> str:
    """The number of elements, then the hash of each."""
    if of == NOTHING:
        return _join(before, family.hash_size("0L"), family)
    one = _add(typed_sql(_ELEMENT, of), family, None)
    step = f"({_HASH}, {_ELEMENT}) -> {family.combine(_HASH, one)}"

    def fold(array: str) -> str:
        start = _join(before, family.hash_size(f"CAST(size({array}) AS BIGINT)"), family)
        return f"aggregate({array}, {start}, {step})"

    return bind_if_long(value.sql, fold)


def _hash_leaf(value: TypedSql, family: HashFamily) -> str:
    """The hash of one value; NULL for NULL."""
    number = _number(value)
    if number is not None:
        return family.hash_number(*number)
    return family.hash_bytes(_bytes(value, family.name))


def _number(value: TypedSql) -> tuple[str, int] | None:
    """A number of up to 64 bits as a BIGINT, and the bytes that it has; None for other values."""
    match value.bare:
        case t.Bool():
            return as_spark(value, "BIGINT"), 1
        case t.Int(bits) as of:
            return number_bits(value, of), bits // 8
        case t.Float(bits) as of:
            return f"penstock_bits({as_spark(value, value_type(of))})", bits // 8
        case t.Enum(bits) as of:
            number = f"CAST({enum_number(of, value.sql)} AS BIGINT)"
            return f"({number} & {2**bits - 1}L)", bits // 8
        case t.Date(wide):
            days = f"CAST(unix_date({value.sql}) AS BIGINT)"
            return (f"({days} & {2**32 - 1}L)", 4) if wide else (days, 2)
        case t.DateTime():
            return f"unix_seconds({value.sql})", 4
        case t.IPv4():
            return unless_null(ipv4_number(value.sql), value), 4
        case _:
            return None


def _bytes(value: TypedSql, name: str) -> str:
    """The bytes of a value that is no such number. Raises BadArguments for types that the function `name` does not
    take."""
    match value.bare:
        case t.String() | t.FixedString():
            return value.sql
        case t.IPv6():
            return binary_to_string(f"unhex({ipv6_digits(value.sql)})")
        case t.UUID():
            return f"penstock_uuid_bytes({value.sql})"
        case t.Decimal(precision) as of:
            size = next(size for digits, size in _DECIMAL_SIZES if precision <= digits)
            return number_bytes(as_spark(value, value_type(of)), size)
        case t.DateTime64(precision) as of:
            if is_fine_time(of):
                return number_bytes(f"CAST({value.sql} AS DECIMAL(20,{precision}))", 8)
            return number_bytes(f"unix_micros({value.sql}) DIV {10 ** (6 - precision)}L", 8)
        case _:
            raise BadArguments(
                f"`{name}` of a {value.type} is not supported",
                "toString(…) of it, if the hash need not be the same in ClickHouse",
            )
