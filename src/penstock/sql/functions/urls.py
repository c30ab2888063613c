"""Parts of URLs: protocol, domain, port, path, query, fragment; URLs without a part.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: a text that is no
URL gives the empty text, never an error; what is a domain is decided as ClickHouse does, not by RFC 3986.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.sql.functions.function import STRING, UINT16, BadArguments, Function
from penstock.sql.functions.text_arguments import as_int
from penstock.sql.let import let
from penstock.sql.typed import Typed, null_if_any, typed, unless_null
from penstock.sql.value_types import text_literal

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


def _part(name: str, pattern: str) -> Function:
    """The first group of a pattern."""

    def build(values: Sequence[Typed]) -> Typed:
        sql = f"regexp_extract({values[0].sql}, {text_literal(pattern)}, 1)"
        return typed(sql, null_if_any(STRING, list(values)))

    return Function(name, (1, 1), ("text",), build)


def _cut(name: str, pattern: str) -> Function:
    """Without what a pattern matches but for its first group."""

    def build(values: Sequence[Typed]) -> Typed:
        sql = f"regexp_replace({values[0].sql}, {text_literal(pattern)}, '$1')"
        return typed(sql, null_if_any(STRING, list(values)))

    return Function(name, (1, 1), ("text",), build)


def _protocol(values: Sequence[Typed]) -> Typed:
    """Only where at least three bytes follow the colon."""

    def formula(v: str) -> str:
        found = f"regexp_extract({v}, '^([a-zA-Z][a-zA-Z0-9+.-]*):', 1)"
        return f"if(octet_length({v}) <= octet_length({found}) + 3, '', {found})"

    return typed(let(values[0].sql, formula), null_if_any(STRING, list(values)))


def _port(values: Sequence[Typed]) -> Typed:
    default = as_int(values[1]) if len(values) > 1 else "0"
    if len(values) > 1 and values[1].bare != UINT16:
        raise BadArguments(f"the default port must be a UInt16, this is {values[1].type}", "toUInt16(…)")
    found = f"try_cast(regexp_extract({values[0].sql}, {text_literal(_PORT)}, 1) AS INT)"
    sql = let(found, lambda p: f"if({p} BETWEEN 0 AND {_HIGHEST_PORT}, {p}, {default})")
    sql = unless_null(sql, values[0])
    return Typed(sql, null_if_any(UINT16, list(values)), "INT")


FUNCTIONS: tuple[Function, ...] = (
    _part("domain", _DOMAIN),
    _part("domainWithoutWWW", _WITHOUT_WWW),
    _part("topLevelDomain", _TOP),
    _part("path", rf"{_BEFORE_PATH}(/[^?#]*)"),
    _part("pathFull", rf"{_BEFORE_PATH}(/[\s\S]*)"),
    _part("queryString", r"^[^?]*\?([^#]*)"),
    _part("fragment", r"^[^#]*#([\s\S]*)"),
    _part("queryStringAndFragment", r"^(?:[^?]*\?|[^?#]*(?=#)(?![^?]*\?))([\s\S]*)"),
    Function("protocol", (1, 1), ("text",), _protocol),
    Function("port", (1, 2), ("text", "integer"), _port),
    _cut("cutWWW", r"^([^/]*//(?:[^:/?#]*@)?+)www\.(?=[\s\S])"),
    _cut("cutQueryString", r"^([^?]*)\?[^#]*"),
    _cut("cutFragment", r"^([^#]*)#[\s\S]*"),
    _cut("cutQueryStringAndFragment", r"^([^?]*(?=\?)|[^?#]*(?=#)(?![^?]*\?))[\s\S]*"),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
