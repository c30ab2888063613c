"""Offsets in a piece of SQL to places in its file.

In: a `Text` and offsets of characters in it. Out: a `Location`, or the `Text` of a part. Called by
every module of parse that looks inside a value. Invariant: a part's own offsets lead to the same
places as the whole's.
"""

from __future__ import annotations

from penstock.errors import Location, Problem
from penstock.model.datasource import Text
from penstock.parse.lexer import InvalidSyntax


def place(text: Text, offset: int) -> Location:
    """Where the character at `offset` stands in the file."""
    before = text.text[:offset]
    return text.at(before.count("\n") + 1, offset - before.rfind("\n"))


def part(text: Text, start: int, end: int) -> Text:
    """The characters from `start` up to `end` as a text of its own, without spaces around them."""
    cut = text.text[start:end]
    start += len(cut) - len(cut.lstrip())
    return Text(cut.strip(), place(text, start), text.indent)


def located(error: InvalidSyntax, text: Text) -> Problem:
    """The problem of an error whose offset is one of `text`."""
    return Problem(error.code, error.message, place(text, error.offset), error.hint)
