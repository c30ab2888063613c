"""Texts: case, search, replacement, parts, padding, hashes.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: names without
UTF8 work on bytes and on ASCII letters only, as in ClickHouse.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.functions.function import STRING, UINT8, UINT64, BadArguments, Function, simple
from penstock.sql.typed import Typed, as_spark, null_if_any, typed
from penstock.sql.value_types import text_literal

_UPPER, _LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"


def _length(values: Sequence[Typed]) -> Typed:
    """Bytes of a text, elements of an array or a map."""
    value = values[0]
    of = null_if_any(UINT64, [value])
    if isinstance(value.bare, (t.Array, t.Map)):
        return Typed(f"size({value.sql})", of, "INT")
    if isinstance(value.bare, t.Tuple):
        raise BadArguments("`length` of a Tuple is not supported")
    return Typed(f"octet_length({value.sql})", of, "INT")


def _emptiness(name: str, operator: str) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        value, of = values[0], null_if_any(UINT8, list(values))
        if isinstance(value.bare, (t.Array, t.Map)):
            return Typed(f"(size({value.sql}) {operator} 0)", of, "BOOLEAN")
        if not isinstance(value.bare, (t.String, t.FixedString)):
            raise BadArguments(f"`{name}` needs a String or an Array, this is {value.type}")
        return Typed(f"({value.sql} {operator} '')", of, "BOOLEAN")

    return Function(name, (1, 1), ("any",), build)


def _substring(values: Sequence[Typed]) -> Typed:
    """By bytes; a start of 0 gives nothing."""
    start = as_spark(values[1], "INT")
    length = f", {as_spark(values[2], 'INT')}" if len(values) > 2 else ""
    cut = f"CAST(substring(CAST({values[0].sql} AS BINARY), {start}{length}) AS STRING)"
    sql = cut if isinstance(values[1].constant, int) and values[1].constant != 0 else f"if({start} = 0, '', {cut})"
    return typed(sql, null_if_any(STRING, list(values)))


def _count(value: Typed, name: str) -> int:
    if not isinstance(value.constant, int) or value.constant < 0:
        raise BadArguments(f"the length of `{name}` must be a literal from 0")
    return value.constant


def _left(values: Sequence[Typed]) -> Typed:
    cut = f"CAST(substring(CAST({values[0].sql} AS BINARY), 1, {_count(values[1], 'left')}) AS STRING)"
    return typed(cut, null_if_any(STRING, list(values)))


def _right(values: Sequence[Typed]) -> Typed:
    start = f"greatest(octet_length({values[0].sql}) - {_count(values[1], 'right') - 1}, 1)"
    cut = f"CAST(substring(CAST({values[0].sql} AS BINARY), {start}) AS STRING)"
    return typed(cut, null_if_any(STRING, list(values)))


def _substring_utf8(values: Sequence[Typed]) -> Typed:
    start = as_spark(values[1], "INT")
    length = f", {as_spark(values[2], 'INT')}" if len(values) > 2 else ""
    sql = f"if({start} = 0, '', substring({values[0].sql}, {start}{length}))"
    return typed(sql, null_if_any(STRING, list(values)))


def constant_text(value: Typed, what: str) -> str:
    """The text of a literal. Raises BadArguments for what is none."""
    if not isinstance(value.constant, str):
        raise BadArguments(f"{what} must be a text literal")
    return value.constant


def _regex(value: Typed) -> str:
    """A RE2 pattern for Java's engine; both read the common part alike, `.` matching a line end too."""
    pattern = constant_text(value, "the regular expression")
    try:
        re.compile(pattern)
    except re.error as error:
        raise BadArguments(f"invalid regular expression: {error}") from error
    return text_literal("(?s)" + pattern)


def _match(values: Sequence[Typed]) -> Typed:
    return Typed(f"({values[0].sql} RLIKE {_regex(values[1])})", null_if_any(UINT8, list(values)), "BOOLEAN")


def _extract(values: Sequence[Typed]) -> Typed:
    """The first group of the first match, or the whole match where there is no group."""
    group = min(1, re.compile(constant_text(values[1], "the regular expression")).groups)
    sql = f"regexp_extract({values[0].sql}, {_regex(values[1])}, {group})"
    return typed(sql, null_if_any(STRING, list(values)))


def _extract_all(values: Sequence[Typed]) -> Typed:
    group = min(1, re.compile(constant_text(values[1], "the regular expression")).groups)
    return typed(f"regexp_extract_all({values[0].sql}, {_regex(values[1])}, {group})", t.Array(STRING))


def _replace_regex(name: str, once: str) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        with_groups = re.sub(r"\\(\d)", r"$\1", constant_text(values[2], "the replacement").replace("$", "\\$"))
        pattern = _regex(values[1])
        if once:
            pattern = text_literal("(?s)^(.*?)(?:" + str(values[1].constant) + ")")
            if re.compile(str(values[1].constant)).groups or "\\" in str(values[2].constant):
                raise BadArguments(f"`{name}` with groups is not supported", "use replaceRegexpAll")
            with_groups = "$1" + with_groups
        sql = f"regexp_replace({values[0].sql}, {pattern}, {text_literal(with_groups)})"
        return typed(sql, null_if_any(STRING, list(values)))

    return Function(name, (3, 3), ("string", "constant"), build)


def _replace_one(values: Sequence[Typed]) -> Typed:
    value, needle, other = (item.sql for item in values)
    place = f"instr({value}, {needle})"
    replaced = (
        f"concat(substring({value}, 1, {place} - 1), {other}, substring({value}, {place} + char_length({needle})))"
    )
    return typed(f"if({place} = 0 OR {needle} = '', {value}, {replaced})", null_if_any(STRING, list(values)))


def _position(name: str, template: str) -> Function:
    """The place of the first byte of the needle; the haystack comes first."""

    def build(values: Sequence[Typed]) -> Typed:
        value, needle = (template.format(item.sql) for item in values[:2])
        found = f"octet_length(substring_index({value}, {needle}, 1))"
        sql = f"if(instr({value}, {needle}) = 0, 0, if({needle} = '', 1, {found} + 1))"
        return Typed(sql, null_if_any(UINT64, list(values)), "INT")

    return Function(name, (2, 2), ("string",), build)


def _search_any(name: str, template: str) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        value = template.format(values[0].sql)
        test = f"contains({value}, {template.format('` n`')})"
        return Typed(f"exists({values[1].sql}, ` n` -> {test})", null_if_any(UINT8, [values[0]]), "BOOLEAN")

    return Function(name, (2, 2), ("string", "array"), build)


def _first_index(name: str) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        hits = f"transform({values[1].sql}, ` n` -> contains({values[0].sql}, ` n`))"
        return Typed(f"CAST(array_position({hits}, true) AS INT)", null_if_any(UINT64, [values[0]]), "INT")

    return Function(name, (2, 2), ("string", "array"), build)


ASCII_LOWER = "translate({0}, '" + _UPPER + "', '" + _LOWER + "')"
ASCII_UPPER = "translate({0}, '" + _LOWER + "', '" + _UPPER + "')"

FUNCTIONS: tuple[Function, ...] = (
    Function("length", (1, 1), ("any",), _length),
    _emptiness("empty", "="),
    _emptiness("notEmpty", "<>"),
    simple("lengthUTF8", "string", "char_length({0})", UINT64, "INT"),
    simple("lower", "string", ASCII_LOWER, STRING),
    simple("upper", "string", ASCII_UPPER, STRING),
    simple("lowerUTF8", "string", "lower({0})", STRING),
    simple("upperUTF8", "string", "upper({0})", STRING),
    simple("reverse", "string", "reverse({0})", STRING),
    Function("substring", (2, 3), ("string", "integer"), _substring),
    Function("substringUTF8", (2, 3), ("string", "integer"), _substring_utf8),
    Function("left", (2, 2), ("string", "integer"), _left),
    Function("right", (2, 2), ("string", "integer"), _right),
    Function("match", (2, 2), ("string", "constant"), _match),
    Function("extract", (2, 2), ("string", "constant"), _extract),
    Function("extractAll", (2, 2), ("string", "constant"), _extract_all),
    simple("replaceAll", "string string string", "replace({0}, {1}, {2})", STRING),
    Function("replaceOne", (3, 3), ("string",), _replace_one),
    _replace_regex("replaceRegexpAll", ""),
    _replace_regex("replaceRegexpOne", "once"),
    _position("position", "{0}"),
    _position("positionCaseInsensitive", ASCII_LOWER),
    _search_any("multiSearchAny", "{0}"),
    _search_any("multiSearchAnyCaseInsensitive", ASCII_LOWER),
    _first_index("multiSearchFirstIndex"),
    _first_index("multiSearchFirstIndexUTF8"),
    simple("startsWith", "string string", "startswith({0}, {1})", UINT8, "BOOLEAN"),
    simple("endsWith", "string string", "endswith({0}, {1})", UINT8, "BOOLEAN"),
    simple("trimBoth", "string", "btrim({0}, ' ')", STRING),
    simple("trimLeft", "string", "ltrim(' ', {0})", STRING),
    simple("trimRight", "string", "rtrim(' ', {0})", STRING),
    simple("repeat", "string integer", "repeat({0}, {1})", STRING),
    simple("hex", "string", "hex({0})", STRING),
    simple("base64Encode", "string", "base64({0})", STRING),
    simple("base64Decode", "string", "CAST(unbase64({0}) AS STRING)", STRING),
)
ALIASES = {
    "substr": "substring",
    "mid": "substring",
    "lcase": "lower",
    "ucase": "upper",
    "replace": "replaceAll",
    "ltrim": "trimLeft",
    "rtrim": "trimRight",
    "OCTET_LENGTH": "length",
    "CHAR_LENGTH": "lengthUTF8",
    "CHARACTER_LENGTH": "lengthUTF8",
}
ANY_CASE = (
    "length", "lower", "upper", "reverse", "substring", "substr", "mid", "lcase", "ucase", "replace", "position",
    "left", "right", "repeat", "ltrim", "rtrim", "OCTET_LENGTH", "CHAR_LENGTH", "CHARACTER_LENGTH",
)  # fmt: skip
