"""A damaged segment of the inbox: none of its rows is taken, what is left of it is quarantined once, and every other
stream goes on.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.accumulators import _accumulatorRegistry

from manual_pipeline import MakePipeline, ManualPipeline
from penstock import crash_points
from penstock.flow.inbox.segment_check import SegmentCheck
from penstock.flow.landing.landing import (
    LandingResult,
    LandingTable,
    RawBatches,
    land_batches,
    repair_quarantine,
    step_without_quarantine_commit,
)
from penstock.flow.work_items import collect_work
from penstock.lake.spark.names import qualified_table
from penstock.model.cursor import BatchCursor as BatchCursor
from penstock.state.logs.operations import OperationsLog

SCHEMA = """SCHEMA >
    `id` UInt32 `json:$.id`

ENGINE MergeTree
ENGINE_SORTING_KEY id
"""
_numbers = itertools.count(1)
pytestmark = pytest.mark.usefixtures("either_writer")


class Landings:
    """Lands as the stepper does, a step a call; a new one is a new life of the server."""

    def __init__(self, pipeline: ManualPipeline):
        pipeline.restart()
        self.pipeline = pipeline
        self.intact = SegmentCheck(pipeline.inbox, pipeline.batches, OperationsLog(pipeline.database))

    def target(self, stream: str) -> LandingTable:
        runs = [work.run for work in collect_work(self.pipeline.deployments)]
        return next(run for run in runs if isinstance(run, LandingTable) and run.stream == stream)

    def land(self, target: LandingTable) -> LandingResult:
        cursor = self.pipeline.registry.cursor(target.table, target.flow)
        after = cursor.number if isinstance(cursor, BatchCursor) else 0
        batches = self.intact.check(self.pipeline.batches.read_after(target.stream, after, 2**62, 2**62))
        return land_batches(
            self.pipeline.lake, self.pipeline.registry, target, RawBatches(batches, self.pipeline.inbox)
        )

    def mend(self, target: LandingTable) -> None:
        missing = step_without_quarantine_commit(self.pipeline.registry, target)
        if missing is not None:
            first, last = missing
            batches = self.intact.check(self.pipeline.batches.read_after(target.stream, first, 2**62, 2**62, last))
            repair_quarantine(
                self.pipeline.lake, self.pipeline.registry, target, RawBatches(batches, self.pipeline.inbox)
            )

    def ids(self, target: LandingTable) -> list[int]:
        return sorted(row.id for row in self.pipeline.lake.spark.table(qualified_table(target.table)).collect())

    def quarantined(self, target: LandingTable) -> list[tuple[str, str, str]]:
        """(version, line, first problem), in the order of the log."""
        rows = self.pipeline.lake.spark.table(qualified_table(target.quarantine)).orderBy("_seq", "version").collect()
        return [(row.version, row.raw, row.problems[0]) for row in rows]


@pytest.fixture
def pipeline(make_pipeline: MakePipeline) -> Iterator[ManualPipeline]:
    number = next(_numbers)  # quarantines are named after their stream, and the tests share a lake
    made = make_pipeline({f"datasources/{name}{number}.datasource": SCHEMA for name in ("damaged", "other")})
    yield made
    crash_points.disarm()


def post(pipeline: ManualPipeline, ids: Sequence[object]) -> Path:
    """One batch; returns its segment."""
    stream = _stream(pipeline, "damaged")
    pipeline.post(stream, [b'{"id": %s}' % str(id).encode() for id in ids])
    return pipeline.inbox / pipeline.batches.read_after(stream, pipeline.batches.head(stream) - 1, 1, 1)[0].segment


def events(landings: Landings) -> LandingTable:
    return landings.target(_stream(landings.pipeline, "damaged"))


def _stream(pipeline: ManualPipeline, name: str) -> str:
    return next(each.stream for each in pipeline.live.landings if each.stream.startswith(name))


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(b":") + 2] ^= 1
    path.write_bytes(content)


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def test_each_kind_of_damage_takes_out_its_segment_and_nothing_else(pipeline: ManualPipeline) -> None:
    segments = {number: post(pipeline, [f"{number}1", f"{number}2", f"{number}3"]) for number in range(1, 8)}
    post(pipeline, [81, '"not a number"'])
    flip(segments[2])
    os.truncate(segments[3], 21)
    segments[4].unlink()
    make_folder(segments[5])
    segments[6].write_bytes(segments[6].read_bytes() + b'{"id": 64}\n')
    landings = Landings(pipeline)
    target = events(landings)
    two = LandingTable((*target.landings, replace(target.landings[0], version="w")))
    landed = landings.land(two)
    assert landings.ids(target) == [11, 12, 13, 71, 72, 73, 81]
    left = landings.quarantined(target)
    assert (landed.rows, landed.rejected, landed.batch) == (7, len(left), 8)
    version = target.landings[0].version
    expected = [
        *('{"id": 31}', '{"id": 22}', '{"id": 23}'),  # a bit of the first line is another
        *('{"id": 31}', '{"id": 32}'),
        "",
        "",
        *('{"id": 61}', '{"id": 62}', '{"id": 63}'),
        '{"id": "not a number"}',
    ]
    assert [line for of, line, _ in left if of == version] == expected
    assert [line for of, line, _ in left if of == "w"] == expected
    assert all(problem.startswith("damaged segment ") for _, line, problem in left if "number" not in line)
    assert [batch.number for batch in pipeline.batches.list_condemned(10)] == [6, 5, 4, 3, 2]


def test_the_flow_goes_on_and_other_streams_are_not_touched(pipeline: ManualPipeline) -> None:
    post(pipeline, [1, 2]).unlink()
    landings = Landings(pipeline)
    target = events(landings)
    other = _stream(pipeline, "other")
    pipeline.post(other, [b'{"id": 7}'])
    assert landings.land(target) == LandingResult(0, 1, 1)
    post(pipeline, [3])
    assert landings.land(target) == LandingResult(1, 0, 2)
    assert landings.land(landings.target(other)) == LandingResult(1, 0, 1)
    assert (landings.ids(target), landings.ids(landings.target(other))) == ([3], [7])
    assert landings.quarantined(landings.target(other)) == []


def test_a_file_that_comes_back_after_a_crash_changes_nothing(pipeline: ManualPipeline) -> None:
    """A disk's cable: gone when the step landed, there again when the next life mends the quarantine."""
    path = post(pipeline, [1, 2])
    post(pipeline, [3])
    path.rename(path.with_suffix(".away"))
    crash_points.arm("landing.committed", 1, lambda: None)
    landings = Landings(pipeline)
    with pytest.raises(crash_points.Crashed):
        landings.land(events(landings))
    crash_points.disarm()
    path.with_suffix(".away").rename(path)
    for _ in range(2):
        again = Landings(pipeline)
        target = events(again)
        again.mend(target)
        assert again.ids(target) == [3]
        assert [line for _, line, _ in again.quarantined(target)] == ['{"id": 1}', '{"id": 2}']


def test_a_segment_that_is_damaged_after_its_rows_were_taken(pipeline: ManualPipeline) -> None:
    """The server dies before the quarantine of a step, and then the file does too: what was taken stays, once,
    and the quarantine says that the rest is not known."""
    path = post(pipeline, [1, '"x"', 2])
    crash_points.arm("landing.committed", 1, lambda: None)
    landings = Landings(pipeline)
    with pytest.raises(crash_points.Crashed):
        landings.land(events(landings))
    crash_points.disarm()
    flip(path)
    for _ in range(2):
        again = Landings(pipeline)
        target = events(again)
        again.mend(target)
        assert again.ids(target) == [1, 2]
        [(_, line, problem)] = again.quarantined(target)
        assert line == ""
        assert problem.endswith("the rows that fit had been stored before it was damaged")


def test_damage_between_the_check_and_the_reading_fails_the_step_and_the_next_decides(pipeline: ManualPipeline) -> None:
    path = post(pipeline, [1, 2])
    post(pipeline, [3])
    landings = Landings(pipeline)
    target = events(landings)
    checked = landings.intact.check(pipeline.batches.read_after(target.stream, 0, 2**62, 2**62))
    flip(path)
    with pytest.raises(Exception) as raised:  # noqa: PT011 - its own class, or what Spark makes of it
        land_batches(pipeline.lake, pipeline.registry, target, RawBatches(checked, pipeline.inbox))
    assert "DamagedSegment" in f"{raised.value!r} {raised.value}"
    pipeline.registry.refresh(target.table)
    assert landings.ids(target) == []
    assert landings.land(target) == LandingResult(1, 2, 2)
    assert landings.ids(target) == [3]


def test_a_landing_leaves_no_counter_behind(pipeline: ManualPipeline) -> None:
    """PySpark would keep one for each commit until the process ends."""
    landings = Landings(pipeline)
    before = len(_accumulatorRegistry)
    for number in range(3):
        post(pipeline, [number, '"no number"'])
        landed = landings.land(events(landings))
        assert (landed.rows, landed.rejected) == (1, 1)
    assert len(_accumulatorRegistry) == before
