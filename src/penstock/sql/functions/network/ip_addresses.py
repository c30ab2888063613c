"""IP addresses: IPv4NumToString, IPv6StringToNum, isIPAddressInRange, IPv4CIDRToRange

A string that is no address is an error, NULL or 0, as the function's name says. The 16 bytes of an IPv6 address are a
FixedString(16), as in ClickHouse.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.expr.bind_once import bind_if_long, bind_once
from penstock.sql.expr.ip_addresses import (
    IPV6_DIGITS,
    ip_literal_digits,
    ipv4_number,
    ipv4_text,
    ipv6_digits,
    ipv6_text,
)
from penstock.sql.expr.typed import TypedSql, as_spark, nullable_if_any, typed_sql, unless_null
from penstock.sql.functions.arguments import literal_integer, literal_string
from penstock.sql.functions.function import STRING, UINT8, UINT32, BadArguments, Function
from penstock.sql.spark_text import string_literal

_DECIMAL_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4_ADDRESS = string_literal(rf"^{_DECIMAL_BYTE}[.]{_DECIMAL_BYTE}[.]{_DECIMAL_BYTE}[.]{_DECIMAL_BYTE}\z")
_SIXTEEN_BYTES = t.FixedString(16)
_WITHOUT_ZEROS = string_literal(r"^(0|[1-9][0-9]*)([.](0|[1-9][0-9]*)){3}\z")
_ZERO_DIGITS = f"'{'0' * IPV6_DIGITS}'"
_IPV4_RANGE = t.Tuple(((None, t.IPv4()), (None, t.IPv4())))
_NOT_IPV6 = "raise_error('the text is no IPv6 address')"
_IPV6_RANGE = t.Tuple(((None, t.IPv6()), (None, t.IPv6())))


def _ipv4_to_string_function(name: str, last: str) -> Function:
    """A number as a dotted address; `last` is the template of its last byte."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        of = values[0].bare
        if not isinstance(of, t.Int) or of.signed or of.bits > 32:
            raise BadArguments(f"`{name}` needs a UInt32, this is {values[0].type}", "toUInt32(…)")

        def formula(v: str) -> str:
            parts = (f"CAST(shiftright({v}, {shift}) & 255L AS STRING)" for shift in (24, 16, 8))
            return f"concat_ws('.', {', '.join(parts)}, {last.format(v)})"

        sql = bind_if_long(as_spark(values[0], "BIGINT"), formula)
        sql = unless_null(sql, values[0])
        return typed_sql(sql, nullable_if_any(STRING, list(values)))

    return Function(name, (1, 1), ("integer",), build)


def _ipv4_to_number_function(name: str, otherwise: str) -> Function:
    """A dotted address as a number; `otherwise` is the SQL for a string that is no address."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        def formula(v: str) -> str:
            parts = f"transform(split({v}, '[.]'), ` p` -> CAST(` p` AS BIGINT))"
            number = f"aggregate({parts}, 0L, (` a`, ` e`) -> ` a` * 256L + ` e`)"
            return f"CASE WHEN {v} IS NULL THEN NULL WHEN {v} RLIKE {_IPV4_ADDRESS} THEN {number} ELSE {otherwise} END"

        of = t.Nullable(UINT32) if otherwise == "NULL" else nullable_if_any(UINT32, list(values))
        return typed_sql(bind_if_long(values[0].sql, formula), of)

    return Function(name, (1, 1), ("text",), build)


def _is_ipv4(values: Sequence[TypedSql]) -> TypedSql:
    return TypedSql(f"({values[0].sql} RLIKE {_IPV4_ADDRESS})", nullable_if_any(UINT8, list(values)), "BOOLEAN")


def _unhex_string(digits: str) -> str:
    return f"CAST(unhex({digits}) AS STRING)"


def _ipv6_to_bytes_function(name: str, otherwise: str) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        value = values[0].sql
        known = ipv6_digits(f"if(contains({value}, ':') OR {value} RLIKE {_WITHOUT_ZEROS}, {value}, '')")
        sql = f"CASE WHEN {value} IS NULL THEN NULL ELSE coalesce({known}, {otherwise}) END"
        of = t.Nullable(_SIXTEEN_BYTES) if otherwise == "NULL" else nullable_if_any(_SIXTEEN_BYTES, list(values))
        return typed_sql(_unhex_string(sql), of)

    return Function(name, (1, 1), ("text",), build)


def _ipv6_hex_digits(value: TypedSql, name: str) -> str:
    if isinstance(value.bare, t.IPv6):
        return ipv6_digits(value.sql)
    if value.bare != _SIXTEEN_BYTES:
        raise BadArguments(f"`{name}` needs an IPv6 or a FixedString(16), this is {value.type}")
    return f"lower(hex({value.sql}))"


def _ipv6_to_string(values: Sequence[TypedSql]) -> TypedSql:
    return typed_sql(ipv6_text(_ipv6_hex_digits(values[0], "IPv6NumToString")), nullable_if_any(STRING, list(values)))


def _is_ipv6(values: Sequence[TypedSql]) -> TypedSql:
    value = values[0].sql
    sql = f"(contains({value}, ':') AND if({value} IS NULL, NULL, {ipv6_digits(value)} IS NOT NULL))"
    return TypedSql(sql, nullable_if_any(UINT8, list(values)), "BOOLEAN")


def _ipv4_as_number(value: TypedSql, name: str) -> str:
    if isinstance(value.bare, t.IPv4):
        return ipv4_number(value.sql)
    if not isinstance(value.bare, t.Int) or value.bare.signed or value.bare.bits > 32:
        raise BadArguments(f"`{name}` needs an IPv4 or a UInt32, this is {value.type}", "toUInt32(…)")
    return as_spark(value, "BIGINT")


def _ipv4_to_ipv6(values: Sequence[TypedSql]) -> TypedSql:
    number = _ipv4_as_number(values[0], "IPv4ToIPv6")
    digits = bind_once(number, "` n`", "concat('00000000000000000000ffff', lpad(lower(hex(` n`)), 8, '0'))")
    if isinstance(values[0].bare, t.IPv4):
        return typed_sql(ipv6_text(digits), nullable_if_any(t.IPv6(), list(values)))
    return typed_sql(_unhex_string(digits), nullable_if_any(_SIXTEEN_BYTES, list(values)))


def _ipv4_cidr_range(values: Sequence[TypedSql]) -> TypedSql:
    """The first and the last address of a range; a prefix longer than 32 is 32."""
    size = values[1].constant
    if not isinstance(size, int) or size < 0:
        raise BadArguments("the prefix of `IPv4CIDRToRange` must be a literal number from 0")
    if values[0].nullable:
        raise BadArguments("`IPv4CIDRToRange` of a Nullable address is not supported", "assumeNotNull(…)")
    free = 2 ** (32 - min(size, 32)) - 1
    parts = f"named_struct('_1', {ipv4_text(f'` r` & {2**32 - 1 - free}L')}, '_2', {ipv4_text(f'` r` | {free}L')})"
    return typed_sql(bind_once(_ipv4_as_number(values[0], "IPv4CIDRToRange"), "` r`", parts), _IPV4_RANGE)


def _is_in_range(values: Sequence[TypedSql]) -> TypedSql:
    """IPv4 addresses are only in IPv4 ranges, IPv6 addresses only in IPv6 ranges."""
    prefix, size = _parse_cidr(literal_string(values[1], "the range of `isIPAddressInRange`"))
    if values[0].nullable or not isinstance(values[0].bare, (t.String, t.IPv4, t.IPv6)):
        raise BadArguments(f"`isIPAddressInRange` of {values[0].type} is not supported", "of a String that is not NULL")
    value = values[0].sql
    wide = ":" in prefix
    bits = int(ip_literal_digits(prefix), 16)
    whole, rest = divmod(size + (0 if wide else 96), 4)
    start = f"{bits:032x}"
    same = f"startswith(` x`, '{start[:whole]}')"
    if rest:
        digit = int(start[whole], 16) >> (4 - rest)
        digits = "".join(f"{each:x}" for each in range(16) if each >> (4 - rest) == digit)
        same = f"({same} AND instr('{digits}', substring(` x`, {whole + 1}, 1)) > 0)"
    wrong = "raise_error('neither an IPv4 nor an IPv6 address')"
    kind = f"contains({value}, ':')" if wide else f"NOT contains({value}, ':')"
    test = bind_once(ipv6_digits(value), "` x`", f"if(` x` IS NULL, {wrong}, {same})")
    return TypedSql(f"({test} AND {kind})", UINT8, "BOOLEAN")


def _parse_cidr(text: str) -> tuple[str, int]:
    """The address and the prefix length of a range in CIDR notation. Raises BadArguments for another text."""
    address, _, size = text.partition("/")
    most = 128 if ":" in address else 32
    try:
        ip_literal_digits(address)
    except ValueError as error:
        raise BadArguments(f"{address!r} is not an IP address") from error
    if not size.isdecimal() or not size.isascii() or int(size) > most:
        raise BadArguments(f"{text!r} is not a range of addresses", "'10.0.0.0/8'")
    return address, int(size)


def _ipv6_cidr_range(values: Sequence[TypedSql]) -> TypedSql:
    """The first and the last address of a range; a prefix longer than 128 is 128."""
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
    return typed_sql(bind_once(ipv6_digits(values[0].sql), "` r`", parts), _IPV6_RANGE)


FUNCTIONS: tuple[Function, ...] = (
    _ipv4_to_string_function("IPv4NumToString", "CAST({0} & 255L AS STRING)"),
    _ipv4_to_string_function("IPv4NumToStringClassC", "'xxx'"),
    _ipv4_to_number_function("IPv4StringToNum", "raise_error('the text is no IPv4 address')"),
    _ipv4_to_number_function("IPv4StringToNumOrDefault", "0L"),
    _ipv4_to_number_function("IPv4StringToNumOrNull", "NULL"),
    Function("isIPv4String", (1, 1), ("text",), _is_ipv4),
    _ipv6_to_bytes_function("IPv6StringToNum", _NOT_IPV6),
    _ipv6_to_bytes_function("IPv6StringToNumOrDefault", _ZERO_DIGITS),
    _ipv6_to_bytes_function("IPv6StringToNumOrNull", "NULL"),
    Function("IPv6NumToString", (1, 1), ("any",), _ipv6_to_string),
    Function("isIPv6String", (1, 1), ("text",), _is_ipv6),
    Function("IPv4ToIPv6", (1, 1), ("any",), _ipv4_to_ipv6),
    Function("IPv4CIDRToRange", (2, 2), ("any", "integer"), _ipv4_cidr_range),
    Function("isIPAddressInRange", (2, 2), ("any", "constant"), _is_in_range),
    Function("IPv6CIDRToRange", (2, 2), ("any", "constant"), _ipv6_cidr_range),
)
ALIASES: dict[str, str] = {
    "INET_NTOA": "IPv4NumToString",
    "INET_ATON": "IPv4StringToNum",
    "INET6_NTOA": "IPv6NumToString",
    "INET6_ATON": "IPv6StringToNum",
}
ANY_CASE: tuple[str, ...] = ("INET_NTOA", "INET_ATON", "INET6_NTOA", "INET6_ATON")
