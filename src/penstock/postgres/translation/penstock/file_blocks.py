"""Replaces the text of one block of a datafile, and leaves every other character as it is.

In: a file and the block as the parser read it. Out: the file with another text in its place. Invariant: a block that
does not stand in the file as it was read (a comment within it) is refused, never guessed.
"""

from __future__ import annotations

import re

from penstock.model.datasource import Text
from penstock.postgres.translation.refusal import CannotTranslate

_LINE = re.compile(r"\r\n|\n|\r")
"""The ends of lines that the parser knows."""


def replace_block(file: str, block: Text, text: str) -> str:
    """The file's text with a new text for a block. Raises CannotTranslate."""
    ends = [0, *(found.end() for found in _LINE.finditer(file))]
    start = ends[block.location.line - 1] + block.location.column - 1
    found = _LINE.search(file)
    newline = found.group() if found else "\n"
    was = _indented(block.text, block.indent, newline)
    if not file.startswith(was, start):
        hint = "edit the file by hand; a comment line or another indent within the block is what is in the way"
        raise CannotTranslate(f"{block.location} cannot be edited by the tool", hint)
    return file[:start] + _indented(text, block.indent, newline) + file[start + len(was) :]


def _indented(text: str, indent: int, newline: str) -> str:
    first, *rest = text.split("\n")
    return newline.join([first, *(" " * indent + each if each else each for each in rest)])
