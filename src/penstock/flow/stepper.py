"""Advance one flow of any kind by one commit.

In: a `WorkItem`. Out: one commit, or none if there is nothing to do. One thread at a time steps into a table.
Invariant: a step is bounded in rows and bytes, so it ends and commits however much waits; a step that failed is
tried again with smaller limits; where a step starts is read from the table it writes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from typing_extensions import assert_never

from penstock.flow.barrier import Barrier, barrier_snapshot
from penstock.flow.history_copy import copy_slice, is_copy_complete
from penstock.flow.inbox.arrivals import Arrivals
from penstock.flow.inbox.segment_check import SegmentCheck
from penstock.flow.landing.landing import LandingTable, land_batches, repair_quarantine, step_without_quarantine_commit
from penstock.flow.materialized_view import check_shared, next_view_step, resume_view, run_view_step
from penstock.flow.table_registry import TableRegistry
from penstock.flow.throttle import BackfillThrottle
from penstock.flow.work_items import PRIORITY, WorkItem
from penstock.lake.drift.recorded_tables import RecordedTables
from penstock.lake.read.bindings import SnapshotSlice
from penstock.lake.read.history_slices import SliceLimits
from penstock.lake.spark.cancellation import time_limit
from penstock.lake.spark.session import Lake
from penstock.lake.tables.snapshots import Progress
from penstock.model.cursor import BatchCursor as BatchCursor
from penstock.model.cursor import Cursor, HistoryCursor, TailCursor
from penstock.model.manifest import Copy, View
from penstock.state.batches import BatchLog
from penstock.state.operations import Operation, OperationsLog

log = logging.getLogger("penstock.flow")
MIN_STEP_ROWS = 1_000
THROTTLED_SECONDS = 0.2
"""Seconds after which a history that gives way to live is looked at again."""


@dataclass(frozen=True, slots=True)
class StepLimits:
    """The limits of a step."""

    rows: int = 500_000
    bytes: int = 64 * 2**20
    """The most rows and bytes that a step reads."""
    seconds_between: float = 0.25
    """The least number of seconds between two commits to a table, since each commit costs metadata and files."""
    seconds: float = 600.0
    """The seconds after which a step is cancelled."""

    def after(self, failures: int) -> SliceLimits:
        """The limits after `failures` failed steps in a row: halved each time, since the step may have been too
        large."""
        return SliceLimits(max(self.rows >> failures, min(self.rows, MIN_STEP_ROWS)), max(self.bytes >> failures, 1))


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a step did."""

    rows: int
    """Rows appended."""
    read_rows: int
    read_bytes: int
    history: bool = False
    """Whether it read a history."""
    rejected: int = 0
    """Rows added to the quarantine."""


class Stepper:
    """Runs steps of each kind of flow. It keeps no progress of its own: that is in the tables."""

    def __init__(  # noqa: PLR0913 - the parts it works on
        self,
        lake: Lake,
        registry: TableRegistry,
        batches: BatchLog,
        inbox: Path,
        limits: StepLimits,
        operations: OperationsLog,
        arrivals: Arrivals,
        throttle: BackfillThrottle,
        recorded: RecordedTables,
    ):
        self._lake = lake
        self._registry = registry
        self._batches = batches
        self._inbox = inbox
        self._limits = limits
        self._arrivals = arrivals
        self._throttle = throttle
        self._recorded = recorded
        self._segment_check = SegmentCheck(inbox, batches, operations)
        self._last_allowed: Mapping[str, int] | None = None
        self._repaired: set[str] = set()
        self._ended: dict[str, float] = {}
        self._operations = operations
        self._barrier_snapshots: dict[Barrier, int] = {}
        self._holding = threading.Lock()

    def join_pool(self, pool: str) -> None:
        """Put this thread's Spark jobs into a scheduler pool; each thread that runs steps calls it once."""
        self._lake.spark.sparkContext.setLocalProperty("spark.scheduler.pool", pool)

    @property
    def gives_way_to_live(self) -> bool:
        """Whether histories slow down because live lags."""
        return self._throttle.gives_way_to_live()

    @contextmanager
    def limit_batches(self, last: Mapping[str, int]) -> Iterator[None]:
        """During the block, land no batch after these (by stream); of other streams, land none at all."""
        with self._holding:
            self._last_allowed = dict(last)
            try:
                yield
            finally:
                self._last_allowed = None

    def recover(self, work: WorkItem) -> None:
        """After a failed step, read the table's progress again, since the step may have committed."""
        self._registry.forget(work.table)
        self._registry.refresh(work.table)
        if isinstance(work.run, LandingTable):
            self._repaired.discard(work.table)

    def has_more(self, work: WorkItem) -> bool:
        """Whether a step of the flow has something to do now."""
        return self.seconds_until_due(work) == 0.0

    def seconds_until_due(self, work: WorkItem) -> float | None:
        """0 if a step of the flow has something to do now; else after how many seconds it may have, None if not before
        a batch arrives or a table of the flow changes."""
        if not self._has_rows(work):
            return None
        rest = self._ended.get(work.table, -1e9) + self._limits.seconds_between - time.monotonic()
        if rest > 0:
            return rest
        return THROTTLED_SECONDS if self._reads_history(work) and not self._throttle.may_start() else 0.0

    def _has_rows(self, work: WorkItem) -> bool:
        """Whether there is something that the flow has not read."""
        run = work.run
        match run:
            case LandingTable():
                return work.table not in self._repaired or self._landed(work) < self._upto(work, run.stream)
            case View():
                return self._may_start(work) and self._view_behind(work, run)
            case Copy():
                return not is_copy_complete(self._registry.cursor(run.table, run.id))
            case _:
                assert_never(run)

    def _reads_history(self, work: WorkItem) -> bool:
        """Whether the flow's next step is slowed down while live's rows wait."""
        match work.run:
            case LandingTable():
                return False
            case View() as view:
                return self._fills(work, view)
            case Copy():
                return True
            case _:
                assert_never(work.run)

    def step(self, work: WorkItem, failures: int = 0, seconds: float | None = None) -> None:
        """Advance by one commit. `failures` counts failed steps in a row, each of which halves the step; `seconds` is
        the time limit (None: the one of the limits). Raises DriftedTable, and what Spark or the disk raise; a step is
        committed wholly or not at all."""
        started = time.monotonic()
        self._recorded.verify(work.tables)
        with time_limit(self._lake.spark, self._limits.seconds if seconds is None else seconds):
            done = self._run(work, self._limits.after(failures))
        took = time.monotonic() - started
        self._ended[work.table] = time.monotonic()
        if done is not None:
            self._operations.log(_log_entry(work, done, took))
            if done.history:
                self._throttle.record_step(done.read_bytes, took)

    def _run(self, work: WorkItem, most: SliceLimits) -> StepResult | None:
        run = work.run
        match run:
            case LandingTable():
                return self._land(work, run, most)
            case View():
                return self._advance(work, run, most)
            case Copy():
                copied = copy_slice(self._lake, self._registry, run, most)
                return StepResult(copied.rows, copied.rows, copied.bytes, history=True)
            case _:
                assert_never(run)

    def _advance(self, work: WorkItem, run: View, most: SliceLimits) -> StepResult | None:
        source = self._registry.snapshots(run.trigger.binding.table)
        cursor = self._cursor(work, run)
        known = self._registry.progress(run.table, run.id)
        if run.starts == "resumed" and isinstance(cursor, TailCursor) and known is None:
            resume_view(self._registry, run, cursor.snapshot)
            return None
        at = known if known is not None else Progress(cursor) if cursor is not None else None
        following = next_view_step(self._lake, run, at, source, most)
        if following is None:
            return None
        check_shared(self._lake, work.variants, following)
        rows = run_view_step(self._lake, self._registry, run, following)
        return StepResult(rows, following.rows, following.bytes, history=isinstance(following.part, SnapshotSlice))

    def _land(self, work: WorkItem, run: LandingTable, most: SliceLimits) -> StepResult | None:
        if work.table not in self._repaired:
            self._repair(run)
        after, upto = self._landed(work), self._upto(work, run.stream)
        batches = self._batches.read_after(run.stream, after, most.rows, most.bytes, upto)
        if not batches:
            return None
        batches = self._segment_check.check(batches)
        landed = land_batches(self._lake, self._registry, run, batches, self._inbox)
        read = sum(each.rows for each in batches), sum(each.bytes for each in batches)
        return StepResult(landed.rows, *read, rejected=landed.rejected)

    def _repair(self, run: LandingTable) -> None:
        missing = step_without_quarantine_commit(self._registry, run)
        if missing is not None:
            self._repair_after(run, *missing)
        self._repaired.add(run.table)

    def _repair_after(self, run: LandingTable, after: int, upto: int) -> None:
        """Quarantine the rejected rows of the batches (after, upto], in parts of the size of a step. Batches without a
        file are passed over: they were trimmed because the quarantine had them, and only an expiry from outside makes
        them look as if it had not."""
        while after < upto:
            first = self._batches.first_untrimmed(run.stream, after)
            if first is None or first > upto:
                return
            part = self._batches.read_after(run.stream, first - 1, self._limits.rows, self._limits.bytes, upto)
            repair_quarantine(self._lake, self._registry, run, self._segment_check.check(part), self._inbox)
            after = part[-1].number

    def _landed(self, work: WorkItem) -> int:
        """The last batch in the table; more than any batch while the table waits for its history."""
        cursor = self._registry.cursor(work.table, work.flow)
        if isinstance(cursor, BatchCursor):
            return cursor.number
        return 0 if self._may_start(work) else 2**62

    def _upto(self, work: WorkItem, stream: str) -> int:
        """The last batch to land now: the last received one, or the one at which a promotion or a barrier waits."""
        head = self._arrivals.head(stream)
        allowed = self._last_allowed
        held = head if allowed is None else min(head, allowed.get(stream, 0))
        return (
            min(held, work.barrier.stop_batch(work.flow)) if work.barrier and self._met(work.barrier) is None else held
        )

    def _fills(self, work: WorkItem, view: View) -> bool:
        """Whether the view's next step reads a history for a deployment that is not live yet."""
        return work.priority > PRIORITY["previous"] and not isinstance(self._cursor(work, view), TailCursor)

    def _may_start(self, work: WorkItem) -> bool:
        """Whether the flow may begin: one that starts where a history copy ends waits until the copy is complete."""
        return work.copy is None or is_copy_complete(self._registry.cursor(work.table, work.copy))

    def _view_behind(self, work: WorkItem, view: View) -> bool:
        known = self._registry.cursor(view.table, view.id)
        if known is None and view.starts in ("met", "resumed"):
            return work.source_barrier is not None and self._met(work.source_barrier) is not None
        if isinstance(known, TailCursor) and work.barrier is not None and self._met(work.barrier) is None:
            return False
        source = self._registry.snapshots(view.trigger.binding.table).current
        return source is not None and not (isinstance(known, TailCursor) and known.snapshot == source.id)

    def _cursor(self, work: WorkItem, view: View) -> Cursor | None:
        """The cursor of a view; for a view that has not begun, the cursor at which it begins."""
        known = self._registry.cursor(view.table, view.id)
        met = self._met(work.source_barrier) if known is None and work.source_barrier is not None else None
        match view.starts:
            case "met" if met is not None:
                return HistoryCursor(met, -1)
            case "resumed" if met is not None:
                return TailCursor(met)
            case _:
                return known

    def _met(self, barrier: Barrier) -> int | None:
        """The snapshot of a barrier, cached once it is reached; None before."""
        if barrier not in self._barrier_snapshots:
            found = barrier_snapshot(barrier, self._registry.snapshots(barrier.table))
            if found is None:
                return None
            self._barrier_snapshots[barrier] = found
        return self._barrier_snapshots[barrier]


def _log_entry(work: WorkItem, done: StepResult, seconds: float) -> Operation:
    kind = {LandingTable: "append", View: "materialization", Copy: "deployment_backfill"}[type(work.run)]
    return Operation(
        event_type=kind,
        datasource_name=work.table,
        deployment_id=work.deployments[0],
        elapsed_time=seconds,
        read_rows=done.read_rows,
        read_bytes=done.read_bytes,
        written_rows=done.rows,
        rows_quarantine=done.rejected,
    )
