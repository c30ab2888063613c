"""Regular expressions: match, extract, extractAllGroups, replaceRegexpAll, countMatches, splitByRegexp

A pattern must be a literal; `re2` translates it from RE2's syntax into Java's. Where ClickHouse stops at an empty match
and Spark continues, a pattern that may match the empty string is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from penstock.model import types as t
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import TypedSql, nullable_if_any, typed_sql, unless_null
from penstock.sql.functions.arguments import (
    empty_if_null,
    limit_parts,
    literal_integer,
    literal_string,
    literal_strings,
)
from penstock.sql.functions.function import STRING, UINT8, UINT64, BadArguments, Function
from penstock.sql.functions.strings.character_classes import BadPattern
from penstock.sql.functions.strings.re2 import Pattern, java_pattern
from penstock.sql.spark_text import string_literal

_WHAT = "the regular expression"
_REPLACEMENT_PIECE = re.compile(r"\\(.)|([$])|([^\\$]+)|(\\$)", re.DOTALL)
_HYPERSCAN_DIFFERS = re.compile(r"\$|\\[sSzbB]|\[:|\\[pP]")
"""Syntax that Hyperscan reads otherwise than RE2."""


def _read_pattern(value: TypedSql, any_case: str = "") -> Pattern:
    try:
        return java_pattern(literal_string(value, _WHAT), any_case)
    except BadPattern as error:
        raise BadArguments(f"invalid regular expression: {error.message}", error.hint) from error


def _nonempty_pattern(value: TypedSql, name: str, any_case: str = "") -> Pattern:
    """A pattern that never matches the empty string: ClickHouse stops at the first empty match."""
    pattern = _read_pattern(value, any_case)
    if pattern.empty:
        raise BadArguments(f"`{name}` by a pattern that may match nothing is not supported", "write `+` for `*`")
    return pattern


def _grouped_pattern(value: TypedSql, name: str) -> Pattern:
    """A pattern with at least one group."""
    pattern = _nonempty_pattern(value, name)
    if not pattern.groups:
        raise BadArguments(f"the pattern of `{name}` has no groups", "extractAll takes one without")
    return pattern


def _match(values: Sequence[TypedSql]) -> TypedSql:
    java = string_literal(_read_pattern(values[1]).java)
    return TypedSql(f"({values[0].sql} RLIKE {java})", nullable_if_any(UINT8, list(values)), "BOOLEAN")


def _test_function(name: str, any_case: str, template: str) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        java = string_literal(_read_pattern(values[1], any_case).java)
        return TypedSql(
            template.format(f"({values[0].sql} RLIKE {java})"), nullable_if_any(UINT8, list(values)), "BOOLEAN"
        )

    return Function(name, (2, 2), ("string", "constant"), build)


def _extract_group(values: Sequence[TypedSql]) -> TypedSql:
    """The group of a number; without a number the first group, or the whole match if there is none."""
    pattern = _read_pattern(values[1])
    place = literal_integer(values[2], "the number of the group") if len(values) > 2 else min(1, pattern.groups)
    if not 0 <= place <= pattern.groups:
        raise BadArguments(f"the pattern has {pattern.groups} groups, not {place}")
    sql = f"regexp_extract({values[0].sql}, {string_literal(pattern.java)}, {place})"
    return typed_sql(sql, nullable_if_any(STRING, [values[0]]))


def _extract(values: Sequence[TypedSql]) -> TypedSql:
    """The first group of the first match, or the whole match if the pattern has no group."""
    pattern = _read_pattern(values[1])
    sql = f"regexp_extract({values[0].sql}, {string_literal(pattern.java)}, {min(1, pattern.groups)})"
    return typed_sql(sql, nullable_if_any(STRING, list(values)))


def _extract_all_sql(value: TypedSql, pattern: Pattern, group: int) -> str:
    return f"regexp_extract_all({value.sql}, {string_literal(pattern.java)}, {group})"


def _extract_all(values: Sequence[TypedSql]) -> TypedSql:
    pattern = _nonempty_pattern(values[1], "extractAll")
    sql = _extract_all_sql(values[0], pattern, min(1, pattern.groups))
    return typed_sql(empty_if_null(sql, values[0]), t.Array(STRING))


def _extract_groups(values: Sequence[TypedSql]) -> TypedSql:
    pattern = _grouped_pattern(values[1], "extractGroups")
    java = string_literal(pattern.java)

    def formula(v: str) -> str:
        groups = ", ".join(f"regexp_extract({v}, {java}, {place})" for place in range(1, pattern.groups + 1))
        return f"if({v} RLIKE {java}, array({groups}), CAST(array() AS ARRAY<STRING>))"

    return typed_sql(bind_if_long(values[0].sql, formula), t.Array(STRING))


def _extract_groups_vertical(values: Sequence[TypedSql]) -> TypedSql:
    pattern = _grouped_pattern(values[1], "extractAllGroupsVertical")
    places = range(pattern.groups)
    groups = ", ".join(_extract_all_sql(values[0], pattern, place + 1) for place in places)
    fields = ", ".join(f"` g`.`{place}`" for place in places)
    sql = f"transform(arrays_zip({groups}), ` g` -> array({fields}))"
    return typed_sql(empty_if_null(sql, values[0], "ARRAY<ARRAY<STRING>>"), t.Array(t.Array(STRING)))


def _extract_groups_horizontal(values: Sequence[TypedSql]) -> TypedSql:
    pattern = _grouped_pattern(values[1], "extractAllGroupsHorizontal")
    groups = ", ".join(
        empty_if_null(_extract_all_sql(values[0], pattern, place + 1), values[0]) for place in range(pattern.groups)
    )
    return typed_sql(f"array({groups})", t.Array(t.Array(STRING)))


def _count_function(name: str, any_case: str) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        pattern = _nonempty_pattern(values[1], name, any_case)
        count = f"size({_extract_all_sql(values[0], pattern, 0)})"
        sql = unless_null(count, values[0])
        return TypedSql(sql, nullable_if_any(UINT64, [values[0]]), "INT")

    return Function(name, (2, 2), ("bytes", "constant"), build)


def _java_replacement(text: str, pattern: Pattern, shift: int) -> str:
    """A replacement in Java's syntax. `shift` is the number of the group that holds the whole match."""
    parts: list[str] = []
    for found in _REPLACEMENT_PIECE.finditer(text):
        escaped, sign, plain, last = found.groups()
        if escaped is not None and escaped.isascii() and escaped.isdigit():
            if int(escaped) > pattern.groups:
                raise BadArguments(f"`\\{escaped}`: the pattern has {pattern.groups} groups")
            parts.append(f"${int(escaped) + shift}")
        else:
            # A digit after a group would belong to its number.
            quoted = re.sub(r"[\\$]", r"\\\g<0>", escaped or sign or plain or last)
            glued = bool(parts) and re.fullmatch(r"\$[0-9]+", parts[-1]) is not None and quoted[0].isdigit()
            parts.append("\\" + quoted if glued else quoted)
    return "".join(parts)


_BETWEEN_LINES = ("", "(?m)^", "(?m)$")
"""Patterns that match nothing, but at no place inside a letter."""


def _is_ascii_literal(value: TypedSql) -> bool:
    return isinstance(value.constant, str) and value.constant.isascii()


def _replaces_once(pattern: str) -> bool:
    """Whether ClickHouse takes replaceRegexpAll for replaceRegexpOne: a pattern without alternatives that begins with ^
    or ends with $ (its RegexpFunctionRewritePass)."""
    ends = re.search(r"(?<!\\)(?:\\\\)*\$$", pattern) is not None
    return (pattern.startswith("^") or ends) and not set("(|") & set(pattern)


def _replace_all(values: Sequence[TypedSql]) -> TypedSql:
    """By a pattern that may match nothing ClickHouse splits letters that are not ASCII, except where it replaces once
    or by nothing. Raises BadArguments for such a pattern."""
    pattern, of = _read_pattern(values[1]), nullable_if_any(STRING, list(values))
    written, text = str(values[1].constant), literal_string(values[2], "the replacement")
    if pattern.empty and written not in _BETWEEN_LINES and text and not _is_ascii_literal(values[0]):
        once = _replaces_once(written) and not (set("?{") & set(written) or "\\" in text)
        if once and "`" in values[0].sql:  # ClickHouse computes constants before it rewrites the call
            return _replace_one(values)
        message = "`replaceRegexpAll` by a pattern that may match nothing is not supported"
        raise BadArguments(message, "write `+` for `*`, or replaceRegexpOne")
    other = _java_replacement(text, pattern, 0)
    if not values[1].constant:
        return typed_sql(values[0].sql, of)
    return typed_sql(f"regexp_replace({values[0].sql}, {string_literal(pattern.java)}, {string_literal(other)})", of)


def _replace_one(values: Sequence[TypedSql]) -> TypedSql:
    """The text before the first match becomes a group in front of the pattern's own."""
    pattern, of = _read_pattern(values[1]), nullable_if_any(STRING, list(values))
    text = literal_string(values[2], "the replacement")
    whole = "\\0" in text
    other = _java_replacement(text, pattern, 2 if whole else 1)
    if not values[1].constant:
        return typed_sql(values[0].sql, of)
    java = string_literal(f"(?s)^(.*?)({'' if whole else '?:'}" + pattern.java.removeprefix("(?s)") + ")")
    glued = "\\" if other[:1].isdigit() else ""
    return typed_sql(f"regexp_replace({values[0].sql}, {java}, {string_literal('$1' + glued + other)})", of)


def _split_by_regexp(values: Sequence[TypedSql]) -> TypedSql:
    if not values[0].constant:
        letters = f"filter(split({values[1].sql}, ''), ` p` -> ` p` <> '')"
        return typed_sql(limit_parts(empty_if_null(letters, values[1]), values), t.Array(STRING))
    java = string_literal(_nonempty_pattern(values[0], "splitByRegexp").java)
    value = f"coalesce({values[1].sql}, '')" if values[1].nullable else values[1].sql
    return typed_sql(limit_parts(f"split({value}, {java}, -1)", values), t.Array(STRING))


def _multi_match_any(values: Sequence[TypedSql]) -> TypedSql:
    """ClickHouse matches these with Hyperscan, which reads some syntax otherwise than RE2: that syntax is refused."""
    tests = " OR ".join(_hyperscan_tests("multiMatchAny", values))
    return TypedSql(f"({tests})", nullable_if_any(UINT8, [values[0]]), "BOOLEAN")


def _multi_match_all_indices(values: Sequence[TypedSql]) -> TypedSql:
    """The places of all patterns that match. ClickHouse gives them in any order; here it is ascending."""
    tests = _hyperscan_tests("multiMatchAllIndices", values)
    found = ", ".join(f"if({test}, {place}, NULL)" for place, test in enumerate(tests, 1))
    of = t.Array(t.Int(64, signed=False))
    return typed_sql(f"CAST(array_compact(array({found})) AS {value_type(of)})", of)


def _hyperscan_tests(name: str, values: Sequence[TypedSql]) -> list[str]:
    """One Spark condition for each of the literal patterns."""
    given = literal_strings(values[1], "the patterns")
    for text in (str(each.constant) for each in given):
        if _HYPERSCAN_DIFFERS.search(text):
            raise BadArguments(f"`{text}` in `{name}` is not supported", "use match(…) OR match(…)")
    return [f"{values[0].sql} RLIKE {string_literal(_read_pattern(each).java)}" for each in given]


def _quote_meta(values: Sequence[TypedSql]) -> TypedSql:
    signs, quoted = string_literal(r"[\x{0}\\|()^$.\[\]?*+{:\-]"), string_literal(r"\\$0")
    return typed_sql(f"regexp_replace({values[0].sql}, {signs}, {quoted})", nullable_if_any(STRING, [values[0]]))


def _unsupported_function(name: str, hint: str) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        raise BadArguments(f"`{name}` is not supported: which of several it finds is not defined", hint)

    return Function(name, (2, 3), ("any",), build)


def _pattern_function(name: str, build: Callable[[Sequence[TypedSql]], TypedSql]) -> Function:
    return Function(name, (2, 2), ("string", "constant"), build)


FUNCTIONS: tuple[Function, ...] = (
    _pattern_function("match", _match),
    _test_function("matchCaseInsensitive", "i", "{0}"),
    _test_function("notMatch", "", "(NOT {0})"),
    _test_function("notMatchCaseInsensitive", "i", "(NOT {0})"),
    Function("regexpExtract", (2, 3), ("text", "constant", "constant"), _extract_group),
    Function("extract", (2, 2), ("text", "constant"), _extract),
    Function("extractAll", (2, 2), ("text", "constant"), _extract_all),
    _pattern_function("extractGroups", _extract_groups),
    _pattern_function("extractAllGroupsVertical", _extract_groups_vertical),
    _pattern_function("extractAllGroupsHorizontal", _extract_groups_horizontal),
    _count_function("countMatches", ""),
    _count_function("countMatchesCaseInsensitive", "i"),
    Function("replaceRegexpAll", (3, 3), ("bytes", "constant"), _replace_all),
    Function("replaceRegexpOne", (3, 3), ("bytes", "constant"), _replace_one),
    Function("splitByRegexp", (2, 3), ("constant", "text", "constant"), _split_by_regexp),
    Function("regexpQuoteMeta", (1, 1), ("text",), _quote_meta),
    Function("multiMatchAny", (2, 2), ("string", "array"), _multi_match_any),
    _unsupported_function("multiMatchAnyIndex", "multiIf(match(s, 'a'), 1, match(s, 'b'), 2, 0)"),
    Function("multiMatchAllIndices", (2, 2), ("string", "array"), _multi_match_all_indices),
)
ALIASES: dict[str, str] = {
    "extractAllGroups": "extractAllGroupsVertical",
    "REGEXP_MATCHES": "match",
    "REGEXP_EXTRACT": "regexpExtract",
    "REGEXP_SUBSTR": "regexpExtract",
    "REGEXP_REPLACE": "replaceRegexpAll",
}
ANY_CASE: tuple[str, ...] = ("REGEXP_REPLACE", "REGEXP_EXTRACT", "REGEXP_SUBSTR", "REGEXP_MATCHES")
