"""Who holds a table exclusively has it, also against a worker process that is asked for only then."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.deploy.worker import supervisor
from penstock.deploy.worker.process import WorkerMessage, WorkerOrder
from penstock.deploy.worker.supervisor import WorkerSupervisor
from waiting import wait_until


class Process:
    """Runs until it is ended."""

    started: list[tuple[str, ...]]

    def __init__(self, home: Path, order: WorkerOrder):
        self.tables, self.id, self.complete, self.ended = order.tables, 1, False, False
        self._over = threading.Event()
        type(self).started.append(order.tables)

    def messages(self, live_lag: Callable[[], float]) -> Iterator[WorkerMessage]:
        self._over.wait(60)
        yield from ()

    def end(self) -> None:
        self.ended = True
        self._over.set()


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerSupervisor]:
    Process.started = []
    monkeypatch.setattr(supervisor, "WorkerProcess", Process)
    monkeypatch.setattr(supervisor, "REST", 0.0)
    quiet = SimpleNamespace(exclude=lambda tables: None, refresh=lambda table: None)
    context = SimpleNamespace(
        home=Path(), settings=None, token=None, scheduler=quiet, registry=quiet, live_lag=lambda: 0.0
    )
    made = WorkerSupervisor(context)  # type: ignore[arg-type]
    made.start()
    yield made
    made.stop()


def test_no_worker_begins_with_a_table_that_is_held(worker: WorkerSupervisor) -> None:
    with worker.halted(["a"]):
        worker.begin(1, ["a", "b"], "idle")
        worker.begin(2, ["c"], "idle")
        wait_until(lambda: worker.process is not None)
        assert Process.started == [("c",)]
    worker.end(2)
    wait_until(lambda: ("a", "b") in Process.started)


def test_a_worker_that_fills_a_table_ends_when_it_is_to_be_held(worker: WorkerSupervisor) -> None:
    worker.begin(1, ["a", "b"], "idle")
    wait_until(lambda: worker.process is not None)
    with worker.halted(["c"]):
        assert worker.process is not None
    with worker.halted(["b"]), worker.halted(["b"]):
        assert worker.process is None
    wait_until(lambda: Process.started == [("a", "b"), ("a", "b")])
