"""What a trial process is asked to do: a step of a flow, or a part of one, that may end Spark's process.

In: values that can be sent to another process. Out: the answer, or TrialEnded. Invariant: what is asked does the same
in the server and in the trial process; only a `StepOrder` writes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from penstock.flow.landing.landing import LandingTable, landing_rows
from penstock.flow.landing.row_counter import row_counter
from penstock.flow.landing.spark_workers import Tasks
from penstock.flow.materialized_view import ViewStep, step_rows, step_session
from penstock.flow.work_items import WorkItem
from penstock.lake.read.row_identity import (
    MARK,
    RAW,
    RowName,
    RowSelection,
    row_names_sql,
    row_texts_sql,
    selected_relation,
)
from penstock.lake.spark.session import Lake
from penstock.lake.tables.dry_run import why_rows_fail
from penstock.model.manifest import SEQ, View

ENDED = "Spark's process ends (out of memory?)"
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class TrialEnded(Exception):
    """The trial process, or its Spark, ended while it did what it was asked to do."""


class TrialFailed(Exception):
    """What was asked failed, for a reason that the message gives; or the trial process did not start."""


class Trial(Protocol[T_co]):
    """Work for some Spark process."""

    def run(self, lake: Lake) -> T_co: ...

    def answer_if_ended(self) -> T_co:
        """The answer if Spark's process ended meanwhile. Raises TrialEnded if there is none."""
        ...


class RunTrial(Protocol):
    """Runs trials somewhere. Raises TrialEnded and TrialFailed if that is another process, else what Spark raises."""

    def __call__(self, trial: Trial[T]) -> T: ...


@dataclass(frozen=True, slots=True)
class RunLocal:
    """Runs trials in this process."""

    lake: Lake

    def __call__(self, trial: Trial[T]) -> T:
        return trial.run(self.lake)


@dataclass(frozen=True, slots=True)
class LandingTrial:
    """Why the rows of a landing cannot be stored; None if they can."""

    target: LandingTable
    tasks: Tasks

    def run(self, lake: Lake) -> str | None:
        with row_counter(lake) as rejected:
            return why_rows_fail(landing_rows(lake, self.target, self.tasks, rejected), self.target.table)

    def answer_if_ended(self) -> str | None:
        return ENDED


@dataclass(frozen=True, slots=True)
class ViewTrial:
    """Why a view fails for some rows of a step; None if it does not."""

    view: View
    step: ViewStep
    rows: RowSelection

    def run(self, lake: Lake) -> str | None:
        made = step_rows(
            step_session(lake, self.step),
            self.view,
            self.step,
            lambda binding: selected_relation(binding, self.step.part, self.rows),
        )
        return why_rows_fail(made, self.view.table)

    def answer_if_ended(self) -> str | None:
        return ENDED


@dataclass(frozen=True, slots=True)
class NamedRows:
    """The names of the rows that a step of a view reads, in order."""

    view: View
    step: ViewStep

    def run(self, lake: Lake) -> list[RowName]:
        sql = row_names_sql(self.view.trigger.binding, self.step.part, RowSelection(None, self.step.without))
        found = lake.spark.sql(sql).toArrow()
        return sorted(map(RowName, found.column(SEQ).to_pylist(), found.column(MARK).to_pylist()))

    def answer_if_ended(self) -> list[RowName]:
        raise TrialEnded


@dataclass(frozen=True, slots=True)
class RowTexts:
    """Rows that a step of a view reads, as JSON, each with its name."""

    view: View
    step: ViewStep
    names: tuple[RowName, ...]

    def run(self, lake: Lake) -> list[tuple[RowName, str]]:
        sql = row_texts_sql(self.view.trigger.binding, self.step.part, self.names)
        return [(RowName(row[SEQ], row[MARK]), row[RAW]) for row in lake.spark.sql(sql).collect()]

    def answer_if_ended(self) -> list[tuple[RowName, str]]:
        raise TrialEnded


@dataclass(frozen=True, slots=True)
class StepOrder:
    """One step of a flow, committed by the trial process."""

    work: WorkItem
    failures: int
    crashes: int
    """How many times Spark's process has ended in a step of it: the step is smaller."""
    upto: dict[str, int] = field(default_factory=dict)
    """Of a landing, the last batch that it may land, by stream."""
