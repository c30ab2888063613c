"""Edits of the SCHEMA block of a data source.

In: the block and a change of one column. Out: the block's new text. Invariant: a column's definition is written anew
from what the parser read of it; the definitions of other columns keep every character.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from penstock.model.datasource import Column, Text
from penstock.parse.lexer import comma_spans, lex
from penstock.parse.schema import parse_schema


@dataclass(frozen=True, slots=True)
class _Definition:
    """A column with the place of its definition, without the comma."""

    column: Column
    start: int
    end: int


def with_changed(block: Text, changes: Callable[[Column], Column]) -> str:
    """The block with the columns that the function changes."""
    text = block.text
    for each in reversed(_definitions(block)):
        changed = changes(each.column)
        if changed is not each.column:
            text = text[: each.start] + definition_text(changed) + text[each.end :]
    return text


def with_added(block: Text, column: Column) -> str:
    """The block with a column at the end."""
    last = _definitions(block)[-1]
    return f"{block.text[: last.end]},\n{definition_text(column)}{block.text[last.end :]}"


def with_removed(block: Text, name: str) -> str:
    """The block without a column; a comment in its line goes with it."""
    found = _definitions(block)
    at = next(at for at, each in enumerate(found) if each.column.name == name)
    if at + 1 < len(found):
        return block.text[: found[at].start] + block.text[found[at + 1].start :]
    return block.text[: found[at - 1].end] + block.text[found[at].end :]


def definition_text(column: Column) -> str:
    """A column as it is written in a SCHEMA block."""
    parts = [f"`{column.name}` {column.type}"]
    if column.json_path is not None:
        parts.append(f"`json:{column.json_path}`")
    if column.default is not None:
        parts.append(f"DEFAULT {column.default.text}")
    if column.codec is not None:
        parts.append(f"CODEC({column.codec})")
    if column.renamed_from is not None:
        parts.append(f"RENAMED_FROM `{column.renamed_from}`")
    return " ".join(parts)


def _definitions(block: Text) -> Sequence[_Definition]:
    found = []
    for start, end in comma_spans(block.text):
        words = [each for each in lex(block.text[start:end]) if each.kind != "end"]
        if words and words[-1].text == ",":
            words.pop()
        if not words:
            continue
        first, last = start + words[0].start, start + words[-1].start + len(words[-1].text)
        (column,) = parse_schema(Text(block.text[first:last], block.location), [])
        found.append(_Definition(column, first, last))
    return found
