"""Cursors: how far a flow has read its source; and positions: how far a source outside has sent its rows.

In: the closed union `Cursor`, and `Position`. Out: the text of a cursor, which is stored in the summary of an Iceberg
snapshot, that of a position, which is stored with the batch of its rows, and back. Invariant: a cursor is committed in
the same snapshot as the rows it accounts for, and nowhere else; positions are compared as numbers, in their order.
"""

from __future__ import annotations

import re
from typing import TypeAlias, Union

from penstock.model.quick_dataclass import dataclass


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


_POSITION = re.compile(r"[0-9]{1,20}(?:\.[0-9]{1,20}){0,3}")
Position: TypeAlias = tuple[int, ...]
"""Up to four whole numbers, compared in their order: an offset; an LSN and an ordinal."""


def parse_position(text: str) -> Position | None:
    """The position in a text such as `1024` or `90211.3`; None if it is none."""
    return tuple(map(int, text.split("."))) if _POSITION.fullmatch(text) else None


def position_text(position: Position) -> str:
    """The text of a position."""
    return ".".join(map(str, position))


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """Which rows of a source a body has: all after one position, up to and with another."""

    source: str
    after: Position | None
    """None: from the beginning of the source."""
    upto: Position


@dataclass(frozen=True, slots=True)
class PostTerms:
    """What holds for a post beside its rows."""

    key: str | None = None
    """Its idempotency key."""
    span: SourceSpan | None = None
    """Which rows of a source it has."""
    columns: tuple[str, ...] = ()
    """The keys of its rows whose values must be stored."""
