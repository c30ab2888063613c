"""Fills tables in a second Spark process, so that heavy work cannot hurt the live deployment.

In: tables of a deployment whose histories are large, whose steps took too long beside live's, or in whose steps
Spark's process ended. Out: a worker process that fills them, and reports to the scheduler. Invariant: a table is
written by the worker or by the scheduler, never by both; one worker runs at a time; all progress is in the tables, so
the worker can be killed and started again at any moment.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from penstock.deploy.worker.process import Until, WorkerMessage, WorkerOrder, WorkerProcess
from penstock.flow.materialized_view import SplitRequired
from penstock.flow.scheduler import MAX_RETRY_WAIT, FlowFailure, Scheduler
from penstock.flow.table_registry import TableRegistry
from penstock.model.settings import Settings
from penstock.state.crash_counts import CrashCounts

REST = 1.0
DEATHS = 3
"""A flow has failed once the worker ended this many times in a row in the middle of its step."""
log = logging.getLogger("penstock.deploy")


@dataclass(frozen=True, slots=True)
class FillRequest:
    """Tables that the worker process is to fill."""

    tables: frozenset[str]
    until: Until
    """`complete`: until their histories are complete. `idle`: as long as rows arrive for them, since a flow that ended
    Spark's process, or takes too long, must not return to the server."""


@dataclass(frozen=True, slots=True)
class SupervisorContext:
    """The parts of the pipeline that the supervisor uses: it reports the worker's steps to the scheduler and the
    registry."""

    home: Path
    settings: Settings
    token: int | None
    scheduler: Scheduler
    registry: TableRegistry
    crash_counts: CrashCounts
    live_lag: Callable[[], float]
    on_split_required: Callable[[SplitRequired], None]


class WorkerSupervisor:
    """Runs one worker process at a time, from a thread of its own. Thread-safe; `begin` returns at once."""

    def __init__(self, context: SupervisorContext):
        self._context = context
        self._wanted: dict[int, FillRequest] = {}
        self._running: tuple[int, WorkerProcess] | None = None
        self._held: list[frozenset[str]] = []
        self._failed_starts = 0
        self._changed = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._supervise, name="worker supervisor", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the worker; steps that it did not commit are done again after the next start."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
            self._end_running()
        self._thread.join()

    @property
    def tables(self) -> Mapping[int, frozenset[str]]:
        """By deployment, the tables that the worker fills or will fill."""
        return {deployment: wanted.tables for deployment, wanted in self._wanted.items()}

    @property
    def process(self) -> int | None:
        """The process id of the worker, None if none runs."""
        running = self._running
        return running[1].id if running is not None else None

    def begin(self, deployment: int, tables: Collection[str], until: Until) -> None:
        """Let the worker fill these tables from now on."""
        with self._changed:
            known = self._wanted.get(deployment, FillRequest(frozenset(), until))
            wanted = FillRequest(known.tables.union(tables), "idle" if "idle" in (known.until, until) else until)
            if wanted == self._wanted.get(deployment):
                return
            self._wanted[deployment] = wanted
            self._end_running(deployment)
            self._changed.notify_all()
        self._release_tables()

    def end(self, deployment: int) -> None:
        """Give the deployment's tables back to the scheduler: it has ended, is paused or complete."""
        with self._changed:
            if self._wanted.pop(deployment, None) is None:
                return
            self._end_running(deployment)
            self._changed.notify_all()
        self._release_tables()

    @contextmanager
    def halted(self, tables: Collection[str]) -> Iterator[None]:
        """Keep the worker from running for these tables until the block ends, also if it is asked to only then."""
        held = frozenset(tables)
        with self._changed:
            self._held.append(held)
            if self._running is not None and not held.isdisjoint(self._running[1].tables):
                self._end_running()
        try:
            yield
        finally:
            with self._changed:
                self._held.remove(held)
                self._changed.notify_all()

    def _may_run(self, wanted: FillRequest | None) -> bool:
        return wanted is not None and all(wanted.tables.isdisjoint(held) for held in self._held)

    def _next_request(self) -> tuple[int, FillRequest] | None:
        """The first request that may run now. The caller holds `_changed`."""
        return next((each for each in self._wanted.items() if self._may_run(each[1])), None)

    def _end_running(self, deployment: int | None = None) -> None:
        """End the worker (if it runs for this deployment) and wait until it has ended. The caller holds `_changed`."""
        if self._running is not None and deployment in (None, self._running[0]):
            worker = self._running[1]
            worker.end()
            self._changed.wait_for(lambda: self._running is None or self._running[1] is not worker)

    def _release_tables(self) -> None:
        self._context.scheduler.exclude(frozenset().union(*self.tables.values()))

    def _supervise(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopping or self._next_request() is not None)
                request = self._next_request()
                if self._stopping or request is None:
                    return
                deployment, wanted = request
            try:
                over = self._fill(deployment, wanted)
            except Exception:  # the catalog may not answer; the progress is in the tables
                log.exception("the process that fills tables for deployment %d", deployment)
                over = False
            if over and self._wanted.get(deployment) == wanted:
                self.end(deployment)
            elif not self._stopping:
                time.sleep(REST)

    def _fill(self, deployment: int, wanted: FillRequest) -> bool:
        """Run one worker process from its start to its end. Returns whether the request is done: its tables are
        complete, or no worker process gets as far as a step."""
        with self._changed:
            if self._wanted.get(deployment) != wanted or not self._may_run(wanted):
                return False
            worker = WorkerProcess(self._context.home, self._make_order(deployment, wanted))
            self._running = (deployment, worker)
        try:
            complete = self._read_messages(worker)
        finally:
            with self._changed:
                self._running = None
                self._changed.notify_all()
        if self._failed_starts >= DEATHS:
            self._failed_starts = 0
            log.error("no process gets as far as a step for deployment %d: apart.log says why", deployment)
            return True
        return complete

    def _make_order(self, deployment: int, wanted: FillRequest) -> WorkerOrder:
        context, tables = self._context, tuple(sorted(wanted.tables))
        return WorkerOrder(str(context.home), context.token, deployment, tables, wanted.until, context.settings)

    def _read_messages(self, worker: WorkerProcess) -> bool:
        """Handle the messages of the worker until it has ended. Returns whether its tables are complete."""
        step: tuple[str, str] | None = None
        self._failed_starts += 1
        for message in worker.messages(self._context.live_lag):
            self._failed_starts = 0
            step = message.key if message.kind == "begins" else None
            self._handle_message(message)
        for table in worker.tables:
            self._context.registry.refresh(table)
        if step is not None and not worker.ended:
            self._count_crash(step)
        return worker.complete

    def _handle_message(self, message: WorkerMessage) -> None:
        context, key = self._context, message.key
        match message.kind:
            case "stepped":
                context.registry.refresh(key[0])
                context.scheduler.report(key, None)
                context.crash_counts.clear(key)
            case "failed":
                retry = time.monotonic() + min(2.0 ** (message.attempts - 1), MAX_RETRY_WAIT)
                context.scheduler.report(key, FlowFailure(message.message, message.attempts, retry))
            case "split_required":
                context.on_split_required(SplitRequired(key[0], message.deployments))
            case "begins":
                pass

    def _count_crash(self, step: tuple[str, str]) -> None:
        self._context.crash_counts.record_deaths([step])
        deaths = self._context.crash_counts.deaths[step]
        log.warning("the process of %s into %s has ended (%d times)", step[1], step[0], deaths)
        message = f"its Spark process ended in the middle of a step, {deaths} times in a row (out of memory?)"
        self._context.scheduler.report(step, FlowFailure(message, deaths, time.monotonic() + REST))
