"""Keep every flow of the running deployments advancing, those of live first.

In: `WorkItem` values and calls that something arrived. Out: steps, one at a time per table. Invariant: one thread
runs nothing but what the live and the previous version need, so a failing or slow flow of another deployment never
stops them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from penstock.flow.log_context import log_context
from penstock.flow.materialized_view import SplitRequired
from penstock.flow.step_times import StepTimes
from penstock.flow.stepper import Stepper
from penstock.flow.work_items import PRIORITY, WorkItem
from penstock.lake.spark.cancellation import SparkTimeout

MAX_RETRY_WAIT = 60.0
log = logging.getLogger("penstock.flow")


@dataclass(frozen=True, slots=True)
class PoolThread:
    """A thread that runs steps."""

    pool: str
    """The Spark scheduler pool in which its steps run; the pools share the cores fairly."""
    prefers: tuple[tuple[int, ...], ...]
    """The priorities whose work it takes, the first group before the second."""


POOL_THREADS = (
    PoolThread("live", ((0, 1),)),
    PoolThread("live", ((0, 1), (2, 3))),
    PoolThread("background", ((2, 3),)),
)
"""One thread takes only work of the live and the previous version, one takes only work of the others, and one takes
any work, that of live first."""


@dataclass(frozen=True, slots=True)
class FlowFailure:
    """Why the last steps of a flow failed."""

    message: str
    attempts: int
    """How many steps have failed in a row."""
    retry_at: float
    """When the flow is tried again, in seconds of the monotonic clock."""


@dataclass(frozen=True, slots=True)
class SchedulerCallbacks:
    """Callbacks for events that the scheduler cannot handle."""

    split_required: Callable[[SplitRequired], None]
    """Deployments can no longer share a table."""
    outgrown: Callable[[WorkItem], bool]
    """A step of a version that is not live took too long beside live's steps; returns whether the flow continues in the
    worker process."""
    step_ended: Callable[[WorkItem], None]
    """A step has ended without an error."""


class Scheduler:
    """Threads that each take the most urgent flow with something to do and advance it by one step."""

    def __init__(
        self,
        stepper: Stepper,
        explain: Callable[[Exception], str],
        callbacks: SchedulerCallbacks,
        staging_seconds: float,
    ):
        self.times = StepTimes()
        self._stepper = stepper
        self._explain = explain
        self._callbacks = callbacks
        self._staging_seconds = staging_seconds
        self._work: tuple[WorkItem, ...] = ()
        self._busy: set[str] = set()
        self._under_way: dict[str, WorkItem] = {}
        self._excluded: frozenset[str] = frozenset()
        self._last: dict[tuple[str, str], float] = {}
        self._failures: dict[tuple[str, str], FlowFailure] = {}
        self._changed = threading.Condition()
        self._stopping = False
        self._threads = [
            threading.Thread(target=self._run_thread, args=(thread,), name=f"flows {number}", daemon=True)
            for number, thread in enumerate(POOL_THREADS)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Wait for the running steps to end, then stop."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def assign(self, work: Sequence[WorkItem]) -> None:
        """Run these flows from now on; others stop after their current step."""
        with self._changed:
            self._work = tuple(work)
            kept = {each.key for each in work}
            self._failures = {key: failure for key, failure in self._failures.items() if key in kept}
            self._changed.notify_all()

    @property
    def stopping(self) -> bool:
        return self._stopping

    @property
    def work(self) -> tuple[WorkItem, ...]:
        return self._work

    @property
    def under_way(self) -> tuple[WorkItem, ...]:
        """The flows whose steps run now."""
        return tuple(self._under_way.values())

    def exclude(self, tables: Collection[str]) -> None:
        """Run no step into these tables (only these) from now on, because a worker process does. Waits for running
        steps."""
        with self._changed:
            self._excluded = frozenset(tables)
            while self._under_way.keys() & self._excluded:
                self._changed.wait()
            self._changed.notify_all()

    def report(self, key: tuple[str, str], failure: FlowFailure | None) -> None:
        """Record the outcome of a step that a worker process ran; None means success."""
        with self._changed:
            if failure is None:
                self._failures.pop(key, None)
            else:
                self._failures[key] = failure
            self._changed.notify_all()

    @property
    def failures(self) -> Mapping[tuple[str, str], FlowFailure]:
        """The failure of each flow whose last step failed, by (table, flow)."""
        return dict(self._failures)

    def wake(self) -> None:
        """Look for work now, because something arrived."""
        with self._changed:
            self._changed.notify_all()

    def wait(self, done: Callable[[], bool], timeout: float) -> bool:
        """Wait until `done` returns true, checking after every step; returns False after `timeout` seconds."""
        end = time.monotonic() + timeout
        with self._changed:
            while not done():
                left = end - time.monotonic()
                if left <= 0 or self._stopping:
                    return False
                self._changed.wait(min(left, 0.5))
        return True

    @contextmanager
    def exclusive(self, tables: Collection[str]) -> Iterator[None]:
        """Lock the tables for the block: running steps into them end first, and none begins before the block ends."""
        wanted = set(tables)
        with self._changed:
            while self._busy & wanted:
                self._changed.wait()
            self._busy |= wanted
        try:
            yield
        finally:
            with self._changed:
                self._busy -= wanted
                self._changed.notify_all()

    def _run_thread(self, thread: PoolThread) -> None:
        self._stepper.join_pool(thread.pool)
        while True:
            with self._changed:
                work = self._next(thread)
                while work is None and not self._stopping:
                    self._changed.wait(0.2)
                    work = self._next(thread)
                if self._stopping or work is None:
                    return
                self._busy.add(work.table)
                self._under_way[work.table] = work
                self._last[work.key] = time.monotonic()
            with log_context(deployment=",".join(map(str, work.deployments))):
                self._step(work)

    def _next(self, thread: PoolThread) -> WorkItem | None:
        now, taken = time.monotonic(), self._busy | self._excluded
        for priorities in thread.prefers:
            candidates = [
                work
                for work in self._work
                if work.priority in priorities and work.table not in taken and self._due(work, now)
            ]
            candidates.sort(key=lambda work: self._last.get(work.key, 0.0))
            found = next((work for work in candidates if self._has_more(work)), None)
            if found is not None:
                return found
        return None

    def _has_more(self, work: WorkItem) -> bool:
        """Whether a flow has something to do; an error (the catalog may be down) counts as a failure of the flow."""
        try:
            return self._stepper.has_more(work)
        except Exception as error:
            log.warning("it is not known whether %s into %s has work", work.flow, work.table, exc_info=error)
            self._failures[work.key] = self._failure(work, error)
            return False

    def _due(self, work: WorkItem, now: float) -> bool:
        failure = self._failures.get(work.key)
        return failure is None or failure.retry_at <= now

    def _step(self, work: WorkItem) -> None:
        failure: FlowFailure | None = None
        before, began = self._failures.get(work.key), time.monotonic()
        try:
            self._stepper.step(work, before.attempts if before else 0, self._seconds(work))
            self._callbacks.step_ended(work)
        except SplitRequired as split:
            failure = FlowFailure("waits for a table of its own", 0, time.monotonic() + 1.0)
            self._callbacks.split_required(split)
        except SparkTimeout as error:
            failure = self._failed(work, error)
            if self._seconds(work) is not None and self._callbacks.outgrown(work):
                failure = FlowFailure(
                    "takes too long beside live: continues in the worker process", 0, failure.retry_at
                )
        except Exception as error:  # whatever the error is, the flow is tried again, and other flows continue
            failure = self._failed(work, error)
        kind, outcome = type(work.run).__name__.removesuffix("Table").lower(), "done" if failure is None else "failed"
        self.times.observe(kind, outcome, time.monotonic() - began)
        with self._changed:
            self._busy.discard(work.table)
            self._under_way.pop(work.table, None)
            if failure is not None:
                self._failures[work.key] = failure
            else:
                self._failures.pop(work.key, None)
            self._changed.notify_all()

    def _seconds(self, work: WorkItem) -> float | None:
        """Seconds that a step may take beside those of live; None: the general limit."""
        return self._staging_seconds if work.priority > PRIORITY["previous"] else None

    def _failed(self, work: WorkItem, error: Exception) -> FlowFailure:
        failure = self._failure(work, error)
        log.warning("step of %s into %s failed (attempt %d)", work.flow, work.table, failure.attempts, exc_info=error)
        try:
            self._stepper.recover(work)
        except Exception:
            log.warning("the progress of %s could not be read again after a failed step", work.table, exc_info=True)
        return failure

    def _failure(self, work: WorkItem, error: Exception) -> FlowFailure:
        """The failure with one more attempt; the wait until the next try doubles, up to MAX_RETRY_WAIT seconds."""
        before = self._failures.get(work.key)
        attempts = before.attempts + 1 if before else 1
        wait = min(2.0 ** (attempts - 1), MAX_RETRY_WAIT)
        return FlowFailure(self._explain(error), attempts, time.monotonic() + wait)
