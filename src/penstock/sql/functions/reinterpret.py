"""Bytes of a value read as another type: reinterpretAsUInt64, reinterpretAsString, reinterpretAsFixedString

Bytes are little-endian (the least significant first), as in ClickHouse; missing bytes are 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.conversions.numbers import wrap_integer
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.overflow import TWO_64
from penstock.sql.expr.typed import TypedSql, nullable_if_any, number_sql, typed_sql, unless_null
from penstock.sql.functions.arguments import binary_to_string, bytes_as_characters
from penstock.sql.functions.function import STRING, BadArguments, Function

_INTEGER_TYPES = tuple(t.Int(bits, signed) for bits in (8, 16, 32, 64) for signed in (True, False))


def _unsigned_bits(value: TypedSql, name: str) -> tuple[str, int]:
    """The bits of a value as a DECIMAL(20,0) that is not negative, and their number."""
    match value.bare:
        case t.Int() | t.Bool() as of:
            size = of.bits if isinstance(of, t.Int) else 8
            number = number_sql(value)
        case t.Date(wide=False):
            number, size = f"unix_date({value.sql})", 16
        case t.DateTime():
            number, size = f"unix_seconds({value.sql})", 32
        case _:
            raise BadArguments(f"`{name}` of {value.type} is not supported", "of an integer, a Date or a String")
    wide = f"CAST({number} AS DECIMAL(21,0))"
    return bind_if_long(wide, lambda n: f"CAST(if({n} < 0, {n} + {2**size}, {n}) AS DECIMAL(20,0))"), size


def _number_from_bytes(value: TypedSql, size: int) -> str:
    """The first bytes of a string as an unsigned little-endian number, a DECIMAL(20,0)."""
    first = f"reverse(substring({bytes_as_characters(value.sql)}, 1, {size}))"
    number = f"coalesce(conv(hex(encode({first}, 'ISO-8859-1')), 16, 10), '0')"
    sql = f"CAST({number} AS DECIMAL(20,0))"
    return unless_null(sql, value)


def _integer_function(of: t.Int) -> Function:
    name = f"reinterpretAs{of}"

    def build(values: Sequence[TypedSql]) -> TypedSql:
        value = values[0]
        if isinstance(value.bare, (t.String, t.FixedString)):
            bits = _number_from_bytes(value, of.bits // 8)
        else:
            bits, _ = _unsigned_bits(value, name)
        sql = bind_if_long(bits, lambda n: wrap_integer(n, "DECIMAL(20,0)", of))
        return typed_sql(sql, nullable_if_any(of, [value]))

    return Function(name, (1, 1), ("any",), build)


def _hex_digits(value: TypedSql, name: str) -> tuple[str, int]:
    """The bytes of a value as hexadecimal digits, the most significant first, and their number."""
    bits, size = _unsigned_bits(value, name)
    signed = bind_if_long(bits, lambda n: f"CAST(if({n} > {2**63 - 1}, {n} - {TWO_64}, {n}) AS BIGINT)")
    return f"lpad(hex({signed}), {size // 4}, '0')", size // 8


def _to_string(values: Sequence[TypedSql]) -> TypedSql:
    """The bytes of a value without the zero bytes at the end."""
    value = values[0]
    if isinstance(value.bare, t.String):
        return value
    digits, _ = _hex_digits(value, "reinterpretAsString")
    turned = f"reverse(decode(unhex({digits}), 'ISO-8859-1'))"
    shown = f"regexp_replace({turned}, '\\\\x00+\\\\z', '')"
    return typed_sql(binary_to_string(f"encode({shown}, 'ISO-8859-1')"), nullable_if_any(STRING, [value]))


def _to_fixed_string(values: Sequence[TypedSql]) -> TypedSql:
    digits, size = _hex_digits(values[0], "reinterpretAsFixedString")
    turned = f"reverse(decode(unhex({digits}), 'ISO-8859-1'))"
    return typed_sql(
        binary_to_string(f"encode({turned}, 'ISO-8859-1')"), nullable_if_any(t.FixedString(size), [values[0]])
    )


FUNCTIONS: tuple[Function, ...] = (
    *map(_integer_function, _INTEGER_TYPES),
    Function("reinterpretAsString", (1, 1), ("any",), _to_string),
    Function("reinterpretAsFixedString", (1, 1), ("any",), _to_fixed_string),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
