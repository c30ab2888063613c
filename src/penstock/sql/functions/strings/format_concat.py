"""Concatenation and formatting: concat, concatWithSeparator, format

Values of other types are written as ClickHouse's toString writes them. Patterns and separators must be literals, so
that a mistake in them is reported when the query is compiled.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.conversions.strings import as_text
from penstock.sql.expr.typed import TypedSql, nullable_if_any, typed_sql, unless_null
from penstock.sql.functions.arguments import cast_to_common_array, literal_string
from penstock.sql.functions.function import MAX_ARGUMENTS, STRING, BadArguments, Function
from penstock.sql.spark_text import string_literal

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([0-9]*)\}|[{}]")
_EMPTY = "''"


def concat(values: Sequence[TypedSql]) -> TypedSql:
    """Strings, and other values as strings, joined; arrays appended to each other."""
    if len(values) > 1 and all(isinstance(value.bare, t.Array) for value in values):
        arrays, of = cast_to_common_array(values)
        return typed_sql(f"concat({', '.join(arrays)})", t.Array(of))
    for kind, hint in ((t.Map, "mapConcat"), (t.Tuple, "tupleConcat")):
        if len(values) > 1 and all(isinstance(value.bare, kind) for value in values):
            raise BadArguments(f"concat of {values[0].type} is not supported", f"{hint}, or toString(…) of each")
    shown = [_whole_text(value) for value in values] if len(values) > 1 else [as_text(values[0])]
    if None in shown:
        raise BadArguments(f"concat of {values[shown.index(None)].type} is not supported")
    return typed_sql(f"concat({', '.join(map(str, shown))})", nullable_if_any(STRING, list(values)))


def _concat_texts(values: Sequence[TypedSql]) -> TypedSql:
    """concatAssumeInjective, which writes arrays as texts too."""
    if all(isinstance(value.bare, t.Array) for value in values):
        raise BadArguments("`concatAssumeInjective` of arrays is not supported", "concat(…) of toString(…) of each")
    return concat(values)


def _whole_text(value: TypedSql) -> str | None:
    """The text of a value beside others; a FixedString keeps its zero bytes, which toString takes off."""
    return value.sql if isinstance(value.bare, t.FixedString) else as_text(value)


def _string_arguments(values: Sequence[TypedSql], name: str) -> list[str]:
    """The arguments as strings. Raises BadArguments for a type that cannot be written as a string."""
    found = []
    for value in values:
        text = _whole_text(value)
        if text is None:
            raise BadArguments(f"`{name}` of a {value.type} is not supported", "toString(…)")
        found.append(text)
    return found


def _format(values: Sequence[TypedSql]) -> TypedSql:
    """`{}` stands for the next argument, `{1}` for the argument of that number, from 0; a pattern has one form only."""
    pattern = literal_string(values[0], "the pattern of `format`")
    if "{{{" in pattern or "}}}" in pattern:
        raise BadArguments("the pattern of `format` has three braces in a row", "concat(…)")
    texts = _string_arguments(values[1:], "format")
    pieces: list[str] = []
    places: list[str] = []
    end = 0
    for found in _PLACEHOLDER.finditer(pattern):
        pieces.append(string_literal(pattern[end : found.start()]))
        end = found.end()
        if found[0] in ("{{", "}}"):
            pieces.append(string_literal(found[0][0]))
            continue
        pieces.append(texts[_argument_index(found, places, len(texts))])
        places.append(found[1])
    pieces.append(string_literal(pattern[end:]))
    unused = [value for value, text in zip(values[1:], texts, strict=True) if text not in pieces]
    sql = f"concat({', '.join(each for each in pieces if each != _EMPTY)})"
    return typed_sql(unless_null(sql, *unused), nullable_if_any(STRING, list(values)))


def _argument_index(found: re.Match[str], before: list[str], count: int) -> int:
    """The number of the argument that a placeholder stands for. Raises BadArguments if there is none."""
    if found[1] is None:
        raise BadArguments("the pattern of `format` has a brace that is not one of a pair", "{{ and }} are braces")
    if any((each == "") != (found[1] == "") for each in before):
        raise BadArguments("the pattern of `format` mixes {} and {0}")
    place = int(found[1]) if found[1] else len(before)
    if place >= count:
        raise BadArguments(f"the pattern of `format` needs {place + 1} arguments")
    return place


def _concat_with_separator(values: Sequence[TypedSql]) -> TypedSql:
    separator = string_literal(literal_string(values[0], "the separator of `concatWithSeparator`"))
    texts = _string_arguments(values[1:], "concatWithSeparator")
    pieces = [piece for text in texts for piece in (separator, text)][1:]
    sql = f"concat({', '.join(pieces)})" if pieces else _EMPTY
    return typed_sql(sql, nullable_if_any(STRING, list(values)))


FUNCTIONS: tuple[Function, ...] = (
    Function("format", (2, MAX_ARGUMENTS), ("constant", "any"), _format),
    Function("concatWithSeparator", (1, MAX_ARGUMENTS), ("constant", "any"), _concat_with_separator),
    Function("concat", (1, MAX_ARGUMENTS), ("any",), concat),
    Function("concatAssumeInjective", (2, MAX_ARGUMENTS), ("any",), _concat_texts),
)
ALIASES: dict[str, str] = {
    "concatWithSeparatorAssumeInjective": "concatWithSeparator",
    "concat_ws": "concatWithSeparator",
}
ANY_CASE: tuple[str, ...] = ("concat_ws", "concat")
