"""The trial process as the server sees it: a Spark of its own for steps that may end Spark's process.

In: a trial, or an order for a step. Out: its answer. Invariant: one at a time; if the process ends meanwhile, that is
an answer too (TrialEnded), and the next trial starts another one; it never outlives the server.
"""

from __future__ import annotations

import pickle
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar, Union, cast

from penstock.deploy.worker.child_process import ChildProcess, module_command
from penstock.flow.failing.trials import StepOrder, Trial, TrialEnded, TrialFailed
from penstock.flow.materialized_view import SplitRequired
from penstock.model.settings import Settings

T = TypeVar("T")
COMMAND = module_command("penstock.deploy.worker.trial_main")
START_SECONDS = 300.0
"""A process that has not opened its Spark by then is killed: whoever waits for it holds a table."""
IDLE_ENDED = 0
"""The exit code of a trial process that nobody asked for a while."""


@dataclass(frozen=True, slots=True)
class TrialOrder:
    """The first thing that a trial process reads."""

    home: Path
    settings: Settings
    token: int | None
    """The fencing token of the server's lease."""


@dataclass(frozen=True, slots=True)
class TrialStart:
    """The process has opened its Spark."""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The answer of a trial."""

    value: object


@dataclass(frozen=True, slots=True)
class TrialStepResult:
    """A step was committed, or there was nothing to do; or its table must be split."""

    split: tuple[str, tuple[int, ...]] | None = None


@dataclass(frozen=True, slots=True)
class TrialRefusal:
    """A trial failed, and its process goes on."""

    message: str


@dataclass(frozen=True, slots=True)
class _Gone:
    """The process has ended."""


Answer: TypeAlias = Union[TrialStart, TrialResult, TrialStepResult, TrialRefusal, _Gone]


class TrialProcess:
    """Starts a process when there is something to try. Thread-safe."""

    def __init__(self, order: TrialOrder):
        self._order = order
        self._process: ChildProcess | None = None
        self._asking = threading.Lock()
        self._closed = False

    def run(self, trial: Trial[T]) -> T:
        """The answer of a trial. Raises TrialEnded, TrialFailed."""
        answer = self._ask(trial)
        assert isinstance(answer, TrialResult), "a trial has a value"
        return cast(T, answer.value)

    def step(self, order: StepOrder) -> SplitRequired | None:
        """Run a step; None if it was committed or had nothing to do. Raises TrialEnded, TrialFailed."""
        answer = self._ask(order)
        assert isinstance(answer, TrialStepResult), "a step has no value"
        return SplitRequired(*answer.split) if answer.split is not None else None

    def close(self) -> None:
        """End the process; what it does fails, and so does what it is asked from now on."""
        self._closed = True
        if self._process is not None:
            self._process.end()

    def _ask(self, request: object) -> Answer:
        with self._asking:
            answer = _exchange(self._running(), request)
            if isinstance(answer, _Gone) and self._has_been_idle():
                answer = _exchange(self._running(), request)
        if self._closed:
            raise TrialFailed("the server is stopping")
        if isinstance(answer, _Gone):
            raise TrialEnded
        if isinstance(answer, TrialRefusal):
            raise TrialFailed(answer.message)
        return answer

    def _has_been_idle(self) -> bool:
        """Whether the process had ended by itself before it was asked."""
        return self._process is not None and self._process.wait() == IDLE_ENDED

    def _running(self) -> ChildProcess:
        """The process, started if there is none. Raises TrialFailed."""
        if self._process is not None and self._process.exit_code is None:
            return self._process
        if self._closed:
            raise TrialFailed("the server is stopping")
        self._process = started = ChildProcess(COMMAND, self._order.home)
        deadline = threading.Timer(START_SECONDS, started.kill)
        deadline.daemon = True
        deadline.start()
        answer = _exchange(started, self._order)
        deadline.cancel()
        if not isinstance(answer, TrialStart):
            raise TrialFailed("the process for steps that end Spark's process does not start: apart.log says why")
        return started


def _exchange(process: ChildProcess, request: object) -> Answer:
    """Send a request and wait for its answer."""
    try:
        pickle.dump(request, process.input)
        process.input.flush()
        return cast(Answer, pickle.load(process.output))
    except (OSError, EOFError, ValueError, pickle.UnpicklingError):
        process.end()
        process.wait()
        return _Gone()
