"""The canonical layout of a SCHEMA block: one column a line, with its comments.

In: the text of a block, without its indent. Out: its lines. Invariants: types, paths and defaults are the same words in
the same order; a DEFAULT, and a column that is written over several lines, stay as they are; every comment is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise

from penstock.model.quick_dataclass import dataclass
from penstock.parse.lexer import Lexeme, comma_spans, depth_change, lex

_COMMENT = re.compile(
    r"""'(?:[^'\\]|\\.|'')*(?:'|\\?\Z)|`(?:[^`\\]|\\.|``)*(?:`|\\?\Z)|"(?:[^"\\]|\\.|"")*(?:"|\\?\Z)|"""
    r"""(?P<comment>--[^\n]*|\#(?=[!\s]|$)[^\n]*|/\*(?:.*?\*/|.*))""",
    re.DOTALL,
)


@dataclass(slots=True)
class _ColumnLines:
    """A column and the comments that go with it."""

    text: str = ""
    above: list[str] = field(default_factory=list)
    behind: list[str] = field(default_factory=list)
    """Comments in its last line."""


def schema_lines(text: str, comments: Mapping[int, str]) -> list[str] | None:
    """The lines of a SCHEMA block. `comments` are the lines of the text, counted from 0, that are comments and empty in
    the text. None where a comment stands inside a column that would have to be taken apart."""
    found = _read_columns(text, comments)
    if found is None:
        return None
    columns, rest = found
    lines: list[str] = []
    for at, column in enumerate(columns):
        ending = "," if at < len(columns) - 1 else ""
        lines += [*column.above, " ".join([column.text + ending, *column.behind])]
    return [*lines, *rest]


def _read_columns(text: str, comments: Mapping[int, str]) -> tuple[list[_ColumnLines], list[str]] | None:
    """The columns, and the comments after the last one."""
    columns: list[_ColumnLines] = []
    above: list[str] = []
    last_line, begin = -1, 0
    for start, end in comma_spans(text):
        words = [_shifted(each, start) for each in lex(text[start:end]) if each.kind != "end"]
        words = words[:-1] if words and words[-1].text == "," and text[end - 1] == "," else words
        if not words and text[start:end].strip().startswith(","):
            return None  # an empty column, which is a mistake
        inside = range(words[0].start, words[-1].end) if words else range(end, end)
        following: list[str] = []
        for offset, comment in _comments_between(text, begin, end, comments):
            line = text.count("\n", 0, offset)
            if offset in inside:
                if line in comments:
                    return None
            elif offset < inside.start:
                (columns[-1].behind if columns and line == last_line else above).append(comment)
            elif line != text.count("\n", 0, inside.stop):
                following.append(comment)  # of those in the column's last line, see below
        if words:
            columns.append(_ColumnLines(_column_text(text, words), above, _comments_behind(text, inside.stop, end)))
            above, last_line = following, text.count("\n", 0, end)
        begin = end
    return columns, above


def _comments_between(text: str, start: int, end: int, comments: Mapping[int, str]) -> Iterator[tuple[int, str]]:
    """Offset and text of each comment in a part of the text, and of each line there that is one."""
    found = {
        match.start(): match["comment"].rstrip() for match in _COMMENT.finditer(text, start, end) if match["comment"]
    }
    offset = 0
    for number, line in enumerate(text.split("\n")):
        if start <= offset < end and number in comments:
            found[offset] = comments[number]
        offset += len(line) + 1
    yield from sorted(found.items())


def _comments_behind(text: str, start: int, end: int) -> list[str]:
    """The comments between the last word of a column and the end of its line, before its comma."""
    rest = text[start:end].split("\n", 1)[0]
    return [match["comment"].rstrip() for match in _COMMENT.finditer(rest) if match["comment"]]


def _column_text(text: str, words: Sequence[Lexeme]) -> str:
    """A column as written; if it stands in one line, with single spaces before its DEFAULT and outside its CODEC."""
    written = text[words[0].start : words[-1].end]
    if "\n" in written:
        return written
    pieces = [words[0].text]
    in_default, in_codec = False, 0
    for before, word in pairwise(words):
        in_default = in_default or before.says("DEFAULT")
        if in_codec or before.says("CODEC"):
            in_codec += depth_change(word)
        gap = text[before.end : word.start]
        pieces += [" " if gap.isspace() and not (in_default or in_codec) else gap, word.text]
    return "".join(pieces)


def _shifted(lexeme: Lexeme, by: int) -> Lexeme:
    return Lexeme(lexeme.kind, lexeme.text, lexeme.start + by)
