"""A month in an hour: `make soak` runs a server under a high rate of commits and says what grows.

In: `--minutes N` (60), `--write` for bench/results/soak.md and docs/soak.svg. Out: a table of every series, and an exit
code of 1 if one of them grew after the tenth minute. Time is compressed by the settings of `soak_project`: what takes
ten minutes or a day by default takes seconds here. A paused staging version, a view that fails for good and tables that
nobody posts to are there all the time; once a minute a new version is deployed and promoted.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

import orjson
import psutil
from soak_project import BUSY, POISON, STREAMS, soak_version, staged_version
from soak_report import draw, growing, report
from soak_samples import Sample, take_sample

from penstock.demo.client import DemoClient
from penstock.demo.server import Server, prepare_folder

HERE = Path(__file__).parent
RESULT, PICTURE = HERE / "results" / "soak.md", HERE.parent / "docs" / "soak.svg"
POSTS_PER_SECOND = 3
"""For each of the four busy streams: 12 batches a second, each of which is a commit of a landing and of its views."""
ROWS_PER_POST = 25
SAMPLE_SECONDS = 15
DEPLOY_SECONDS = 60
WARM_MINUTES = 10


@dataclass
class Load:
    """What was sent until now, and what went wrong on the way."""

    rows: int = 0
    bytes: int = 0
    deployments: int = 0
    queries: int = 0
    errors: list[str] = field(default_factory=list)


class SoakClient(DemoClient):
    """The calls that the demo does not need."""

    def pause(self, ref: str) -> None:
        self._http.post(f"/v1/deployments/{ref}/pause").raise_for_status()

    def append_and_wait(self, name: str, row: dict[str, object]) -> None:
        """Post a row and return once every table below has it."""
        call = {"name": name, "wait": "true"}
        self._http.post("/v0/events", params=call, content=orjson.dumps(row)).raise_for_status()


class Soak:
    """One server with its clients, for as long as the caller wants."""

    def __init__(self, folder: Path, minutes: float):
        self._folder, self._minutes = folder, minutes
        self._over, self._load, self._ids = threading.Event(), Load(), itertools.count()
        self._began = time.monotonic()
        self.samples: list[Sample] = []

    @property
    def load(self) -> Load:
        return self._load

    def run(self) -> None:
        """Start the server, let everything run at once, and stop it."""
        prepare_folder(self._folder)
        for path, text in soak_version(0).items():
            (self._folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self._folder / path).write_text(text)
        server = Server(self._folder)
        try:
            server.wait_until_ready()
            self._client = SoakClient(server.url, server.token)
            self._prepare()
            process = psutil.Process(int((self._folder / ".penstock" / "server.pid").read_text()))
            self._run_clients(process)
        finally:
            self._over.set()
            server.stop()

    def _prepare(self) -> None:
        """The first version, a row in every stream, a paused staging version, and the row at which a view fails."""
        self._promoted(soak_version(0))
        for stream in STREAMS:
            self._client.append(stream, [self._row("first")], f"{stream}-first")
        staged = self._client.deploy(staged_version(0))
        for _ in self._client.events(str(staged["id"])):
            pass
        self._client.pause(str(staged["id"]))
        self._client.append("payments", [self._row(POISON) | {"amount": 99.0}], "poison")

    def _run_clients(self, process: psutil.Process) -> None:
        tasks: list[Callable[[], None]] = [lambda stream=stream: self._post(stream) for stream in BUSY]  # type: ignore[misc]
        tasks += [self._deploy_now_and_then, self._query]
        threads = [threading.Thread(target=self._guarded, args=(task,), daemon=True) for task in tasks]
        self._began = time.monotonic()
        for thread in threads:
            thread.start()
        while (minute := self._minute()) < self._minutes and not self._over.is_set():
            self.samples.append(take_sample(self._folder, process, minute, self._measured()))
            latest = self.samples[-1].values
            print(f"{minute:5.1f} min, {self._load.rows:,} rows, " + _short(latest), flush=True)
            self._over.wait(SAMPLE_SECONDS)
        self._over.set()
        for thread in threads:
            thread.join(timeout=60)

    def _guarded(self, task: Callable[[], None]) -> None:
        """Repeat a client's task until the end; an error is kept for the report and ends nothing."""
        while not self._over.is_set():
            try:
                task()
            except Exception as error:
                self._load.errors.append(f"{self._minute():.1f} min: {type(error).__name__}: {error}"[:300])
                self._over.wait(5)

    def _post(self, stream: str) -> None:
        number = next(self._ids)
        rows = [self._row(f"kind {(number + at) % 5}") for at in range(ROWS_PER_POST)]
        self._client.append(stream, rows, f"{stream}-{number}")
        self._load.rows += len(rows)
        self._load.bytes += sum(len(orjson.dumps(row)) + 1 for row in rows)
        self._over.wait(1 / POSTS_PER_SECOND)

    def _deploy_now_and_then(self) -> None:
        self._over.wait(DEPLOY_SECONDS)
        if not self._over.is_set():
            self._load.deployments += 1
            self._promoted(soak_version(self._load.deployments))

    def _query(self) -> None:
        self._client.endpoint("totals")
        self._load.queries += 1
        self._over.wait(1)

    def _promoted(self, files: Mapping[str, str]) -> None:
        made = self._client.deploy(files)
        for _ in self._client.events(str(made["id"])):
            pass
        self._client.promote(str(made["id"]))

    def _measured(self) -> dict[str, float]:
        """Seconds from a post to its rows in the table, and of a query, each asked once."""
        began = time.monotonic()
        self._client.append_and_wait("orders", self._row("probe"))
        landed = time.monotonic()
        self._client.endpoint("totals")
        return {"seconds, post to table": landed - began, "seconds, endpoint": time.monotonic() - landed}

    def _row(self, kind: str) -> dict[str, object]:
        number = next(self._ids)
        now = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
        return {"timestamp": now, "id": number, "kind": kind, "amount": float(number % 100)}

    def _minute(self) -> float:
        return (time.monotonic() - self._began) / 60


def _short(values: Mapping[str, float]) -> str:
    names = (
        "snapshots, all tables",
        "inodes",
        "rows of the state store",
        "memory of Python, MiB",
        "memory of Java, MiB",
    )
    return ", ".join(f"{name} {values.get(name, 0):,.0f}" for name in (*names, "seconds, post to table"))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak", dir=os.environ.get("BENCH_FOLDER")) as home:
        soak = Soak(Path(home) / "project", options.minutes)
        soak.run()
    text = report(soak.samples, soak.load, WARM_MINUTES)
    print(text)
    if options.write:
        RESULT.write_text(text, encoding="utf-8")
        draw(soak.samples, PICTURE, WARM_MINUTES)
    return 1 if _is_judged(soak.samples) and growing(soak.samples, WARM_MINUTES) else 0


def _is_judged(samples: Sequence[Sample]) -> bool:
    return bool(samples) and samples[-1].minute >= 2 * WARM_MINUTES


if __name__ == "__main__":
    sys.exit(main())
