"""Case, trimming, padding, replacement and reversal of strings: lower, trimBoth, leftPad, replaceAll, reverse

Functions without UTF8 in their name work on bytes and change only ASCII letters, as in ClickHouse. Bytes that are not
valid UTF-8 are kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from penstock.model.json_documents.spark_functions import LOWER_BYTES, UPPER_BYTES
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.typed import TypedSql, is_cut, nullable_if_any, typed_sql, unless_null
from penstock.sql.functions.arguments import (
    as_spark_int,
    binary_to_string,
    bytes_as_characters,
    checked_size,
    is_never_negative,
    literal_string,
    to_binary,
)
from penstock.sql.functions.function import STRING, BadArguments, Function, template_function
from penstock.sql.spark_text import string_literal

ASCII_LOWER, ASCII_UPPER = (f"CAST({name}(CAST({{0}} AS BINARY)) AS STRING)" for name in (LOWER_BYTES, UPPER_BYTES))
"""Of all bytes, whether or not they are UTF-8."""
_REVERSE_BYTES = "CAST(encode(reverse(decode(CAST({0} AS BINARY), 'ISO-8859-1')), 'ISO-8859-1') AS STRING)"
MAX_REPEAT = 1_000_000
REPEATED_BYTES = 64
"""The most bytes, times the most elements, of a string that a row repeats."""


def _same_type_function(name: str, template: str) -> Function:
    """A template whose result has the type of its argument: a FixedString stays one."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        return typed_sql(template.format(values[0].sql), nullable_if_any(values[0].bare, list(values)))

    return Function(name, (1, 1), ("bytes",), build)


def _replace_one(values: Sequence[TypedSql]) -> TypedSql:
    value, needle, other = (item.sql for item in values)
    missing, replaced = (_replaced_bytes if is_cut(values[1]) else _replaced_letters)(value, needle, other)
    sql = unless_null(f"if({missing} OR {needle} = '', {value}, {replaced})", *values)
    return typed_sql(sql, nullable_if_any(STRING, list(values)))


def _replaced_letters(value: str, needle: str, other: str) -> tuple[str, str]:
    """Whether a text has no needle, and the text with the first one replaced."""
    place = f"instr({value}, {needle})"
    rest = f"substring({value}, {place} + char_length({needle}))"
    return f"{place} = 0", f"concat(substring({value}, 1, {place} - 1), {other}, {rest})"


def _replaced_bytes(value: str, needle: str, other: str) -> tuple[str, str]:
    """As `_replaced_letters`, of a needle that may begin or end inside of a letter, which `instr` passes over."""
    before = f"substring_index({value}, {needle}, 1)"
    rest = f"substring({to_binary(value)}, octet_length({before}) + octet_length({needle}) + 1)"
    return f"NOT contains({value}, {needle})", f"concat({before}, {other}, {binary_to_string(rest)})"


def _trim_function(name: str, template: str) -> Function:
    """Removes blanks, or the ASCII characters of a literal."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        signs = literal_string(values[1], "the characters to trim") if len(values) > 1 else " "
        if not signs.isascii():
            raise BadArguments(f"the characters of `{name}` must be ASCII", "use replaceRegexpAll")
        of = nullable_if_any(STRING, [values[0]])
        sql = template.format(values[0].sql, string_literal(signs)) if signs else values[0].sql
        return typed_sql(sql, of)

    return Function(name, (1, 2), ("text", "constant"), build)


def _repeat(values: Sequence[TypedSql]) -> TypedSql:
    if isinstance(values[1].constant, int) and values[1].constant > MAX_REPEAT:
        raise BadArguments(f"the number of times must be at most {MAX_REPEAT}")
    times = as_spark_int(values[1])

    def formula(v: str) -> str:
        size = f"greatest({times}, octet_length({v}) * CAST({times} AS BIGINT) DIV {REPEATED_BYTES})"
        return checked_size(f"repeat({v}, {times})", size, values[1:])

    return typed_sql(bind_if_long(values[0].sql, formula), nullable_if_any(STRING, list(values)))


def _repeat_space(values: Sequence[TypedSql]) -> TypedSql:
    if isinstance(values[0].constant, int) and values[0].constant > MAX_REPEAT:
        raise BadArguments(f"the number of blanks must be at most {MAX_REPEAT}")
    number = as_spark_int(values[0])
    return typed_sql(checked_size(f"repeat(' ', {number})", number, values), nullable_if_any(STRING, list(values)))


def _pad_function(name: str, template: str, letter: str) -> Function:
    """Pads to an unsigned length, with blanks if no other characters are given."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        letters = (literal_string(values[2], "the letters to pad with") or " ") if len(values) > 2 else " "
        if not is_never_negative(values[1]):
            raise BadArguments(f"the length of `{name}` must be an unsigned number", "use toUInt32")
        if letter == "byte" and not letters.isascii():
            raise BadArguments(f"the letters of `{name}` must be ASCII", f"use {name}UTF8")
        if isinstance(values[1].constant, int) and values[1].constant > MAX_REPEAT:
            raise BadArguments(f"the length must be at most {MAX_REPEAT}")
        length = as_spark_int(values[1])
        sql = template.format(values[0].sql, length, string_literal(letters))
        return typed_sql(checked_size(sql, length, values[1:2]), nullable_if_any(STRING, list(values)))

    return Function(name, (2, 3), ("text", "integer", "constant"), build)


def _translate_function(name: str) -> Function:
    """Characters of the second argument become those of the third; characters without a counterpart are removed."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        old, new = (literal_string(value, f"the letters of `{name}`") for value in values[1:])
        if name == "translate" and not (old.isascii() and new.isascii()):
            raise BadArguments("the letters of `translate` must be ASCII", "use translateUTF8")
        if len(new) > len(old) or len(set(old)) < len(old) or "\0" in old + new:
            raise BadArguments(f"`{name}` takes each letter once, and no more new letters than old ones")
        letters = f"{string_literal(old)}, {string_literal(new)}"
        if name == "translate" and is_cut(values[0]):
            sql = f"encode(translate({bytes_as_characters(values[0].sql)}, {letters}), 'ISO-8859-1')"
            return typed_sql(binary_to_string(sql), nullable_if_any(STRING, [values[0]]))
        sql = f"translate({values[0].sql}, {letters})"
        return typed_sql(sql, nullable_if_any(STRING, [values[0]]))

    return Function(name, (3, 3), ("text", "constant", "constant"), build)


def _reverse_by_separator(values: Sequence[TypedSql]) -> TypedSql:
    sign = literal_string(values[1], "the separator") if len(values) > 1 else "."
    if not sign:
        raise BadArguments("the separator of `reverseBySeparator` is empty", "reverse")
    joined = string_literal(sign.encode().decode("latin-1"))
    pattern = string_literal(re.escape(sign.encode().decode("latin-1")))
    parts = f"reverse(split({bytes_as_characters(values[0].sql)}, {pattern}))"
    return typed_sql(
        binary_to_string(f"encode(array_join({parts}, {joined}), 'ISO-8859-1')"), nullable_if_any(STRING, [values[0]])
    )


def _append_trailing_char(values: Sequence[TypedSql]) -> TypedSql:
    """Appends the character unless the string ends with it or is empty."""
    sign = literal_string(values[1], "the last character")
    if len(sign) != 1 or not sign.isascii():
        raise BadArguments("the last character of `appendTrailingCharIfAbsent` must be one ASCII character")
    last = string_literal(sign)

    def formula(v: str) -> str:
        return f"if({v} = '' OR endswith({v}, {last}), {v}, concat({v}, {last}))"

    return typed_sql(bind_if_long(values[0].sql, formula), nullable_if_any(STRING, [values[0]]))


def _initcap(values: Sequence[TypedSql]) -> TypedSql:
    """Each run of ASCII letters and digits begins with an upper-case letter; the rest is lower case."""
    latin = f"decode(CAST({values[0].sql} AS BINARY), 'ISO-8859-1')"
    words = f"regexp_extract_all({latin}, '[A-Za-z0-9]+|[^A-Za-z0-9]+', 0)"
    word = "concat(upper(substring(` w`, 1, 1)), lower(substring(` w`, 2)))"
    each = f"transform({words}, ` w` -> if(` w` RLIKE '^[A-Za-z0-9]', {word}, ` w`))"
    return typed_sql(
        binary_to_string(f"encode(array_join({each}, ''), 'ISO-8859-1')"), nullable_if_any(STRING, list(values))
    )


FUNCTIONS: tuple[Function, ...] = (
    _same_type_function("lower", ASCII_LOWER),
    _same_type_function("upper", ASCII_UPPER),
    template_function("lowerUTF8", "text", "lower({0})", STRING),
    template_function("upperUTF8", "text", "upper({0})", STRING),
    _same_type_function("reverse", _REVERSE_BYTES),
    template_function("reverseUTF8", "text", "reverse({0})", STRING),
    template_function("replaceAll", "text text text", "replace({0}, {1}, {2})", STRING),
    Function("replaceOne", (3, 3), ("text",), _replace_one),
    _trim_function("trimBoth", "btrim({0}, {1})"),
    _trim_function("trimLeft", "ltrim({1}, {0})"),
    _trim_function("trimRight", "rtrim({1}, {0})"),
    Function("repeat", (2, 2), ("text", "integer"), _repeat),
    Function("space", (1, 1), ("integer",), _repeat_space),
    _pad_function("leftPad", "CAST(lpad(CAST({0} AS BINARY), {1}, CAST({2} AS BINARY)) AS STRING)", "byte"),
    _pad_function("rightPad", "CAST(rpad(CAST({0} AS BINARY), {1}, CAST({2} AS BINARY)) AS STRING)", "byte"),
    _pad_function("leftPadUTF8", "lpad({0}, {1}, {2})", "character"),
    _pad_function("rightPadUTF8", "rpad({0}, {1}, {2})", "character"),
    _translate_function("translate"),
    _translate_function("translateUTF8"),
    Function("reverseBySeparator", (1, 2), ("text", "constant"), _reverse_by_separator),
    Function("appendTrailingCharIfAbsent", (2, 2), ("text", "constant"), _append_trailing_char),
    Function("initcap", (1, 1), ("text",), _initcap),
    template_function("initcapUTF8", "text", "penstock_initials({0})", STRING),
)
ALIASES: dict[str, str] = {
    "lcase": "lower",
    "ucase": "upper",
    "replace": "replaceAll",
    "trim": "trimBoth",
    "ltrim": "trimLeft",
    "rtrim": "trimRight",
    "lpad": "leftPad",
    "rpad": "rightPad",
}
ANY_CASE: tuple[str, ...] = (
    "lower",
    "upper",
    "reverse",
    "lcase",
    "ucase",
    "replace",
    "repeat",
    "lpad",
    "rpad",
    "space",
    "initcap",
    "ltrim",
    "rtrim",
)
