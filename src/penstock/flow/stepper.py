"""Advance one flow of any kind by one commit.

In: a `WorkItem`. Out: one commit, or none if there is nothing to do. One thread at a time steps into a table.
Invariant: a step is bounded in rows and bytes, so it ends and commits however much waits; a step that failed is
tried again with smaller limits, and then without the rows for which it fails; where a step starts is read from the
table it writes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from typing_extensions import assert_never

from penstock.flow.barrier import Barrier, barrier_snapshot
from penstock.flow.failing.trials import LandingTrial, RunLocal, RunTrial
from penstock.flow.failing.view_quarantine import ViewQuarantine, first_failing_row
from penstock.flow.failing_rows import RetryLater
from penstock.flow.history_copy import copy_slice, is_copy_complete
from penstock.flow.inbox.arrivals import Arrivals
from penstock.flow.inbox.segment_check import SegmentCheck
from penstock.flow.landing.landing import (
    ROWS_PER_TASK,
    LandingResult,
    LandingTable,
    RawBatches,
    land_batches,
    repair_quarantine,
    step_without_quarantine_commit,
)
from penstock.flow.landing.removal import land_removal
from penstock.flow.landing.unstorable_rows import find_unstorable_rows
from penstock.flow.materialized_view import SplitRequired, ViewStep, check_shared, next_view_step, resume_view
from penstock.flow.table_registry import TableRegistry
from penstock.flow.telemetry.spans import AttributeValue, span
from penstock.flow.throttle import BackfillThrottle
from penstock.flow.work_items import PRIORITY, WorkItem
from penstock.lake.drift.recorded_tables import RecordedTables
from penstock.lake.read.bindings import SnapshotSlice, first_snapshot
from penstock.lake.read.history_slices import SliceLimits
from penstock.lake.spark.cancellation import time_limit
from penstock.lake.spark.row_errors import is_row_error
from penstock.lake.spark.session import Lake
from penstock.lake.tables.snapshots import Progress
from penstock.model.cursor import BatchCursor as BatchCursor
from penstock.model.cursor import Cursor, HistoryCursor, TailCursor
from penstock.model.manifest import Copy, View, last_seq
from penstock.state.batches import Batch, BatchLog
from penstock.state.condemned_rows import CondemnedRow, CondemnedRows
from penstock.state.logs.operations import Operation, OperationsLog

log = logging.getLogger("penstock.flow")
MIN_STEP_ROWS = 1_000
LEAST_OF_CHANGE = 10.0
"""So many times as long as another step a removal or a replacement may take at least."""
CRASH_HALVINGS = 3
THROTTLED_SECONDS = 0.2
"""Seconds after which a history that gives way to live is looked at again."""
FAILURES_BEFORE_SEARCH = 2
"""After so many failed steps in a row, the next one that fails because of its rows is searched for these."""
HOLD_SECONDS = 600.0
"""Seconds between two tries of a step that ends Spark's process and has no row that can be left out."""
SEARCH_SECONDS = 600.0
"""For so long after rows of a flow were found, its next failing step is searched at once: there may be more of them."""


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

    def after(self, failures: int, crashes: int = 0) -> SliceLimits:
        """The limits after `failures` failed steps in a row: halved each time, since the step may have been too large;
        and after `crashes` steps in which Spark's process ended: halved CRASH_HALVINGS times for each."""
        rows = max(self.rows >> failures, min(self.rows, MIN_STEP_ROWS))
        halvings = CRASH_HALVINGS * crashes
        return SliceLimits(max(rows >> halvings, 1), max(self.bytes >> failures >> halvings, 1))


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
        condemned: CondemnedRows,
    ):
        self._lake = lake
        self._registry = registry
        self._batches = batches
        self._inbox = inbox
        self._limits = limits
        self._arrivals = arrivals
        self._throttle = throttle
        self._recorded = recorded
        self._condemned = condemned
        self._view_quarantine = ViewQuarantine(lake, registry, condemned)
        self._found: dict[tuple[str, str], float] = {}
        self._left_out: dict[str, tuple[CondemnedRow, ...]] = {}
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

    def forget_except(self, work: Collection[WorkItem]) -> None:
        """Forget the tables of other flows; what is forgotten too much is looked up again."""
        tables = {each.table for each in work}
        barriers = {each.barrier for each in work} | {each.source_barrier for each in work}
        # In place, since steps change them at the same time.
        self._repaired &= tables
        for table in list(self._ended):
            if table not in tables:
                self._ended.pop(table, None)
        for barrier in list(self._barrier_snapshots):
            if barrier not in barriers:
                self._barrier_snapshots.pop(barrier, None)

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
                return self._may_start(work) and self._view_behind(work, run) and not self._is_changed_first(work)
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

    def step(self, work: WorkItem, failures: int = 0, seconds: float | None = None, crashes: int = 0) -> None:
        """Advance by one commit. `failures` counts failed steps in a row, and `crashes` those in which Spark's process
        ended; each makes the step smaller. `seconds` is the time limit (None: the one of the limits). Raises
        DriftedTable, and what Spark or the disk raise; a step is committed wholly or not at all."""
        started = time.monotonic()
        with span(f"step {work.kind}", _described(work), SplitRequired) as traced:
            self._recorded.verify(work.tables)
            least = self._limits.seconds if seconds is None else seconds
            with time_limit(self._lake.spark, least * self._size(work)):
                done = self._run(work, failures, self._limits.after(failures, crashes))
            if done is not None:
                traced.set_attributes({"penstock.rows_read": done.read_rows, "penstock.rows_written": done.rows})
        took = time.monotonic() - started
        self._ended[work.table] = time.monotonic()
        if done is not None:
            self._operations.log(_log_entry(work, done, took))
            if done.history:
                self._throttle.record_step(done.read_bytes, took)

    def _size(self, work: WorkItem) -> float:
        """How many times the largest step fits into the next one: more than once only into a replacement, which is one
        step, however large it is, and into a removal, which may write many files anew."""
        landed = self._landed(work) if isinstance(work.run, LandingTable) else 0
        if not isinstance(work.run, LandingTable) or not self._batches.has_change(work.run.stream, landed, landed + 1):
            return 1.0
        rows = self._batches.replacement_rows(work.run.stream, landed + 1)
        return max(LEAST_OF_CHANGE, rows / ROWS_PER_TASK)

    def read_again(self, work: WorkItem) -> None:
        """Read the progress of all tables of a flow again, since another process may have written them."""
        if work.quarantine is not None:
            self._registry.forget(work.quarantine)  # a view that is to stop now looks there only if rows were condemned
        for table in work.tables:
            self._registry.refresh(table)
        if isinstance(work.run, LandingTable):
            self._repaired.discard(work.table)

    def accept_step(self, work: WorkItem) -> None:
        """Another process has run a step of a flow to its end, with the commit to the quarantine that belongs to it."""
        self.read_again(work)
        self._ended[work.table] = time.monotonic()
        if isinstance(work.run, LandingTable):
            self._left_out[work.table] = self._condemned.of_flow(work.key)
            self._repaired.add(work.table)

    def progress(self, work: WorkItem) -> Progress | None:
        """How far a flow is."""
        return self._registry.progress(work.table, work.flow)

    def last_batches(self, work: WorkItem) -> dict[str, int]:
        """Of a landing, the last batch that its next step may land, by stream."""
        return {work.run.stream: self._upto(work, work.run.stream)} if isinstance(work.run, LandingTable) else {}

    def condemn_rows(self, work: WorkItem, crashes: int, run_trial: RunTrial, samples: int) -> int:
        """Condemn the rows for which the next step of a landing, or of a view with a quarantine, fails when `run_trial`
        runs parts of it: nothing reads rows but that. Returns how many were found. Raises RetryLater if a view without
        a quarantine fails for a row, and what the search raises."""
        most = self._limits.after(0, crashes)
        match work.run:
            case LandingTable() as landing:
                self._left_out[work.table] = self._condemned.of_flow(work.key)
                batches = self._read_batches(work, landing, most)
                if any(each.removes for each in batches):
                    return 0  # its line is no row
                return self._find_unstorable_rows(landing, self._segment_check.check(batches), run_trial)
            case View() as view:
                step = self._next_view_step(work, view, most)
                return 0 if step is None else self._find_failing_rows(work, view, step, (run_trial, samples))
            case Copy():
                return 0
            case _:
                assert_never(work.run)

    def _find_failing_rows(self, work: WorkItem, view: View, step: ViewStep, how: tuple[RunTrial, int]) -> int:
        run_trial, samples = how
        if view.on_error == "quarantine" and work.quarantine is not None:
            return self._view_quarantine.find_failing_rows(view, step, work.quarantine, run_trial, samples)
        found = first_failing_row(view, step, run_trial)
        if found is None:
            return 0
        row, problem = found
        raise RetryLater(f"the row of `{view.trigger.binding.name}` with _seq {row.seq}: {problem}", HOLD_SECONDS)

    def _run(self, work: WorkItem, failures: int, most: SliceLimits) -> StepResult | None:
        run = work.run
        match run:
            case LandingTable():
                return self._land(work, run, failures, most)
            case View():
                return self._advance(work, run, failures, most)
            case Copy():
                copied = copy_slice(self._lake, self._registry, run, most)
                return StepResult(copied.rows, copied.rows, copied.bytes, history=True)
            case _:
                assert_never(run)

    def _next_view_step(self, work: WorkItem, run: View, most: SliceLimits) -> ViewStep | None:
        """The next step of a view; None if there is nothing to do but to note where it begins."""
        source = self._registry.snapshots(run.trigger.binding.table)
        cursor = self._cursor(work, run)
        known = self._registry.progress(run.table, run.id)
        if run.starts == "resumed" and isinstance(cursor, TailCursor) and known is None:
            resume_view(self._registry, run, cursor.snapshot)
            return None
        at = known if known is not None else Progress(cursor) if cursor is not None else None
        return next_view_step(self._lake, run, at, source, most)

    def _advance(self, work: WorkItem, run: View, failures: int, most: SliceLimits) -> StepResult | None:
        following = self._next_view_step(work, run, most)
        if following is None:
            return None
        with self._registry.pinned(run.trigger.binding.table, first_snapshot(following.part)):
            check_shared(self._lake, work.variants, following)
            rows = self._run_view_step(work, run, following, failures)
        return StepResult(rows, following.rows, following.bytes, history=isinstance(following.part, SnapshotSlice))

    def _run_view_step(self, work: WorkItem, run: View, step: ViewStep, failures: int) -> int:
        """Run a step of a view; if earlier ones have failed too, and its policy allows it, without the rows for which
        it fails. Returns the number of rows appended."""
        try:
            return self._view_quarantine.run_step(run, step, work.quarantine)
        except Exception as error:
            quarantine = work.quarantine if run.on_error == "quarantine" else None
            if quarantine is None or not self._is_searched(work.key, failures) or not is_row_error(error):
                raise
            log.warning("%s fails because of rows of its source; they are looked for", run.id, exc_info=error)
            self._found[work.key] = time.monotonic()
            if not self._view_quarantine.find_failing_rows(run, step, quarantine, RunLocal(self._lake)):
                raise
        return self._view_quarantine.run_step(run, step, quarantine)

    def _next_batches(self, work: WorkItem, run: LandingTable, most: SliceLimits) -> Sequence[Batch]:
        if work.table not in self._repaired:
            self._repair(run)
        return self._read_batches(work, run, most)

    def _read_batches(self, work: WorkItem, run: LandingTable, most: SliceLimits) -> Sequence[Batch]:
        return self._batches.read_after(
            run.stream, self._landed(work), most.rows, most.bytes, self._upto(work, run.stream)
        )

    def _land(self, work: WorkItem, run: LandingTable, failures: int, most: SliceLimits) -> StepResult | None:
        if self._is_searched(work.key, failures):  # a step that is searched keeps what it finds in memory
            most = replace(most, rows=min(most.rows, ROWS_PER_TASK))
        batches = self._next_batches(work, run, most)
        if not batches:
            return None
        landed = self._land_what_can_be(run, self._segment_check.check(batches), failures)
        self._forget_landed(run, landed.batch)
        read = sum(each.rows for each in batches), sum(each.bytes for each in batches)
        return StepResult(landed.rows, *read, rejected=landed.rejected)

    def _land_what_can_be(self, run: LandingTable, batches: Sequence[Batch], failures: int) -> LandingResult:
        """Land the batches. If that fails because of rows, and earlier steps have failed too, land them without these
        rows."""
        raw = self._raw_batches(run, batches)
        if raw.removes:
            return land_removal(self._lake, self._registry, run, raw)
        try:
            return land_batches(self._lake, self._registry, run, raw)
        except Exception as error:
            key = (run.table, run.flow)
            if not self._is_searched(key, failures) or not is_row_error(error):
                raise
            log.warning("landing into %s fails because of rows; they are looked for", run.table, exc_info=error)
            self._found[key] = time.monotonic()
            if not self._find_unstorable_rows(run, batches, RunLocal(self._lake)):
                raise
        return land_batches(self._lake, self._registry, run, self._raw_batches(run, batches))

    def _find_unstorable_rows(self, run: LandingTable, batches: Sequence[Batch], run_trial: RunTrial) -> int:
        """Condemn the rows that cannot be landed. Returns how many there are."""
        key, raw = (run.table, run.flow), self._raw_batches(run, batches)
        try:
            return find_unstorable_rows(
                lambda target, tasks: run_trial(LandingTrial(target, tasks)),
                run,
                raw,
                lambda rows: self._condemned.add(key, rows),
            )
        finally:
            self._left_out[run.table] = self._condemned.of_flow(key)

    def _is_searched(self, flow: tuple[str, str], failures: int) -> bool:
        """Whether a failing step of a flow is searched for the rows that make it fail."""
        found = self._found.get(flow)
        return failures >= FAILURES_BEFORE_SEARCH or (found is not None and time.monotonic() - found < SEARCH_SECONDS)

    def _raw_batches(self, run: LandingTable, batches: Sequence[Batch]) -> RawBatches:
        condemned: dict[int, dict[str, str]] = {}
        for each in self._left_out[run.table]:
            condemned.setdefault(each.seq, {})[each.mark] = each.problem
        return RawBatches(batches, self._inbox, condemned)

    def _forget_landed(self, run: LandingTable, batch: int) -> None:
        """Forget condemned rows of batches that the table and the quarantine have."""
        passed = [each.number for each in self._left_out[run.table] if each.seq <= last_seq(batch)]
        if passed:
            self._condemned.forget((run.table, run.flow), passed)
            self._left_out[run.table] = self._condemned.of_flow((run.table, run.flow))

    def _repair(self, run: LandingTable) -> None:
        self._left_out[run.table] = self._condemned.of_flow((run.table, run.flow))
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
            raw = self._raw_batches(run, self._segment_check.check(part))
            if not raw.removes:
                repair_quarantine(self._lake, self._registry, run, raw)
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

    def _is_changed_first(self, work: WorkItem) -> bool:
        """Whether rows of a view's target are about to be replaced or removed. Those of before are all there; the next
        ones come after it, and would be touched too."""
        if work.landing is None:
            return False
        stream, flow = work.landing
        cursor = self._registry.cursor(work.table, flow)
        landed, head = cursor.number if isinstance(cursor, BatchCursor) else 0, self._arrivals.head(stream)
        return landed < head and self._batches.has_change(stream, landed, head)

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


def _described(work: WorkItem) -> Mapping[str, AttributeValue]:
    """The attributes of the span of a step."""
    return {"penstock.table": work.table, "penstock.flow": work.flow, "penstock.deployments": work.deployments}


def _log_entry(work: WorkItem, done: StepResult, seconds: float) -> Operation:
    kind = {LandingTable: "append", View: "materialization", Copy: "deployment_backfill"}[type(work.run)]
    return Operation(
        event_type=kind,
        datasource_name=work.table,
        deployment_id=work.deployments[0],
        elapsed_time=seconds,
        read_rows=done.read_rows,
        read_bytes=done.read_bytes,
        rows=done.rows,
        written_rows=done.rows,
        rows_quarantine=done.rejected,
    )
