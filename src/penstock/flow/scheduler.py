"""Keep every flow of the running deployments advancing, those of live first.

In: `WorkItem` values, and calls that a batch arrived or a table changed. Out: steps, one at a time per table.
Invariant: at least one thread runs nothing but what the live and the previous version need, so a failing or slow flow
of another deployment never stops them. The lock is held for moments only: whether a flow has something to do, and
whether a waiter may go on, is asked without it, since the catalog may hang, and only after something happened to their
tables.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Protocol

from penstock.errors import PenstockError, Unavailable
from penstock.flow.failing_rows import RetryLater
from penstock.flow.live_steps import THREADS_A_STEP, LiveSteps
from penstock.flow.materialized_view import SplitRequired
from penstock.flow.table_reservations import TableReservations
from penstock.flow.telemetry.log_context import log_context
from penstock.flow.telemetry.step_times import StepTimes
from penstock.flow.work_items import PRIORITY, WorkItem
from penstock.flow.work_queue import OTHERS, URGENT, WorkKey, WorkQueue
from penstock.lake.spark.cancellation import SparkTimeout
from penstock.lake.spark.damaged_files import damaged_files
from penstock.lake.spark.errors import has_spark_ended, is_out_of_memory

MAX_RETRY_WAIT = 60.0
ANY_TABLE = ""
"""For waiters: whatever happens concerns them. No table has this name."""
LOOK_SECONDS = 5.0
"""Seconds after which all flows are looked at although nothing happened: no lost call may stop a flow."""
ASK_SECONDS, WAITER_REST = 0.5, 4.0
"""A waiter that asks about all tables asks at least every ASK_SECONDS, since more than tables may matter to it; then it
rests WAITER_REST times as long as its question took."""
log = logging.getLogger("penstock.flow")


@dataclass(frozen=True, slots=True)
class PoolThread:
    """A thread that runs steps."""

    pool: str
    """The Spark scheduler pool in which its steps run; the pools share the cores fairly."""
    prefers: tuple[int, ...]
    """The groups of the queue whose work it takes, the first group before the second."""


def pool_threads(live_steps: int) -> tuple[PoolThread, ...]:
    """Threads for `live_steps` (2 or more) steps of live at a time, and more for when steps take long (`live_steps`).
    One of them takes any work, that of live first, and one more takes only work of versions that are not live."""
    live = (PoolThread("live", (URGENT,)),) * (THREADS_A_STEP * live_steps - 1)
    return (*live, PoolThread("live", (URGENT, OTHERS)), PoolThread("background", (OTHERS,)))


class FlowStepper(Protocol):
    """What advances flows (`stepper`)."""

    def join_pool(self, pool: str) -> None: ...

    def seconds_until_due(self, work: WorkItem) -> float | None: ...

    def step(self, work: WorkItem, failures: int = 0, seconds: float | None = None) -> None: ...

    def recover(self, work: WorkItem) -> None: ...


@dataclass(frozen=True, slots=True)
class FlowFailure:
    """Why the last steps of a flow failed."""

    message: str
    attempts: int
    """How many steps have failed in a row."""
    retry_at: float
    """When the flow is tried again, in seconds of the monotonic clock."""
    since: datetime = field(default_factory=lambda: datetime.now(timezone.utc))
    """When the first of these steps failed."""
    of_look: bool = False
    """It is not known whether the flow has something to do: the catalog or the state store is away, or a table is
    damaged."""
    hint: str | None = None
    """What to do, if the error itself says so."""


@dataclass(frozen=True, slots=True)
class SchedulerCallbacks:
    """Callbacks for events that the scheduler cannot handle."""

    split_required: Callable[[SplitRequired], None]
    """Deployments can no longer share a table."""
    outgrown: Callable[[WorkItem], bool]
    """A step of a version that is not live took too long beside live's steps, or got no memory; returns whether the
    flow continues in the worker process."""


@dataclass(frozen=True, slots=True)
class SchedulerLimits:
    """How much runs at a time, and for how long."""

    live_steps: int
    """Steps of live at a time; those that take long do not count."""
    staging_seconds: float
    """Seconds that a step of a version that is not live may take beside those of live."""


class Scheduler:
    """Threads that each take the most urgent flow with something to do and advance it by one step."""

    def __init__(
        self,
        stepper: FlowStepper,
        explain: Callable[[Exception], str],
        callbacks: SchedulerCallbacks,
        limits: SchedulerLimits,
    ):
        self.times = StepTimes()
        self._stepper = stepper
        self._explain = explain
        self._callbacks = callbacks
        self._limits = limits
        self._queue = WorkQueue()
        self._tables = TableReservations()
        self._live_steps = LiveSteps(limits.live_steps)
        self._under_way: dict[str, WorkItem] = {}
        self._cut_off: Mapping[WorkKey, WorkItem] = {}
        self._spark_ended_at = 0.0
        self._failures: dict[WorkKey, FlowFailure] = {}
        self._waiters: dict[str, set[threading.Event]] = {}
        self._changed = threading.Condition()
        self._all_looked = time.monotonic()
        self.steps_ended = 0
        """Steps that ended without an error since the start."""
        self._stopping = False
        self._stopped = threading.Event()
        self._threads = [
            threading.Thread(target=self._run_thread, args=(thread,), name=f"flows {number}", daemon=True)
            for number, thread in enumerate(pool_threads(limits.live_steps))
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Wait for the running steps to end, then stop."""
        with self._changed:
            self._stopping = True
            self._stopped.set()
            self._notify(*self._waiters)
        for thread in self._threads:
            thread.join()

    def assign(self, work: Sequence[WorkItem]) -> None:
        """Run these flows from now on; others stop after their current step."""
        with self._changed:
            before = self._queue.items
            self._queue.assign(work)
            now = self._queue.items
            self._failures = {
                key: failure
                for key, failure in self._failures.items()
                if key in now and (key not in before or before[key].run == now[key].run)
            }
            self._notify(*self._waiters)

    @property
    def stopping(self) -> bool:
        return self._stopping

    @property
    def work(self) -> tuple[WorkItem, ...]:
        return tuple(self._queue.items.values())

    @property
    def under_way(self) -> tuple[WorkItem, ...]:
        """The flows whose steps run now."""
        return tuple(self._under_way.copy().values())

    @property
    def running_when_spark_ended(self) -> tuple[WorkItem, ...]:
        """The flows whose steps ran when Spark's process ended; these steps may have failed since."""
        return tuple({**self._cut_off, **{work.key: work for work in self.under_way}}.values())

    def exclude(self, tables: Collection[str]) -> None:
        """Run no step into these tables (only these) from now on, because a worker process does. Waits for running
        steps."""
        with self._changed:
            self._free(self._tables.exclude(tables))
            while self._tables.has_excluded_step():
                self._changed.wait()

    def report(self, key: WorkKey, failure: FlowFailure | None) -> None:
        """Record the outcome of a step that a worker process ran; None means success."""
        with self._changed:
            self._record(key, failure)
            self._queue.add([key])
            self._notify(key[0])

    @property
    def failures(self) -> Mapping[WorkKey, FlowFailure]:
        """The failure of each flow whose last step failed, by (table, flow)."""
        return self._failures.copy()

    def wake(self) -> None:
        """Look at all flows now: something changed that concerns many of them."""
        with self._changed:
            self._queue.add_all()
            self._notify(*self._waiters)

    def batch_arrived(self, stream: str) -> None:
        """Look for work now, because a batch of the stream was logged."""
        with self._changed:
            self._queue.batch_arrived(stream)
            self._notify()

    def table_changed(self, table: str) -> None:
        """Look for work now, because the table has a new snapshot."""
        with self._changed:
            self._queue.table_changed(table)
            self._notify(table)

    def wait(self, done: Callable[[], bool], timeout: float, tables: Collection[str] = (ANY_TABLE,)) -> bool:
        """Wait until `done` returns true, asking again when something happened to one of the tables; returns False
        after `timeout` seconds. `done` is called by this thread, without a lock."""
        end, happened = time.monotonic() + timeout, threading.Event()
        with self._waiting(happened, tables):
            while True:
                happened.clear()
                asked = time.monotonic()
                if done():
                    return True
                now = time.monotonic()
                if now >= end or self._stopping:
                    return False
                if ANY_TABLE in tables:  # asked after every step: at most a fifth of the time goes into the question
                    self._stopped.wait(min(end - now, WAITER_REST * (now - asked), ASK_SECONDS))
                happened.wait(
                    min(max(end - time.monotonic(), 0.0), ASK_SECONDS if ANY_TABLE in tables else LOOK_SECONDS)
                )

    @contextmanager
    def _waiting(self, happened: threading.Event, tables: Collection[str]) -> Iterator[None]:
        with self._changed:
            for table in tables:
                self._waiters.setdefault(table, set()).add(happened)
        try:
            yield
        finally:
            with self._changed:
                for table in tables:
                    self._waiters[table].discard(happened)
                    if not self._waiters[table]:
                        del self._waiters[table]

    @contextmanager
    def exclusive(self, tables: Collection[str]) -> Iterator[None]:
        """Lock the tables for the block: from now on no step into them begins; those that run end first."""
        with self._changed:
            reservation = self._tables.reserve(tables)
            try:
                self._changed.wait_for(lambda: self._tables.is_granted(reservation))
            except BaseException:
                self._free(self._tables.release(reservation))
                raise
        try:
            yield
        finally:
            with self._changed:
                self._free(self._tables.release(reservation))

    def has_step(self, tables: Collection[str]) -> bool:
        """Whether a step into one of the tables runs now."""
        with self._changed:
            return self._tables.has_step(tables)

    def _free(self, tables: Collection[str]) -> None:
        """The caller holds the lock."""
        for table in tables:
            self._queue.table_freed(table)
        self._notify(*tables)

    def _notify(self, *tables: str) -> None:
        """Let the threads, and the waiters of these tables and of any table, look. The caller holds the lock."""
        self._changed.notify_all()
        for table in (*tables, ANY_TABLE):
            for waiter in self._waiters.get(table, ()):
                waiter.set()

    def _run_thread(self, thread: PoolThread) -> None:
        self._stepper.join_pool(thread.pool)
        while (work := self._take(thread)) is not None:
            with log_context(deployment=",".join(map(str, work.deployments))):
                try:
                    self._look(work)
                except Exception:  # a thread that ends would stop flows for ever; all are looked at again soon
                    log.exception("the outcome of a step of %s into %s is not known", work.flow, work.table)

    def _take(self, thread: PoolThread) -> WorkItem | None:
        """The next flow to look at, with its table; None if the scheduler stops."""
        with self._changed:
            while not self._stopping:
                now = time.monotonic()
                if now - self._all_looked > LOOK_SECONDS:
                    self._all_looked = now
                    self._queue.add_all()
                busy = self._live_steps.seconds_until_next(now) if URGENT in thread.prefers else 0.0
                work = self._queue.take(thread.prefers, self._tables.is_free, now) if busy <= 0 else None
                if work is not None:
                    self._begin(work, now)
                    return work
                next_time = self._queue.next_time() if busy <= 0 else now + busy
                wait = LOOK_SECONDS if next_time is None else min(next_time - now, LOOK_SECONDS)
                self._changed.wait(max(wait, 0.001))
        return None

    def _begin(self, work: WorkItem, now: float) -> None:
        """Take the table of a flow that is looked at. The caller holds the lock."""
        self._tables.begin_step(work.table)
        if work.priority <= PRIORITY["previous"]:
            self._live_steps.begin(work.table, now)

    def _look(self, work: WorkItem) -> None:
        """Step a flow if it has something to do, then give its table back."""
        again: float | None = None
        try:
            again = self._seconds_until_due(work)
            if again is not None and again <= 0:
                with self._changed:
                    self._under_way[work.table] = work
                    self._queue.step_began(work.key)
                again = None  # should the step's outcome not be known, with the next look at all flows
                self._step(work)
                again = 0.0
        finally:
            with self._changed:
                self._under_way.pop(work.table, None)
                self._tables.end_step(work.table)
                self._live_steps.end(work.table)
                if again is not None and again <= 0:
                    self._queue.add([work.key])
                elif again is not None:
                    self._queue.add_at(work.key, time.monotonic() + again)
                self._queue.table_freed(work.table)
                self._notify(work.table)

    def _seconds_until_due(self, work: WorkItem) -> float | None:
        """Seconds until the flow is to be looked at again, 0 if it has something to do now, None if nothing is known.
        An error (the catalog may be down) counts as a failure of the flow."""
        before = self._failures.get(work.key)
        if before is not None and before.retry_at > (now := time.monotonic()):
            return before.retry_at - now
        failure: FlowFailure | None = None
        try:
            due = self._stepper.seconds_until_due(work)
        except Exception as error:
            log.warning("it is not known whether %s into %s has work", work.flow, work.table, exc_info=error)
            failure = self._failed_look(work, error)
            due = failure.retry_at - time.monotonic()
        if failure is not None or (before is not None and before.of_look):
            with self._changed:
                self._record(work.key, failure)
        return due

    def _step(self, work: WorkItem) -> None:
        failure: FlowFailure | None = None
        before, began = self._failures.get(work.key), time.monotonic()
        try:
            self._stepper.step(work, before.attempts if before else 0, self._seconds(work))
            self._cut_off = {}
        except SplitRequired as split:
            failure = FlowFailure("waits for a table of its own", 0, time.monotonic() + 1.0)
            self._callbacks.split_required(split)
        except Exception as error:  # whatever the error is, the flow is tried again, and other flows continue
            if has_spark_ended(error):
                self._note_cut_off(work, began)
            failure = self._failed(work, error)
            takes_too_much = isinstance(error, SparkTimeout) or is_out_of_memory(error)
            if takes_too_much and self._seconds(work) is not None and self._callbacks.outgrown(work):
                message = "takes too much time or memory beside live: continues in the worker process"
                failure = FlowFailure(message, 0, failure.retry_at)
        self.times.observe(work.kind, "done" if failure is None else "failed", time.monotonic() - began)
        with self._changed:
            self.steps_ended += failure is None
            self._record(work.key, failure)

    def _note_cut_off(self, work: WorkItem, began: float) -> None:
        """Remember a step that Spark's end cut off; one that began after that end was noticed had no part in it."""
        with self._changed:
            self._spark_ended_at = time.monotonic() if not self._cut_off else self._spark_ended_at
            if began <= self._spark_ended_at:
                self._cut_off = {**self._cut_off, work.key: work}

    def _record(self, key: WorkKey, failure: FlowFailure | None) -> None:
        """Remember how the last step of a flow ended. The caller holds the lock."""
        before = self._failures.pop(key, None)
        if failure is not None and key in self._queue.items:
            self._failures[key] = replace(failure, since=before.since) if before is not None else failure

    def _seconds(self, work: WorkItem) -> float | None:
        """Seconds that a step may take beside those of live; None: the general limit."""
        return self._limits.staging_seconds if work.priority > PRIORITY["previous"] else None

    def _failed(self, work: WorkItem, error: Exception) -> FlowFailure:
        failure, shown = self._failure(work, error), damaged_files(error) or error
        log.warning("step of %s into %s failed (attempt %d)", work.flow, work.table, failure.attempts, exc_info=shown)
        try:
            self._stepper.recover(work)
        except Exception:
            log.warning("the progress of %s could not be read again after a failed step", work.table, exc_info=True)
        return failure

    def _failed_look(self, work: WorkItem, error: Exception) -> FlowFailure:
        """Looks cost little, so they are repeated soon: after an outage no row waits for as long as after steps."""
        failure = self._failure(work, error)
        soon = min(failure.retry_at, time.monotonic() + LOOK_SECONDS)
        return replace(failure, retry_at=soon, of_look=True)

    def _failure(self, work: WorkItem, error: Exception) -> FlowFailure:
        """The failure with one more attempt; the wait until the next try doubles, up to MAX_RETRY_WAIT seconds."""
        before = self._failures.get(work.key)
        attempts = before.attempts + 1 if before else 1
        wait = error.seconds if isinstance(error, RetryLater) else min(2.0 ** (attempts - 1), MAX_RETRY_WAIT)
        shown = damaged_files(error) or error
        hint = shown.hint if isinstance(shown, PenstockError) and not isinstance(shown, Unavailable) else None
        return FlowFailure(self._explain(shown), attempts, time.monotonic() + wait, hint=hint)
