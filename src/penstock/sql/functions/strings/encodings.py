"""Encodings of strings: hex, bin, base64, char, XML escapes; tests for UTF-8 and ASCII

A text that is not base64 is an error; functions whose names begin with `try` give the empty string. unhex and unbin
take every character for a digit, as ClickHouse does.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.ip_addresses import ipv4_number, ipv6_digits
from penstock.sql.expr.typed import TypedSql, nullable_if_any, typed_sql, unless_null
from penstock.sql.functions.arguments import binary_to_string, bytes_as_characters, to_binary
from penstock.sql.functions.function import INT32, STRING, UINT8, UINT32, BadArguments, Function, template_function
from penstock.sql.spark_text import string_literal

_XML_ESCAPES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&apos;"))
_NOT_BASE64 = "raise_error('the text is not base64')"
_NON_ASCII = string_literal("[^\\x00-\\x7F]")


def _radix_digits(value: TypedSql, spark: str, base: int) -> str:
    """The digits of an integer in the size of its type, without leading zeros."""
    of = value.bare
    if value.spark.startswith("DECIMAL"):
        return f"conv(CAST({value.sql} AS STRING), 10, {base})"
    number = f"CAST({value.sql} AS BIGINT)" if value.spark != "BIGINT" else value.sql
    if isinstance(of, t.Int) and of.signed and of.bits < 64:
        number = f"({number} & {2**of.bits - 1}L)"
    return f"{spark}({number})"


def _radix_function(name: str, base: int, width: int) -> Function:
    """hex and bin: whole bytes of a string, or of an integer from its first byte that is not 0."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        value, of = values[0], nullable_if_any(STRING, list(values))
        if isinstance(value.bare, (t.String, t.FixedString)):
            return typed_sql(f"hex({value.sql})" if base == 16 else _bits_of_bytes(value.sql), of)
        if isinstance(value.bare, (t.IPv6, t.UUID)):
            digits = _address_digits(value) if isinstance(value.bare, t.IPv6) else f"replace({value.sql}, '-', '')"
            return typed_sql(f"upper({digits})" if base == 16 else _bits_of_bytes(f"penstock_unhex({digits})"), of)
        if isinstance(value.bare, t.IPv4):
            value = TypedSql(ipv4_number(value.sql), nullable_if_any(UINT32, [value]), "BIGINT")
        if not isinstance(value.bare, (t.Int, t.Bool)):
            raise BadArguments(f"`{name}` of a {value.type} is not supported", "of a string or an integer")
        digits = _radix_digits(value, name, base)
        whole = f"CAST(ceil(length({{0}}) / {width}D) * {width} AS INT)"
        return typed_sql(bind_if_long(digits, lambda d: f"lpad({d}, {whole.format(d)}, '0')"), of)

    return Function(name, (1, 1), ("any",), build)


def _address_digits(value: TypedSql) -> str:
    return bind_if_long(value.sql, ipv6_digits)


def _bits_of_bytes(value: str) -> str:
    def formula(v: str) -> str:
        each = f"lpad(conv(hex(substring({to_binary(v)}, ` p`, 1)), 16, 2), 8, '0')"
        return f"if({v} = '', '', array_join(transform(sequence(1, octet_length({v})), ` p` -> {each}), ''))"

    return bind_if_long(value, formula)


def _base64_function(name: str, url: str, otherwise: str) -> Function:
    """Blanks are skipped. Padding is required, but optional in the URL alphabet (RFC 4648, section 5)."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        def formula(v: str) -> str:
            letters = f"rtrim('=', {v})"
            plain = f"rpad({letters}, CAST(ceil(length({letters}) / 4D) * 4 AS INT), '=')" if url else v
            padded = f"length({v}) <= length({plain}) AND " if url else ""
            good = f"{padded}length({plain}) % 4 = 0 AND {plain} RLIKE '^[A-Za-z0-9+/]*={{0,2}}$'"
            return f"if({good}, {binary_to_string(f'unbase64({plain})')}, {otherwise})"

        swapped = "'-_ \\t\\n\\u000c\\r', '+/'" if url else "' \\t\\n\\u000c\\r', ''"
        sql = bind_if_long(f"translate({values[0].sql}, {swapped})", formula)
        sql = unless_null(sql, values[0])
        return typed_sql(sql, nullable_if_any(STRING, list(values)))

    return Function(name, (1, 1), ("text",), build)


def _encode_xml(values: Sequence[TypedSql]) -> TypedSql:
    sql = values[0].sql
    for sign, written in _XML_ESCAPES:
        sql = f"replace({sql}, {string_literal(sign)}, {string_literal(written)})"
    return typed_sql(sql, nullable_if_any(STRING, list(values)))


def _char(values: Sequence[TypedSql]) -> TypedSql:
    """One byte for each number."""
    for value in values:
        if not isinstance(value.bare, t.Int) or value.spark.startswith("DECIMAL"):
            raise BadArguments(f"`char` of a {value.type} is not supported", "cast it to UInt8")
    digits = (f"lpad(hex(CAST({value.sql} AS BIGINT) & 255L), 2, '0')" for value in values)
    return typed_sql(binary_to_string(f"unhex(concat({', '.join(digits)}))"), nullable_if_any(STRING, list(values)))


def _ascii(values: Sequence[TypedSql]) -> TypedSql:
    first = f"conv(hex(substring({to_binary(values[0].sql)}, 1, 1)), 16, 10)"
    sql = f"if({values[0].sql} = '', 0, CAST({first} AS INT))"
    return TypedSql(sql, nullable_if_any(INT32, list(values)), "INT")


FUNCTIONS: tuple[Function, ...] = (
    _radix_function("hex", 16, 2),
    _radix_function("bin", 2, 8),
    template_function("unhex", "bytes", "penstock_unhex({0})", STRING),
    template_function("base64Encode", "bytes", "translate(base64({0}), '\\r\\n', '')", STRING),
    template_function("base64URLEncode", "bytes", "rtrim('=', translate(base64({0}), '+/\\r\\n', '-_'))", STRING),
    _base64_function("base64Decode", "", _NOT_BASE64),
    _base64_function("tryBase64Decode", "", "''"),
    _base64_function("base64URLDecode", "url", _NOT_BASE64),
    _base64_function("tryBase64URLDecode", "url", "''"),
    Function("encodeXMLComponent", (1, 1), ("text",), _encode_xml),
    Function("char", (1, 64), ("integer",), _char),
    Function("ascii", (1, 1), ("text",), _ascii),
    template_function("isValidUTF8", "text", "is_valid_utf8({0})", UINT8, "BOOLEAN"),
    template_function("toValidUTF8", "text", "penstock_valid_utf8({0})", STRING),
    template_function("isASCII", "text", f"(NOT {bytes_as_characters('{0}')} RLIKE {_NON_ASCII})", UINT8, "BOOLEAN"),
    template_function("unbin", "bytes", "penstock_unbin({0})", STRING),
)
ALIASES: dict[str, str] = {"isValidASCII": "isASCII", "TO_BASE64": "base64Encode", "FROM_BASE64": "base64Decode"}
ANY_CASE: tuple[str, ...] = ("hex", "bin", "unhex", "char", "ascii", "TO_BASE64", "FROM_BASE64", "unbin")
