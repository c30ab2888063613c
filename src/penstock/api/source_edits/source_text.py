"""A file of Python as text in which places of its syntax tree can be replaced.

In: the bytes of a file. Out: its tree, the place of each node in the text, and the bytes with edits. Invariant: bytes
outside of the edits stay as they are, with their encoding and their ends of lines.
"""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO

from penstock.template.python_syntax import parse_module


class CannotEdit(Exception):
    """Why a place of Python is not edited; who asked for the edit makes a problem with a place of it."""


_LINE = re.compile(r"\r\n|\r|\n")
"""The ends of lines that Python knows; others, such as a form feed, are within a line."""


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Another text between two places of a file."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class SourceText:
    """A file, by its path relative to the project."""

    path: str
    content: bytes

    @cached_property
    def encoding(self) -> str:
        """As its first lines say; UTF-8 with or without a mark."""
        return tokenize.detect_encoding(BytesIO(self.content).readline)[0]

    @cached_property
    def text(self) -> str:
        return self.content.decode(self.encoding)

    @cached_property
    def tree(self) -> ast.Module:
        return parse_module(self.content)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines without their ends, as syntax trees count them."""
        return tuple(_LINE.split(self.text))

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        return (0, *(found.end() for found in _LINE.finditer(self.text)))

    @cached_property
    def newline(self) -> str:
        """The end of its first line."""
        found = _LINE.search(self.text)
        return found.group() if found else "\n"

    def offset(self, line: int, column: int) -> int:
        """The place in the text of a line, from 1, and a column as trees have it: in bytes of UTF-8, from 0."""
        return self._starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt) -> int:
        line, column = node.end_lineno, node.end_col_offset
        assert line is not None, "nodes of a parsed file have ends"
        assert column is not None, "nodes of a parsed file have ends"
        return self.offset(line, column)

    def segment(self, node: ast.expr | ast.stmt) -> str:
        return self.text[self.start(node) : self.end(node)]

    def line_start(self, place: int) -> int:
        """Where the line of a place begins."""
        return max(each for each in self._starts if each <= place)

    def line_end(self, place: int) -> int:
        """Where the line of a place ends, before its end of line."""
        found = _LINE.search(self.text, place)
        return found.start() if found else len(self.text)

    def next_line(self, place: int) -> int:
        """Where the line after that of a place begins."""
        found = _LINE.search(self.text, place)
        return found.end() if found else len(self.text)

    def with_edits(self, edits: Iterable[Edit]) -> bytes:
        """The bytes with the edits. Raises CannotEdit for two of one place, and for what the encoding does not have."""
        text, before = self.text, len(self.text) + 1
        for each in sorted({*edits}, reverse=True):
            if each.end > before or (each.end == before and each.start == each.end):
                raise CannotEdit(f"{self.path} has one place for two different edits")
            text, before = text[: each.start] + each.text + text[each.end :], each.start
        try:
            return text.encode(self.encoding)
        except UnicodeEncodeError as error:
            character = text[error.start]
            raise CannotEdit(f"{character!r} cannot be written in {self.path}, which is {self.encoding}") from None
