"""Arrays, maps and tuples as ClickHouse writes them in texts, as JSON.

In: a text such as `['a', NULL]` or `(1, 'b')`. Out: the text of JSON. Invariant: what is no such text stays no JSON.
"""

from __future__ import annotations

import re

import orjson

_LITERAL = re.compile(r"'((?:[^'\\]|\\.|'')*)'|\"(?:[^\"\\]|\\.)*\"|([()])|\b(NULL)\b", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0", "a": "\a", "v": "\v"}
_ESCAPE = re.compile(r"\\(.)|''", re.DOTALL)


def literals_as_json(text: str) -> str:
    """The JSON text of an array, a map or a tuple as ClickHouse writes it."""
    return _LITERAL.sub(_as_json, text)


def _as_json(found: re.Match[str]) -> str:
    quoted, bracket, null = found.groups()
    if quoted is not None:
        plain = _ESCAPE.sub(lambda each: _ESCAPES.get(each[1], each[1]) if each[1] else "'", quoted)
        return orjson.dumps(plain).decode()
    if bracket is not None:
        return "[" if bracket == "(" else "]"
    return "null" if null is not None else found[0]
