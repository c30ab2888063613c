"""The values that a hash function reads for one argument: strings of bytes, and integers, dates and times.

In: an argument. Out: values whose hashes, one after the other, are ClickHouse's of the argument: the fields of a tuple,
the number of an enum or an address, the bytes of a UUID, a Decimal or a DateTime64 (the least significant first).
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.sql.expr.ip_addresses import ipv4_number, ipv6_digits
from penstock.sql.expr.sort_order import enum_number
from penstock.sql.expr.spark_types import is_fine_time, value_type
from penstock.sql.expr.typed import TypedSql, typed_sql
from penstock.sql.functions.arguments import binary_to_string
from penstock.sql.functions.function import UINT32, BadArguments
from penstock.sql.spark_text import quote_identifier

_WIDEST = 18
"""The most digits of a Decimal whose number has 64 bits."""


def hashed_values(value: TypedSql, name: str) -> list[TypedSql]:
    """The values to hash. Raises BadArguments for types that the function `name` does not take."""
    of = value.bare
    if isinstance(of, t.Tuple) and of.fields:
        return [each for place in range(len(of.fields)) for each in hashed_values(_field(value, of, place, name), name)]
    return [_plain_value(value)]


def _field(value: TypedSql, of: t.Tuple, place: int, name: str) -> TypedSql:
    field, inner = of.fields[place]
    if t.is_nullable(inner):
        raise BadArguments(f"`{name}` of a tuple with a {inner} is not supported", "ifNull(…), or its elements")
    return typed_sql(f"{value.sql}.{quote_identifier(field or f'_{place + 1}')}", inner)


def _plain_value(value: TypedSql) -> TypedSql:
    """The value as a String or an integer where its own type has other bytes in Spark; NULL for NULL."""
    match value.bare:
        case t.Enum(bits) as of:
            return _like(value, f"CAST({enum_number(of, value.sql)} AS {value_type(t.Int(bits))})", t.Int(bits))
        case t.Date(wide=True):
            return _like(value, f"unix_date({value.sql})", t.Int(32))
        case t.IPv4():
            return _like(value, f"if({value.sql} IS NULL, NULL, {ipv4_number(value.sql)})", UINT32)
        case t.IPv6():
            return _like(value, binary_to_string(f"unhex({ipv6_digits(value.sql)})"), t.String())
        case t.UUID():
            digits = f"replace({value.sql}, '-', '')"
            halves = (f"unhex(substring({digits}, {start}, 16))" for start in (1, 17))
            return _like(value, binary_to_string(f"concat({', '.join(map(_reversed, halves))})"), t.String())
        case t.Decimal(precision, scale) if precision <= _WIDEST:
            number = f"CAST({value.sql} * {10**scale}BD AS BIGINT)"
            return _like(value, _number_bytes(number, 8 if precision <= 9 else 16), t.String())
        case t.DateTime64(precision) if not is_fine_time(value.bare):
            number = f"unix_micros({value.sql}) DIV {10 ** (6 - precision)}L"
            return _like(value, _number_bytes(number, 16), t.String())
        case _:
            return value


def _like(value: TypedSql, sql: str, of: t.Type) -> TypedSql:
    return typed_sql(sql, t.Nullable(of) if value.nullable else of)


def _number_bytes(number: str, digits: int) -> str:
    """The bytes of a BIGINT as a string, the least significant first."""
    low = number if digits == 16 else f"({number}) & 4294967295L"
    return binary_to_string(_reversed(f"unhex(lpad(hex({low}), {digits}, '0'))"))


def _reversed(binary: str) -> str:
    """Bytes in the opposite order."""
    return f"encode(reverse(decode({binary}, 'ISO-8859-1')), 'ISO-8859-1')"
