"""URLs: domain, path, protocol, parameters, encoding; splitting of texts.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: a text that is no
URL gives the empty text, never an error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.functions.function import STRING, BadArguments, Function, simple
from penstock.sql.functions.strings import constant_text
from penstock.sql.typed import Typed, null_if_any, typed
from penstock.sql.value_types import text_literal

_SCHEME = "^(?:(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?//(?:[^@/?#]*@)?)?"
_HOST = r"(?=[^/?#:]*[.])([a-zA-Z0-9._-]+)(?=[:/?#]|$)"
_DOMAIN = text_literal(_SCHEME + _HOST)
_WITHOUT_WWW = text_literal(_SCHEME + r"(?:www\.)?" + _HOST)
_PATH = text_literal(r"^(?:(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?//)?+[^/]*(/[^?#]*)")
_PROTOCOL = text_literal(r"^([a-zA-Z][a-zA-Z0-9+.-]*)://")
_QUERY = text_literal(r"^[^?#]*\?([^#]*)")


def _url_part(name: str, pattern: str) -> Function:
    return simple(name, "string", f"regexp_extract({{0}}, {pattern.replace('{', '{{').replace('}', '}}')}, 1)", STRING)


def _parameter(values: Sequence[Typed]) -> Typed:
    name = re.escape(constant_text(values[1], "the parameter's name"))
    pattern = text_literal(rf"[?&#;]{name}=([^&#;]*)")
    return typed(f"regexp_extract({values[0].sql}, {pattern}, 1)", null_if_any(STRING, [values[0]]))


def _split(name: str) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        separator = constant_text(values[0], "the separator")
        if not separator:
            parts = f"filter(split({values[1].sql}, ''), ` p` -> ` p` <> '')"
            return typed(parts, t.Array(STRING))
        if name == "splitByChar" and len(separator.encode()) != 1:
            raise BadArguments("the separator of `splitByChar` must be one byte")
        pattern = text_literal(r"\Q" + separator + r"\E")
        return typed(f"split({values[1].sql}, {pattern}, -1)", t.Array(STRING))

    return Function(name, (2, 2), ("constant", "string"), build)


def _split_regexp(values: Sequence[Typed]) -> Typed:
    pattern = text_literal(constant_text(values[0], "the regular expression"))
    return typed(f"split({values[1].sql}, {pattern}, -1)", t.Array(STRING))


FUNCTIONS: tuple[Function, ...] = (
    _url_part("domain", _DOMAIN),
    _url_part("domainWithoutWWW", _WITHOUT_WWW),
    _url_part("path", _PATH),
    _url_part("protocol", _PROTOCOL),
    _url_part("queryString", _QUERY),
    Function("extractURLParameter", (2, 2), ("string", "constant"), _parameter),
    simple("encodeURLFormComponent", "string", "url_encode({0})", STRING),
    simple("decodeURLFormComponent", "string", "coalesce(try_url_decode({0}), {0})", STRING),
    Function("splitByChar", (2, 2), ("constant", "string"), _split("splitByChar").build),
    Function("splitByString", (2, 2), ("constant", "string"), _split("splitByString").build),
    Function("splitByRegexp", (2, 2), ("constant", "string"), _split_regexp),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
