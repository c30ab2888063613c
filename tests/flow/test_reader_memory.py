"""Each file that Spark reads leaves an Arrow allocator in its heap; those of ended tasks are closed."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.waiting import wait_until

from penstock.lake.spark.names import qualified_table
from penstock.lake.spark.reader_memory import ReaderMemory
from penstock.lake.spark.session import Lake
from penstock.lake.tables.new_tables import create_table
from penstock.model.manifest import Field, Table
from penstock.model.types import Int

ROWS = 1_000


@pytest.fixture(scope="module")
def table(lake: Lake) -> str:
    create_table(lake, Table("reader_memory__x1", (Field("a", Int(64)),)))
    name = qualified_table("reader_memory__x1")
    lake.spark.sql(f"INSERT INTO {name} SELECT id AS a, id AS _seq FROM range({ROWS})")
    return name


def test_what_ended_tasks_left_is_closed_at_the_second_look(lake: Lake, table: str) -> None:
    memory, tracker = ReaderMemory(lake), lake.spark.sparkContext.statusTracker()
    wait_until(lambda: not tracker.getActiveStageIds())  # Spark's list is some moments behind
    memory.close_unused()
    memory.close_unused()
    assert memory.allocators == 0
    for _ in range(20):
        assert lake.spark.sql(f"SELECT sum(a) AS a FROM {table}").collect()[0].a == ROWS * (ROWS - 1) // 2
    assert memory.allocators >= 20, "Iceberg closes them itself now: this module can go"
    wait_until(lambda: not tracker.getActiveStageIds())
    memory.close_unused()
    assert memory.allocators >= 20, "this look has only found them"
    memory.close_unused()
    assert memory.allocators == 0


def test_nothing_is_closed_while_a_stage_runs_that_ran_when_it_was_found(lake: Lake, table: str) -> None:
    memory, tracker = ReaderMemory(lake), lake.spark.sparkContext.statusTracker()
    slow = (
        f"SELECT count(*) AS n, sum(a.a + b.a + c.id) AS s FROM {table} a CROSS JOIN {table} b CROSS JOIN range(10) c"
    )
    ended = threading.Event()

    def ask() -> tuple[int, int]:
        try:
            row = lake.spark.sql(slow).collect()[0]
            return int(row.n), int(row.s)
        finally:
            ended.set()

    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(ask)
        wait_until(lambda: bool(tracker.getActiveStageIds()) and memory.allocators > 0)
        memory.close_unused()
        looks = 0
        while not ended.wait(0.01):
            memory.close_unused()
            looks += not ended.is_set() and memory.allocators > 0
        n = 10 * ROWS**2
        assert asked.result() == (n, (ROWS - 1) * n + 9 * n // 2)
    assert looks, "the query was to run for some looks"
    wait_until(lambda: not tracker.getActiveStageIds())
    memory.close_unused()
    memory.close_unused()
    assert memory.allocators == 0
