"""Find the raw rows whose values fit and for which a landing step fails nevertheless: a DEFAULT that raises an error.

In: the batches of a failing step. Out: `CondemnedRow` values, one for each row and version. Invariant: a version is
tried alone, so what breaks one of a staging version only is stored for live; nothing is written while rows are looked
for.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from penstock.flow.failing_rows import Selection, find_failing_rows
from penstock.flow.landing.landing import LandingTable, RawBatches, segment_split
from penstock.flow.landing.spark_workers import SegmentSplit, Tasks
from penstock.model.manifest import ROWS_PER_BATCH
from penstock.state.batches import Batch
from penstock.state.condemned_rows import CondemnedRow


def find_unstorable_rows(
    run: Callable[[LandingTable, Tasks], str | None],
    target: LandingTable,
    raw: RawBatches,
    found: Callable[[Sequence[CondemnedRow]], object],
) -> int:
    """Call `found` with the rows for which the step fails, as soon as they are known. `run` says why a landing of some
    rows fails. Returns how many there are. Raises what the step raises for another reason than its rows."""
    intact = tuple(batch for batch in raw.batches if batch.damage is None)
    starts = (0, *accumulate(batch.rows for batch in intact))
    condemned = 0
    for landing in target.landings:
        alone = LandingTable((landing,))

        def probe(rows: Selection, alone: LandingTable = alone) -> str | None:
            return run(alone, (tuple(_splits(intact, starts, rows, raw)),))

        def condemn(position: int, problem: str, version: str = landing.version) -> None:
            found([_condemned_row(intact, starts, position, (version, problem))])

        condemned += len(find_failing_rows(starts[-1], probe, condemn))
    return condemned


def _splits(
    batches: Sequence[Batch], starts: Sequence[int], rows: Selection, raw: RawBatches
) -> Iterator[SegmentSplit]:
    """The segments with the selected rows; `starts` has the position at which each batch begins."""
    for batch, start in zip(batches, starts, strict=False):
        only = tuple(
            range(max(each.start - start, 0), min(each.stop - start, batch.rows))
            for each in rows
            if each.start < start + batch.rows and each.stop > start
        )
        if only:
            first = batch.number * ROWS_PER_BATCH
            known = {seq: of for seq, of in raw.condemned.items() if first <= seq < first + ROWS_PER_BATCH}
            yield replace(segment_split(batch, raw.inbox), only=only, condemned=known)


def _condemned_row(
    batches: Sequence[Batch], starts: Sequence[int], position: int, why: tuple[str, str]
) -> CondemnedRow:
    """The row at a position, which a version rejects for a reason."""
    at = bisect_right(starts, position) - 1
    version, problem = why
    seq = batches[at].number * ROWS_PER_BATCH + position - starts[at]
    return CondemnedRow(seq, version, f"the row cannot be stored: {problem}")
