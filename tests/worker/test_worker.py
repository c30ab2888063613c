"""Backfills in the worker process: filled, throttled, paused, killed, discarded; every row once."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.deploy.pipeline import Pipeline
from penstock.model.deployment import Deployment
from penstock.model.settings import BackfillSettings, FlowSettings, Settings, SparkSettings
from waiting import wait_until

pytestmark = pytest.mark.slow

ROWS, BODIES = 2_000, 12

LANDING = """SCHEMA >
    `id` UInt64 `json:$.id`,
    `user` String `json:$.user`

ENGINE MergeTree
ENGINE_SORTING_KEY id
"""
V1 = {"datasources/events.datasource": LANDING}
TARGET = """SCHEMA >
    `user` String,
    `events` AggregateFunction(count),
    `ids` AggregateFunction(sum, UInt64)

ENGINE AggregatingMergeTree
ENGINE_SORTING_KEY user
"""
VIEW = """NODE per_user
SQL >
    SELECT user, countState() AS events, sumState(id) AS ids FROM events GROUP BY user
TYPE materialized
DATASOURCE per_user
"""
V2 = V1 | {"datasources/per_user.datasource": TARGET, "materializations/to_user.pipe": VIEW}
# A product of the step's rows with themselves: the answer is the same, the way there is not.
SLOW = VIEW.replace(
    "FROM events GROUP", "FROM events WHERE (SELECT count() FROM events AS a CROSS JOIN events AS b) >= 0 GROUP"
)
ASK = "SELECT countMerge(events), sumMerge(ids) FROM per_user"


class Life:
    """A pipeline with rows of some steps in its landing table."""

    def __init__(self, home: Path):
        self.home = home
        self.posted = 0

    def open(self, flow: FlowSettings, backfill: BackfillSettings) -> None:
        spark = SparkSettings(master="local[2]", driver_memory="1g")
        self.pipeline = Pipeline(Settings(spark=spark, flow=flow, backfill=backfill), self.home)

    def close(self) -> None:
        self.pipeline.close()

    def post(self, bodies: int) -> None:
        """Each body becomes a file of its own: a history of as many slices."""
        for _ in range(bodies):
            rows = [{"id": number, "user": f"u{number % 9}"} for number in range(self.posted, self.posted + ROWS)]
            receipt = self.pipeline.ingestion.append("events", "\n".join(map(json.dumps, rows)).encode(), None)
            self.pipeline.ingestion.wait(receipt, 60)
            self.posted += ROWS

    def deploy(self, files: dict[str, str], promote: bool) -> int:
        return self.pipeline.deployer.deploy(files, DeployOptions(False, promote, False, None)).id

    def state(self, id: int) -> Deployment:
        return self.pipeline.store.find(str(id))

    def filling(self, id: int) -> list[dict[str, object]]:
        running = self.pipeline.status()["deployments"]
        return [flow for each in running if each["id"] == id for flow in each["filling"]]  # type: ignore[attr-defined, index]

    def until(self, done: Callable[[], object], seconds: float = 120.0) -> None:
        wait_until(done, seconds, self.pipeline.status)

    def check(self, deployment: str) -> None:
        """Every row once."""
        truth = [(self.posted, sum(range(self.posted)))]
        self.until(lambda: self.pipeline.reader.sql(ASK, deployment).rows == truth, 60)

    @property
    def child(self) -> int | None:
        process: int | None = self.pipeline.status()["apart"]["process"]  # type: ignore[index, call-overload]
        return process


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    made = Life(tmp_path_factory.mktemp("apart"))
    made.open(FlowSettings(max_step_rows=ROWS), BackfillSettings(own_process_bytes=0))
    deployment = made.deploy(V1, promote=True)
    made.until(lambda: made.state(deployment).state == "live")
    made.post(BODIES)
    yield made
    made.close()


def test_a_large_history_is_filled_in_the_worker(life: Life) -> None:
    """It is killed once in the middle, and rows keep coming."""
    second = life.deploy(V2, promote=False)
    life.until(lambda: life.child)
    life.until(lambda: any(each["rows"] for each in life.filling(second)))  # type: ignore[truthy-bool]
    os.kill(life.child or 0, signal.SIGKILL)
    life.post(2)
    life.until(lambda: life.state(second).state == "ready")
    life.until(lambda: life.child is None)
    assert not life.pipeline.status()["apart"]["tables"]  # type: ignore[index, call-overload]
    assert (life.home / "apart.log").read_bytes() == b""  # the one that came to the end of its work said so, and ended
    life.check(str(second))
    life.pipeline.deployer.discard(str(second))


def test_a_pause_holds_and_a_resume_goes_on_where_it_was(life: Life) -> None:
    second = life.deploy(V2, promote=False)
    life.until(lambda: any(each["rows"] for each in life.filling(second)))  # type: ignore[truthy-bool]
    assert life.pipeline.deployer.pause(str(second)).paused
    life.until(lambda: life.child is None)
    held = life.filling(second)
    for _ in range(3):  # live goes on meanwhile
        life.post(1)
    assert [each["rows"] for each in life.filling(second)] == [each["rows"] for each in held]
    assert life.state(second).state == "backfilling"
    assert not life.pipeline.deployer.resume(str(second)).paused
    life.until(lambda: life.state(second).state == "ready")
    life.check(str(second))
    life.pipeline.deployer.discard(str(second))


def test_a_backfill_that_is_discarded_leaves_no_files(life: Life) -> None:
    second = life.deploy(V2, promote=False)
    life.until(lambda: life.child)
    gone = life.pipeline.deployer.discard(str(second))
    assert gone.state == "discarded"
    assert life.child is None
    tables = {table.id for table in gone.manifest.tables}
    kept = {table.id for table in life.pipeline.store.find("live").manifest.tables}
    there = {path.name for path in (life.home / "warehouse" / "penstock").iterdir() if any(path.rglob("*.parquet"))}
    assert not there & (tables - kept)


def test_a_rate_is_kept(life: Life) -> None:
    """The same history with a limit takes the seconds that the limit asks for."""
    life.close()
    life.open(FlowSettings(max_step_rows=ROWS), BackfillSettings(max_bytes_per_second=20_000))
    second = life.deploy(V2, promote=False)
    life.until(lambda: life.state(second).state == "backfilling")
    seen: list[tuple[float, int]] = []
    while life.state(second).state == "backfilling":
        for each in life.filling(second):
            seen.append((time.monotonic(), int(str(each["bytes"]))))
        time.sleep(0.05)
    assert life.state(second).state == "ready"
    (began, first), (ended, last) = seen[0], seen[-1]
    # One step is never cut: what is read may be ahead of the rate by it.
    step = last // BODIES * 2
    assert last - first - step <= 20_000 * (ended - began)
    assert last > first
    life.check(str(second))
    life.pipeline.deployer.discard(str(second))


def test_a_step_that_takes_too_long_goes_on_in_the_worker(life: Life) -> None:
    life.close()
    life.open(FlowSettings(staging_step_seconds=1), BackfillSettings())
    second = life.deploy(V2 | {"materializations/to_user.pipe": SLOW}, promote=False)
    life.until(lambda: life.child)
    life.post(1)
    life.until(lambda: life.state(second).state == "ready", 200)
    life.check(str(second))
    life.pipeline.deployer.discard(str(second))
