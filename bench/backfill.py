"""A large history through a forward query, with little memory: `make bench-backfill`.

In: `--gb N` (default 10), `--write` for bench/results/backfill.md. Out: a table of what was measured: time, rate, the
peak memory of the server and of the process that fills, and what became of a kill in the middle. The copy is compared
with its source (rows, sum and distinct of the key) before anything is reported, and each row of the new table was
added by exactly one commit.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.deploy.pipeline import Pipeline
from penstock.lake.spark.names import qualified_table
from penstock.model.manifest import ROWS_PER_BATCH
from penstock.model.settings import BackfillSettings, Settings, SparkSettings

RESULT = Path(__file__).parent / "results" / "backfill.md"
LANDING = """SCHEMA >
    `id` UInt64 `json:$.id`,
    `code` String `json:$.code`,
    `noise` String `json:$.noise`

ENGINE MergeTree
ENGINE_SORTING_KEY id
"""
FORWARD = """
FORWARD_QUERY >
    SELECT * REPLACE (toUInt32(code) AS code)
"""
V1 = {"datasources/events.datasource": LANDING}
V2 = {
    "penstock.toml": '[deploy.strategy]\nevents = "forward"\n',
    "datasources/events.datasource": LANDING.replace("`code` String", "`code` UInt32") + FORWARD,
}
ROWS_PER_FILE = 1_000_000


@dataclass
class Peak:
    """The most memory that processes had, in MiB."""

    server: float = 0.0
    filling: float = 0.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--gb", type=float, default=10.0)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="backfill", dir=os.environ.get("BENCH_FOLDER")))
    try:
        report = measure(home, options.gb)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    print(report)
    if options.write:
        RESULT.write_text(report, encoding="utf-8")


def measure(home: Path, gigabytes: float) -> str:
    spark = SparkSettings(master="local[2]", driver_memory="2g")
    pipeline = Pipeline(Settings(spark=spark, backfill=BackfillSettings(own_process_bytes=2**20)), home)
    peak, over = Peak(), threading.Event()
    try:
        deploy(pipeline, V1, "live")
        table = pipeline.store.find("live").manifest.bindings[0].table
        size = generate(pipeline, table, gigabytes)
        threading.Thread(target=watch, args=(pipeline, peak, over), daemon=True).start()
        began = time.monotonic()
        second = pipeline.deployer.deploy(V2, DeployOptions(False, False, False, None)).id
        killed = follow(pipeline, second)
        seconds = time.monotonic() - began
        return told(pipeline, second, size, seconds, peak, killed)
    finally:
        over.set()
        pipeline.close()


def deploy(pipeline: Pipeline, files: dict[str, str], state: str) -> None:
    made = pipeline.deployer.deploy(files, DeployOptions(False, True, False, None))
    while (now := pipeline.store.find(str(made.id))).state != state:
        assert now.state not in ("failed", "discarded"), now.error
        time.sleep(0.2)


def generate(pipeline: Pipeline, table: str, gigabytes: float) -> tuple[int, int]:
    """Rows that do not compress, in files of a million, as if they had been landed. Returns rows and bytes."""
    core, first_row = pipeline.core, b'{"id": 0, "code": "7", "noise": "first"}'
    pipeline.ingestion.wait(pipeline.ingestion.append("events", first_row, None), 120)
    rows = 0
    while core.warehouse.registry.refresh(table).bytes < gigabytes * 1e9:
        first = 10**7 * ROWS_PER_BATCH + rows
        core.warehouse.lake.bulk.sql(
            f"INSERT INTO {qualified_table(table)} (id, code, noise, _seq) SELECT CAST(id AS DECIMAL(20, 0)), "
            f"CAST(id % 1000 AS STRING), randstr(180), {first} + id - {rows} "
            f"FROM range({rows}, {rows + ROWS_PER_FILE}, 1, 1)"
        )
        rows += ROWS_PER_FILE
        print(f"{rows:,} rows, {core.warehouse.registry.snapshots(table).bytes / 1e9:.1f} GB", flush=True)
    now = core.warehouse.registry.refresh(table)
    return now.rows, now.bytes


def follow(pipeline: Pipeline, id: int) -> str:
    """Until it is ready; the process that fills is killed once, in the middle."""
    killed, shown = "", 0.0
    while (state := pipeline.store.find(str(id)).state) != "ready":
        assert state not in ("failed", "discarded"), pipeline.store.find(str(id)).error
        filling = [each for each in pipeline.status()["deployments"] if each["id"] == id]  # type: ignore[attr-defined]
        flows = filling[0]["filling"] if filling else []
        if flows and time.monotonic() - shown > 10:
            print(f"{flows[0]['rows']:,} of {flows[0]['of']:,} rows", flush=True)
            shown = time.monotonic()
        process = pipeline.status()["apart"]["process"]  # type: ignore[index]
        if flows and not killed and process and flows[0]["rows"] > flows[0]["of"] / 2:
            os.kill(process, signal.SIGKILL)
            killed = f"at {flows[0]['rows']:,} of {flows[0]['of']:,} rows"
        time.sleep(0.5)
    return killed


def watch(pipeline: Pipeline, peak: Peak, over: threading.Event) -> None:
    while not over.wait(0.5):
        child = pipeline.status()["apart"]["process"]  # type: ignore[index]
        own = {psutil.Process(): "server", **({psutil.Process(child): "filling"} if child else {})}
        for process, name in own.items():
            try:
                family = [process, *(each for each in process.children(recursive=True) if name != "server")]
                memory = sum(each.memory_info().rss for each in family) / 2**20
            except psutil.NoSuchProcess:
                continue
            setattr(peak, name, max(getattr(peak, name), memory))


def told(pipeline: Pipeline, id: int, size: tuple[int, int], seconds: float, peak: Peak, killed: str) -> str:
    core, (rows, stored) = pipeline.core, size
    new = pipeline.store.find(str(id)).manifest.bindings[0].table
    ask = "SELECT count() AS n, sum(id) AS s, sum(code) AS c FROM events"
    before = pipeline.reader.sql(ask.replace("sum(code)", "sum(toUInt64(code))"), "live").rows
    assert pipeline.reader.sql(ask, str(id)).rows == before, "the copy is not its source"
    line = core.warehouse.registry.refresh(new).line
    assert sum(each.added for each in line) == rows, "a piece was committed twice, or not at all"
    pieces = sum(1 for each in line if each.added)
    lines = [
        "# A large history through a forward query",
        "",
        'Written by `make bench-backfill`: 2 cores, `driver_memory = "2g"` for the server and for the process that fills.',
        "",
        "| | |",
        "|---|---|",
        f"| table | {rows:,} rows, {stored / 1e9:.1f} GB of Parquet |",
        f"| copied in | {seconds:,.0f} s, {stored / 1e6 / seconds:,.0f} MB/s, {pieces} commits |",
        f"| killed (`kill -9` of the process that fills) | {killed}; no piece was repeated |",
        f"| most memory of the process that fills, with its JVM | {peak.filling:,.0f} MiB |",
        f"| most memory of the server's Python | {peak.server:,.0f} MiB |",
        "| equal to its source (rows, sums) | yes |",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
