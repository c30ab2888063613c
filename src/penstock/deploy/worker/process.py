"""The worker process as its supervisor sees it, and the messages between the two.

In: a deployment's tables and the settings. Out: a running process and its messages, line by line. Invariant: the
worker ends when its standard input does, so it never outlives the server.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import orjson
from cattrs.preconf.orjson import make_converter

from penstock.deploy.worker.child_process import ChildProcess, module_command
from penstock.model.settings import Settings

SECONDS_BETWEEN = 0.5
COMMAND = module_command("penstock.deploy.worker.main")
COMPLETE = 0
Until: TypeAlias = Literal["complete", "idle"]
Kind: TypeAlias = Literal["begins", "stepped", "failed", "split_required"]


@dataclass(frozen=True, slots=True)
class WorkerOrder:
    """The task of a worker process: fill tables of a deployment."""

    home: str
    """The folder of the embedded state."""
    token: int | None
    """The fencing token of the server's lease: once another server owns the lease, the worker cannot write to the state
    store."""
    deployment: int
    tables: tuple[str, ...]
    until: Until
    """End when the histories are complete (`complete`), or when no rows have arrived for some time (`idle`)."""
    settings: Settings


@dataclass(frozen=True, slots=True)
class WorkerMessage:
    """A message of the worker about a step of a flow."""

    kind: Kind
    table: str
    flow: str
    message: str = ""
    """Why the step failed."""
    attempts: int = 0
    """How many steps of the flow have failed in a row."""
    deployments: tuple[int, ...] = ()
    """The deployments that can no longer share the table, if a split is required."""

    @property
    def key(self) -> tuple[str, str]:
        return (self.table, self.flow)


converter = make_converter()


class WorkerProcess:
    """One worker process. `ended` is true once `end` was called."""

    def __init__(self, home: Path, order: WorkerOrder):
        self.tables = order.tables
        self.ended = False
        self._process = ChildProcess(COMMAND, home)
        self._send(converter.dumps(order))

    @property
    def id(self) -> int:
        return self._process.id

    @property
    def complete(self) -> bool:
        """Whether it ended because the histories of its tables are complete."""
        return self._process.exit_code == COMPLETE

    def messages(self, live_lag: Callable[[], float]) -> Iterator[WorkerMessage]:
        """The messages of the worker until it ends. Meanwhile it gets live's lag in seconds, every SECONDS_BETWEEN."""
        over = threading.Event()
        sender = threading.Thread(target=self._send_lag, args=(live_lag, over), name="worker lag", daemon=True)
        sender.start()
        try:
            for line in self._process.output:
                yield converter.structure(orjson.loads(line), WorkerMessage)
        finally:
            over.set()
            sender.join()
            self._process.wait()

    def end(self) -> None:
        """Ask it to end, and kill it if it does not."""
        self.ended = True
        self._process.end()

    def _send_lag(self, live_lag: Callable[[], float], over: threading.Event) -> None:
        while not over.wait(SECONDS_BETWEEN) and not self.ended:
            self._send(orjson.dumps(live_lag()))

    def _send(self, line: bytes) -> None:
        with suppress(OSError, ValueError):  # it has ended, or is about to; the reader of its messages notices
            self._process.input.write(line + b"\n")
            self._process.input.flush()
