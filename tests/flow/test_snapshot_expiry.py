"""Snapshots that another program expires, and files that it compacts, between two steps of a flow."""

from __future__ import annotations

import json

import pytest

from flow.test_incremental_views import FILES
from manual_pipeline import MakePipeline, ManualPipeline
from penstock.flow.materialized_view import SnapshotExpired
from penstock.flow.work_items import WorkItem
from penstock.lake.spark.names import NAMESPACE
from penstock.model.manifest import View
from penstock.sql.spark_text import string_literal

SECOND_VIEW = FILES["materializations/to_daily.pipe"].replace("FROM events", "FROM events WHERE amount > 3")


def rows(number: int) -> list[bytes]:
    numbers = range(number * 10, number * 10 + 10)
    made = ({"id": each, "user": f"u{each % 3}", "amount": each % 10, "day": "2024-01-02"} for each in numbers)
    return [json.dumps(row).encode() for row in made]


def tend(pipeline: ManualPipeline, table: str, *, merged: bool) -> None:
    """What an operator might run from outside, with the sharpest knife there is."""
    name = string_literal(f"{NAMESPACE}.{table}")
    if merged:
        pipeline.lake.spark.sql(
            f"CALL lake.system.rewrite_data_files(table => {name}, options => map('rewrite-all', 'true'))"
        )
    pipeline.lake.spark.sql(
        f"CALL lake.system.expire_snapshots(table => {name}, older_than => TIMESTAMP '2100-01-01 00:00:00', "
        "retain_last => 1)"
    )


def landing(work: WorkItem) -> bool:
    return not isinstance(work.run, View)


def land_only(pipeline: ManualPipeline) -> None:
    while works := [work for work in pipeline.runnable() if landing(work)]:
        pipeline.stepper.step(works[0])


def expected(posted: int) -> list[tuple[object, ...]]:
    return [(posted * 10, posted * 45)]


ASK = "SELECT countMerge(events), sumMerge(total) FROM daily"


@pytest.mark.slow
@pytest.mark.parametrize("restart", [False, True])
def test_a_view_goes_on_after_its_snapshots_were_expired(make_pipeline: MakePipeline, restart: bool) -> None:
    pipeline = make_pipeline(FILES)
    pipeline.post("events", rows(0))
    pipeline.drain()
    for number in range(1, 3):
        pipeline.post("events", rows(number))
        pipeline.post("events", rows(number + 100))
        land_only(pipeline)
        for binding in pipeline.live.bindings:
            tend(pipeline, binding.table, merged=False)
        if restart:
            pipeline.restart()
        else:
            for binding in pipeline.live.bindings:
                pipeline.registry.refresh(binding.table)
        pipeline.drain()
        posted = 2 * number + 1
        assert pipeline.ask(ASK) == expected(posted)
        assert pipeline.ask("SELECT countMerge(events) FROM monthly") == [(posted * 10,)]
        assert pipeline.ask("SELECT count(), uniqExact(id) FROM events") == [(posted * 10, posted * 10)]


@pytest.mark.slow
def test_compacted_files_are_no_new_rows(make_pipeline: MakePipeline) -> None:
    pipeline = make_pipeline(FILES)
    for number in range(3):
        pipeline.post("events", rows(number))
        pipeline.drain()
        pipeline.post("events", rows(number + 100))
        land_only(pipeline)
        table = pipeline.live.bindings[0].table
        tend(pipeline, table, merged=False)
        pipeline.lake.spark.sql(
            f"CALL lake.system.rewrite_data_files(table => {string_literal(f'{NAMESPACE}.{table}')}, "
            "options => map('rewrite-all', 'true'))"
        )
        pipeline.registry.refresh(table)
        pipeline.drain()
        assert pipeline.ask(ASK) == expected(2 * number + 2)


def test_rows_that_cannot_be_told_apart_stop_the_flow_with_an_error(make_pipeline: MakePipeline) -> None:
    """Two views feed `daily`; the view over it has read up to a snapshot that is gone."""
    pipeline = make_pipeline(FILES | {"materializations/also.pipe": SECOND_VIEW})
    pipeline.post("events", rows(0))
    pipeline.drain()
    monthly = next(view for view in pipeline.live.views if view.trigger.binding.name == "daily")
    pipeline.post("events", rows(1))
    while works := [work for work in pipeline.runnable() if work.table != monthly.table]:
        pipeline.stepper.step(works[0])
    tend(pipeline, monthly.trigger.binding.table, merged=False)
    pipeline.registry.refresh(monthly.trigger.binding.table)
    (work,) = [work for work in pipeline.runnable() if work.table == monthly.table]
    with pytest.raises(SnapshotExpired, match="several flows write that table"):
        pipeline.stepper.step(work)
