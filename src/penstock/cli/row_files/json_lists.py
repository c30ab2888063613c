"""A list of JSON divided into several, for bodies of limited size.

In: the bytes of a document. Out: lists with the same values. Invariant: every value keeps its bytes, so that numbers
keep all their digits; a document that is no list, or whose brackets do not fit, is left to the server as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},"]', re.DOTALL)
_SPACE = b"\xef\xbb\xbf \t\r\n"
"""White space of JSON, and the byte order mark."""


def divide_list(document: bytes, most: int) -> Iterator[bytes]:
    """Lists of about so many bytes; the document itself if it is no larger, or cannot be divided."""
    if len(document) <= most or not document.lstrip(_SPACE).startswith(b"["):
        yield document
        return
    ends = _ends_of_values(document)
    if ends is None:
        yield document
        return
    start = document.index(b"[")
    for end, following in zip(ends, (*ends[1:], None), strict=True):
        if following is None or following - start > most:
            yield b"[" + document[start + 1 : end] + b"]"
            start = end


def _ends_of_values(document: bytes) -> list[int] | None:
    """Where each value of the list ends: the places of the commas between them, and of the last bracket; None if the
    brackets do not fit."""
    ends: list[int] = []
    open_brackets: list[bytes] = []
    for token in _TOKEN.finditer(document):
        mark = token[0]
        if mark in (b"[", b"{"):
            open_brackets.append(b"]" if mark == b"[" else b"}")
        elif mark == b'"':  # it is open
            return None
        elif mark in (b"]", b"}"):
            if not open_brackets or open_brackets.pop() != mark:
                return None
            if not open_brackets:
                is_open = ends and not document[ends[-1] + 1 : token.start()].strip(_SPACE)
                rest = document[token.end() :].strip(_SPACE)
                return None if rest or is_open else [*ends, token.start()]
        elif mark == b"," and len(open_brackets) == 1:
            ends.append(token.start())
    return None
