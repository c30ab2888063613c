"""Length and parts of strings: length, substring, left, right, startsWith, overlay, basename

Functions without UTF8 in their name count bytes, functions with it count characters, as in ClickHouse. Positions count
from 1; negative ones count from the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.model import types as t
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.spark_types import value_default
from penstock.sql.expr.typed import TypedSql, is_cut, nullable_if_any, typed_sql, unless_null
from penstock.sql.functions.arguments import (
    as_spark_int,
    binary_to_string,
    bytes_as_characters,
    is_never_negative,
    literal_integer,
    literal_string,
    template_literal,
    to_binary,
)
from penstock.sql.functions.function import STRING, UINT8, UINT64, BadArguments, Function, template_function
from penstock.sql.functions.strings.transformations import ASCII_LOWER
from penstock.sql.spark_text import string_literal

_ONE = TypedSql("1", UINT8, "INT", 1)
_MAX_OVERLAY_PLACE = 2**30


def _length(values: Sequence[TypedSql]) -> TypedSql:
    """Bytes of a string; elements of an array or map."""
    value = values[0]
    of = nullable_if_any(UINT64, [value])
    if isinstance(value.bare, (t.Array, t.Map)):
        return TypedSql(f"size({value.sql})", of, "INT")
    if not isinstance(value.bare, (t.String, t.FixedString)):
        raise BadArguments(f"`length` of a {value.type} is not supported", "use toString")
    return TypedSql(f"octet_length({value.sql})", of, "INT")


def _emptiness_function(name: str, operator: str) -> Function:
    """empty and notEmpty of strings, arrays and maps, and of addresses and UUIDs, which are empty if all are zeros."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        value, of = values[0], nullable_if_any(UINT8, list(values))
        if isinstance(value.bare, (t.Array, t.Map)):
            return TypedSql(f"(size({value.sql}) {operator} 0)", of, "BOOLEAN")
        if not isinstance(value.bare, (t.String, t.FixedString, t.UUID, t.IPv4, t.IPv6)):
            raise BadArguments(f"`{name}` needs a String or an Array, this is {value.type}")
        return TypedSql(f"({value.sql} {operator} {value_default(value.bare)})", of, "BOOLEAN")

    return Function(name, (1, 1), ("any",), build)


def _substring(values: Sequence[TypedSql]) -> TypedSql:
    """By bytes; a start of 0 gives the empty string."""
    of = nullable_if_any(STRING, list(values))
    _refuse_zero_start(values[1])
    if len(values) > 2 and not is_never_negative(values[2]):
        return typed_sql(_substring_of_signed_length(values, to_binary, "octet_length", binary_to_string), of)
    start = _start(values[1])
    length = f", {as_spark_int(values[2])}" if len(values) > 2 else ""
    cut = f"CAST(substring(CAST({values[0].sql} AS BINARY), {start}{length}) AS STRING)"
    if isinstance(values[1].constant, int) and values[1].constant != 0:
        return typed_sql(cut, of)
    return typed_sql(unless_null(f"if({start} = 0, '', {cut})", *values), of)


def _start(value: TypedSql) -> str:
    """A start as an INT. Spark overflows near the least one; no text is so long."""
    start = as_spark_int(value)
    may_be_least = isinstance(value.bare, t.Int) and value.bare.signed and value.bare.bits >= 32
    if not may_be_least or isinstance(value.constant, int):
        return start
    return bind_if_long(start, lambda s: f"if({s} < {-_MAX_OVERLAY_PLACE}, {-_MAX_OVERLAY_PLACE}, {s})")


def _refuse_zero_start(value: TypedSql) -> None:
    if value.constant == 0:
        raise BadArguments("positions in strings count from 1")


def _substring_utf8(values: Sequence[TypedSql]) -> TypedSql:
    of = nullable_if_any(STRING, list(values))
    _refuse_zero_start(values[1])
    if len(values) > 2 and not is_never_negative(values[2]):
        return typed_sql(_substring_of_signed_length(values, str, "char_length", str), of)
    start = _start(values[1])
    length = f", {as_spark_int(values[2])}" if len(values) > 2 else ""
    sql = f"if({start} = 0, '', substring({values[0].sql}, {start}{length}))"
    return typed_sql(unless_null(sql, *values), of)


def _substring_of_signed_length(
    values: Sequence[TypedSql], raw: Callable[[str], str], size: str, text: Callable[[str], str]
) -> str:
    """A substring whose length, if negative, counts back from the end of the string. `raw`, `size` and `text` are the
    functions that count bytes or characters."""

    def formula(v: str, s: str, n: str) -> str:
        first = f"if({s} > 0, {s} - 1, greatest({size}({v}) + {s}, 0))"
        to_end = text(f"substring({raw(v)}, {first} + 1, greatest({size}({v}) + {n} - {first}, 0))")
        nothing = f"WHEN {s} IS NULL OR {n} IS NULL THEN NULL " if may_be_null else ""
        counted = text(f"substring({raw(v)}, {s}, {n})")
        return f"CASE {nothing}WHEN {s} = 0 THEN '' WHEN {n} >= 0 THEN {counted} ELSE {to_end} END"

    may_be_null = values[1].nullable or values[2].nullable  # `greatest` passes over a NULL
    start, length = as_spark_int(values[1]), as_spark_int(values[2])
    return bind_if_long(
        values[0].sql, lambda v: bind_if_long(start, lambda s: bind_if_long(length, lambda n: formula(v, s, n)))
    )


def _left_substring(values: Sequence[TypedSql]) -> TypedSql:
    if isinstance(values[1].constant, int) and values[1].constant >= 0:
        cut = f"CAST(substring(CAST({values[0].sql} AS BINARY), 1, {as_spark_int(values[1])}) AS STRING)"
        return typed_sql(cut, nullable_if_any(STRING, list(values)))
    return _substring([values[0], _ONE, values[1]])


def _left_utf8(values: Sequence[TypedSql]) -> TypedSql:
    return _substring_utf8([values[0], _ONE, values[1]])


def _right(values: Sequence[TypedSql]) -> TypedSql:
    """A negative number is how many bytes at the start are left out."""
    count = values[1].constant
    if isinstance(count, int) and count >= 0:
        start = f"greatest(octet_length({values[0].sql}) - {count - 1}, 1)"
    else:
        start = _right_start(f"octet_length({values[0].sql})", values[1])
    cut = f"CAST(substring(CAST({values[0].sql} AS BINARY), {start}) AS STRING)"
    return typed_sql(cut, nullable_if_any(STRING, list(values)))


def _right_utf8(values: Sequence[TypedSql]) -> TypedSql:
    start = _right_start(f"char_length({values[0].sql})", values[1])
    return typed_sql(f"substring({values[0].sql}, {start})", nullable_if_any(STRING, list(values)))


def _right_start(size: str, count: TypedSql) -> str:
    """The start of the last `count` bytes or characters of a string of a size."""

    def formula(n: str) -> str:
        start = f"if({n} >= 0, greatest({size} - {n} + 1, 1), - greatest({n}, -2147483646) + 1)"
        return f"if({n} IS NULL, NULL, {start})" if count.nullable else start

    return bind_if_long(as_spark_int(count), formula)


def _substring_index_function(name: str) -> Function:
    """The part before the n-th delimiter, which must be one character."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        sign = literal_string(values[1], "the delimiter")
        if len(sign) != 1 or (name == "substringIndex" and not sign.isascii()):
            raise BadArguments(f"the delimiter of `{name}` must be a single character", "splitByString takes more")
        count = literal_integer(values[2], "the count")
        sql = f"substring_index({values[0].sql}, {string_literal(sign)}, {max(min(count, 2**31 - 1), -(2**31) + 1)})"
        return typed_sql(sql, nullable_if_any(STRING, [values[0]]))

    return Function(name, (3, 3), ("text", "constant", "constant"), build)


def _prefix_test_function(name: str, spark: str, template: str = "{0}") -> Function:
    shown = f"{spark}({template.format('{0}')}, {template.format('{1}')})"
    return template_function(name, "text text", shown, UINT8, "BOOLEAN")


def _overlay_function(name: str) -> Function:
    """A negative place counts from the end, 0 is the end; without a length as much is replaced as is inserted."""
    by_bytes = not name.endswith("UTF8")
    size = "octet_length" if by_bytes else "char_length"

    def part(sql: str, start: str, length: str) -> str:
        cut = f"substring({to_binary(sql) if by_bytes else sql}, {start}{length})"
        return binary_to_string(cut) if by_bytes else cut

    def build(values: Sequence[TypedSql]) -> TypedSql:
        place = literal_integer(values[2], f"the place of `{name}`")
        given = literal_integer(values[3], f"the length of `{name}`") if len(values) > 3 else -1
        if max(abs(place), given) > _MAX_OVERLAY_PLACE:
            raise BadArguments(f"a position or length of `{name}` is too great")
        new = values[1].sql
        length = f"{size}({new})" if given < 0 else str(given)

        def formula(v: str) -> str:
            before = {0: f"{size}({v})"}.get(place, f"greatest({size}({v}) + {place}, 0)")
            kept = str(place - 1) if place > 0 else before
            head = part(v, "1", f", {kept}")
            return f"concat({head}, {new}, {part(v, f'{kept} + {length} + 1', '')})"

        return typed_sql(bind_if_long(values[0].sql, formula), nullable_if_any(STRING, list(values)))

    return Function(name, (3, 4), ("text", "text", "constant", "constant"), build)


_CONTINUES_A_LETTER = r"[\x80-\xBF]"
"""Bytes of UTF-8 that do, each as one character."""


def _length_in_characters(values: Sequence[TypedSql]) -> TypedSql:
    """All bytes but those that continue a letter; Spark counts otherwise where they are no UTF-8."""
    value, of = values[0], nullable_if_any(UINT64, [values[0]])
    if not is_cut(value):
        return TypedSql(f"char_length({value.sql})", of, "INT")
    starts = f"regexp_replace({bytes_as_characters(value.sql)}, {string_literal(_CONTINUES_A_LETTER)}, '')"
    return TypedSql(f"char_length({starts})", of, "INT")


FUNCTIONS: tuple[Function, ...] = (
    Function("length", (1, 1), ("any",), _length),
    _emptiness_function("empty", "="),
    _emptiness_function("notEmpty", "<>"),
    Function("lengthUTF8", (1, 1), ("bytes",), _length_in_characters),
    Function("substring", (2, 3), ("bytes", "integer"), _substring),
    Function("substringUTF8", (2, 3), ("text", "integer"), _substring_utf8),
    Function("left", (2, 2), ("bytes", "integer"), _left_substring),
    Function("leftUTF8", (2, 2), ("text", "integer"), _left_utf8),
    Function("right", (2, 2), ("bytes", "integer"), _right),
    Function("rightUTF8", (2, 2), ("text", "integer"), _right_utf8),
    _prefix_test_function("startsWith", "startswith"),
    _prefix_test_function("endsWith", "endswith"),
    _prefix_test_function("startsWithUTF8", "startswith"),
    _prefix_test_function("endsWithUTF8", "endswith"),
    _prefix_test_function("startsWithCaseInsensitive", "startswith", ASCII_LOWER),
    _prefix_test_function("endsWithCaseInsensitive", "endswith", ASCII_LOWER),
    _substring_index_function("substringIndex"),
    _substring_index_function("substringIndexUTF8"),
    _overlay_function("overlay"),
    _overlay_function("overlayUTF8"),
    template_function(
        "basename", "text", f"regexp_replace({{0}}, {template_literal('(?s)^.*[/' + chr(92) * 2 + ']')}, '')", STRING
    ),
    template_function(
        "firstLine", "text", f"regexp_extract({{0}}, {template_literal('^[^' + chr(10) + chr(13) + ']*')}, 0)", STRING
    ),
    template_function("toStringCutToZero", "bytes", "substring_index({0}, chr(0), 1)", STRING),
)
ALIASES: dict[str, str] = {
    "substr": "substring",
    "mid": "substring",
    "byteSlice": "substring",
    "OCTET_LENGTH": "length",
    "CHAR_LENGTH": "lengthUTF8",
    "CHARACTER_LENGTH": "lengthUTF8",
    "SUBSTRING_INDEX": "substringIndex",
    "CARDINALITY": "length",
}
ANY_CASE: tuple[str, ...] = (
    "length",
    "substring",
    "substr",
    "mid",
    "left",
    "right",
    "OCTET_LENGTH",
    "CHAR_LENGTH",
    "CHARACTER_LENGTH",
    "SUBSTRING_INDEX",
    "byteSlice",
    "overlay",
    "CARDINALITY",
)
