"""What a thousand active tables cost: `make bench-wide`.

In: `--tables N` (1000), `--seconds N` of load (60), `--write` for bench/results/wide.md. Out: how long a deployment, a
start, a look of maintenance, a post that waits and a query take, and how many commits a second are made while a row is
posted to every stream in turn, with the writes of the state store and the processor time that belong to them. Half of
the data sources are landed, half are fed by a view of one of these. Everything but Spark runs in this process, so a
profiler can be put beside it. `--write` replaces the figures of the page and keeps the notes after them.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import sqlalchemy as sa
from pipelines import LONGEST, deployed
from wide_report import page

from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.deploy.pipeline import Pipeline
from penstock.lake.spark.names import NAMESPACE
from penstock.model.settings import FlowSettings, InboxSettings, MaintenanceSettings, Settings, SparkSettings

RESULT = Path(__file__).parent / "results" / "wide.md"
LANDING = """SCHEMA >
    `id` UInt64 `json:$.id`,
    `kind` LowCardinality(String) `json:$.kind`,
    `amount` Float64 `json:$.amount`

ENGINE MergeTree
ENGINE_SORTING_KEY id
"""
TARGET = """SCHEMA >
    `kind` LowCardinality(String),
    `rows` UInt64,
    `amount` Float64

ENGINE SummingMergeTree
ENGINE_SORTING_KEY kind
"""
VIEW = """NODE rows
SQL >
    SELECT kind, count() AS rows, sum(amount) AS amount FROM {source} GROUP BY kind
TYPE materialized
DATASOURCE {target}
"""
TIMES = 20
"""How often a query and a post that waits are repeated."""


@dataclass
class Measured:
    """What was measured, by name: seconds, counts and sizes."""

    tables: int
    seconds: float
    values: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.values[name] = time.monotonic() - began
        print(f"{name}: {self.values[name]:.2f} s", flush=True)


def wide_project(tables: int) -> Mapping[str, str]:
    """Half as many streams as tables, each with a view into a table of its own."""
    files: dict[str, str] = {}
    for number in range(tables // 2):
        files[f"datasources/s{number}.datasource"] = LANDING
        files[f"datasources/t{number}.datasource"] = TARGET
        files[f"pipes/v{number}.pipe"] = VIEW.format(source=f"s{number}", target=f"t{number}")
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure a project of very many active tables.")
    parser.add_argument("--tables", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--live-steps", type=int, help="[flow] live_steps; the default of the server if absent")
    parser.add_argument("--write", action="store_true", help="write bench/results/wide.md")
    asked = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="wide", dir=os.environ.get("BENCH_FOLDER")))
    settings = Settings(
        spark=SparkSettings(master="local[2]", driver_memory="2g"),
        flow=FlowSettings(live_steps=asked.live_steps),
        inbox=InboxSettings(min_free_bytes=1),
        maintenance=MaintenanceSettings(interval_seconds=86_400),
    )
    try:
        found = measure(home, settings, Measured(asked.tables, asked.seconds))
    finally:
        shutil.rmtree(home, ignore_errors=True)
    text = page(found.tables, found.seconds, found.values, RESULT.read_text(encoding="utf-8"))
    print(text)
    if asked.write:
        RESULT.write_text(text, encoding="utf-8")


def measure(home: Path, settings: Settings, found: Measured) -> Measured:
    with found.timed("first start"):
        running = Pipeline(settings, home)
    try:
        with found.timed("deployment"):
            made = deployed(running, wide_project(found.tables), DeployOptions(promote=True))
            assert made.state == "live", made.error
        found.values["physical tables"] = len(running.core.warehouse.lake.catalog.list_tables(NAMESPACE))
        with found.timed("first row in every table"):
            _post_everywhere(running, found.tables)
        _measure_quiet(running, found)
        _measure_load(running, found)
        _measure_quiet_maintenance(running, found, "maintenance after the load")
        with found.timed("deployment of one more data source"):
            more = {**wide_project(found.tables), "datasources/more.datasource": LANDING}
            made = deployed(running, more, DeployOptions(promote=True))
            assert made.state == "live", made.error
        _measure_memory(found)
    finally:
        with found.timed("stop"):
            running.close()
    with found.timed("start"):
        running = Pipeline(settings, home)
    try:
        with found.timed("first query after the start"):
            running.reader.sql("SELECT count() FROM t1", "live")
    finally:
        running.close()
    return found


def _post_everywhere(running: Pipeline, tables: int) -> None:
    """A row for every stream, until it is in every table."""
    receipts = [running.ingestion.append(f"s{number}", _row(number), None) for number in range(tables // 2)]
    for receipt in receipts:
        running.ingestion.wait(receipt, LONGEST)


def _row(number: int) -> bytes:
    return b'{"id": %d, "kind": "k%d", "amount": 1.5}' % (number, number % 7)


def _measure_quiet(running: Pipeline, found: Measured) -> None:
    """Nothing is posted but what is measured."""
    values = found.values
    values["query"] = _median(lambda: running.reader.sql("SELECT count() AS n FROM t1", "live"))
    values["looking up live"] = _median(lambda: running.store.find("live"))
    values["status"] = _median(running.status, 5)
    values["list of deployments"] = _median(running.store.deployments.list)
    values["post"] = _median(lambda: running.ingestion.append("s1", _row(1), None))
    values["post that waits"] = _median(
        lambda: running.ingestion.wait(running.ingestion.append("s2", _row(1), None), LONGEST)
    )
    values["idle processor share"] = _idle_share()
    for name in ("maintenance, first look", "maintenance, next look"):
        _measure_quiet_maintenance(running, found, name)
    with found.timed("check for drift"):
        running.drift.run_once()


def _measure_quiet_maintenance(running: Pipeline, found: Measured, name: str) -> None:
    with found.timed(name):
        running.maintenance.run_round()


def _idle_share() -> float:
    """The share of a core that Python takes while nothing happens."""
    process = psutil.Process()
    process.cpu_percent()
    time.sleep(5.0)
    return process.cpu_percent() / 100


def _measure_load(running: Pipeline, found: Measured) -> None:
    """One row at a time to every stream in turn, as fast as they are taken, for so many seconds."""
    over, posted = threading.Event(), Counter[str]()
    streams = itertools.cycle(range(found.tables // 2))
    guard = threading.Lock()

    def post() -> None:
        while not over.is_set():
            with guard:
                number = next(streams)
            running.ingestion.append(f"s{number}", _row(number), None)
            posted["posts"] += 1

    counted = _count_writes(running)
    before, worked = _commits(running), _processor_seconds()
    began = time.monotonic()
    threads = [threading.Thread(target=post, daemon=True) for _ in range(4)]
    for each in threads:
        each.start()
    time.sleep(found.seconds)
    over.set()
    took, commits = time.monotonic() - began, _commits(running) - before
    for each in threads:
        each.join()
    found.values |= {
        "posts a second": posted["posts"] / took,
        "commits a second": commits / took,
        "writes of the state store a second": counted["writes"] / took,
        **{
            f"processor time of {name} a commit": (now - worked.get(name, 0.0)) / max(commits, 1)
            for name, now in _processor_seconds().items()
        },
        "lag at the end of the load": running.core.flows.lag(running.core.board.live().manifest),  # type: ignore[union-attr]
    }
    with found.timed("until everything is in its tables"):
        _post_everywhere(running, found.tables)
    print(found.values, flush=True)


def _processor_seconds() -> Mapping[str, float]:
    """The processor time used so far, by kind of process: what others use at the same time does not change it."""
    me = psutil.Process()
    used = {"Python": sum(me.cpu_times()[:2]), "Java": 0.0, "Spark's Python workers": 0.0}
    for child in me.children(recursive=True):
        with suppress(psutil.Error):
            used["Java" if "java" in child.name() else "Spark's Python workers"] += sum(child.cpu_times()[:2])
    return used


def _count_writes(running: Pipeline) -> Counter[str]:
    counted = Counter[str]()

    def count(connection: sa.Connection) -> None:
        if connection.get_execution_options().get("penstock_writes", False):
            counted["writes"] += 1

    sa.event.listen(running.database._engine, "commit", count)
    return counted


def _commits(running: Pipeline) -> int:
    """Steps that committed: the sum of the snapshots' sequence numbers would read a thousand tables."""
    return running.core.flows.scheduler.steps_ended


def _measure_memory(found: Measured) -> None:
    process = psutil.Process()
    found.values["memory of Python, MiB"] = process.memory_info().rss / 2**20
    found.values["threads of Python"] = process.num_threads()
    found.values["open files of Python"] = process.num_fds()


def _median(run: Callable[[], object], times: int = TIMES) -> float:
    took = []
    for _ in range(times):
        began = time.monotonic()
        run()
        took.append(time.monotonic() - began)
    return statistics.median(took)


if __name__ == "__main__":
    main()
