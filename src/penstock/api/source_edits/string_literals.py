"""The texts that a file of Python writes as literals, character by character.

In: a file. Out: for each literal (also an f-string, and several that stand one behind the other) its characters with
their places, and holes where values are put in. Invariant: a character that an escape stands for has the place of the
escape; what the scanner does not read is left out, never guessed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.api.source_edits.source_text import SourceText

_PREFIX = re.compile(r"(?i)[rbuf]{0,2}(?P<quote>'''|\"\"\"|'|\")")
_BETWEEN = re.compile(r"(?:\s|\\\r?\n|#[^\r\n]*)*")
_ESCAPE = re.compile(r"\\(?:\r\n|N\{[^}]*\}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{1,3}|[\s\S])")
_OPENED, _CLOSED = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A character of a text with its place, or a hole (an empty character) where a value is put in."""

    character: str
    start: int
    end: int
    style: LiteralSyntax


@dataclass(frozen=True, slots=True)
class LiteralSyntax:
    """How the literal around a character is written."""

    quote: str
    is_raw: bool
    is_formatted: bool

    def written(self, text: str, newline: str) -> str:
        """A text as it stands in such a literal; what a raw one cannot have is found when the file is read again."""
        if not self.is_raw:
            text = text.replace("\\", "\\\\")
            text = text.replace(self.quote[0], f"\\{self.quote[0]}")
            text = text if len(self.quote) == 3 else text.replace("\n", "\\n")
        if self.is_formatted:
            text = text.replace("{", "{{").replace("}", "}}")
        return text.replace("\n", newline)


@dataclass(frozen=True, slots=True)
class StringLiteral:
    """One text of a file."""

    first_line: int
    last_line: int
    pieces: tuple[TextPiece, ...]


def string_literals(source: SourceText) -> Iterator[StringLiteral]:
    """The texts of a file; the parts of an f-string are none of their own."""
    for node in _text_nodes(source.tree):
        pieces = _pieces(source, node)
        if pieces is not None:
            yield StringLiteral(node.lineno, node.end_lineno or node.lineno, pieces)


def with_named_holes(literal: StringLiteral) -> StringLiteral:
    """The text as `sql(…)` reads it, in which `{name}` is a hole."""
    text = "".join(each.character or "\0" for each in literal.pieces)
    pieces: list[TextPiece] = []
    last = 0
    for found in re.finditer(r"\{\w+(?::\w+)?\}", text):
        first, end = literal.pieces[found.start()], literal.pieces[found.end() - 1]
        pieces += [*literal.pieces[last : found.start()], TextPiece("", first.start, end.end, first.style)]
        last = found.end()
    return StringLiteral(literal.first_line, literal.last_line, (*pieces, *literal.pieces[last:]))


def _text_nodes(tree: ast.AST) -> Iterator[ast.expr]:
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            yield node
        else:
            waiting += ast.iter_child_nodes(node)


def _pieces(source: SourceText, node: ast.expr) -> tuple[TextPiece, ...] | None:
    """The pieces of all literals of a node, which may stand one behind the other."""
    place, end, text = source.start(node), source.end(node), source.text
    pieces: list[TextPiece] = []
    while place < end:
        found = _PREFIX.match(text, place)
        if found is None:
            return None
        prefix = found.group().lower()
        style = LiteralSyntax(found["quote"], "r" in prefix, "f" in prefix)
        read = _read_literal(text, found.end(), style)
        if read is None:
            return None
        pieces += read[0]
        between = _BETWEEN.match(text, read[1])
        place = between.end() if between else read[1]
    return tuple(pieces)


def _read_literal(text: str, place: int, style: LiteralSyntax) -> tuple[list[TextPiece], int] | None:
    """The pieces of one literal from behind its quotes, and the place behind it."""
    pieces: list[TextPiece] = []
    while place < len(text):
        if text.startswith(style.quote, place):
            return pieces, place + len(style.quote)
        end, character = place + 1, text[place]
        if text.startswith("\r\n", place):
            end, character = place + 2, "\n"
        elif style.is_formatted and text[place : place + 2] in ("{{", "}}"):
            end = place + 2
        elif style.is_formatted and character == "{":
            end, character = _end_of_hole(text, place), ""
        elif character == "\\":
            end, character = _escaped(text, place, style)
        if len(character) <= 1 and (character or text[place] == "{"):
            pieces.append(TextPiece(character, place, end, style))
        place = end
    return None


def _escaped(text: str, place: int, style: LiteralSyntax) -> tuple[int, str]:
    """The end of an escape, and what it stands for; nothing for an end of line."""
    found = _ESCAPE.match(text, place)
    if style.is_raw or found is None:
        # In a raw text the next character is not the end of it, and both are as they stand.
        return place + 1, text[place]
    try:
        value = ast.literal_eval(f'"""{found.group()} """')[:-1]
    except (SyntaxError, ValueError):
        value = ""
    return found.end(), value if isinstance(value, str) else ""


def _end_of_hole(text: str, place: int) -> int:
    """Behind the bracket that closes the one at a place; texts within it may have brackets."""
    depth = 0
    while place < len(text):
        found = _PREFIX.match(text, place) if text[place] in "'\"" else None
        if found is not None:
            quote = found["quote"]
            closing = text.find(quote, found.end())
            place = closing + len(quote) if closing >= 0 else len(text)
            continue
        depth += (text[place] in _OPENED) - (text[place] in _CLOSED)
        place += 1
        if depth == 0:
            return place
    return place
