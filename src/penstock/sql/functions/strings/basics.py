"""Texts: length, case, parts, trimming, padding, replacement, tests of the ends.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: names without
UTF8 work on bytes and on ASCII letters only, as in ClickHouse.

Texts put over others, turned around, compared byte by byte, and by their sound.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: bytes stay what they are,
valid or not; only the names with UTF8 count characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from penstock.model import types as t
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.spark_types import text_literal
from penstock.sql.expr.typed import Typed, nullable_if_any, typed, unless_null
from penstock.sql.functions.arguments import as_spark_int, binary_to_string, literal_integer, literal_string, to_binary
from penstock.sql.functions.function import STRING, UINT8, UINT16, UINT64, BadArguments, Function, template_function

_UPPER, _LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
ASCII_LOWER = "translate({0}, '" + _UPPER + "', '" + _LOWER + "')"
ASCII_UPPER = "translate({0}, '" + _LOWER + "', '" + _UPPER + "')"
_REVERSE_BYTES = "CAST(encode(reverse(decode(CAST({0} AS BINARY), 'ISO-8859-1')), 'ISO-8859-1') AS STRING)"
MAX_REPEAT = 1_000_000


def _length(values: Sequence[Typed]) -> Typed:
    """Bytes of a text, elements of an array or a map."""
    value = values[0]
    of = nullable_if_any(UINT64, [value])
    if isinstance(value.bare, (t.Array, t.Map)):
        return Typed(f"size({value.sql})", of, "INT")
    if not isinstance(value.bare, (t.String, t.FixedString)):
        raise BadArguments(f"`length` of a {value.type} is not supported", "use toString")
    return Typed(f"octet_length({value.sql})", of, "INT")


def _emptiness_function(name: str, operator: str) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        value, of = values[0], nullable_if_any(UINT8, list(values))
        if isinstance(value.bare, (t.Array, t.Map)):
            return Typed(f"(size({value.sql}) {operator} 0)", of, "BOOLEAN")
        if not isinstance(value.bare, t.String):
            raise BadArguments(f"`{name}` needs a String or an Array, this is {value.type}")
        return Typed(f"({value.sql} {operator} '')", of, "BOOLEAN")

    return Function(name, (1, 1), ("any",), build)


def _same_type_function(name: str, template: str) -> Function:
    """A FixedString stays one."""

    def build(values: Sequence[Typed]) -> Typed:
        return typed(template.format(values[0].sql), nullable_if_any(values[0].bare, list(values)))

    return Function(name, (1, 1), ("bytes",), build)


def _substring(values: Sequence[Typed]) -> Typed:
    """By bytes; a start of 0 gives nothing."""
    of = nullable_if_any(STRING, list(values))
    _refuse_zero_start(values[1])
    if len(values) > 2 and not _is_never_negative(values[2]):
        return typed(_substring_of_signed_length(values, to_binary, "octet_length", binary_to_string), of)
    start = as_spark_int(values[1])
    length = f", {as_spark_int(values[2])}" if len(values) > 2 else ""
    cut = f"CAST(substring(CAST({values[0].sql} AS BINARY), {start}{length}) AS STRING)"
    sql = cut if isinstance(values[1].constant, int) and values[1].constant != 0 else f"if({start} = 0, '', {cut})"
    return typed(sql, of)


def _refuse_zero_start(value: Typed) -> None:
    if value.constant == 0:
        raise BadArguments("places in texts are counted from 1")


def _is_never_negative(value: Typed) -> bool:
    """Whether a length is never below zero."""
    if isinstance(value.constant, int):
        return value.constant >= 0
    return isinstance(value.bare, t.Int) and not value.bare.signed and not value.spark.startswith("DECIMAL")


def _substring_utf8(values: Sequence[Typed]) -> Typed:
    of = nullable_if_any(STRING, list(values))
    _refuse_zero_start(values[1])
    if len(values) > 2 and not _is_never_negative(values[2]):
        return typed(_substring_of_signed_length(values, str, "char_length", str), of)
    start = as_spark_int(values[1])
    length = f", {as_spark_int(values[2])}" if len(values) > 2 else ""
    sql = f"if({start} = 0, '', substring({values[0].sql}, {start}{length}))"
    return typed(sql, of)


def _substring_of_signed_length(
    values: Sequence[Typed], raw: Callable[[str], str], size: str, text: Callable[[str], str]
) -> str:
    """A length below zero is counted from the end of the text."""

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


def _left(values: Sequence[Typed]) -> Typed:
    if isinstance(values[1].constant, int) and values[1].constant >= 0:
        cut = f"CAST(substring(CAST({values[0].sql} AS BINARY), 1, {as_spark_int(values[1])}) AS STRING)"
        return typed(cut, nullable_if_any(STRING, list(values)))
    return _substring([values[0], _ONE, values[1]])


def _left_utf8(values: Sequence[Typed]) -> Typed:
    return _substring_utf8([values[0], _ONE, values[1]])


_ONE = Typed("1", UINT8, "INT", 1)


def _right(values: Sequence[Typed]) -> Typed:
    """A number below zero is how many bytes at the start are left out."""
    count = values[1].constant
    if isinstance(count, int) and count >= 0:
        start = f"greatest(octet_length({values[0].sql}) - {count - 1}, 1)"
    else:
        start = _right_start(f"octet_length({values[0].sql})", values[1])
    cut = f"CAST(substring(CAST({values[0].sql} AS BINARY), {start}) AS STRING)"
    return typed(cut, nullable_if_any(STRING, list(values)))


def _right_utf8(values: Sequence[Typed]) -> Typed:
    start = _right_start(f"char_length({values[0].sql})", values[1])
    return typed(f"substring({values[0].sql}, {start})", nullable_if_any(STRING, list(values)))


def _right_start(size: str, count: Typed) -> str:
    def formula(n: str) -> str:
        start = f"if({n} >= 0, greatest({size} - {n} + 1, 1), - greatest({n}, -2147483646) + 1)"
        return f"if({n} IS NULL, NULL, {start})" if count.nullable else start

    return bind_if_long(as_spark_int(count), formula)


def _replace_one(values: Sequence[Typed]) -> Typed:
    value, needle, other = (item.sql for item in values)
    place = f"instr({value}, {needle})"
    replaced = (
        f"concat(substring({value}, 1, {place} - 1), {other}, substring({value}, {place} + char_length({needle})))"
    )
    sql = unless_null(f"if({place} = 0 OR {needle} = '', {value}, {replaced})", *values)
    return typed(sql, nullable_if_any(STRING, list(values)))


def _trim_function(name: str, template: str) -> Function:
    """Of blanks, or of the ASCII characters of a literal."""

    def build(values: Sequence[Typed]) -> Typed:
        signs = literal_string(values[1], "the characters to trim") if len(values) > 1 else " "
        if not signs.isascii():
            raise BadArguments(f"the characters of `{name}` must be ASCII", "use replaceRegexpAll")
        of = nullable_if_any(STRING, [values[0]])
        sql = template.format(values[0].sql, text_literal(signs)) if signs else values[0].sql
        return typed(sql, of)

    return Function(name, (1, 2), ("text", "constant"), build)


def _repeat(values: Sequence[Typed]) -> Typed:
    if isinstance(values[1].constant, int) and values[1].constant > MAX_REPEAT:
        raise BadArguments(f"the number of times must be at most {MAX_REPEAT}")
    return typed(f"repeat({values[0].sql}, {as_spark_int(values[1])})", nullable_if_any(STRING, list(values)))


def _space(values: Sequence[Typed]) -> Typed:
    if isinstance(values[0].constant, int) and values[0].constant > MAX_REPEAT:
        raise BadArguments(f"the number of blanks must be at most {MAX_REPEAT}")
    return typed(f"repeat(' ', {as_spark_int(values[0])})", nullable_if_any(STRING, list(values)))


def _pad_function(name: str, template: str, letter: str) -> Function:
    """To a length that is not below zero; by blanks if no letters are given."""

    def build(values: Sequence[Typed]) -> Typed:
        letters = (literal_string(values[2], "the letters to pad with") or " ") if len(values) > 2 else " "
        if not _is_never_negative(values[1]):
            raise BadArguments(f"the length of `{name}` must be an unsigned number", "use toUInt32")
        if letter == "byte" and not letters.isascii():
            raise BadArguments(f"the letters of `{name}` must be ASCII", f"use {name}UTF8")
        sql = template.format(values[0].sql, as_spark_int(values[1]), text_literal(letters))
        return typed(sql, nullable_if_any(STRING, list(values)))

    return Function(name, (2, 3), ("text", "integer", "constant"), build)


def _substring_index_function(name: str) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        sign = literal_string(values[1], "the delimiter")
        if len(sign) != 1 or (name == "substringIndex" and not sign.isascii()):
            raise BadArguments(f"the delimiter of `{name}` must be a single character", "splitByString takes more")
        count = literal_integer(values[2], "the count")
        sql = f"substring_index({values[0].sql}, {text_literal(sign)}, {max(min(count, 2**31 - 1), -(2**31) + 1)})"
        return typed(sql, nullable_if_any(STRING, [values[0]]))

    return Function(name, (3, 3), ("text", "constant", "constant"), build)


def _translate_function(name: str) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        old, new = (literal_string(value, f"the letters of `{name}`") for value in values[1:])
        if name == "translate" and not (old.isascii() and new.isascii()):
            raise BadArguments("the letters of `translate` must be ASCII", "use translateUTF8")
        if len(new) > len(old) or len(set(old)) < len(old) or "\0" in old + new:
            raise BadArguments(f"`{name}` takes each letter once, and no more new letters than old ones")
        sql = f"translate({values[0].sql}, {text_literal(old)}, {text_literal(new)})"
        return typed(sql, nullable_if_any(STRING, [values[0]]))

    return Function(name, (3, 3), ("text", "constant", "constant"), build)


def _prefix_test_function(name: str, spark: str, template: str = "{0}") -> Function:
    shown = f"{spark}({template.format('{0}')}, {template.format('{1}')})"
    return template_function(name, "text text", shown, UINT8, "BOOLEAN")


_MAX_OVERLAY_PLACE = 2**30


def bytes_as_characters(value: str) -> str:
    """A text in which each byte is a character."""
    return f"decode({to_binary(value)}, 'ISO-8859-1')"


def _overlay_function(name: str) -> Function:
    """A place below zero counts from the end, 0 is the end; without a length the new text's own is cut out."""
    by_bytes = not name.endswith("UTF8")
    size = "octet_length" if by_bytes else "char_length"

    def part(sql: str, start: str, length: str) -> str:
        cut = f"substring({to_binary(sql) if by_bytes else sql}, {start}{length})"
        return binary_to_string(cut) if by_bytes else cut

    def build(values: Sequence[Typed]) -> Typed:
        place = literal_integer(values[2], f"the place of `{name}`")
        given = literal_integer(values[3], f"the length of `{name}`") if len(values) > 3 else -1
        if max(abs(place), given) > _MAX_OVERLAY_PLACE:
            raise BadArguments(f"a place or length of `{name}` is too great")
        new = values[1].sql
        length = f"{size}({new})" if given < 0 else str(given)

        def formula(v: str) -> str:
            before = {0: f"{size}({v})"}.get(place, f"greatest({size}({v}) + {place}, 0)")
            kept = str(place - 1) if place > 0 else before
            head = part(v, "1", f", {kept}")
            return f"concat({head}, {new}, {part(v, f'{kept} + {length} + 1', '')})"

        return typed(bind_if_long(values[0].sql, formula), nullable_if_any(STRING, list(values)))

    return Function(name, (3, 4), ("text", "text", "constant", "constant"), build)


def _soundex(values: Sequence[Typed]) -> Typed:
    """By ASCII letters only; H and W part letters as vowels do."""

    def formula(v: str) -> str:
        parted = f"concat(left({v}, 1), translate(substring({v}, 2), 'hwHW', 'aaaa'))"
        return f"if({v} = '', '0000', soundex({parted}))"

    letters = f"regexp_replace({values[0].sql}, '[^A-Za-z]', '')"
    return typed(bind_if_long(letters, formula), nullable_if_any(STRING, list(values)))


def _split_bytes(value: str) -> str:
    return f"split({bytes_as_characters(value)}, '')"


def _byte_hamming_distance(values: Sequence[Typed]) -> Typed:
    """How many bytes differ; those that only one of the texts has do."""
    a, b = (_split_bytes(value.sql) for value in values)
    sql = f"size(filter(zip_with({a}, {b}, (` x`, ` y`) -> ` x` <=> ` y`), ` z` -> NOT ` z`))"
    tests = " OR ".join(f"{value.sql} IS NULL" for value in values if value.nullable)
    return Typed(f"if({tests}, NULL, {sql})" if tests else sql, nullable_if_any(UINT64, list(values)), "INT")


def _reverse_by_separator(values: Sequence[Typed]) -> Typed:
    sign = literal_string(values[1], "the separator") if len(values) > 1 else "."
    if not sign:
        raise BadArguments("the separator of `reverseBySeparator` is empty", "reverse")
    joined = text_literal(sign.encode().decode("latin-1"))
    pattern = text_literal(re.escape(sign.encode().decode("latin-1")))
    parts = f"reverse(split({bytes_as_characters(values[0].sql)}, {pattern}))"
    return typed(
        binary_to_string(f"encode(array_join({parts}, {joined}), 'ISO-8859-1')"), nullable_if_any(STRING, [values[0]])
    )


def _string_bytes_uniq(values: Sequence[Typed]) -> Typed:
    value = values[0].sql
    count = f"if({value} = '', 0, size(array_distinct({_split_bytes(value)})))"
    sql = f"if({value} IS NULL, NULL, {count})" if values[0].nullable else count
    return typed(sql, nullable_if_any(UINT16, list(values)))


FUNCTIONS: tuple[Function, ...] = (
    Function("length", (1, 1), ("any",), _length),
    _emptiness_function("empty", "="),
    _emptiness_function("notEmpty", "<>"),
    template_function("lengthUTF8", "bytes", "char_length({0})", UINT64, "INT"),
    _same_type_function("lower", ASCII_LOWER),
    _same_type_function("upper", ASCII_UPPER),
    template_function("lowerUTF8", "text", "lower({0})", STRING),
    template_function("upperUTF8", "text", "upper({0})", STRING),
    _same_type_function("reverse", _REVERSE_BYTES),
    template_function("reverseUTF8", "text", "reverse({0})", STRING),
    Function("substring", (2, 3), ("bytes", "integer"), _substring),
    Function("substringUTF8", (2, 3), ("text", "integer"), _substring_utf8),
    Function("left", (2, 2), ("bytes", "integer"), _left),
    Function("leftUTF8", (2, 2), ("text", "integer"), _left_utf8),
    Function("right", (2, 2), ("bytes", "integer"), _right),
    Function("rightUTF8", (2, 2), ("text", "integer"), _right_utf8),
    template_function("replaceAll", "text text text", "replace({0}, {1}, {2})", STRING),
    Function("replaceOne", (3, 3), ("text",), _replace_one),
    _prefix_test_function("startsWith", "startswith"),
    _prefix_test_function("endsWith", "endswith"),
    _prefix_test_function("startsWithUTF8", "startswith"),
    _prefix_test_function("endsWithUTF8", "endswith"),
    _prefix_test_function("startsWithCaseInsensitive", "startswith", ASCII_LOWER),
    _prefix_test_function("endsWithCaseInsensitive", "endswith", ASCII_LOWER),
    _trim_function("trimBoth", "btrim({0}, {1})"),
    _trim_function("trimLeft", "ltrim({1}, {0})"),
    _trim_function("trimRight", "rtrim({1}, {0})"),
    Function("repeat", (2, 2), ("text", "integer"), _repeat),
    Function("space", (1, 1), ("integer",), _space),
    _pad_function("leftPad", "CAST(lpad(CAST({0} AS BINARY), {1}, CAST({2} AS BINARY)) AS STRING)", "byte"),
    _pad_function("rightPad", "CAST(rpad(CAST({0} AS BINARY), {1}, CAST({2} AS BINARY)) AS STRING)", "byte"),
    _pad_function("leftPadUTF8", "lpad({0}, {1}, {2})", "character"),
    _pad_function("rightPadUTF8", "rpad({0}, {1}, {2})", "character"),
    _substring_index_function("substringIndex"),
    _substring_index_function("substringIndexUTF8"),
    _translate_function("translate"),
    _translate_function("translateUTF8"),
    _overlay_function("overlay"),
    _overlay_function("overlayUTF8"),
    Function("soundex", (1, 1), ("text",), _soundex),
    Function("byteHammingDistance", (2, 2), ("text",), _byte_hamming_distance),
    Function("reverseBySeparator", (1, 2), ("text", "constant"), _reverse_by_separator),
    Function("stringBytesUniq", (1, 1), ("text",), _string_bytes_uniq),
)
ALIASES: dict[str, str] = {
    "substr": "substring",
    "mid": "substring",
    "byteSlice": "substring",
    "lcase": "lower",
    "ucase": "upper",
    "replace": "replaceAll",
    "trim": "trimBoth",
    "ltrim": "trimLeft",
    "rtrim": "trimRight",
    "lpad": "leftPad",
    "rpad": "rightPad",
    "OCTET_LENGTH": "length",
    "CHAR_LENGTH": "lengthUTF8",
    "CHARACTER_LENGTH": "lengthUTF8",
    "SUBSTRING_INDEX": "substringIndex",
    "mismatches": "byteHammingDistance",
    "concatAssumeInjective": "concat",
    "concatWithSeparatorAssumeInjective": "concatWithSeparator",
    "isValidASCII": "isASCII",
}
ANY_CASE: tuple[str, ...] = (
    "length",
    "lower",
    "upper",
    "reverse",
    "substring",
    "substr",
    "mid",
    "lcase",
    "ucase",
    "replace",
    "left",
    "right",
    "repeat",
    "OCTET_LENGTH",
    "CHAR_LENGTH",
    "CHARACTER_LENGTH",
    "lpad",
    "rpad",
    "space",
    "SUBSTRING_INDEX",
    "byteSlice",
    "overlay",
    "soundex",
)
