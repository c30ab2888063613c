"""Replaces the text of one block of a datafile, and leaves every other character as it is.

In: a file and the block as the parser read it. Out: the file with another text in its place. Invariant: a block that
does not stand in the file as it was read (a comment within it) is refused, never guessed.
"""

from __future__ import annotations

from penstock.model.datasource import Text
from penstock.postgres.translation.refusal import CannotTranslate


def replace_block(file: str, block: Text, text: str) -> str:
    """The file's text with a new text for a block. Raises CannotTranslate."""
    start = _offset(file, block)
    was = _indented(block.text, block.indent)
    if not file.startswith(was, start):
        hint = "edit the file by hand; a comment line or another indent within the block is what is in the way"
        raise CannotTranslate(f"{block.location} cannot be edited by the tool", hint)
    return file[:start] + _indented(text, block.indent) + file[start + len(was) :]


def _offset(file: str, block: Text) -> int:
    lines = file.splitlines(keepends=True)
    return sum(map(len, lines[: block.location.line - 1])) + block.location.column - 1


def _indented(text: str, indent: int) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * indent + each if each else each for each in rest)])
