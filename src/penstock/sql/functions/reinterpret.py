"""The bytes of a value as another type: reinterpretAs* of integers, days, seconds and texts; parts of UUIDs and IPv6.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: the least byte comes first;
bytes that are missing are 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.conversions.numbers import wrap_integer
from penstock.sql.expr.bind_once import bind_if_long, bind_once
from penstock.sql.expr.ip_addresses import IPV6_DIGITS, ipv6_digits, ipv6_text
from penstock.sql.expr.overflow import TWO_64
from penstock.sql.expr.typed import Typed, nullable_if_any, number_sql, typed, unless_null
from penstock.sql.functions.arguments import binary_to_string, literal_integer, literal_string
from penstock.sql.functions.function import STRING, BadArguments, Function
from penstock.sql.functions.strings.basics import bytes_as_characters

_INTEGER_TYPES = tuple(t.Int(bits, signed) for bits in (8, 16, 32, 64) for signed in (True, False))
_IPV6_RANGE = t.Tuple(((None, t.IPv6()), (None, t.IPv6())))


def _unsigned_bits(value: Typed, name: str) -> tuple[str, int]:
    """The bits of a value as a DECIMAL(20,0) that is not negative, and how many they are."""
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


def _number_from_bytes(value: Typed, size: int) -> str:
    """The first bytes of a text as a DECIMAL(20,0)."""
    first = f"reverse(substring({bytes_as_characters(value.sql)}, 1, {size}))"
    number = f"coalesce(conv(hex(encode({first}, 'ISO-8859-1')), 16, 10), '0')"
    sql = f"CAST({number} AS DECIMAL(20,0))"
    return unless_null(sql, value)


def _integer_function(of: t.Int) -> Function:
    name = f"reinterpretAs{of}"

    def build(values: Sequence[Typed]) -> Typed:
        value = values[0]
        if isinstance(value.bare, (t.String, t.FixedString)):
            bits = _number_from_bytes(value, of.bits // 8)
        else:
            bits, _ = _unsigned_bits(value, name)
        sql = bind_if_long(bits, lambda n: wrap_integer(n, "DECIMAL(20,0)", of))
        return typed(sql, nullable_if_any(of, [value]))

    return Function(name, (1, 1), ("any",), build)


def _hex_digits(value: Typed, name: str) -> tuple[str, int]:
    """The bytes as hexadecimal digits, the greatest first."""
    bits, size = _unsigned_bits(value, name)
    signed = bind_if_long(bits, lambda n: f"CAST(if({n} > {2**63 - 1}, {n} - {TWO_64}, {n}) AS BIGINT)")
    return f"lpad(hex({signed}), {size // 4}, '0')", size // 8


def _to_string(values: Sequence[Typed]) -> Typed:
    """Without the zero bytes at the end."""
    value = values[0]
    if isinstance(value.bare, t.String):
        return value
    digits, _ = _hex_digits(value, "reinterpretAsString")
    turned = f"reverse(decode(unhex({digits}), 'ISO-8859-1'))"
    shown = f"regexp_replace({turned}, '\\\\x00+\\\\z', '')"
    return typed(binary_to_string(f"encode({shown}, 'ISO-8859-1')"), nullable_if_any(STRING, [value]))


def _to_fixed_string(values: Sequence[Typed]) -> Typed:
    digits, size = _hex_digits(values[0], "reinterpretAsFixedString")
    turned = f"reverse(decode(unhex({digits}), 'ISO-8859-1'))"
    return typed(binary_to_string(f"encode({turned}, 'ISO-8859-1')"), nullable_if_any(t.FixedString(size), [values[0]]))


def _uuid_to_number(values: Sequence[Typed]) -> Typed:
    if not isinstance(values[0].bare, t.UUID):
        raise BadArguments(f"`UUIDToNum` needs a UUID, this is {values[0].type}", "toUUID, or UUIDStringToNum")
    return typed(
        binary_to_string(f"unhex(replace({values[0].sql}, '-', ''))"), nullable_if_any(t.FixedString(16), [values[0]])
    )


def _uuid_timestamp(values: Sequence[Typed]) -> Typed:
    """The milliseconds in a UUID of version 7; 1970 in any other."""
    value = values[0]
    if not isinstance(value.bare, t.UUID):
        raise BadArguments(f"`UUIDv7ToDateTime` needs a UUID, this is {value.type}", "toUUID")
    of = t.DateTime64(3, literal_string(values[1], "the time zone") if len(values) > 1 else None)
    digits = f"replace(left({value.sql}, 13), '-', '')"
    millis = f"CAST(conv({digits}, 16, 10) AS BIGINT)"
    return typed(
        f"timestamp_millis(if(substring({value.sql}, 15, 1) = '7', {millis}, 0L))", nullable_if_any(of, [value])
    )


def _ipv6_cidr_range(values: Sequence[Typed]) -> Typed:
    """The first and the last address of a prefix; one longer than 128 is 128."""
    size = min(literal_integer(values[1], "the prefix of `IPv6CIDRToRange`"), 128)
    if size < 0 or values[0].nullable or not isinstance(values[0].bare, t.IPv6):
        raise BadArguments("`IPv6CIDRToRange` takes an IPv6 that is not Nullable and a literal prefix", "toIPv6")
    whole, rest = divmod(size, 4)

    def end(filler: str) -> str:
        kept = f"left(` r`, {whole})"
        if rest:
            mask = 2 ** (4 - rest) - 1
            signs = "".join(f"{digit | mask if filler == 'f' else digit & ~mask & 15:x}" for digit in range(16))
            kept = f"concat({kept}, translate(substring(` r`, {whole + 1}, 1), '0123456789abcdef', '{signs}'))"
        return ipv6_text(f"rpad({kept}, {IPV6_DIGITS}, '{filler}')")

    parts = f"named_struct('_1', {end('0')}, '_2', {end('f')})"
    return typed(bind_once(ipv6_digits(values[0].sql), "` r`", parts), _IPV6_RANGE)


FUNCTIONS: tuple[Function, ...] = (
    *map(_integer_function, _INTEGER_TYPES),
    Function("reinterpretAsString", (1, 1), ("any",), _to_string),
    Function("reinterpretAsFixedString", (1, 1), ("any",), _to_fixed_string),
    Function("UUIDToNum", (1, 1), ("any",), _uuid_to_number),
    Function("UUIDv7ToDateTime", (1, 2), ("any", "constant"), _uuid_timestamp),
    Function("IPv6CIDRToRange", (2, 2), ("any", "constant"), _ipv6_cidr_range),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
