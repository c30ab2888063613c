"""Flows that may end Spark's process: one at a time, smaller, and in a process of their own; no other flow waits."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from flow_values import landing_item, view_item
from penstock.flow.cautious_stepper import MOST_COUNTED, STEPS_APART, WAIT_SECONDS, CautiousStepper
from penstock.flow.failing.trials import ENDED, RunTrial, StepOrder, Trial, TrialEnded
from penstock.flow.failing_rows import RetryLater
from penstock.flow.materialized_view import SplitRequired
from penstock.flow.stepper import HOLD_SECONDS, StepLimits
from penstock.flow.work_items import WorkItem
from penstock.lake.tables.snapshots import Progress
from penstock.model.manifest import View
from penstock.state.crash_counts import CrashCounts
from penstock.state.database import open_database
from waiting import wait_until


class Part:
    """A trial: the part of a step with these rows; the row named `deadly` ends the process."""

    def __init__(self, rows: frozenset[str]):
        self.rows = rows

    def run(self, lake: object) -> str | None:
        return None

    def answer_if_ended(self) -> str | None:
        return ENDED


class MemoryStepper:
    """Each table has rows that wait; `left_out` are condemned."""

    def __init__(self) -> None:
        self.rows: dict[str, frozenset[str]] = {}
        self.left_out: set[str] = set()
        self.steps: list[tuple[str, int]] = []
        self.searches = 0
        self.inside: threading.Event | None = None

    def seconds_until_due(self, work: WorkItem) -> float | None:
        return 0.0 if self.rows.get(work.table) else None

    def step(self, work: WorkItem, failures: int = 0, seconds: float | None = None, crashes: int = 0) -> None:
        self.steps.append((work.table, crashes))
        if self.inside is not None:
            self.inside.wait(30)

    def read_again(self, work: WorkItem) -> None:
        pass

    def accept_step(self, work: WorkItem) -> None:
        pass

    def last_batches(self, work: WorkItem) -> Mapping[str, int]:
        return {}

    def progress(self, work: WorkItem) -> Progress | None:
        return None

    def condemn_rows(self, work: WorkItem, crashes: int, run_trial: RunTrial, samples: int) -> int:
        self.searches += 1
        if run_trial(Part(frozenset())) is not None:  # type: ignore[arg-type]
            return 0
        found = {row for row in self.rows[work.table] if run_trial(Part(frozenset([row]))) is not None}  # type: ignore[arg-type]
        self.left_out |= found
        return len(found)


class MemoryTrials:
    """Ends for rows that are deadly."""

    def __init__(self, stepper: MemoryStepper):
        self.stepper = stepper
        self.orders: list[StepOrder] = []

    def run(self, trial: Trial[object]) -> object:
        assert isinstance(trial, Part)
        if any("deadly" in row for row in trial.rows):
            raise TrialEnded
        return None

    def step(self, order: StepOrder) -> SplitRequired | None:
        self.orders.append(order)
        if any("deadly" in row for row in self.stepper.rows[order.work.table] - self.stepper.left_out):
            raise TrialEnded
        self.stepper.rows[order.work.table] = frozenset()
        return None


class Flows:
    def __init__(self, crashes: CrashCounts):
        self.crashes, self.stepper = crashes, MemoryStepper()
        self.trials = MemoryTrials(self.stepper)
        self.cautious = CautiousStepper(self.stepper, crashes, self.trials)  # type: ignore[arg-type]


@pytest.fixture
def flows(tmp_path: Path) -> Iterator[Flows]:
    database = open_database(f"sqlite:///{tmp_path / 'state.db'}")
    yield Flows(CrashCounts(database))
    database.close()


WORK, OTHER = view_item("s", "v"), view_item("s", "w")


def test_after_a_crash_steps_are_smaller_and_one_at_a_time(flows: Flows) -> None:
    flows.stepper.rows = {"v": frozenset("a"), "w": frozenset("b"), "s": frozenset("c")}
    flows.cautious.count_crashes([WORK, OTHER])
    flows.stepper.inside = threading.Event()
    first = threading.Thread(target=flows.cautious.step, args=(WORK,))
    first.start()
    wait_until(lambda: flows.stepper.steps)
    assert flows.cautious.seconds_until_due(OTHER) != 0.0
    assert flows.cautious.seconds_until_due(landing_item("s")) == 0.0
    flows.stepper.inside.set()
    first.join(30)
    assert flows.cautious.seconds_until_due(OTHER) == 0.0
    flows.cautious.step(OTHER)
    flows.cautious.step(landing_item("s"))
    assert flows.stepper.steps == [("v", 1), ("w", 1), ("s", 0)]
    limits = StepLimits(rows=500_000, bytes=2**26)
    assert [limits.after(0, crashes).rows for crashes in (1, 2, 10)] == [62_500, 7_812, 1]
    assert limits.after(0, 30).bytes == 1


def test_after_two_crashes_the_row_is_found_apart(flows: Flows) -> None:
    flows.stepper.rows = {"v": frozenset(["a", "deadly", "b"])}
    for _ in range(2):
        flows.cautious.count_crashes([WORK])
    flows.cautious.step(WORK)
    assert flows.stepper.left_out == {"deadly"}
    assert (flows.stepper.rows["v"], flows.stepper.steps) == (frozenset(), [])
    assert [order.crashes for order in flows.trials.orders] == [2, 3]
    assert flows.crashes.deaths == {}


def test_a_step_without_memory_is_a_crash_of_its_flow(flows: Flows, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that gets no memory does not end the Spark of the server. Its row is found like one that does."""
    flows.stepper.rows = {"v": frozenset(["a", "deadly"])}

    def step(work: WorkItem, failures: int = 0, seconds: float | None = None, crashes: int = 0) -> None:
        raise RuntimeError(
            "java.lang.OutOfMemoryError: Java heap space" if "deadly" in flows.stepper.rows["v"] else "no"
        )

    monkeypatch.setattr(flows.stepper, "step", step)
    for crashes in (1, 2):
        with pytest.raises(RuntimeError, match="heap"):
            flows.cautious.step(WORK)
        assert flows.crashes.deaths == {WORK.key: crashes}
    flows.cautious.step(WORK)
    assert (flows.stepper.left_out, flows.crashes.deaths) == ({"deadly"}, {})
    with pytest.raises(RuntimeError, match="no"):
        flows.cautious.step(WORK)
    flows.stepper.rows["v"] = frozenset(["deadly"])
    with pytest.raises(RuntimeError, match="heap"):
        flows.cautious.step(view_item("s", "v", priority=2))
    assert flows.crashes.deaths == {}, "the worker process takes it"


def test_without_a_row_to_blame_only_this_flow_waits(flows: Flows, monkeypatch: pytest.MonkeyPatch) -> None:
    flows.stepper.rows = {"v": frozenset(["deadly"])}
    monkeypatch.setattr(flows.stepper, "condemn_rows", lambda *_: 0)
    for _ in range(2):
        flows.cautious.count_crashes([WORK])
    with pytest.raises(RetryLater, match="no row of it") as held:
        flows.cautious.step(WORK)
    assert held.value.seconds == HOLD_SECONDS
    monkeypatch.undo()
    with pytest.raises(RetryLater, match="no row of it"):
        flows.cautious.step(WORK)
    assert flows.stepper.searches == 0, "the same rows are not searched again"


def test_a_step_in_the_trial_process_is_not_blamed_for_the_server(flows: Flows) -> None:
    flows.stepper.rows = {"v": frozenset("a")}
    for _ in range(2):
        flows.cautious.count_crashes([WORK])
    before = flows.trials.step

    def step(order: StepOrder) -> SplitRequired | None:
        flows.cautious.count_crashes([WORK, OTHER])
        return before(order)

    flows.trials.step = step  # type: ignore[method-assign]
    flows.cautious.step(WORK)
    assert flows.crashes.deaths == {WORK.key: 2, OTHER.key: 1}


def test_flows_of_staging_are_left_to_the_worker_process(flows: Flows) -> None:
    staging = view_item("s", "v", priority=2)
    flows.stepper.rows = {"v": frozenset(["deadly"])}
    for _ in range(3):
        flows.cautious.count_crashes([staging])
    flows.cautious.step(staging)
    assert flows.stepper.steps == [("v", 0)]
    assert flows.crashes.deaths == {}


def test_flows_that_are_looked_at_together_are_stepped_one_after_the_other(flows: Flows) -> None:
    """Whoever waited within its step would hold a thread of live for minutes, and be counted with the next crash."""
    flows.stepper.rows = {"v": frozenset("a"), "w": frozenset("b")}
    flows.cautious.count_crashes([WORK, OTHER])
    assert flows.cautious.seconds_until_due(WORK) == 0.0
    assert flows.cautious.seconds_until_due(OTHER) == WAIT_SECONDS
    flows.cautious.step(WORK)
    assert flows.cautious.seconds_until_due(OTHER) == 0.0


def test_a_busy_flow_gives_others_their_turn(flows: Flows) -> None:
    flows.stepper.rows = {"v": frozenset("a"), "w": frozenset("b")}
    flows.cautious.count_crashes([WORK, OTHER])
    assert flows.cautious.seconds_until_due(WORK) == 0.0
    assert flows.cautious.seconds_until_due(OTHER) == WAIT_SECONDS
    flows.cautious.step(WORK)
    flows.crashes.record_deaths([WORK.key], 1)
    assert flows.cautious.seconds_until_due(WORK) == WAIT_SECONDS, "the other one has waited longer"
    assert flows.cautious.seconds_until_due(OTHER) == 0.0


def test_a_search_in_the_trial_process_keeps_no_flow_of_the_server_waiting(flows: Flows) -> None:
    flows.stepper.rows = {"v": frozenset("a"), "w": frozenset("b")}
    flows.cautious.count_crashes([WORK, OTHER])
    flows.cautious.count_crashes([WORK])
    assert flows.cautious.seconds_until_due(WORK) == flows.cautious.seconds_until_due(OTHER) == 0.0
    flows.cautious.step(OTHER)
    assert flows.stepper.steps == [("w", 1)]


def test_who_passes_its_rows_in_the_trial_process_returns_to_the_server(flows: Flows) -> None:
    """Two queries that ended Spark within an hour must not leave all busy flows to one process for hours."""
    for _ in range(9):
        flows.cautious.count_crashes([WORK])
    assert flows.crashes.count(WORK.key) == MOST_COUNTED
    for _ in range(STEPS_APART + 1):
        flows.stepper.rows = {"v": frozenset("a")}
        assert flows.cautious.seconds_until_due(WORK) == 0.0
        flows.cautious.step(WORK)
    assert len(flows.trials.orders) == STEPS_APART
    assert flows.stepper.steps == [("v", MOST_COUNTED)]
    flows.cautious.count_crashes([WORK])
    flows.cautious.step(WORK)
    assert len(flows.trials.orders) == STEPS_APART + 1


def test_another_query_is_not_suspected_for_the_one_before(flows: Flows) -> None:
    flows.stepper.rows = {"v": frozenset(["deadly"])}
    for _ in range(2):
        flows.cautious.count_crashes([WORK])
    flows.stepper.condemn_rows = lambda *_: 0  # type: ignore[method-assign]
    with pytest.raises(RetryLater, match="no row"):
        flows.cautious.step(WORK)
    flows.stepper.rows = {"v": frozenset("a")}
    assert isinstance(WORK.run, View)
    flows.cautious.step(replace(WORK, run=replace(WORK.run, sql="SELECT 2")))
    assert flows.crashes.deaths == {}
