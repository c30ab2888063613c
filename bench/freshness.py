"""Where the time goes from a posted row to a row two views away: `make bench-freshness`.

In: `--seconds N` of each load (40), `--write` for bench/results/freshness.md. Out: two tables, with one version fed and
with two: how long a post waits at each place on its way, and how long each part of a step takes. The rows are the
demo's: 3,300 a second into `flights`, of which version 2 has a table of its own.
"""

from __future__ import annotations

import argparse
import itertools
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import psutil
from freshness_report import Phase, Way, report
from freshness_stages import Stages
from pipelines import deployed, pipeline

from penstock.demo.nyc_flights import Post, posts, read_flights, read_weather
from penstock.demo.scenario import example_files
from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.deploy.pipeline import Pipeline

RESULT = Path(__file__).parent / "results" / "freshness.md"
ROWS_A_SECOND = 3_300
WARM_SECONDS, PATIENCE = 30.0, 60.0
CHAIN = ("flights", "carrier_daily", "carrier_monthly")
QUERY = "SELECT countMerge(flights) AS flights FROM carrier_monthly"
LIVE, STAGED = DeployOptions(), DeployOptions(promote=False)


@dataclass
class Load:
    """A thread that posts at a steady rate, and one that follows posts on their way."""

    running: Pipeline
    plan: Iterator[Post]
    over: threading.Event = field(default_factory=threading.Event)
    ways: list[Way] = field(default_factory=list)
    queries: list[float] = field(default_factory=list)
    rows: int = 0

    def run(self, seconds: float) -> None:
        """Post for so many seconds."""
        threads = [threading.Thread(target=each, daemon=True) for each in (self._post, self._query)]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        self.over.set()
        for thread in threads:
            thread.join()

    def _post(self) -> None:
        began = time.monotonic()
        for post in self.plan:
            if self.over.is_set():
                return
            body = b"\n".join(map(orjson.dumps, post.rows))
            time.sleep(max(0.0, began + self.rows / ROWS_A_SECOND - time.monotonic()))
            sent = time.monotonic()
            receipt = self.running.ingestion.append(post.name, body, None)
            self.rows += len(post.rows)
            if post.name == CHAIN[0]:
                self.ways.append(Way(receipt.batch, sent, time.monotonic()))

    def _query(self) -> None:
        while not self.over.wait(1.0):
            began = time.monotonic()
            self.running.reader.sql(QUERY, "live")
            self.queries.append(time.monotonic() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    load = os.getloadavg()[0]
    plan = iter(itertools.cycle(posts(read_flights(), read_weather())))
    with pipeline("2g") as running, Stages(running) as stages:
        deployed(running, example_files("flights"), LIVE)
        Load(running, plan).run(WARM_SECONDS)
        found = [_measure("one version", running, stages, (plan, given.seconds))]
        deployed(running, example_files("flights-v2"), STAGED)
        Load(running, plan).run(WARM_SECONDS)
        found.append(_measure("two versions", running, stages, (plan, given.seconds)))
    text = report(found, load)
    print(text)
    if given.write:
        RESULT.write_text(text, encoding="utf-8")


def _measure(name: str, running: Pipeline, stages: Stages, how: tuple[Iterator[Post], float]) -> Phase:
    plan, seconds = how
    stages.clear()
    load, used = Load(running, plan), _processor_seconds()
    load.run(seconds)
    cores = {kind: (now - used.get(kind, 0.0)) / seconds for kind, now in _processor_seconds().items()}
    live = running.core.board.live()
    assert live is not None
    tables = [live.manifest.binding(each).table for each in CHAIN]  # type: ignore[union-attr]
    end = time.monotonic() + PATIENCE
    while stages.step_with(tables[-1], load.ways[-1].batch) is None and time.monotonic() < end:
        time.sleep(0.1)
    return Phase(name, _followed(load.ways, stages, tables), stages.steps(), load.queries, cores, load.rows / seconds)


def _followed(ways: Sequence[Way], stages: Stages, tables: Sequence[str]) -> list[Way]:
    """The ways that came to their end, with the steps that took them on."""
    return [way.through([stages.step_with(table, way.batch) for table in tables]) for way in ways]


def _processor_seconds() -> dict[str, float]:
    me = psutil.Process()
    found = {"Python": sum(me.cpu_times()[:2]), "Java": 0.0, "Spark's workers": 0.0}
    for process in me.children(recursive=True):
        try:
            kind = "Java" if process.name() == "java" else "Spark's workers"
            found[kind] += sum(process.cpu_times()[:4] if kind != "Java" else process.cpu_times()[:2])
        except psutil.NoSuchProcess:
            continue
    return found


if __name__ == "__main__":
    main()
