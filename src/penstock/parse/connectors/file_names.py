"""The names of a sink's files: templates such as `sales/{country}/{day, '%Y-%m'}_{4}`.

In: a template, and the values of a row as JSON shows them. Out: a name below a folder. Invariant: a value is one part
of a name whatever it is: it makes no folder and leads to none; rows whose names are equal go into one file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeAlias, Union
from urllib.parse import quote

from penstock.model.quick_dataclass import dataclass

MOST_PARTS = 1_000
"""The most files that `{N}` divides rows into."""
SAFE = " !#$&'()+,;=@[]^_`{}~-."
"""What a value may have as it is, besides letters and digits; the rest is written as in an address: `%2F`."""
_BRACES = re.compile(r"\{([^{}]*)\}")
_TIME = re.compile(r"""\s*([A-Za-z_][A-Za-z0-9_]*)\s*(?:,\s*(?:'([^']+)'|"([^"]+)")\s*)?""")
_DIRECTIVES = re.compile(r"%.?")
_KNOWN = frozenset(["%Y", "%m", "%d", "%H", "%M", "%S", "%y", "%j", "%%"])


class InvalidTemplate(Exception):
    """A template that no file can be named by."""


@dataclass(frozen=True, slots=True)
class ColumnPart:
    """The value of a column; a time in a format of its own."""

    column: str
    format: str | None = None


@dataclass(frozen=True, slots=True)
class CountPart:
    """The number of one of some files that rows are divided into."""

    files: int


NamePart: TypeAlias = Union[str, ColumnPart, CountPart]


def parse_template(text: str) -> tuple[NamePart, ...]:
    """The parts of a template. Raises InvalidTemplate."""
    parts: list[NamePart] = []
    at = 0
    for found in _BRACES.finditer(text):
        if found.start() > at:
            parts.append(text[at : found.start()])
        parts.append(_parse_braces(found[1]))
        at = found.end()
    if at < len(text):
        parts.append(text[at:])
    fixed = [each for each in parts if isinstance(each, str)]
    if any("{" in each or "}" in each for each in fixed):
        raise InvalidTemplate("a brace has no other one")
    if "\0" in text or text.startswith("/") or text.endswith("/"):
        raise InvalidTemplate("a name begins and ends with no `/`")
    steps = "\n".join(each if isinstance(each, str) else "x" for each in parts).replace("\n", "").split("/")
    if any(each in ("", ".", "..") for each in steps):
        raise InvalidTemplate("a step of the name is empty, `.` or `..`")
    return tuple(parts)


def _parse_braces(text: str) -> NamePart:
    if text.strip().isdecimal():
        files = int(text) if len(text.strip()) < 6 else 0
        if not 1 <= files <= MOST_PARTS:
            raise InvalidTemplate(f"{{{text}}} is no number of files from 1 to {MOST_PARTS:,}")
        return CountPart(files)
    found = _TIME.fullmatch(text)
    if found is None:
        raise InvalidTemplate(f"{{{text[:60]}}} is no column, no column with a format, and no number of files")
    form = found[2] or found[3]
    unknown = next((each for each in _DIRECTIVES.findall(form or "") if each not in _KNOWN), None)
    if unknown is not None:
        raise InvalidTemplate(f"`{unknown}` is no part of a time; known are {' '.join(sorted(_KNOWN))}")
    return ColumnPart(found[1], form)


def columns_of(parts: Sequence[NamePart]) -> tuple[str, ...]:
    """The columns that a template names."""
    return tuple(each.column for each in parts if isinstance(each, ColumnPart))


def file_name(parts: Sequence[NamePart], values: Mapping[str, object], position: int) -> str:
    """The name of the file for a row with these values at this position of the result. Raises InvalidTemplate for a
    value that is no time where the template has a format."""
    return "".join(_part_text(each, values, position) for each in parts)


def _part_text(part: NamePart, values: Mapping[str, object], position: int) -> str:
    match part:
        case str(text):
            return text
        case CountPart(files):
            return str(position % files)
        case ColumnPart(column, None):
            return _step(values[column])
        case ColumnPart(column, form):
            return _step(_time(column, values[column]).strftime(form or "")) if values[column] is not None else "NULL"


def _time(column: str, value: object) -> datetime:
    try:
        return datetime.fromisoformat(str(value)[:19])
    except ValueError:
        raise InvalidTemplate(f"the column `{column}` has `{str(value)[:60]}`, which is no date and no time") from None


def _step(value: object) -> str:
    """A value as a part of one step of a name."""
    text = "NULL" if value is None else "true" if value is True else "false" if value is False else str(value)
    written = quote(text, safe=SAFE)
    return written.replace(".", "%2E") if set(written) == {"."} else written or "%00"
