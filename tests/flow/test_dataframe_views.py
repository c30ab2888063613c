"""Views over DataFrames take the steps of views in SQL: after a crash at any of them the targets of both are equal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from manual_pipeline import MakePipeline, ManualPipeline
from penstock import crash_points
from penstock.flow.work_items import WorkItem
from python_projects import problems_of, read_project

MODULE = """
from pyspark.sql import DataFrame, functions as F

class Event(BaseModel):
    id: Key[UInt32]
    k: UInt8
    n: Int32
    s: str | None

class Latest(BaseModel):
    k: Key[UInt8]
    id: UInt32
    s: str

class Sums(BaseModel):
    s: Key[str]
    n: Int64
    rows: UInt32

events = OlapTable[Event]("events")
latest, latest_sql = [
    OlapTable[Latest](name, OlapConfig(engine=ReplacingMergeTreeEngine())) for name in ("latest", "latest_sql")
]
sums, sums_sql = [OlapTable[Sums](name, OlapConfig(engine=SummingMergeTreeEngine())) for name in ("sums", "sums_sql")]

@materialized_view(target=latest, sources=[events])
def latest_mv(events: DataFrame) -> DataFrame:
    named = events.filter(F.col("n") >= 0).withColumn("s", F.coalesce("s", F.lit("none")))
    return named.filter("s != ''").select("k", "id", "s")

@materialized_view(target=latest_sql)
def latest_sql_mv():
    return f"SELECT k, id, ifNull(s, 'none') AS s FROM {events} WHERE n >= 0 AND ifNull(s, 'none') != ''"

@materialized_view(target=sums, sources=[events])
def sums_mv(events: DataFrame) -> DataFrame:
    by = events.groupBy(F.coalesce("s", F.lit("none")).alias("s"))
    return by.agg(F.sum("n").alias("n"), F.count("*").alias("rows"))

@materialized_view(target=sums_sql)
def sums_sql_mv():
    return f"SELECT ifNull(s, 'none') AS s, sum(n) AS n, count() AS rows FROM {events} GROUP BY s"
"""


def lines(first: int) -> list[bytes]:
    """Rows with few keys, so that their order decides which one is the last."""
    texts = ("a", None, "", "b")
    rows = ({"id": id, "k": id % 3, "n": id % 5 - 1, "s": texts[id % 4]} for id in range(first, first + 40))
    return [json.dumps(each).encode() for each in rows]


def step_all(pipeline: ManualPipeline, works: list[WorkItem]) -> None:
    for work in works:
        pipeline.stepper.step(work)


@pytest.mark.parametrize("point", ["lake.before", "view.committed"])
def test_a_crash_between_steps_leaves_what_sql_leaves(make_pipeline: MakePipeline, tmp_path: Path, point: str) -> None:
    read = read_project(tmp_path, MODULE)
    assert problems_of(read) == []
    pipeline = make_pipeline(dict(read.loaded.files))
    pipeline.post("events", lines(0))
    pipeline.drain()
    pipeline.post("events", lines(40))
    [landing] = pipeline.runnable()
    pipeline.stepper.step(landing)
    views = [each for each in pipeline.runnable() if "latest_mv" in each.flow or "sums_mv" in each.flow]
    assert len(views) == 2
    crash_points.arm(point, 1, lambda: None)
    with pytest.raises(crash_points.Crashed):
        step_all(pipeline, views)
    crash_points.disarm()
    pipeline.restart()
    pipeline.post("events", lines(80))
    pipeline.drain()
    for name in ("latest", "sums"):
        found = pipeline.ask(f"SELECT * FROM {name} FINAL ORDER BY 1")
        assert len(found) >= 3
        assert found == pipeline.ask(f"SELECT * FROM {name}_sql FINAL ORDER BY 1")
    assert pipeline.ask("SELECT sum(rows) FROM sums") == [(120,)]
