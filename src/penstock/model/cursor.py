"""How far a flow has read its source, as text in the snapshot that holds what it made of it.

In: the closed union `Cursor`. Out: `encode`/`decode`. Called by lake and flow. Invariant: a
cursor is written in the same Iceberg commit as the rows it accounts for, never elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, Union


@dataclass(frozen=True, slots=True)
class BatchCursor:
    """A landing flow: every batch up to and including `number` is in the table."""

    number: int


@dataclass(frozen=True, slots=True)
class HistoryCursor:
    """A view or a copy that reads its source as of `snapshot`: rows up to `seq` are in."""

    snapshot: int
    seq: int


@dataclass(frozen=True, slots=True)
class TailCursor:
    """A view that follows appends: everything up to and including `snapshot` is in."""

    snapshot: int


Cursor: TypeAlias = Union[BatchCursor, HistoryCursor, TailCursor]


def encode_cursor(cursor: Cursor) -> str:
    match cursor:
        case BatchCursor(number):
            return f"batches:{number}"
        case HistoryCursor(snapshot, seq):
            return f"history:{snapshot}:{seq}"
        case TailCursor(snapshot):
            return f"tail:{snapshot}"


def decode_cursor(text: str) -> Cursor:
    """The inverse of `encode`. Raises ValueError for any other text."""
    kind, *numbers = text.split(":")
    match kind, [int(number) for number in numbers]:
        case "batches", [number]:
            return BatchCursor(number)
        case "history", [snapshot, seq]:
            return HistoryCursor(snapshot, seq)
        case "tail", [snapshot]:
            return TailCursor(snapshot)
    raise ValueError(f"not a cursor: {text!r}")
