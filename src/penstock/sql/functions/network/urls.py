"""URLs: domain, netloc, firstSignificantSubdomain, path, queryString, cutFragment, extractURLParameter

A string that is not a URL gives the empty string, never an error. What counts as a domain follows ClickHouse's parser,
not RFC 3986. Encoding and decoding (percent-encoding, RFC 3986) work on bytes, so that invalid UTF-8 is kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from penstock.model import types as t
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.typed import TypedSql, nullable_if_any, typed_sql, unless_null
from penstock.sql.functions.arguments import as_spark_int, bytes_as_characters, empty_if_null, literal_string
from penstock.sql.functions.function import STRING, UINT16, BadArguments, Function
from penstock.sql.spark_text import string_literal

# The scheme takes 13 characters at most; its first may be anything.
_SCHEME = r"^(?://|[\x00-\x7F][A-Za-z0-9.+-]{0,12}://)?+"
_END = ":/?#"
_NEVER = r" \t<>%{}|\\^~\[\];=&"
_USER = rf"(?:[^{_END}{_NEVER}]*@)?+"
_IN_HOST = rf"[^{_END}{_NEVER}@]"
_DOTTED = rf"(?=[^{_END}]*[.])"
_STOP = rf"(?<![.])(?=[{_END}]|\z)"
_START = _SCHEME + _DOTTED + _USER
_DOMAIN = f"{_START}({_IN_HOST}+){_STOP}"
_WITHOUT_WWW = rf"{_START}(?:www\.)?({_IN_HOST}+){_STOP}"
_TOP = rf"{_START}{_IN_HOST}*[.]([^{_END}{_NEVER}@.0-9][^{_END}{_NEVER}@.]*)(?=[{_END}]|\z)"
_PORT = rf"{_START}{_IN_HOST}+{_STOP}:0*([0-9]{{1,5}})(?=[/?#]|\z)"
_BEFORE_PATH = "^[^/]*(?://[^/]*)?+"
_HIGHEST_PORT = 65535
_STRINGS = t.Array(STRING)
_NEXT = r"(?:^[^?#]*[?#]|(?!^)\G[&#])(?:[^=&#?]*\?)*"
_PAIRS = _NEXT + r"([^=&#?]*(?=[&#])|[^=&#?]*=[^&#]*)"
_NAMES = _NEXT + r"([^=&#?]*)(?=[=&#])[^&#]*"
_QUERY = r"^[^?#]*(?=[?#])[\s\S]*?"
_LEVELS = string_literal(r"(?:^[a-z0-9]+://(?=[\s\S])[^/?#]*|(?!^)\G[/?#]*[^/?#]+)[/?#]?")
_PIECES = r"%[\s\S]{0,2}|[^%]+"
_NO_TEXTS = "CAST(array() AS ARRAY<STRING>)"


def _part_function(name: str, pattern: str) -> Function:
    """A function that returns the first group of a pattern."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        sql = f"regexp_extract({values[0].sql}, {string_literal(pattern)}, 1)"
        return typed_sql(sql, nullable_if_any(STRING, list(values)))

    return Function(name, (1, 1), ("text",), build)


def _site_function(name: str, pattern: str, shown: str) -> Function:
    """A function of the domain that somebody registered: `shown` is SQL of it, in which it is `{0}`. Which names are
    public suffixes is in `PublicSuffixes.java`; a pattern finds the domain."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        domain = f"regexp_extract({values[0].sql}, {string_literal(pattern)}, 1)"
        return typed_sql(shown.format(f"penstock_site({domain})"), nullable_if_any(STRING, list(values)))

    return Function(name, (1, 1), ("text",), build)


def _netloc(values: Sequence[TypedSql]) -> TypedSql:
    return typed_sql(f"penstock_netloc({values[0].sql})", nullable_if_any(STRING, list(values)))


def _cut_function(name: str, pattern: str) -> Function:
    """Removes what a pattern matches, except for its first group."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        sql = f"regexp_replace({values[0].sql}, {string_literal(pattern)}, '$1')"
        return typed_sql(sql, nullable_if_any(STRING, list(values)))

    return Function(name, (1, 1), ("text",), build)


def _protocol(values: Sequence[TypedSql]) -> TypedSql:
    """Only if at least three bytes follow the colon, as in ClickHouse."""

    def formula(v: str) -> str:
        found = f"regexp_extract({v}, '^([a-zA-Z][a-zA-Z0-9+.-]*):', 1)"
        return f"if(octet_length({v}) <= octet_length({found}) + 3, '', {found})"

    return typed_sql(bind_if_long(values[0].sql, formula), nullable_if_any(STRING, list(values)))


def _port(values: Sequence[TypedSql]) -> TypedSql:
    default = as_spark_int(values[1]) if len(values) > 1 else "0"
    if len(values) > 1 and values[1].bare != UINT16:
        raise BadArguments(f"the default port must be a UInt16, this is {values[1].type}", "toUInt16(…)")
    found = f"try_cast(regexp_extract({values[0].sql}, {string_literal(_PORT)}, 1) AS INT)"
    sql = bind_if_long(found, lambda p: f"if({p} BETWEEN 0 AND {_HIGHEST_PORT}, {p}, {default})")
    sql = unless_null(sql, values[0])
    return TypedSql(sql, nullable_if_any(UINT16, list(values)), "INT")


def _parameter_name(value: TypedSql) -> str:
    name = literal_string(value, "the parameter's name")
    if not name:
        raise BadArguments("the parameter's name is empty")
    return re.escape(name)


def _extract_parameter(values: Sequence[TypedSql]) -> TypedSql:
    pattern = string_literal(rf"{_QUERY}[?#&]{_parameter_name(values[1])}=([^&#]*)")
    return typed_sql(f"regexp_extract({values[0].sql}, {pattern}, 1)", nullable_if_any(STRING, [values[0]]))


def _cut_parameter(values: Sequence[TypedSql]) -> TypedSql:
    """Removes the `&` behind the parameter too, or the one in front if it is the last."""
    pair = f"{_parameter_name(values[1])}=[^&#]*"
    pattern = string_literal(rf"^([^?#]*(?=[?#])[\s\S]*?)(?:([?#&]){pair}&|&{pair}(?![^#])|([?#]){pair})")
    return typed_sql(f"regexp_replace({values[0].sql}, {pattern}, '$1$2$3')", nullable_if_any(STRING, [values[0]]))


def _find_all_function(name: str, pattern: str) -> Function:
    """A function that returns the first group of every match as an array."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        sql = f"regexp_extract_all({values[0].sql}, {string_literal(pattern)}, 1)"
        return typed_sql(empty_if_null(sql, values[0]), _STRINGS)

    return Function(name, (1, 1), ("text",), build)


def _url_levels(value: TypedSql, formula: Callable[[str, str], str]) -> TypedSql:
    given = f"coalesce({value.sql}, '')" if value.nullable else value.sql
    sql = bind_if_long(given, lambda v: bind_if_long(f"regexp_extract_all({v}, {_LEVELS}, 0)", lambda p: formula(v, p)))
    return typed_sql(sql, _STRINGS)


def _hierarchy(values: Sequence[TypedSql]) -> TypedSql:
    """A string without a protocol is its only level."""

    def formula(v: str, p: str) -> str:
        levels = f"transform(sequence(1, size({p})), ` i` -> array_join(slice({p}, 1, ` i`), ''))"
        return f"CASE WHEN {v} = '' THEN {_NO_TEXTS} WHEN size({p}) = 0 THEN array({v}) ELSE {levels} END"

    return _url_levels(values[0], formula)


def _path_hierarchy(values: Sequence[TypedSql]) -> TypedSql:
    def formula(v: str, p: str) -> str:
        first = f"right({p}[0], 1)"
        level = f"concat({first}, array_join(slice({p}, 2, ` i` - 1), ''))"
        levels = f"transform(sequence(2, size({p})), ` i` -> {level})"
        return f"if(size({p}) < 2, {_NO_TEXTS}, {levels})"

    return _url_levels(values[0], formula)


def _encode(values: Sequence[TypedSql], blank: str) -> TypedSql:
    """Letters, digits and `-_.~` (the unreserved characters of RFC 3986) are kept."""

    def formula(v: str) -> str:
        fast = f"replace(replace(url_encode({v}), '*', '%2A'), '%7E', '~')"
        if blank != "+":
            fast = f"replace({fast}, '+', '{blank}')"
        other = f"if(` p` = ' ', '{blank}', concat('%', hex(encode(` p`, 'ISO-8859-1'))))"
        each = f"if(` p` = '' OR ` p` RLIKE '[A-Za-z0-9._~-]', ` p`, {other})"
        slow = f"array_join(transform(split({bytes_as_characters(v)}, ''), ` p` -> {each}), '')"
        return f"if(is_valid_utf8({v}), {fast}, {slow})"

    return typed_sql(bind_if_long(values[0].sql, formula), nullable_if_any(STRING, list(values)))


def _decode(values: Sequence[TypedSql], template: str) -> TypedSql:
    """A `%` without two hexadecimal digits behind it stays as it is."""
    parts = f"regexp_extract_all({bytes_as_characters(template.format(values[0].sql))}, {string_literal(_PIECES)}, 0)"
    byte = "decode(unhex(substring(` p`, 2)), 'ISO-8859-1')"
    each = f"if(` p` RLIKE '^%[0-9A-Fa-f]{{2}}$', {byte}, ` p`)"
    joined = f"array_join(transform({parts}, ` p` -> {each}), '')"
    return typed_sql(f"CAST(encode({joined}, 'ISO-8859-1') AS STRING)", nullable_if_any(STRING, list(values)))


def _string_function(name: str, build: Callable[[Sequence[TypedSql]], TypedSql]) -> Function:
    return Function(name, (1, 1), ("text",), build)


FUNCTIONS: tuple[Function, ...] = (
    _part_function("domain", _DOMAIN),
    _part_function("domainWithoutWWW", _WITHOUT_WWW),
    _part_function("topLevelDomain", _TOP),
    _site_function("cutToFirstSignificantSubdomain", _WITHOUT_WWW, "{0}"),
    _site_function("cutToFirstSignificantSubdomainWithWWW", _DOMAIN, "{0}"),
    _site_function("firstSignificantSubdomain", _WITHOUT_WWW, "substring_index({0}, '.', 1)"),
    _part_function("path", rf"{_BEFORE_PATH}(/[^?#]*)"),
    _part_function("pathFull", rf"{_BEFORE_PATH}(/[\s\S]*)"),
    _part_function("queryString", r"^[^?]*\?([^#]*)"),
    _part_function("fragment", r"^[^#]*#([\s\S]*)"),
    _part_function("queryStringAndFragment", r"^(?:[^?]*\?|[^?#]*(?=#)(?![^?]*\?))([\s\S]*)"),
    Function("netloc", (1, 1), ("text",), _netloc),
    Function("protocol", (1, 1), ("text",), _protocol),
    Function("port", (1, 2), ("text", "integer"), _port),
    _cut_function("cutWWW", r"^([^/]*//(?:[^:/?#]*@)?+)www\.(?=[\s\S])"),
    _cut_function("cutQueryString", r"^([^?]*)\?[^#]*"),
    _cut_function("cutFragment", r"^([^#]*)#[\s\S]*"),
    _cut_function("cutQueryStringAndFragment", r"^([^?]*(?=\?)|[^?#]*(?=#)(?![^?]*\?))[\s\S]*"),
    Function("extractURLParameter", (2, 2), ("text", "constant"), _extract_parameter),
    Function("cutURLParameter", (2, 2), ("text", "constant"), _cut_parameter),
    _find_all_function("extractURLParameters", _PAIRS),
    _find_all_function("extractURLParameterNames", _NAMES),
    _string_function("URLHierarchy", _hierarchy),
    _string_function("URLPathHierarchy", _path_hierarchy),
    _string_function("encodeURLComponent", lambda values: _encode(values, "%20")),
    _string_function("encodeURLFormComponent", lambda values: _encode(values, "+")),
    _string_function("decodeURLComponent", lambda values: _decode(values, "{0}")),
    _string_function("decodeURLFormComponent", lambda values: _decode(values, "replace({0}, '+', ' ')")),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
