"""The program of the worker process: `python -m penstock.deploy.worker.main`.

In: a `WorkerOrder` on the first line of standard input, then live's lag in seconds, line by line. Out: a
`WorkerMessage` a line on standard output; exit code 0 once the tables' histories are complete. Invariant: it writes
nothing but these tables, and ends when its input ends.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import orjson

from penstock.deploy.worker.opened_parts import open_parts
from penstock.deploy.worker.process import COMPLETE, WorkerMessage, WorkerOrder, converter
from penstock.flow.materialized_view import SplitRequired
from penstock.flow.telemetry.span_delivery import start_span_delivery
from penstock.flow.work_items import WorkItem, collect_work
from penstock.lake.spark.damaged_files import damaged_files
from penstock.lake.spark.errors import explain_error
from penstock.lake.spark.reader_memory import ReaderMemory
from penstock.model.cursor import TailCursor
from penstock.model.deployment import RUNNING
from penstock.model.manifest import Copy, View
from penstock.model.settings import secret_values
from penstock.redaction import register_secrets
from penstock.state.deployments import Deployments

NICE = 5
"""The nice value of the worker, which leaves the processor to the server: a worker thread gets a third of the share of
a server thread. With 10 (a tenth), a server at full load kept the worker from starting for minutes."""
REST = 0.3
LONGEST_REST = 30.0
IDLE = 60.0


class _SupervisorInput:
    """What the supervisor writes to standard input; when it ends, the worker ends. It is read without a buffer: while a
    thread waits inside the buffer of standard input, Python aborts at its exit, and the supervisor would not get the
    exit code."""

    def __init__(self) -> None:
        self._lines = open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)  # noqa: SIM115 - as long as the process
        self.live_lag = 0.0

    def order(self) -> WorkerOrder:
        """Read the order, the first line."""
        return converter.loads(self._lines.readline(), WorkerOrder)

    def listen(self) -> None:
        for line in self._lines:
            self.live_lag = float(orjson.loads(line))
        os._exit(1)


def main() -> int:
    supervisor_input = _SupervisorInput()
    order = supervisor_input.order()
    register_secrets(secret_values(order.settings))
    threading.Thread(target=supervisor_input.listen, name="supervisor input", daemon=True).start()
    with suppress(OSError):  # a container may forbid it
        os.nice(NICE)
    end_export = start_span_delivery(order.settings.traces, "worker")
    try:
        return _TableFiller(order, supervisor_input).run()
    finally:
        end_export()


class _TableFiller:
    """The flows into the order's tables, stepped one after the other."""

    def __init__(self, order: WorkerOrder, supervisor_input: _SupervisorInput):
        parts = open_parts(order.settings, Path(order.home), order.token, lambda: supervisor_input.live_lag)
        self._order = order
        self._deployments = Deployments(parts.database)
        self._registry = parts.registry
        self._operations = parts.operations
        self._stepper = parts.stepper
        ReaderMemory(parts.lake).start()
        self._attempts: dict[tuple[str, str], int] = {}

    def run(self) -> int:
        """Step, and write the last entries of the operations log. Returns the exit code."""
        try:
            return self._step_all()
        finally:
            self._operations.flush()

    def _step_all(self) -> int:
        """Step until the tables' histories are complete, or until no rows arrived for IDLE seconds, as the order
        says."""
        worked = time.monotonic()
        while True:
            works = list(self._work_items())
            for work in works:
                self._refresh(work)
            due = [work for work in works if self._stepper.has_more(work)]
            for work in due:
                self._step(work)
            worked = time.monotonic() if due else worked
            filling = any(self._has_history(work) for work in works)
            if not filling and (self._order.until == "complete" or time.monotonic() - worked > IDLE):
                return COMPLETE
            if not due:
                time.sleep(REST)

    def _work_items(self) -> Iterator[WorkItem]:
        """The flows into the tables, looked up each time: manifests may change meanwhile."""
        running = [each for each in self._deployments.in_state(*RUNNING) if not each.paused]
        for work in collect_work(running):
            ours = work.table in self._order.tables and self._order.deployment in work.deployments
            if ours and isinstance(work.run, (Copy, View)):
                yield work

    def _has_history(self, work: WorkItem) -> bool:
        """Whether the flow's history is not complete."""
        return not isinstance(self._registry.cursor(work.table, work.flow), TailCursor)

    def _refresh(self, work: WorkItem) -> None:
        """Read the tables of the flow again: the server writes those that the flow reads."""
        tables = {work.table}
        if isinstance(work.run, View):
            tables |= {work.run.trigger.binding.table, *(other.binding.table for other in work.run.others)}
        elif isinstance(work.run, Copy):
            tables.add(work.run.source.table)
        for table in tables:
            self._registry.refresh(table)

    def _step(self, work: WorkItem) -> None:
        table, flow = work.key
        failures = self._attempts.get(work.key, 0)
        _send(WorkerMessage("begins", table, flow))
        try:
            self._stepper.step(work, failures)
        except SplitRequired as split:
            _send(WorkerMessage("split_required", split.table, flow, deployments=split.deployments))
            time.sleep(
                LONGEST_REST
            )  # meanwhile the supervisor ends this process, splits the table and starts a new worker
        except Exception as error:
            self._stepper.recover(work)
            self._attempts[work.key] = failures + 1
            _send(WorkerMessage("failed", table, flow, explain_error(damaged_files(error) or error), failures + 1))
            time.sleep(min(2.0**failures, LONGEST_REST))
        else:
            self._attempts.pop(work.key, None)
            _send(WorkerMessage("stepped", table, flow))


def _send(message: WorkerMessage) -> None:
    sys.stdout.buffer.write(converter.dumps(message) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
