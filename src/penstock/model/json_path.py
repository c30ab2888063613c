"""JSON paths such as `$.a.b[:]` or `$['a.b']`, which say where in a JSON row the value of a column is.

In: the path as text. Out: its keys. Invariant: rows are read (flow) and written (copies) by the same function,
so a path means the same place for both.
"""

from __future__ import annotations

import re

_PART = re.compile(r"""\.?\[:\]|\.?\['([^']+)'\]|\.?\["([^"]+)"\]|\.([^.\[\]\s]+)""")
_PLAIN_KEY = re.compile(r"[^.\[\]\s]+")


def path_of_key(key: str) -> str:
    """The path of a field of the row. Its key has no quotes."""
    return f"$.{key}" if _PLAIN_KEY.fullmatch(key) else f"$['{key}']"


def parse_json_path(path: str) -> tuple[str | None, ...]:
    """The keys of `$.a.b`, with None for `[:]` (each element of an array). Raises ValueError."""
    if not path.startswith("$"):
        raise ValueError(f"a JSON path starts with $: {path}")
    parts: list[str | None] = []
    position = 1
    while position < len(path):
        found = _PART.match(path, position)
        if found is None:
            raise ValueError(f"not a JSON path: {path}")
        parts.append(next((each for each in found.groups() if each is not None), None))
        position = found.end()
    return tuple(parts)


def place_value(row: dict[str, object], path: tuple[str | None, ...], value: object) -> None:
    """Put a value where the path leads to in a JSON row. The path begins with a key, and no other value is there or
    around it."""
    key, rest = path[0], path[1:]
    assert key is not None, "a path begins with a key, and elements are placed below"
    if not rest or all(part is None for part in rest):
        row[key] = value
        return
    if rest[0] is not None:
        inner = row.setdefault(key, {})
        assert isinstance(inner, dict), "no value is placed inside of another"
        place_value(inner, rest, value)
        return
    elements = row.setdefault(key, [])
    assert isinstance(elements, list), "no value is placed inside of another"
    given = value if isinstance(value, list) else [value]
    elements.extend({} for _ in range(len(given) - len(elements)))
    for element, each in zip(elements, given, strict=False):
        place_value(element, rest[1:], each)
