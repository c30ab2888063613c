"""Deal the segments of a step out to Spark's tasks.

In: batches, as `intact` gave them. Out: `Tasks`. Called by `landing`. Invariant: each batch is in one task.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from penstock.flow.workers import Piece, Tasks
from penstock.state.batches import Batch

ROWS_PER_TASK = 50_000


def deal(batches: Sequence[Batch], inbox: Path, taken: Collection[int] = ()) -> Tasks:
    """The tasks of a step. Of `taken` batches the table has rows already, though their segments are damaged now."""
    pieces = [_remnant(batch, inbox) if batch.number in taken else _piece(batch, inbox) for batch in batches]
    count = max(1, min(sum(each.rows for each in batches) // ROWS_PER_TASK, len(pieces)))
    return tuple(tuple(pieces[start::count]) for start in range(count))


def _piece(batch: Batch, inbox: Path) -> Piece:
    received = _micros(batch.received_at)
    return Piece(str(inbox / batch.segment), batch.bytes, batch.digest, batch.number, received, batch.damage)


def _remnant(batch: Batch, inbox: Path) -> Piece:
    piece = _piece(batch, inbox)
    if batch.damage is None:
        return piece
    return replace(piece, kept=0, damage=f"{batch.damage}; it was taken before, but for rows that did not fit")


def _micros(moment: datetime) -> int:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return round(aware.timestamp() * 1_000_000)
