"""Rows that fit and for which a step fails: they are quarantined, each once, and the stream goes on."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from manual_pipeline import MakePipeline, ManualPipeline
from penstock import crash_points
from penstock.flow.stepper import FAILURES_BEFORE_SEARCH
from penstock.lake.spark.names import qualified_table
from penstock.lake.tables.snapshots import Progress
from penstock.model.cursor import BatchCursor
from penstock.model.manifest import View
from penstock.state.condemned_rows import CondemnedRows

SCHEMA = """SCHEMA >
    `id` UInt32 `json:$.id`,
    `text` String `json:$.text`,
    `number` UInt32 DEFAULT toUInt32(text)

ENGINE MergeTree
ENGINE_SORTING_KEY id
"""
_numbers = itertools.count(1)
pytestmark = pytest.mark.usefixtures("either_writer")


def lines(*texts: str) -> list[bytes]:
    return [json.dumps({"id": number, "text": text}).encode() for number, text in enumerate(texts)]


@pytest.fixture
def name() -> str:
    """Quarantines are named after their stream, and the tests share a lake."""
    return f"condemned{next(_numbers)}"


@pytest.fixture
def pipeline(make_pipeline: MakePipeline, name: str) -> Iterator[ManualPipeline]:
    yield make_pipeline({f"datasources/{name}.datasource": SCHEMA})
    crash_points.disarm()


def step_until_idle(pipeline: ManualPipeline) -> list[str]:
    """As the scheduler does: a step that fails is tried again with the number of its failures. Returns the errors."""
    errors: list[str] = []
    failures: dict[tuple[str, str], int] = {}
    while works := pipeline.runnable():
        for work in works:
            try:
                pipeline.stepper.step(work, failures.get(work.key, 0))
                failures.pop(work.key, None)
            except Exception as error:
                errors.append(str(error))
                failures[work.key] = failures.get(work.key, 0) + 1
                if failures[work.key] > 5:
                    raise
                pipeline.stepper.recover(work)
    return errors


def quarantined(pipeline: ManualPipeline, name: str, deployment: int = 1) -> list[str]:
    found = pipeline.read(f"{name}_quarantine", ["raw", "problems"], deployment)
    assert all("cannot be stored" in problems[0] for _, problems in found)  # type: ignore[index]
    return sorted(json.loads(str(raw))["text"] for raw, _ in found)


def test_a_default_that_fails_rejects_its_row(pipeline: ManualPipeline, name: str) -> None:
    pipeline.post(name, lines("1", "two", "3"))
    pipeline.post(name, lines("4", "five"))
    errors = step_until_idle(pipeline)
    assert len(errors) == FAILURES_BEFORE_SEARCH
    assert sorted(pipeline.read(name, ["text", "number"])) == [("1", 1), ("3", 3), ("4", 4)]
    assert quarantined(pipeline, name) == ["five", "two"]
    assert CondemnedRows(pipeline.database).of_flow((pipeline.live.landings[0].table, f"landing.{name}")) == ()


@pytest.mark.parametrize("point", ["landing.committed:1"])
def test_after_a_crash_each_row_is_somewhere_once(pipeline: ManualPipeline, name: str, point: str) -> None:
    pipeline.post(name, lines("1", "two", "3", "four"))
    [work] = pipeline.runnable()
    where, _, times = point.partition(":")
    crash_points.arm(where, int(times), lambda: None)
    with pytest.raises(crash_points.Crashed):
        pipeline.stepper.step(work, FAILURES_BEFORE_SEARCH)
    crash_points.disarm()
    pipeline.restart()
    step_until_idle(pipeline)
    pipeline.restart()  # what the last step left to repair is repaired by the next one
    pipeline.post(name, lines("5"))
    step_until_idle(pipeline)
    assert sorted(pipeline.read(name, ["text"])) == [("1",), ("3",), ("5",)]
    assert quarantined(pipeline, name) == ["four", "two"]


def test_what_breaks_staging_only_is_stored_for_live(make_pipeline: MakePipeline, name: str) -> None:
    schema = SCHEMA.replace("`number` UInt32 DEFAULT toUInt32(text)", "`number` UInt32 DEFAULT 7")
    pipeline = make_pipeline({f"datasources/{name}.datasource": schema})
    first = pipeline.deployments[0]
    landing = first.manifest.landings[0]
    live = replace(landing, columns=tuple(each for each in landing.columns if each.name != "number"))
    staging = tuple(
        replace(each, default="CAST(`text` AS INT)") if each.name == "number" else each for each in landing.columns
    )
    pipeline.deployments[0] = replace(first, manifest=replace(first.manifest, flows=(live,)))
    pipeline.add(replace(first.manifest, flows=(replace(landing, version="staging", columns=staging),)), {}, "ready")
    pipeline.post(name, lines("1", "two", "3"))
    assert len(step_until_idle(pipeline)) == FAILURES_BEFORE_SEARCH
    assert sorted(pipeline.read(name, ["text", "number"])) == [("1", 1), ("3", 3), ("two", None)]
    assert quarantined(pipeline, name) == []


VIEWS = {
    "plain": "SELECT id, toUInt32(text) AS number FROM {name}",
    "grouped": "SELECT id % 2 AS id, toUInt32(sum(toUInt32(text))) AS number FROM {name} GROUP BY id",
}


@pytest.fixture
def views(make_pipeline: MakePipeline, name: str) -> Iterator[ManualPipeline]:
    """A source with a view of each row, and one of groups, whose query fails for texts that are no numbers."""
    source = SCHEMA.replace(",\n    `number` UInt32 DEFAULT toUInt32(text)", "")
    target = "SCHEMA >\n    `id` UInt32,\n    `number` UInt32\n\nENGINE MergeTree\nENGINE_SORTING_KEY id\n"
    files = {f"datasources/{name}.datasource": source}
    for view, sql in VIEWS.items():
        files[f"datasources/{name}_{view}.datasource"] = target
        node = f"NODE {view}\nSQL >\n    {sql.format(name=name)}\n\nTYPE materialized\nDATASOURCE {name}_{view}\n"
        files[f"materializations/to_{name}_{view}.pipe"] = node + "ON_ERROR quarantine\n"
    yield make_pipeline(files)
    crash_points.disarm()


def left_out(pipeline: ManualPipeline, source: str) -> list[str]:
    found = pipeline.read(f"{source}_quarantine", ["raw", "problems"])
    assert all("fails for this row" in problems[0] for _, problems in found)  # type: ignore[index]
    return sorted(json.loads(str(raw))["text"] for raw, _ in found)


def check_views(views: ManualPipeline, name: str) -> None:
    assert sorted(views.read(f"{name}_plain", ["id", "number"])) == [(0, 1), (2, 3), (4, 5)]
    assert sorted(views.read(f"{name}_grouped", ["id", "number"])) == [(0, 9)]
    assert left_out(views, f"{name}_plain") == left_out(views, f"{name}_grouped") == ["four", "four", "two"]
    condemned = CondemnedRows(views.database)
    assert [condemned.of_flow((view.table, view.id)) for view in views.live.views] == [(), ()]


def test_a_view_goes_on_without_the_rows_for_which_it_fails(views: ManualPipeline, name: str) -> None:
    rows = lines("1", "two", "3", "four", "5")
    views.post(name, [*rows, rows[3]])
    assert len(step_until_idle(views)) == 2 * FAILURES_BEFORE_SEARCH
    check_views(views, name)
    views.post(name, lines("7"))
    assert step_until_idle(views) == []
    assert sorted(views.read(f"{name}_plain", ["id", "number"])) == [(0, 1), (0, 7), (2, 3), (4, 5)]


def test_rows_from_outside_are_named_too(views: ManualPipeline, name: str) -> None:
    """They have no `_seq`."""
    views.post(name, lines("1"))
    assert step_until_idle(views) == []
    views.post(name, lines("3", "two"))
    views.stepper.step(next(work for work in views.runnable() if work.flow.startswith("landing")))
    source = next(view.trigger.binding.table for view in views.live.views)
    values = "(8, 'eight'), (10, '10'), (12, '12')"
    views.lake.spark.sql(f"INSERT INTO {qualified_table(source)} (id, text) VALUES {values}")
    views.registry.refresh(source)
    assert len(step_until_idle(views)) == 2 * FAILURES_BEFORE_SEARCH
    assert sorted(views.read(f"{name}_plain", ["id", "number"])) == [(0, 1), (0, 3), (10, 10), (12, 12)]
    assert left_out(views, f"{name}_plain") == left_out(views, f"{name}_grouped") == ["eight", "two"]


@pytest.mark.parametrize("point", ["state.after:1", "quarantine.committed:1"])
def test_after_a_crash_of_a_view_each_row_is_somewhere_once(views: ManualPipeline, name: str, point: str) -> None:
    rows = lines("1", "two", "3", "four", "5")
    views.post(name, [*rows, rows[3]])
    landing = next(work for work in views.runnable() if work.flow.startswith("landing"))
    views.stepper.step(landing)
    where, _, times = point.partition(":")
    work = next(each for each in views.runnable() if isinstance(each.run, View) and each.flow.endswith("plain"))
    crash_points.arm(where, int(times), lambda: None)
    with pytest.raises(crash_points.Crashed):
        views.stepper.step(work, FAILURES_BEFORE_SEARCH)
    crash_points.disarm()
    views.restart()
    step_until_idle(views)
    check_views(views, name)


def drop_into(views: ManualPipeline, values: str) -> None:
    """Rows from outside in the source of the views."""
    source = next(view.trigger.binding.table for view in views.live.views)
    views.lake.spark.sql(f"INSERT INTO {qualified_table(source)} (id, text) VALUES {values}")
    views.registry.refresh(source)


def crash_in_step(pipeline: ManualPipeline, flow: str, point: str) -> None:
    """The server ends at this point of a step in which rows are looked for."""
    work = next(each for each in pipeline.runnable() if isinstance(each.run, View) and each.flow.endswith(flow))
    crash_points.arm(point, 1, lambda: None)
    with pytest.raises(crash_points.Crashed):
        pipeline.stepper.step(work, FAILURES_BEFORE_SEARCH)
    crash_points.disarm()
    pipeline.restart()


def test_what_a_view_has_passed_is_known_after_a_crash(views: ManualPipeline, name: str) -> None:
    """The server ends after the commit. An equal row that comes later is another row: it is quarantined too."""
    views.post(name, lines("1"))
    assert step_until_idle(views) == []
    drop_into(views, "(8, 'eight')")
    crash_in_step(views, "plain", "view.committed")
    drop_into(views, "(8, 'eight')")
    step_until_idle(views)
    assert left_out(views, f"{name}_plain") == ["eight", "eight"]
    condemned = CondemnedRows(views.database)
    assert [condemned.of_flow((view.table, view.id)) for view in views.live.views] == [(), ()]


def test_a_smaller_step_after_a_crash_does_not_forget_a_row_that_comes_later(views: ManualPipeline, name: str) -> None:
    """The server ends before the commit of a step that leaves the row out; the next step ends before it."""
    for text in ("1", "two"):
        views.post(name, lines(text))
        views.stepper.step(next(work for work in views.runnable() if work.flow.startswith("landing")))
    work = next(each for each in views.runnable() if isinstance(each.run, View) and each.flow.endswith("plain"))
    # Before are the note of the view's beginning, the step that fails, and the quarantine.
    crash_points.arm("lake.before", 4, lambda: None)
    with pytest.raises(crash_points.Crashed):
        views.stepper.step(work, FAILURES_BEFORE_SEARCH)
    crash_points.disarm()
    views.restart()
    assert left_out(views, f"{name}_plain") == ["two"]
    views.stepper.step(work, 0, None, 10)
    assert views.read(f"{name}_plain", ["id", "number"]) == [(0, 1)]
    step_until_idle(views)
    assert views.read(f"{name}_plain", ["id", "number"]) == [(0, 1)]
    assert left_out(views, f"{name}_plain") == ["two"]


def test_a_quarantined_row_stays_out_when_the_view_is_to_stop_again(views: ManualPipeline, name: str) -> None:
    """It was quarantined, and the view had not passed it."""
    views.post(name, lines("1", "two", "3"))
    views.stepper.step(next(work for work in views.runnable() if work.flow.startswith("landing")))
    crash_in_step(views, "plain", "quarantine.committed")
    first = views.deployments[0]
    stopping = tuple(
        replace(flow, on_error="stop") if isinstance(flow, View) and flow.id.endswith("plain") else flow
        for flow in first.manifest.flows
    )
    views.deployments[0] = replace(first, manifest=replace(first.manifest, flows=stopping))
    step_until_idle(views)  # the other view fails until its row is found
    assert sorted(views.read(f"{name}_plain", ["id", "number"])) == [(0, 1), (2, 3)]
    assert left_out(views, f"{name}_plain") == ["two"]
    condemned = CondemnedRows(views.database)
    assert [condemned.of_flow((view.table, view.id)) for view in views.live.views] == [(), ()]


def test_a_quarantine_forgets_tables_that_were_dropped(pipeline: ManualPipeline, name: str) -> None:
    pipeline.post(name, lines("1", "two"))
    step_until_idle(pipeline)
    landing = pipeline.live.landings[0]
    quarantine, kept = f"{name}__quarantine", f"quarantine.{landing.table}"
    gone = {
        f"quarantine.{name}_dropped": 7,
        f"condemned.{name}_dropped.view.a.b": 7,
        f"condemned.{landing.table}.view.a": 7,
    }
    pipeline.registry.add_progress(quarantine, {flow: Progress(BatchCursor(at)) for flow, at in gone.items()})
    pipeline.post(name, lines("three"))
    step_until_idle(pipeline)
    assert set(pipeline.registry.snapshots(quarantine).progress) == {kept, f"condemned.{landing.table}.view.a"}
    assert quarantined(pipeline, name) == ["three", "two"]
