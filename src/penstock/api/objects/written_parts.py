"""Parts of a column that are written as text: types, expressions and names.

In: a text. Out: the text, which is one part. Invariant: a text that would end where it stands, and say something of
another column, is refused.
"""

from __future__ import annotations

import re

from penstock.api.objects.no_column_type import NoColumnType

_PART = re.compile(r"""'(?:[^'\\]|\\.)*'|`[^`]*`|"(?:[^"\\]|\\.)*"|.""", re.DOTALL)
_TYPE = re.compile(r"[A-Za-z_]\w*(?:\s*(?P<rest>\(.*\)))?", re.DOTALL)
_OPENING, _CLOSING = "([{", ")]}"


def require_type(what: str, text: object) -> str:
    """A type, or the name of a function with its parameters. Raises NoColumnType for anything else."""
    found = _TYPE.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None or not _is_closed_at_end(found["rest"] or "()"):
        raise NoColumnType(f"{text!r} is not {what}", "write it as one, such as Map(String, UInt8)")
    return str(text).strip()


def require_expression(what: str, text: object, *, commas: bool = False) -> str:
    """An expression, or several with commas between them. Raises NoColumnType for anything else."""
    if isinstance(text, str) and text.strip():
        depths = list(_depths(text))
        is_whole = all(depth >= 0 for _, depth in depths) and depths[-1][1] == 0
        if is_whole and (commas or not any(part == "," and depth == 0 for part, depth in depths)):
            return text
    raise NoColumnType(f"{text!r} is not {what}: it must be one expression", "close its brackets and quotes")


def require_name(what: str, text: object) -> str:
    """A name that stands in backquotes. Raises NoColumnType for one that ends them."""
    if isinstance(text, str) and text.strip() and "`" not in text:
        return text
    raise NoColumnType(f"{text!r} cannot be {what}", "write it without backquotes")


def _depths(text: str) -> list[tuple[str, int]]:
    """The parts of a text, each with the brackets that are open behind it. A quote that is not closed counts as a
    bracket that never is."""
    found, depth = [], 0
    for part in _PART.findall(text):
        depth += (part in _OPENING or part in "'`\"") - (part in _CLOSING)
        found.append((part, depth))
    return found


def _is_closed_at_end(text: str) -> bool:
    """Whether the first bracket is closed by the last one."""
    *before, last = [depth for _, depth in _depths(text)]
    return last == 0 and all(depth > 0 for depth in before)
