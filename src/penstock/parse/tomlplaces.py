"""Where the keys and values of a TOML text stand: what `tomllib` does not say.

In: the text. Out: places by path. Called by settings. Invariant: a path that is not found on a line
of its own has the place of the table around it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from penstock.errors import Location

Path: TypeAlias = tuple[str, ...]

_PART = r"""(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)"""
_DOTTED = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER = re.compile(rf"\s*\[\[?\s*(?P<path>{_DOTTED})\s*\]")
_PAIR = re.compile(rf"\s*(?P<path>{_DOTTED})\s*=\s*(?P<value>\S?)")
_AT = re.compile(r"\(at line (\d+), column (\d+)\)")


@dataclass(frozen=True, slots=True)
class Places:
    """The places of the keys and of their values."""

    file: str
    keys: dict[Path, Location]
    values: dict[Path, Location]

    def key(self, path: Path) -> Location:
        """Where a key or a table's name stands."""
        return _nearest(self.keys, path, self.file)

    def value(self, path: Path) -> Location:
        """Where the value of a key stands."""
        return self.values.get(path) or self.key(path)


def find_places(text: str, file: str) -> Places:
    """The places of every key of a TOML text."""
    places = Places(file, {}, {})
    table: Path = ()
    for number, line in enumerate(text.split("\n"), start=1):
        header, pair = _HEADER.match(line), _PAIR.match(line)
        found = header or pair
        if found is None:
            continue
        path = _parts(found["path"])
        if header:
            table, path = path, ()
        full = table + path
        place = Location(file, number, found.start("path") + 1)
        for length in range(1, len(full) + 1):
            places.keys.setdefault(full[:length], place)
        if pair and not header:
            places.values.setdefault(full, Location(file, number, pair.start("value") + 1))
    return places


def error_place(message: str, text: str, file: str) -> Location:
    """The place that a message of `tomllib` names; the text's end where it names none."""
    found = _AT.search(message)
    if found:
        return Location(file, int(found[1]), int(found[2]))
    lines = text.split("\n")
    return Location(file, len(lines), len(lines[-1]) + 1)


def _parts(path: str) -> Path:
    return tuple(part.strip("\"'") for part in re.findall(_PART, path))


def _nearest(places: dict[Path, Location], path: Path, file: str) -> Location:
    while path and path not in places:
        path = path[:-1]
    return places.get(path, Location(file))
