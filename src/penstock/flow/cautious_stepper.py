"""Step the flows that may end Spark's process so that only they wait if they do.

In: a flow with a step to do, and its crashes: how often Spark's process ended in its steps, or had no memory for them.
Out: a step. Invariant: the steps of suspected flows run one at a time, and smaller; after a second crash they run in a
trial process, so whatever they do, other flows go on; a row is left out only if it alone ended a trial process, twice,
and no rows at all did not.

Flows of versions that are not live, and not previous, are left to the worker process (`deploy/lifecycle/backfill`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol, TypeVar

from penstock.flow.failing.trials import ENDED, StepOrder, Trial, TrialEnded
from penstock.flow.failing_rows import RetryLater
from penstock.flow.materialized_view import SplitRequired
from penstock.flow.stepper import HOLD_SECONDS, Stepper
from penstock.flow.work_items import PRIORITY, Runnable, WorkItem
from penstock.lake.spark.errors import is_out_of_memory
from penstock.lake.tables.snapshots import Progress
from penstock.state.crash_counts import CrashCounts, FlowKey

CRASHES_BEFORE_TRIALS = 2
MOST_COUNTED = 4
"""More crashes are not counted: the steps are small enough, and each takes an hour to be forgotten."""
STEPS_APART = 64
"""After so many steps since its last crash a flow has passed the rows of the step in which Spark ended, and needs the
trial process no more."""
MOST_CRASHES = 60
"""The most trial processes that one search for rows may end."""
SAMPLES = 4
"""If this many rows, spread over a larger step of a view, each end Spark's process, the view is wrong."""
WAIT_SECONDS = 0.2
"""Seconds after which a suspected flow is looked at again while another one is stepped."""
LEFT_SECONDS = 2.0
"""A flow that has not asked for its turn for so long does not wait for it any more."""
T = TypeVar("T")
log = logging.getLogger("penstock.flow")


class TrialRuns(Protocol):
    """A process of its own, with a Spark of its own, for one trial at a time."""

    def run(self, trial: Trial[T]) -> T: ...

    def step(self, order: StepOrder) -> SplitRequired | None: ...


class CautiousStepper:
    """Advances flows by one step, as `Stepper` does."""

    def __init__(self, stepper: Stepper, crashes: CrashCounts, trials: TrialRuns):
        self._stepper = stepper
        self._crashes = crashes
        self._trials = trials
        self._here, self._apart = _Turns(), _Turns()
        self._in_trial: set[FlowKey] = set()
        self._steps_apart: Counter[FlowKey] = Counter()
        """How many steps in the trial process succeeded since the flow's last crash."""
        self._blamed: dict[FlowKey, _Blame] = {}

    def join_pool(self, pool: str) -> None:
        self._stepper.join_pool(pool)

    def recover(self, work: WorkItem) -> None:
        self._stepper.recover(work)

    def seconds_until_due(self, work: WorkItem) -> float | None:
        """As that of `Stepper`. A suspected flow has its turn from the answer 0 on until its step has ended: if it
        waited for it in the step, all threads of live could wait for one of them, and a crash would be that of all."""
        due = self._stepper.seconds_until_due(work)
        return WAIT_SECONDS if due == 0.0 and not self._take_turn(work) else due

    def step(self, work: WorkItem, failures: int = 0, seconds: float | None = None) -> None:
        """Advance by one commit. Raises what `Stepper.step` raises, RetryLater, TrialFailed and SplitRequired."""
        try:
            self._step(work, failures, seconds)
        finally:
            self._here.give_back(work.key)
            self._apart.give_back(work.key)

    def _step(self, work: WorkItem, failures: int, seconds: float | None) -> None:
        crashes = self._crashes.count(work.key)
        if not crashes or not is_urgent(work):
            self._step_here(work, failures, seconds)
            self._crashes.clear(work.key)
        elif self._is_suspected(work):
            if not self._take_turn(work):
                raise RetryLater("another flow that may end Spark's process is stepped", WAIT_SECONDS)
            self._step_suspected(work, failures)
        else:
            self._step_here(work, failures, seconds, crashes)
            self._crashes.record_success(work.key)

    def _step_here(self, work: WorkItem, failures: int, seconds: float | None, crashes: int = 0) -> None:
        """A step in the server. One that gets no memory has ended no process, but is a crash like one that has."""
        try:
            self._stepper.step(work, failures, seconds, crashes)
        except Exception as error:
            if is_urgent(work) and is_out_of_memory(error):
                self._record_crashes([work.key])
            raise

    def count_crashes(self, running: Collection[WorkItem]) -> None:
        """Spark's process has ended, while steps of these flows ran."""
        self._record_crashes([work.key for work in running if work.key not in self._in_trial])

    def _record_crashes(self, flows: Collection[FlowKey]) -> None:
        for flow in flows:
            self._steps_apart.pop(flow, None)
        self._crashes.record_deaths(flows, MOST_COUNTED)

    def _take_turn(self, work: WorkItem) -> bool:
        """Whether a flow may be stepped now. Those that are tried apart keep no others waiting: a search takes
        minutes."""
        if not self._is_suspected(work):
            return True
        return (self._apart if self._is_tried_apart(work) else self._here).take(work.key)

    def _is_tried_apart(self, work: WorkItem) -> bool:
        enough = self._steps_apart[work.key] >= STEPS_APART
        return self._crashes.count(work.key) >= CRASHES_BEFORE_TRIALS and not enough

    def _is_suspected(self, work: WorkItem) -> bool:
        if not is_urgent(work):
            return False
        return self._crashes.is_suspected(work.key) or self._is_tried_apart(work)

    def _step_suspected(self, work: WorkItem, failures: int) -> None:
        if not self._is_tried_apart(work):
            self._step_here(work, failures, None, self._crashes.count(work.key))
            self._crashes.record_success(work.key)
            return
        self._in_trial.add(work.key)
        try:
            self._step_in_trial(work, failures)
        finally:
            self._in_trial.discard(work.key)

    def _step_in_trial(self, work: WorkItem, failures: int) -> None:
        """A step in the trial process; if that ends, the rows that end it are looked for, and the step runs without
        them."""
        if self._try_step(work, failures):
            self._record_success(work)
            return
        self._record_crashes([work.key])
        found = self._condemn_rows(work)
        if not found:
            self._blame(work, f"{ENDED} in its step, and no row of it is the cause")
        log.warning("%s into %s goes on without %d rows that end Spark's process", work.flow, work.table, found)
        if not self._try_step(work, failures):
            raise RetryLater(f"{ENDED} in its step, also without {found} rows that were found", WAIT_SECONDS)
        self._crashes.clear(work.key)

    def _record_success(self, work: WorkItem) -> None:
        self._steps_apart[work.key] += 1
        blamed = self._blamed.pop(work.key, None)
        if blamed is not None and blamed.run != work.run:
            self._crashes.clear(work.key)  # it is another query now
        else:
            self._crashes.record_success(work.key)

    def _try_step(self, work: WorkItem, failures: int) -> bool:
        """Run a step in the trial process; returns whether it came to its end. Raises SplitRequired, TrialFailed."""
        order = StepOrder(work, failures, self._crashes.count(work.key), self._stepper.last_batches(work))
        try:
            split = self._trials.step(order)
        except TrialEnded:
            log.warning("the trial process of %s into %s has ended", work.flow, work.table)
            self._stepper.read_again(work)
            return False
        if split is not None:
            self._stepper.read_again(work)
            raise split
        self._stepper.accept_step(work)
        return True

    def _condemn_rows(self, work: WorkItem) -> int:
        """Condemn the rows of the next step that end Spark's process. Returns how many were found. Raises RetryLater if
        the flow has to stop for one."""
        blamed = self._blamed.get(work.key)
        if blamed is not None and (blamed.run, blamed.progress) == (work.run, self._stepper.progress(work)):
            raise RetryLater(blamed.problem, HOLD_SECONDS)
        search = _Search(self._trials)
        try:
            return self._stepper.condemn_rows(work, self._crashes.count(work.key), search.run, SAMPLES)
        except TrialEnded:
            problem = f"{ENDED} in its step, and too often to find the rows that are the cause"
        except RetryLater as found:
            if found.seconds < HOLD_SECONDS:
                raise
            problem = str(found)
        return self._blame(work, problem)

    def _blame(self, work: WorkItem, problem: str) -> int:
        """Raises RetryLater. The rows are not looked for again at this position, unless the flow is another one."""
        self._blamed[work.key] = _Blame(work.run, self._stepper.progress(work), problem)
        raise RetryLater(problem, HOLD_SECONDS)


class _Turns:
    """One flow at a time, in the order in which they asked. Thread-safe."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._holder: FlowKey | None = None
        self._asked: dict[FlowKey, float] = {}

    def take(self, flow: FlowKey) -> bool:
        """Whether it is the flow's turn. If not, it is to ask again and again."""
        now = time.monotonic()
        with self._guard:
            if self._holder == flow:
                return True
            self._asked[flow] = now
            self._asked = {each: at for each, at in self._asked.items() if now - at < LEFT_SECONDS}
            if self._holder is not None or next(iter(self._asked)) != flow:
                return False
            del self._asked[flow]
            self._holder = flow
            return True

    def give_back(self, flow: FlowKey) -> None:
        """Without effect for a flow whose turn it is not."""
        with self._guard:
            if self._holder == flow:
                self._holder = None


@dataclass(frozen=True, slots=True)
class _Blame:
    """Why a flow has to stop."""

    run: Runnable
    progress: Progress | None
    problem: str


class _Search:
    """Runs the parts of a step in trial processes; one that ends is a failure of its rows."""

    def __init__(self, trials: TrialRuns):
        self._trials = trials
        self._ended = 0

    def run(self, trial: Trial[T]) -> T:
        try:
            return self._trials.run(trial)
        except TrialEnded:
            self._ended += 1
            if self._ended > MOST_CRASHES:
                raise
        return trial.answer_if_ended()


def is_urgent(work: WorkItem) -> bool:
    """Whether the live or the previous version needs the flow."""
    return work.priority <= PRIORITY["previous"]
