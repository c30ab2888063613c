"""Barriers: the flows into a new table wait for each other at the end of their histories.

In: a manifest and the progress in the table. Out: the snapshot at which every flow has arrived, once there is one.
Invariant: no flow of the table continues before all have arrived, so that snapshot holds exactly what had been
received when the deployment was activated; it can be found again in the table's snapshots after any restart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.lake.tables.snapshots import Progress, Snapshots, progress_at
from penstock.model.cursor import BatchCursor, TailCursor
from penstock.model.manifest import Landing, Manifest


@dataclass(frozen=True, slots=True)
class Barrier:
    """The flows into a table that wait for each other."""

    table: str
    flows: tuple[str, ...]
    """The ids of views and copies."""
    landings: tuple[tuple[str, int], ...]
    """The id of each landing, with the batch at which it waits."""

    def stop_batch(self, landing: str) -> int:
        """The batch at which a landing waits."""
        return dict(self.landings).get(landing, 0)


def find_barrier(manifest: Manifest, table: str) -> Barrier | None:
    """The barrier of a table; None if it has none."""
    meet = manifest.meet(table)
    if meet is None:
        return None
    stops = dict(meet.stops)
    flows = manifest.flows_into(table)
    landings = tuple((flow.id, stops.get(flow.stream, 0)) for flow in flows if isinstance(flow, Landing))
    return Barrier(table, tuple(flow.id for flow in flows if not isinstance(flow, Landing)), landings)


def barrier_snapshot(barrier: Barrier, now: Snapshots) -> int | None:
    """The id of the first snapshot in which every flow is at the end of its history; None if there is none yet."""
    for position in range(len(now.line)):
        if _all_arrived(barrier, progress_at(now.line, position)):
            return now.line[position].id
    return None


def _all_arrived(barrier: Barrier, progress: Mapping[str, Progress]) -> bool:
    views = all(_is_at_end(progress.get(flow)) for flow in barrier.flows)
    return views and all(stop == 0 or _last_landed_batch(progress.get(flow)) >= stop for flow, stop in barrier.landings)


def _is_at_end(progress: Progress | None) -> bool:
    return progress is not None and isinstance(progress.cursor, TailCursor)


def _last_landed_batch(progress: Progress | None) -> int:
    return progress.cursor.number if progress is not None and isinstance(progress.cursor, BatchCursor) else 0
