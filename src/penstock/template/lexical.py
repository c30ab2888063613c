"""Whether each value that a template wrote stands by itself in the SQL.

In: rendered SQL and where its values are. Out: the first value that does not. Called by render. Invariant:
no value is a part of a text in quotes that the template began, ends a comment, or begins one together with
what stands before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_TOKEN = re.compile(
    r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`(?:[^`\\]|\\.|``)*`"""
    r"""|(?P<comment>--[^\n]*|\#[^\n]*|//[^\n]*|/\*.*?\*/)|(?P<tag>\$\w*\$).*?(?P=tag)|[^\s'"`/#$-]+|\s+|.""",
    re.DOTALL,
)
_BRACKETS = re.compile(r"/\*|\*/")


def misplaced(sql: str, values: Iterable[tuple[int, int]]) -> int | None:
    """The place among `values` (start and end of each, in order) of the first that is not a token of its
    own or of a comment."""
    tokens = _TOKEN.finditer(sql)
    token = next(tokens, None)
    for place, (start, end) in enumerate(values):
        while token is not None and token.end() <= start:
            token = next(tokens, None)
        while token is not None and token.start() < end:
            if not _fits(sql, token, start, end):
                return place
            if token.end() > end:
                break
            token = next(tokens, None)
    return None


def _fits(sql: str, token: re.Match[str], start: int, end: int) -> bool:
    if token["comment"] is not None:
        opener = 1 if token[0].startswith("#") else 2
        within = token.start() + opener <= start and token.end() >= end
        return within and not _BRACKETS.search(sql, start, end)
    inside = token.start() >= start and token.end() <= end
    return inside or token[0][0] not in "'\"`$"
