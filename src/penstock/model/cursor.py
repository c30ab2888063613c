"""Cursors: how far a flow has read its source.

In: the closed union `Cursor`. Out: its text, which is stored in the summary of an Iceberg snapshot, and back.
Invariant: a cursor is committed in the same snapshot as the rows it accounts for, and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, Union


@dataclass(frozen=True, slots=True)
class BatchCursor:
    """Cursor of a landing flow."""

    number: int
    """Every batch up to and including this one is in the table."""


@dataclass(frozen=True, slots=True)
class HistoryCursor:
    """Cursor of a view or copy that reads its source as of one snapshot."""

    snapshot: int
    """The id of the snapshot."""
    seq: int
    """Rows with `_seq` <= this are in the target."""


@dataclass(frozen=True, slots=True)
class TailCursor:
    """Cursor of a view that follows appends."""

    snapshot: int
    """Every row up to and including this snapshot is in the target."""


Cursor: TypeAlias = Union[BatchCursor, HistoryCursor, TailCursor]


def encode_cursor(cursor: Cursor) -> str:
    """The text of a cursor in the summary of a snapshot."""
    match cursor:
        case BatchCursor(number):
            return f"batches:{number}"
        case HistoryCursor(snapshot, seq):
            return f"history:{snapshot}:{seq}"
        case TailCursor(snapshot):
            return f"tail:{snapshot}"


def decode_cursor(text: str) -> Cursor:
    """The inverse of `encode_cursor`. Raises ValueError for any other text."""
    kind, *numbers = text.split(":")
    match kind, [int(number) for number in numbers]:
        case "batches", [number]:
            return BatchCursor(number)
        case "history", [snapshot, seq]:
            return HistoryCursor(snapshot, seq)
        case "tail", [snapshot]:
            return TailCursor(snapshot)
    raise ValueError(f"not a cursor: {text!r}")
