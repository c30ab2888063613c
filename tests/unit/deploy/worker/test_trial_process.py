"""The trial process and its server, with a program without Spark: what it answers, and what its end means."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from flow_values import view_item
from penstock.deploy.worker import child_process, trial_process
from penstock.deploy.worker.trial_process import TrialOrder, TrialProcess
from penstock.flow.failing.trials import StepOrder, TrialEnded, TrialFailed
from penstock.lake.spark.session import Lake
from penstock.model.settings import Settings
from waiting import wait_until

SCRIPT = """
import os, pickle, sys
from penstock.deploy.worker.trial_process import TrialRefusal, TrialResult, TrialStart, TrialStepResult
from penstock.flow.failing.trials import StepOrder
def answer(value):
    pickle.dump(value, sys.stdout.buffer)
    sys.stdout.buffer.flush()
order = pickle.load(sys.stdin.buffer)
if order.token == 13:
    os._exit(1)
answer(TrialStart())
while True:
    try:
        asked = pickle.load(sys.stdin.buffer)
    except EOFError:
        os._exit(1)
    if isinstance(asked, StepOrder):
        answer(TrialStepResult((asked.work.table, (1, 2)) if asked.failures else None))
        continue
    if asked == "idle":
        answer(TrialResult(os.getpid()))
        os._exit(0)
    if asked == "end":
        os._exit(3)
    if asked == "hang":
        import time
        time.sleep(60)
    answer(TrialRefusal("no such table") if asked == "refuse" else TrialResult(os.getpid()))
"""


@dataclass(frozen=True)
class Said:
    """A trial that the program knows by its word."""

    word: str

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return (str, (self.word,))

    def run(self, lake: Lake) -> int:
        return 0

    def answer_if_ended(self) -> int:
        return 0


@pytest.fixture
def trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TrialProcess]:
    monkeypatch.setattr(trial_process, "COMMAND", (sys.executable, "-c", SCRIPT))
    made = TrialProcess(TrialOrder(tmp_path, Settings(), None))
    yield made
    made.close()


def test_one_process_answers_one_trial_after_the_other(trials: TrialProcess) -> None:
    assert trials.run(Said("a")) == trials.run(Said("b"))
    with pytest.raises(TrialFailed, match="no such table"):
        trials.run(Said("refuse"))
    work = view_item("s", "v")
    assert trials.step(StepOrder(work, 0, 2)) is None
    split = trials.step(StepOrder(work, 1, 2))
    assert split is not None
    assert (split.table, split.deployments) == ("v", (1, 2))


def test_its_end_is_an_answer_and_the_next_trial_has_another_process(trials: TrialProcess) -> None:
    first = trials.run(Said("a"))
    with pytest.raises(TrialEnded):
        trials.run(Said("end"))
    assert trials.run(Said("a")) != first


def test_a_process_that_was_idle_for_long_ended_by_itself(trials: TrialProcess) -> None:
    first = trials.run(Said("idle"))
    assert trials.run(Said("a")) != first


def test_a_process_that_does_not_start_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_process, "COMMAND", (sys.executable, "-c", SCRIPT))
    with pytest.raises(TrialFailed, match="does not start"):
        TrialProcess(TrialOrder(tmp_path, Settings(), 13)).run(Said("a"))


def test_a_process_whose_spark_does_not_open_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_process, "COMMAND", (sys.executable, "-c", "import sys; sys.stdin.read()"))
    monkeypatch.setattr(trial_process, "START_SECONDS", 0.1)
    with pytest.raises(TrialFailed, match="does not start"):
        TrialProcess(TrialOrder(tmp_path, Settings(), None)).run(Said("a"))


def test_a_server_that_stops_waits_for_no_trial(trials: TrialProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process, "GRACE", 0.0)
    trials.run(Said("a"))
    failed: list[str] = []

    def hang() -> None:
        with pytest.raises(TrialFailed, match="stopping") as error:
            trials.run(Said("hang"))
        failed.append(str(error.value))

    thread = threading.Thread(target=hang)
    thread.start()
    wait_until(trials._asking.locked)
    trials.close()
    thread.join(30)
    assert failed
    with pytest.raises(TrialFailed, match="stopping"):
        trials.run(Said("a"))
