"""A flow whose steps end Spark's process: the row is found in trial processes, and Spark here does not end.

A halt of the JVM in the query of a view stands for a row for which there is not enough memory.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from manual_pipeline import MakePipeline, ManualPipeline
from penstock.deploy.worker.trial_process import TrialOrder, TrialProcess
from penstock.flow.cautious_stepper import CautiousStepper
from penstock.flow.failing_rows import SearchUnfinished
from penstock.flow.work_items import WorkItem
from penstock.model.manifest import Flow, OnError
from penstock.model.settings import InboxSettings, Settings, SparkSettings, StateSettings
from penstock.state.crash_counts import CrashCounts

pytestmark = pytest.mark.timeout(900)
DEADLY = "CASE WHEN `{text}` = 'deadly' THEN length(reflect('org.apache.hadoop.util.ExitUtil', 'halt', 3)) ELSE 1 END"
SOURCE = """SCHEMA >
    `id` UInt32 `json:$.id`,
    `text` String `json:$.text`,
    `number` UInt32 DEFAULT 1

ENGINE MergeTree
ENGINE_SORTING_KEY id
"""
TARGET = "SCHEMA >\n    `id` UInt32,\n    `number` UInt32\n\nENGINE MergeTree\nENGINE_SORTING_KEY id\n"
NODE = """NODE counted
SQL >
    SELECT id, toUInt32(length(text)) AS number FROM {name}

TYPE materialized
DATASOURCE {name}_counted
ON_ERROR quarantine
"""
_numbers = itertools.count(1)


@pytest.fixture
def name() -> str:
    """Quarantines are named after their stream, and the tests share a lake."""
    return f"spark_ends{next(_numbers)}"


@pytest.fixture
def pipeline(make_pipeline: MakePipeline, name: str) -> ManualPipeline:
    return make_pipeline(
        {
            f"datasources/{name}.datasource": SOURCE,
            f"datasources/{name}_counted.datasource": TARGET,
            f"materializations/to_{name}.pipe": NODE.format(name=name),
        }
    )


@pytest.fixture
def trials(pipeline: ManualPipeline, lake_home: Path) -> Iterator[TrialProcess]:
    settings = Settings(
        spark=SparkSettings(master="local[1]", driver_memory="512m"),
        state=StateSettings(url=str(pipeline.database.url)),
        inbox=InboxSettings(folder=str(pipeline.inbox)),
    )
    made = TrialProcess(TrialOrder(lake_home, settings, None))
    yield made
    made.close()


def change_flow(pipeline: ManualPipeline, old: Flow, new: Flow) -> WorkItem:
    """Replace a flow of the live version; returns its work."""
    first = pipeline.deployments[0]
    flows = tuple(new if each == old else each for each in first.manifest.flows)
    pipeline.deployments[0] = replace(first, manifest=replace(first.manifest, flows=flows))
    return next(work for work in pipeline.runnable() if work.flow == new.id)


def deadly_view(pipeline: ManualPipeline, on_error: OnError, *texts: str) -> WorkItem:
    """The view with a query that ends Spark's process for one row, after the rows have landed."""
    [view] = pipeline.live.views
    pipeline.post(view.trigger.binding.name, rows(*texts))
    pipeline.stepper.step(next(work for work in pipeline.runnable() if work.flow.startswith("landing")))
    column = next(each for each in view.trigger.binding.columns if each.name == "text")
    sql = f"SELECT id, {DEADLY.format(text=column.name)} AS number FROM {view.trigger.placeholder}"
    return change_flow(pipeline, view, replace(view, sql=sql, on_error=on_error))


def rows(*texts: str) -> list[bytes]:
    return [json.dumps({"id": number, "text": text}).encode() for number, text in enumerate(texts)]


def stepper_after_crashes(pipeline: ManualPipeline, trials: TrialProcess, work: WorkItem) -> CautiousStepper:
    """As it is after Spark ended twice in a step of the flow."""
    crashes = CrashCounts(pipeline.database)
    for _ in range(2):
        CautiousStepper(pipeline.stepper, crashes, trials).count_crashes([work])
    return CautiousStepper(pipeline.stepper, CrashCounts(pipeline.database), trials)


def test_a_row_that_ends_spark_is_quarantined(pipeline: ManualPipeline, trials: TrialProcess, name: str) -> None:
    work = deadly_view(pipeline, "quarantine", "deadly")
    stepper = stepper_after_crashes(pipeline, trials, work)
    try:
        stepper.step(work)
        assert CrashCounts(pipeline.database).deaths == {}
    except SearchUnfinished:  # on a busy machine the next step goes on; that it succeeds proves less
        stepper.step(work)
    assert pipeline.read(f"{name}_counted", ["id", "number"]) == []
    [(raw, problems)] = pipeline.read(f"{name}_counted_quarantine", ["raw", "problems"])
    assert json.loads(str(raw))["text"] == "deadly"
    assert "Spark's process ends" in str(problems)
    assert not pipeline.stepper.has_more(work)
    pipeline.post(name, rows("good"))
    pipeline.drain()
    assert pipeline.read(f"{name}_counted", ["id", "number"]) == [(0, 1)]
