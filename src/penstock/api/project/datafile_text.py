"""One datafile that is written line by line, with the place in Python that each line comes from.

In: directives, blocks and their places. Out: `WrittenFile`. Invariant: what the parser would read as something else
than was meant (a line break in a value, a `#` that begins a comment) is refused, not written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field
from textwrap import dedent

from penstock.api.project.source_files import LinePlace
from penstock.api.project.source_places import INDENT
from penstock.errors import Location, Problem
from penstock.model.quick_dataclass import dataclass
from penstock.parse.sql_syntax.source_text import COMMENT, QUOTED

_QUOTED_OR_COMMENT = re.compile(rf"{COMMENT}|(?P<quoted>{QUOTED})", re.DOTALL)
_BEGINS_COMMENT = re.compile(r"(?:^|(?<=\s))#")


@dataclass
class WrittenFile:
    """A datafile and where its lines come from."""

    path: str
    location: Location
    """The place of the object."""
    problems: list[Problem]
    lines: list[str] = field(default_factory=list)
    places: list[LinePlace] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join([*self.lines, ""])

    def line(self, text: str, place: Location | None = None) -> None:
        self._check_characters(text, place)
        self.lines.append(text)
        self.places.append(LinePlace(place or self.location))

    def directive(self, keyword: str, value: str, place: Location | None = None) -> None:
        """`KEYWORD value`, unless the value is one that a line cannot hold."""
        if self.is_one_line(value, place):
            self.line(f"{keyword} {value.strip()}".rstrip(), place)

    def is_one_line(self, value: str, place: Location | None = None) -> bool:
        """Whether a value fits in a line as it is; a problem is added if not."""
        if _BEGINS_COMMENT.search(value):
            self._refuse(f"{value[:60]!r} has a #, behind which a line is a comment", "write it without", place)
            return False
        return self.is_unbroken(value, place)

    def is_unbroken(self, value: str, place: Location | None = None) -> bool:
        """Whether a value has no line break; a problem is added if it has one."""
        is_broken = len(value.splitlines()) > 1
        if is_broken:
            self._refuse(f"{value[:60]!r} has a line break, and must be one line", "write it without", place)
        return not is_broken

    def prose(self, keyword: str, text: str, place: Location | None = None) -> None:
        """A block of text for people."""
        if text.strip():
            self.line(f"{keyword} >", place)
            for each in text.strip().splitlines():
                self.line(f"{INDENT}{each.strip()}".rstrip(), place)
            self.line("")

    def sql(self, keyword: str, lines: Sequence[str], places: Sequence[LinePlace]) -> None:
        """A block of SQL. What the block's form would change is refused: a quoted text over several lines, whose indent
        would go, and a line that begins with #, which would be left out."""
        text = "\n".join(lines)
        if not text.strip():
            self._refuse(f"the {keyword} is empty", "write a SELECT", places[0].location)
            return
        for found in _QUOTED_OR_COMMENT.finditer(text):
            if found["quoted"] and "\n" in found["quoted"]:
                place = places[text.count("\n", 0, found.start())].location
                self._refuse("a quoted text goes over several lines", "write \\n in the place of a line break", place)
        self.line(f"{keyword} >", places[0].location)
        for each, source in zip(lines, places, strict=True):
            if each.lstrip().startswith("#"):
                self._refuse("a line of SQL begins with #", "write a comment behind --", source.location)
            self._check_characters(each, source.location)
            self.lines.append(f"{INDENT}{each}".rstrip())
            self.places.append(source)

    def _check_characters(self, text: str, place: Location | None) -> None:
        if not text.isascii() and any("\ud800" <= each <= "\udfff" for each in text):
            self._refuse("half of a character is in a text, which no file can keep", "remove it", place)

    def _refuse(self, message: str, hint: str, place: Location | None) -> None:
        self.problems.append(Problem("invalid-declaration", message, place or self.location, hint))


def sql_lines(text: str) -> list[str]:
    """The lines of SQL, at least one: without empty ones around them, trailing spaces and their shared indent."""
    lines = dedent("\n".join(each.rstrip() for each in text.splitlines())).split("\n")
    while len(lines) > 1 and not lines[0].strip():
        del lines[0]
    while len(lines) > 1 and not lines[-1].strip():
        del lines[-1]
    return lines
