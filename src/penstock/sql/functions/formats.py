"""Texts put together by a pattern or a separator: format, concatWithSeparator; initcap and unbin.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: other values are written as
toString writes them; a pattern is a literal and is taken apart when compiling.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from penstock.sql.conversion_texts import as_text
from penstock.sql.functions.function import MANY, STRING, BadArguments, Function
from penstock.sql.functions.text_arguments import byte_text, constant_text
from penstock.sql.let import let
from penstock.sql.typed import Typed, null_if_any, typed
from penstock.sql.value_types import text_literal

_PIECE = re.compile(r"(?P<text>(?:[^{}]|\{\{|\}\})+)|\{(?P<place>[0-9]*)\}")


def _shown(values: Sequence[Typed], name: str) -> list[str]:
    texts = []
    for value in values:
        text = as_text(value)
        if text is None:
            raise BadArguments(f"`{name}` of {value.type} is not supported", "toString")
        texts.append(text)
    return texts


def _format(values: Sequence[Typed]) -> Typed:
    """`{}` are the arguments in their order, `{1}` those of a place; braces are doubled to stand for themselves."""
    pattern = constant_text(values[0], "the pattern of `format`")
    if "{{{" in pattern or "}}}" in pattern:
        raise BadArguments("the pattern of `format` has three braces in a row", "concat(…)")
    texts = _shown(values[1:], "format")
    pieces, end = [], 0
    places: list[str] = []
    for found in _PIECE.finditer(pattern):
        if found.start() != end:
            break
        end = found.end()
        if found["text"] is not None:
            pieces.append(text_literal(found["text"].replace("{{", "{").replace("}}", "}")))
            continue
        places.append(found["place"])
        pieces.append(_argument(texts, int(found["place"] or len(places) - 1)))
    if end != len(pattern) or len({bool(place) for place in places}) > 1:
        raise BadArguments("the pattern of `format` takes `{}` everywhere or a number in each", "'{0} {1}'")
    return typed(f"concat({', '.join(pieces)})" if pieces else "''", null_if_any(STRING, list(values)))


def _argument(texts: list[str], place: int) -> str:
    if place >= len(texts):
        raise BadArguments(f"the pattern of `format` names argument {place} of {len(texts)}, counted from 0")
    return texts[place]


def _concat_with_separator(values: Sequence[Typed]) -> Typed:
    """NULL where one of the texts is."""
    separator = text_literal(constant_text(values[0], "the separator"))
    texts = _shown(values[1:], "concatWithSeparator")
    parts = [part for text in texts for part in (separator, text)][1:]
    return typed(f"concat({', '.join(parts)})" if parts else "''", null_if_any(STRING, list(values)))


def _unbin(values: Sequence[Typed]) -> Typed:
    """Eight digits are a byte; the first byte may have fewer."""

    def formula(v: str) -> str:
        count = f"greatest(CAST(ceil(length({v}) / 8D) AS INT), 1)"
        padded = f"lpad({v}, {count} * 8, '0')"
        byte = f"lpad(conv(substring({padded}, ` i` * 8 - 7, 8), 2, 16), 2, '0')"
        digits = f"array_join(transform(sequence(1, {count}), ` i` -> {byte}), '')"
        wrong = "raise_error('unbin of what is no binary number')"
        return (
            f"CASE WHEN {v} = '' THEN '' WHEN {v} RLIKE '[^01]' THEN {wrong} ELSE {byte_text(f'unhex({digits})')} END"
        )

    return typed(let(values[0].sql, formula), null_if_any(STRING, list(values)))


def _initcap(values: Sequence[Typed]) -> Typed:
    """Words are of ASCII letters and digits; other letters stay as they are and end a word."""

    def formula(v: str) -> str:
        words = f"regexp_extract_all({v}, '([A-Za-z0-9]+|[^A-Za-z0-9]+)', 1)"
        upper = "translate(left(` w`, 1), 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ')"
        lower = "translate(substring(` w`, 2), 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')"
        return f"array_join(transform({words}, ` w` -> concat({upper}, {lower})), '')"

    return typed(formula(values[0].sql), null_if_any(STRING, list(values)))


FUNCTIONS: tuple[Function, ...] = (
    Function("format", (2, MANY), ("any",), _format),
    Function("concatWithSeparator", (2, MANY), ("any",), _concat_with_separator),
    Function("initcap", (1, 1), ("text",), _initcap),
    Function("unbin", (1, 1), ("text",), _unbin),
)
ALIASES = {"concat_ws": "concatWithSeparator", "concatWithSeparatorAssumeInjective": "concatWithSeparator"}
ANY_CASE = ("unbin", "initcap", "concat_ws")
