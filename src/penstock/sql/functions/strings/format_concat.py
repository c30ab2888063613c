"""Texts put together of others: format, concatWithSeparator; initcap, unbin.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: what is not valid where it is
written is refused at once.

The functions behind operators that need nothing but their values: concat.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: plus, equals …
are special forms, since they report their problems at their node.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.conversions.strings import as_text
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.spark_types import text_literal
from penstock.sql.expr.typed import Typed, nullable_if_any, typed, unless_null
from penstock.sql.functions.arguments import binary_to_string, literal_string
from penstock.sql.functions.function import MAX_ARGUMENTS, STRING, BadArguments, Function

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([0-9]*)\}|[{}]")
_EMPTY = "''"


def _string_arguments(values: Sequence[Typed], name: str) -> list[str]:
    found = []
    for value in values:
        text = as_text(value)
        if text is None:
            raise BadArguments(f"`{name}` of a {value.type} is not supported", "toString(…)")
        found.append(text)
    return found


def _format(values: Sequence[Typed]) -> Typed:
    """`{}` is the next argument, `{1}` that of a number from 0; never both."""
    pattern = literal_string(values[0], "the pattern of `format`")
    if "{{{" in pattern or "}}}" in pattern:
        raise BadArguments("the pattern of `format` has three braces in a row", "concat(…)")
    texts = _string_arguments(values[1:], "format")
    pieces: list[str] = []
    places: list[str] = []
    end = 0
    for found in _PLACEHOLDER.finditer(pattern):
        pieces.append(text_literal(pattern[end : found.start()]))
        end = found.end()
        if found[0] in ("{{", "}}"):
            pieces.append(text_literal(found[0][0]))
            continue
        pieces.append(texts[_argument_index(found, places, len(texts))])
        places.append(found[1])
    pieces.append(text_literal(pattern[end:]))
    unused = [value for value, text in zip(values[1:], texts, strict=True) if text not in pieces]
    sql = f"concat({', '.join(each for each in pieces if each != _EMPTY)})"
    return typed(unless_null(sql, *unused), nullable_if_any(STRING, list(values)))


def _argument_index(found: re.Match[str], before: list[str], count: int) -> int:
    if found[1] is None:
        raise BadArguments("the pattern of `format` has a brace that is not one of a pair", "{{ and }} are braces")
    if any((each == "") != (found[1] == "") for each in before):
        raise BadArguments("the pattern of `format` mixes {} and {0}")
    place = int(found[1]) if found[1] else len(before)
    if place >= count:
        raise BadArguments(f"the pattern of `format` needs {place + 1} arguments")
    return place


def _concat_with_separator(values: Sequence[Typed]) -> Typed:
    separator = text_literal(literal_string(values[0], "the separator of `concatWithSeparator`"))
    texts = _string_arguments(values[1:], "concatWithSeparator")
    pieces = [piece for text in texts for piece in (separator, text)][1:]
    sql = f"concat({', '.join(pieces)})" if pieces else _EMPTY
    return typed(sql, nullable_if_any(STRING, list(values)))


def _initcap(values: Sequence[Typed]) -> Typed:
    """Each run of ASCII letters and digits begins with an upper-case letter."""
    latin = f"decode(CAST({values[0].sql} AS BINARY), 'ISO-8859-1')"
    words = f"regexp_extract_all({latin}, '[A-Za-z0-9]+|[^A-Za-z0-9]+', 0)"
    word = "concat(upper(substring(` w`, 1, 1)), lower(substring(` w`, 2)))"
    each = f"transform({words}, ` w` -> if(` w` RLIKE '^[A-Za-z0-9]', {word}, ` w`))"
    return typed(
        binary_to_string(f"encode(array_join({each}, ''), 'ISO-8859-1')"), nullable_if_any(STRING, list(values))
    )


def _unbin(values: Sequence[Typed]) -> Typed:
    """Whole bytes of digits."""

    def formula(v: str) -> str:
        whole = f"lpad({v}, CAST(ceil(length({v}) / 8D) * 8 AS INT), '0')"
        byte = f"lpad(conv(substring({whole}, 8 * ` p` - 7, 8), 2, 16), 2, '0')"
        places = f"sequence(1, greatest(CAST(ceil(length({v}) / 8D) AS INT), 1))"
        joined = binary_to_string(f"unhex(array_join(transform({places}, ` p` -> {byte}), ''))")
        wrong = "raise_error('unbin of what is no binary number')"
        return f"CASE WHEN {v} = '' THEN '' WHEN {v} RLIKE '[^01]' THEN {wrong} ELSE {joined} END"

    sql = bind_if_long(values[0].sql, formula)
    sql = unless_null(sql, values[0])
    return typed(sql, nullable_if_any(STRING, list(values)))


def concat(values: Sequence[Typed]) -> Typed:
    """Texts, and other values as their texts, joined; arrays appended to each other."""
    if all(isinstance(value.bare, t.Array) for value in values):
        return Typed(f"concat({', '.join(value.sql for value in values)})", values[0].type, values[0].spark)
    shown = [as_text(value) for value in values]
    if None in shown:
        raise BadArguments(f"concat of {values[shown.index(None)].type} is not supported")
    return typed(f"concat({', '.join(map(str, shown))})", nullable_if_any(STRING, list(values)))


FUNCTIONS: tuple[Function, ...] = (
    Function("format", (2, MAX_ARGUMENTS), ("constant", "any"), _format),
    Function("concatWithSeparator", (1, MAX_ARGUMENTS), ("constant", "any"), _concat_with_separator),
    Function("initcap", (1, 1), ("text",), _initcap),
    Function("unbin", (1, 1), ("text",), _unbin),
    Function("concat", (1, MAX_ARGUMENTS), ("any",), concat),
)
ALIASES: dict[str, str] = {"concat_ws": "concatWithSeparator"}
ANY_CASE: tuple[str, ...] = ("initcap", "unbin", "concat_ws", "concat")
