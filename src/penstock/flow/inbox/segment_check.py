"""Find damaged segments before a step reads them, and decide once that none of their rows is used.

In: the batches of a step. Out: the same batches with their damage. Invariant: the decision is in the state store
before any table acts on it, so every table of the stream and every repeated step follows it, even if the file
becomes readable again.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from penstock.flow.inbox.segments import find_damage
from penstock.state.batches import Batch, BatchLog
from penstock.state.logs.operations import Operation, OperationsLog

log = logging.getLogger("penstock.flow")


class SegmentCheck:
    """Checks the segments of one inbox."""

    def __init__(self, folder: Path, batches: BatchLog, operations: OperationsLog):
        self._folder = folder
        self._batches = batches
        self._operations = operations

    def check(self, batches: Sequence[Batch]) -> tuple[Batch, ...]:
        """The batches, with `damage` set where the segment is damaged. Raises OSError if a file cannot be read for a
        reason other than damage (disk not mounted, too many open files …); then the step is tried again."""
        return tuple(batch if batch.damage is not None else self._examined(batch) for batch in batches)

    def _examined(self, batch: Batch) -> Batch:
        wrong = find_damage(self._folder / batch.segment, batch.bytes, batch.digest)
        if wrong is None:
            return batch
        problem = f"damaged segment {batch.segment}: {wrong}"
        condemned, now = self._batches.condemn(batch, problem)
        if now:
            self._report(condemned, problem)
        return condemned

    def _report(self, batch: Batch, problem: str) -> None:
        log.error("batch %d of %s: %s; its %d rows are quarantined", batch.number, batch.stream, problem, batch.rows)
        found = Operation("damaged_segment", batch.stream, result="error", rows=batch.rows, error=problem)
        self._operations.log(found)
