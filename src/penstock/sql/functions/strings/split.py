"""Splitting strings into arrays: splitByChar, splitByString, splitByWhitespace, alphaTokens, ngrams

The result is never NULL: NULL is split like the empty string.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.typed import TypedSql, is_cut, typed_sql
from penstock.sql.functions.arguments import (
    binary_to_string,
    bytes_as_characters,
    limit_parts,
    literal_integer,
    literal_string,
    to_binary,
)
from penstock.sql.functions.function import STRING, BadArguments, Function
from penstock.sql.spark_text import string_literal

_STRINGS = t.Array(STRING)
_NOT_ALPHANUMERIC = "[\\x00-/:-@\\[-`{-\\x7F]+"


def _empty_string_if_null(value: TypedSql) -> str:
    return f"coalesce({value.sql}, '')" if value.nullable else value.sql


def _split_by_separator_function(name: str) -> Function:
    """splitByChar and splitByString, whose separator must be a literal; an empty separator splits into bytes."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        separator = literal_string(values[0], "the separator")
        if name == "splitByChar" and len(separator.encode()) != 1:
            raise BadArguments("the separator of `splitByChar` must be one byte", "splitByString takes more")
        if not separator:
            return typed_sql(limit_parts(_split_into_bytes(_empty_string_if_null(values[1])), values), _STRINGS)
        if "\\E" in separator:
            raise BadArguments(f"`\\E` in the separator of `{name}` is not supported")
        if is_cut(values[1]):
            return typed_sql(limit_parts(_split_bytes(_empty_string_if_null(values[1]), separator), values), _STRINGS)
        pattern = string_literal(r"\Q" + separator + r"\E")
        return typed_sql(limit_parts(f"split({_empty_string_if_null(values[1])}, {pattern}, -1)", values), _STRINGS)

    return Function(name, (2, 3), ("constant", "text", "constant"), build)


def _split_bytes(value: str, separator: str) -> str:
    """The parts of a text that may be no UTF-8."""
    pattern = string_literal(r"\Q" + separator.encode().decode("latin-1") + r"\E")
    part = binary_to_string("encode(` p`, 'ISO-8859-1')")
    return f"transform(split({bytes_as_characters(value)}, {pattern}, -1), ` p` -> {part})"


def _split_into_bytes(value: str) -> str:
    def formula(v: str) -> str:
        each = binary_to_string(f"substring({to_binary(v)}, ` p`, 1)")
        return (
            f"if({v} = '', CAST(array() AS ARRAY<STRING>), transform(sequence(1, octet_length({v})), ` p` -> {each}))"
        )

    return bind_if_long(value, formula)


def _split_into_words_function(name: str, pattern: str) -> Function:
    """The non-empty parts between separators."""
    sql = f"filter(split({{0}}, {string_literal(pattern)}, -1), ` p` -> ` p` <> '')".replace("{0}", "\0")

    def build(values: Sequence[TypedSql]) -> TypedSql:
        return typed_sql(limit_parts(sql.replace("\0", _empty_string_if_null(values[0])), values, 1), _STRINGS)

    return Function(name, (1, 2), ("text", "constant"), build)


def _ngrams(values: Sequence[TypedSql]) -> TypedSql:
    """All substrings of one length, in characters."""
    size = literal_integer(values[1], "the length of the n-grams")
    if not 1 <= size <= 2**20:
        raise BadArguments("the length of the n-grams must be from 1 to 1048576")

    def formula(v: str) -> str:
        parts = f"transform(sequence(1, char_length({v}) - {size - 1}), ` p` -> substring({v}, ` p`, {size}))"
        return f"if(char_length({v}) < {size}, CAST(array() AS ARRAY<STRING>), {parts})"

    return typed_sql(bind_if_long(_empty_string_if_null(values[0]), formula), _STRINGS)


FUNCTIONS: tuple[Function, ...] = (
    _split_by_separator_function("splitByChar"),
    _split_by_separator_function("splitByString"),
    _split_into_words_function("splitByWhitespace", "[ \\t\\n\\x0B\\f\\r]+"),
    _split_into_words_function("splitByNonAlpha", "[ \\t\\n\\x0B\\f\\r!-/:-@\\[-`{-~]+"),
    _split_into_words_function("alphaTokens", "[^A-Za-z]+"),
    _split_into_words_function("tokens", _NOT_ALPHANUMERIC),
    Function("ngrams", (2, 2), ("text", "constant"), _ngrams),
)
ALIASES: dict[str, str] = {"splitByAlpha": "alphaTokens"}
ANY_CASE: tuple[str, ...] = ()
