"""The text of a template to its pieces: text, `{{ expression }}`, `{% statement %}`.

In: the text after `%`. Out: `Piece` values. Called by tree. Invariant: pieces stand in the order of the
text and know their offsets; comments are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from penstock.template.faults import Fault

Kind: TypeAlias = Literal["text", "expression", "statement"]

_CLOSING = {"{{": "}}", "{%": "%}", "{#": "#}"}


@dataclass(frozen=True, slots=True)
class Piece:
    """`offset` is that of the piece's own text, `start` that of its opening brace."""

    kind: Kind
    text: str
    offset: int
    start: int


def pieces(text: str, begin: int) -> Iterator[Piece]:
    """The pieces from an offset on. Raises Fault for braces that are not closed."""
    at = begin
    while True:
        opening = _opening(text, at)
        if opening > at:
            yield Piece("text", text[at:opening], at, at)
        if opening == len(text):
            return
        brace = text[opening : opening + 2]
        if text.startswith("!", opening + 2):
            yield Piece("text", brace, opening, opening)
            at = opening + 3
            continue
        end = text.find(_CLOSING[brace], opening + 2)
        if end < 0:
            message = f"`{brace}` is not closed"
            raise Fault("template-syntax", message, opening, f"write `{_CLOSING[brace]}` at its end")
        at = end + 2
        if brace != "{#":
            yield _inner(text, opening, end, "expression" if brace == "{{" else "statement")


def _opening(text: str, at: int) -> int:
    """Where the next braces open. Of three and more `{` in a row the innermost two count."""
    while True:
        at = text.find("{", at)
        if at < 0:
            return len(text)
        after = text[at + 1 : at + 2]
        if after == "{" and text[at + 2 : at + 3] == "{":
            at += 1
            continue
        if after and after in "{%#":
            return at
        at += 1


def _inner(text: str, opening: int, end: int, kind: Kind) -> Piece:
    inner = text[opening + 2 : end]
    bare = inner.strip()
    if not bare:
        what = "expression" if kind == "expression" else "statement"
        raise Fault("template-syntax", f"an empty {what}", opening, "write something between the braces")
    return Piece(kind, bare, opening + 2 + inner.index(bare), opening)
