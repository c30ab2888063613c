"""Times of the parts of steps, taken around the functions that make them while the pipeline runs.

In: a pipeline. Out: every step with its begin and end, the batch that its table had after it, and the seconds of its
parts. Invariant: nothing of what the steps do is changed; the Spark jobs of a write are found by their description.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TypeVar

from pyspark.sql.classic.dataframe import DataFrame

from penstock.deploy.pipeline import Pipeline
from penstock.flow import materialized_view, stepper, table_registry
from penstock.flow.inbox.segment_check import SegmentCheck
from penstock.flow.landing import landing
from penstock.flow.stepper import Stepper
from penstock.flow.table_registry import TableRegistry
from penstock.flow.work_items import WorkItem
from penstock.lake.drift.recorded_tables import RecordedTables
from penstock.lake.tables import commit
from penstock.state.logs.operations import OperationsLog

T = TypeVar("T")
DIRECT = "writing in this process"
TIMED: Sequence[tuple[object, str, str]] = (
    (RecordedTables, "verify", "looking for drift"),
    (Stepper, "_next_batches", "reading the batch log"),
    (SegmentCheck, "check", "checking segments"),
    (Stepper, "_next_view_step", "choosing what to read"),
    (stepper, "check_shared", "comparing versions"),
    (landing, "landing_rows", "analysis of the query"),
    (materialized_view, "step_rows", "analysis of the query"),
    (landing, "typed_rows", "parsing in this process"),
    (DataFrame, "toArrow", "Spark's query, its rows taken"),
    (table_registry, "append_directly", DIRECT),
    (commit, "_overwrite", "write"),
    (TableRegistry, "refresh", "reading the new snapshot"),
    (OperationsLog, "log", "operations log"),
)
"""Functions, where they are looked up, and what the report calls their time."""


@dataclass
class Step:
    """One step of a flow."""

    kind: str
    table: str
    began: float
    ended: float = 0.0
    batch: int = 0
    """The last batch that its table has after it."""
    parts: dict[str, float] = field(default_factory=dict)
    write: tuple[float, float] = (0.0, 0.0)
    """When its write began and ended, by the wall clock."""


class Stages:
    """Takes the times within its block."""

    def __init__(self, running: Pipeline):
        self._running = running
        self._here = threading.local()
        self._steps: list[Step] = []
        self._numbers = itertools.count()
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> Stages:
        self._replace(Stepper, "step", self._stepping)
        for owner, name, part in TIMED:
            self._replace(owner, name, lambda run, part=part: self._timing(run, part))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for undo in reversed(self._undo):
            undo()

    def clear(self) -> None:
        """Forget the steps until now."""
        self._steps = []

    def steps(self) -> list[Step]:
        """The steps that wrote, their writes divided by the times of their Spark jobs."""
        jobs = self._jobs()
        for step in self._steps:
            began, ended = step.write
            job = jobs.get(f"{step.table} {began}")
            if job is not None:
                step.parts["planning the write"] = job[0] - began
                step.parts["Spark's tasks"] = job[1] - job[0]
                step.parts["commit"] = ended - job[1]
                step.parts.pop("write", None)
        return [step for step in self._steps if step.write[1] or DIRECT in step.parts]

    def step_with(self, table: str, batch: int) -> Step | None:
        """The step by which a batch came into a table."""
        return next((each for each in self._steps if each.table == table and each.batch >= batch), None)

    def _replace(self, owner: object, name: str, around: Callable[[Callable[..., T]], Callable[..., T]]) -> None:
        before = getattr(owner, name)
        setattr(owner, name, around(before))
        self._undo.append(lambda: setattr(owner, name, before))

    def _stepping(self, run: Callable[..., T]) -> Callable[..., T]:
        def step(stepper: Stepper, work: WorkItem, *given: object, **named: object) -> T:
            made = self._here.step = Step(work.kind, work.table, time.monotonic())
            try:
                return run(stepper, work, *given, **named)
            finally:
                made.ended = time.monotonic()
                at = self._running.core.warehouse.registry.progress(work.table, work.flow)
                made.batch = max(at.watermarks.values(), default=0) if at is not None else 0
                self._here.step = None
                self._steps.append(made)

        return step

    def _timing(self, run: Callable[..., T], part: str) -> Callable[..., T]:
        def timed(*given: object, **named: object) -> T:
            step: Step | None = getattr(self._here, "step", None)
            if step is None:
                return run(*given, **named)
            began, wall = time.monotonic(), time.time()
            if part == "write":
                self._running.core.warehouse.lake.spark.sparkContext.setLocalProperty(
                    "spark.job.description", f"{step.table} {wall}"
                )
            try:
                return run(*given, **named)
            finally:
                step.parts[part] = step.parts.get(part, 0.0) + time.monotonic() - began
                if part == "write":
                    step.write = wall, time.time()

        return timed

    def _jobs(self) -> dict[str, tuple[float, float]]:
        """The begin and the end of Spark's jobs by their description."""
        store = self._running.core.warehouse.lake.spark.sparkContext._jsc.sc().statusStore()
        listed = store.jobsList(None)
        found: dict[str, tuple[float, float]] = {}
        for at in range(listed.size()):
            job = listed.apply(at)
            if job.description().isDefined() and job.completionTime().isDefined():
                name = job.description().get()
                began, ended = (each.get().getTime() / 1000 for each in (job.submissionTime(), job.completionTime()))
                before = found.get(name, (began, ended))
                found[name] = min(began, before[0]), max(ended, before[1])
        return found
