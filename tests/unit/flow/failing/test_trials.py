"""What a trial process is asked comes there as it was sent."""

from __future__ import annotations

import pickle
from datetime import datetime, timezone
from pathlib import Path

import pytest

from flow_values import landing_item, view_item
from penstock.flow.failing.trials import ENDED, LandingTrial, NamedRows, RowTexts, StepOrder, TrialEnded, ViewTrial
from penstock.flow.landing.landing import LandingTable, RawBatches, split_into_tasks
from penstock.flow.materialized_view import ViewStep
from penstock.lake.read.bindings import AppendedRows
from penstock.lake.read.row_identity import RowName, RowSelection
from penstock.lake.tables.snapshots import Progress
from penstock.model.cursor import TailCursor
from penstock.model.manifest import View
from penstock.state.batches import Batch

LANDING, VIEW = landing_item("s"), view_item("s", "v")
assert isinstance(LANDING.run, LandingTable)
assert isinstance(VIEW.run, View)
BATCH = Batch("s", 7, "s/7.ndjson", 3, 42, datetime(2026, 1, 2, tzinfo=timezone.utc))
TASKS = split_into_tasks(RawBatches((BATCH,), Path("inbox"), {7 << 20: {"v": "why"}}))
STEP = ViewStep(AppendedRows(1, 2), Progress(TailCursor(2), {"s": 7}), 99, 3, without=frozenset([RowName(1, "a")]))
NAME = RowName(5, "mark")
PROBES = (
    LandingTrial(LANDING.run, TASKS),
    ViewTrial(VIEW.run, STEP, RowSelection(((NAME, NAME),), STEP.without)),
)
READS = (NamedRows(VIEW.run, STEP), RowTexts(VIEW.run, STEP, (NAME,)))
ORDERS = (StepOrder(LANDING, 1, 2, {"s": 9}), StepOrder(VIEW, 0, 3))


@pytest.mark.parametrize("asked", [*PROBES, *READS, *ORDERS], ids=lambda each: type(each).__name__)
def test_it_can_be_sent_to_another_process(asked: object) -> None:
    assert pickle.loads(pickle.dumps(asked)) == asked


def test_rows_that_end_spark_fail_and_what_only_reads_has_no_answer() -> None:
    assert [each.answer_if_ended() for each in PROBES] == [ENDED, ENDED]
    for each in READS:
        with pytest.raises(TrialEnded):
            each.answer_if_ended()
