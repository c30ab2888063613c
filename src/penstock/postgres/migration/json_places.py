"""Where each value of a JSON text stands in its file.

In: a text that is valid JSON. Out: by path (names and indexes), the place of the value. Invariant: linear in the text.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import TypeAlias

from penstock.errors import Location

JsonPath: TypeAlias = "tuple[str | int, ...]"
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


class JsonPlaces:
    """The places of the values of one file."""

    def __init__(self, file: str, text: str):
        self._file = file
        self._lines = [0, *(found.end() for found in re.finditer("\n", text))]
        self._offsets = _offsets(text)

    def at(self, *path: str | int) -> Location:
        """The place of a value; of one that is missing, the place of what should have it."""
        while path and path not in self._offsets:
            path = path[:-1]
        return self.at_offset(self._offsets.get(path, 0))

    def at_offset(self, offset: int) -> Location:
        line = bisect_right(self._lines, offset)
        return Location(self._file, line, offset - self._lines[line - 1] + 1)


def _offsets(text: str) -> dict[JsonPath, int]:
    found: dict[JsonPath, int] = {}
    path: list[str | int] = []
    """The innermost part is the name or index whose value comes next."""
    is_name = [False]
    for token in _TOKEN.finditer(text):
        match token[0]:
            case "{" | "[":
                found.setdefault(tuple(path), token.start())
                path.append("" if token[0] == "{" else 0)
                is_name.append(token[0] == "{")
            case "}" | "]":
                path.pop()
                is_name.pop()
            case ",":
                last = path[-1]
                is_name[-1] = isinstance(last, str)
                path[-1] = "" if isinstance(last, str) else last + 1
            case ":":
                is_name[-1] = False
            case literal if is_name[-1]:
                path[-1] = json.loads(literal)
            case _:
                found.setdefault(tuple(path), token.start())
    return found
