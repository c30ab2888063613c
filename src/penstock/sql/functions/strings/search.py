"""Search in strings: position, countSubstrings, multiSearchAny, hasToken, hasSubsequence

Positions count from 1, in bytes, or in characters for functions with UTF8 in their name; 0 means not found. A token
is a run of ASCII letters, digits and non-ASCII characters; tokens and subsequences to look for must be literals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from penstock.model import types as t
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.typed import TypedSql, nullable_if_any, typed_sql, unless_null
from penstock.sql.functions.arguments import (
    as_spark_int,
    binary_to_string,
    literal_string,
    literal_strings,
    to_binary,
)
from penstock.sql.functions.function import STRING, UINT8, UINT64, BadArguments, Function
from penstock.sql.functions.strings.transformations import ASCII_LOWER
from penstock.sql.spark_text import string_literal

_CASE_SENSITIVE = "{0}"
_NEEDLE = "` n`"
_LAST_PLACE = 2**31 - 2
_WORD_CHARACTER = r"[0-9A-Za-z\x{80}-\x{10FFFF}]"


def _byte_position(value: str, needle: str) -> str:
    return _position(value, needle, "octet_length")


def _char_position(value: str, needle: str) -> str:
    """`instr` would pass over a needle that begins inside of a letter."""
    return _position(value, needle, "char_length")


def _position(value: str, needle: str, size: str) -> str:
    found = f"{size}(substring_index({value}, {needle}, 1))"
    return f"if(contains({value}, {needle}), if({needle} = '', 1, {found} + 1), 0)"


def _start_argument(value: TypedSql, name: str) -> str:
    if not isinstance(value.bare, t.Int) or value.bare.signed:
        raise BadArguments(f"the start position of `{name}` must be an unsigned number", "use toUInt32")
    if value.spark in ("INT", "BIGINT"):
        return as_spark_int(value)
    return f"CAST(least({value.sql}, {_LAST_PLACE}) AS INT)"  # no string is as long


def _suffix_from(value: str, start: str, size: str) -> tuple[str, str]:
    """The string from a position on, and the condition that there is such a position."""
    first = f"greatest({start}, 1)"
    if size == "octet_length":
        return binary_to_string(f"substring({to_binary(value)}, {first})"), f"{first} <= {size}({value}) + 1"
    return f"substring({value}, {first})", f"{first} <= {size}({value}) + 1"


def _position_function(name: str, template: str, place: Callable[[str, str], str]) -> Function:
    """The position of the needle; the haystack is the first argument."""
    size = "octet_length" if place is _byte_position else "char_length"

    def build(values: Sequence[TypedSql]) -> TypedSql:
        value, needle = (template.format(item.sql) for item in values[:2])
        sql = place(value, needle)
        if len(values) > 2:
            start = _start_argument(values[2], name)
            rest, there = _suffix_from(value, start, size)
            found = bind_if_long(place(rest, needle), lambda p: f"if({p} = 0, 0, {p} + greatest({start}, 1) - 1)")
            sql = f"if(NOT ({there}), 0, {found})"
        return TypedSql(unless_null(sql, *values), nullable_if_any(UINT64, list(values)), "INT")

    return Function(name, (2, 3), ("text", "text", "integer"), build)


def _locate(values: Sequence[TypedSql]) -> TypedSql:
    """position with the needle first."""
    return _POSITION.build([values[1], values[0], *values[2:]])


def _count_function(name: str, template: str) -> Function:
    """The number of occurrences without overlaps."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        value, needle = (template.format(item.sql) for item in values[:2])
        if len(values) > 2:
            value, _ = _suffix_from(value, _start_argument(values[2], name), "octet_length")
        sizes = f"octet_length({value}) - octet_length(replace({value}, {needle}, ''))"
        sql = f"CAST(({sizes}) DIV greatest(octet_length({needle}), 1) AS INT)"
        return TypedSql(sql, nullable_if_any(UINT64, list(values)), "INT")

    return Function(name, (2, 3), ("text", "text", "integer"), build)


def _needle_array(values: Sequence[TypedSql], name: str) -> str:
    """The array of what is looked for; in a literal text, ClickHouse looks for literals only."""
    value = values[1]
    assert isinstance(value.bare, t.Array)
    if values[0].constant is not None and value.bare.of == STRING:
        literal_strings(value, f"what `{name}` looks for in a literal text")
    if value.bare.of != STRING:
        raise BadArguments(f"`{name}` needs an Array(String), this is {value.type}")
    return value.sql


def _contains_needle(value: str, template: str) -> str:
    """Whether a string contains the needle; an empty string contains none, not even the empty one."""
    return f"(contains({value}, {template.format(_NEEDLE)}) AND {value} <> '')"


def _multi_search_any_function(name: str, template: str) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        value = template.format(values[0].sql)
        sql = f"exists({_needle_array(values, name)}, {_NEEDLE} -> {_contains_needle(value, template)})"
        return TypedSql(unless_null(sql, values[0]), nullable_if_any(UINT8, [values[0]]), "BOOLEAN")

    return Function(name, (2, 2), ("text", "array"), build)


def _multi_search_first_index_function(name: str, template: str) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        test = _contains_needle(template.format(values[0].sql), template)
        hits = f"transform({_needle_array(values, name)}, {_NEEDLE} -> {test})"
        sql = f"CAST(array_position({hits}, true) AS INT)"
        sql = unless_null(sql, values[0])
        return TypedSql(sql, nullable_if_any(UINT64, [values[0]]), "INT")

    return Function(name, (2, 2), ("text", "array"), build)


def _position_or_zero(value: TypedSql, template: str, place: Callable[[str, str], str]) -> str:
    found = place(template.format(value.sql), template.format(_NEEDLE))
    return f"if({value.sql} = '', 0, {found})"


def _multi_search_all_positions_function(name: str, template: str, place: Callable[[str, str], str]) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        if values[0].nullable:
            raise BadArguments(f"`{name}` of a Nullable string is not supported", "use ifNull(s, '')")
        found = _position_or_zero(values[0], template, place)
        sql = f"transform({_needle_array(values, name)}, {_NEEDLE} -> CAST({found} AS DECIMAL(20,0)))"
        return typed_sql(sql, t.Array(UINT64))

    return Function(name, (2, 2), ("text", "array"), build)


def _multi_search_first_position_function(name: str, template: str, place: Callable[[str, str], str]) -> Function:
    """The least position of any needle, 0 if none is found."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        found = _position_or_zero(values[0], template, place)
        places = f"transform({_needle_array(values, name)}, {_NEEDLE} -> nullif({found}, 0))"
        sql = f"coalesce(array_min({places}), 0)"
        sql = unless_null(sql, values[0])
        return TypedSql(sql, nullable_if_any(UINT64, [values[0]]), "INT")

    return Function(name, (2, 2), ("text", "array"), build)


def _ascii_lower(text: str) -> str:
    return "".join(sign.lower() if sign.isascii() else sign for sign in text)


def _has_token_function(name: str, *, any_case: bool, lenient: bool) -> Function:
    """A token that is not one word raises BadArguments; the functions with OrNull give NULL."""
    template = ASCII_LOWER if any_case else "{0}"

    def build(values: Sequence[TypedSql]) -> TypedSql:
        word = literal_string(values[1], "the token")
        of = t.Nullable(UINT8) if lenient else nullable_if_any(UINT8, [values[0]])
        if any(sign.isascii() and not sign.isalnum() for sign in word):
            if lenient:
                return typed_sql("CAST(NULL AS INT)", of)
            raise BadArguments(f"the token of `{name}` is more than one word", "position, multiSearchAny")
        quoted = re.escape(_ascii_lower(word) if any_case else word)
        pattern = f"(?<!{_WORD_CHARACTER}){quoted}(?!{_WORD_CHARACTER})" if word else "(?!)"
        return TypedSql(f"({template.format(values[0].sql)} RLIKE {string_literal(pattern)})", of, "BOOLEAN")

    return Function(name, (2, 2), ("text", "constant"), build)


def _has_subsequence_function(name: str, *, any_case: bool) -> Function:
    """Each character of the needle is searched after the one before it."""
    template = ASCII_LOWER if any_case else "{0}"

    def build(values: Sequence[TypedSql]) -> TypedSql:
        needle = literal_string(values[1], "the needle")
        if not needle.isascii() and (any_case or "UTF8" not in name):
            raise BadArguments(f"the needle of `{name}` must be ASCII", "hasSubsequenceUTF8")
        parts = (re.escape(sign) for sign in (_ascii_lower(needle) if any_case else needle))
        pattern = r"\A" + "".join(f"[^{part}]*+{part}" for part in parts)
        sql = f"({template.format(values[0].sql)} RLIKE {string_literal(pattern)})"
        return TypedSql(sql, nullable_if_any(UINT8, [values[0]]), "BOOLEAN")

    return Function(name, (2, 2), ("text", "constant"), build)


_POSITION = _position_function("position", _CASE_SENSITIVE, _byte_position)

FUNCTIONS: tuple[Function, ...] = (
    _POSITION,
    _position_function("positionCaseInsensitive", ASCII_LOWER, _byte_position),
    _position_function("positionUTF8", _CASE_SENSITIVE, _char_position),
    Function("locate", (2, 3), ("text", "text", "integer"), _locate),
    _count_function("countSubstrings", _CASE_SENSITIVE),
    _count_function("countSubstringsCaseInsensitive", ASCII_LOWER),
    _multi_search_any_function("multiSearchAny", _CASE_SENSITIVE),
    _multi_search_any_function("multiSearchAnyUTF8", _CASE_SENSITIVE),
    _multi_search_any_function("multiSearchAnyCaseInsensitive", ASCII_LOWER),
    _multi_search_first_index_function("multiSearchFirstIndex", _CASE_SENSITIVE),
    _multi_search_first_index_function("multiSearchFirstIndexUTF8", _CASE_SENSITIVE),
    _multi_search_first_index_function("multiSearchFirstIndexCaseInsensitive", ASCII_LOWER),
    _multi_search_first_position_function("multiSearchFirstPosition", _CASE_SENSITIVE, _byte_position),
    _multi_search_first_position_function("multiSearchFirstPositionUTF8", _CASE_SENSITIVE, _char_position),
    _multi_search_first_position_function("multiSearchFirstPositionCaseInsensitive", ASCII_LOWER, _byte_position),
    _multi_search_all_positions_function("multiSearchAllPositions", _CASE_SENSITIVE, _byte_position),
    _multi_search_all_positions_function("multiSearchAllPositionsUTF8", _CASE_SENSITIVE, _char_position),
    _multi_search_all_positions_function("multiSearchAllPositionsCaseInsensitive", ASCII_LOWER, _byte_position),
    _has_token_function("hasToken", any_case=False, lenient=False),
    _has_token_function("hasTokenOrNull", any_case=False, lenient=True),
    _has_token_function("hasTokenCaseInsensitive", any_case=True, lenient=False),
    _has_token_function("hasTokenCaseInsensitiveOrNull", any_case=True, lenient=True),
    _has_subsequence_function("hasSubsequence", any_case=False),
    _has_subsequence_function("hasSubsequenceUTF8", any_case=False),
    _has_subsequence_function("hasSubsequenceCaseInsensitive", any_case=True),
    _has_subsequence_function("hasSubsequenceCaseInsensitiveUTF8", any_case=True),
)
ALIASES: dict[str, str] = {"instr": "position"}
ANY_CASE: tuple[str, ...] = (
    "position",
    "locate",
    "countSubstrings",
    "instr",
    "hasTokenCaseInsensitive",
    "hasTokenCaseInsensitiveOrNull",
    "hasSubsequence",
    "hasSubsequenceUTF8",
    "hasSubsequenceCaseInsensitive",
    "hasSubsequenceCaseInsensitiveUTF8",
)
