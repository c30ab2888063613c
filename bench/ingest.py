"""How fast rows get in: `make bench-ingest` posts to a server whose flows run, from a process of its own.

In: `--seconds N` of each load (10), `--write` for bench/results/ingest.md. Out: a table, and an exit code of 1 if a
target is missed, a row is missing or there twice. In the same run, beside each figure: the same HTTP server that does
nothing, and plain appends to a file that are forced to disk one by one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil
from ingest_client import Load
from ingest_project import FAR_ROWS, ROWS, body, project
from ingest_report import Measured, misses, report

from penstock.demo.client import DemoClient
from penstock.demo.server import Server, prepare_folder

HERE = Path(__file__).parent
RESULT = HERE / "results" / "ingest.md"
PATIENCE = 900.0
BATCH = 500
MANY = 600
"""Connections at once, of which a server takes about half as calls and refuses the others."""


@dataclass(frozen=True)
class Trial:
    """A load with its name."""

    name: str
    rows: int
    connections: int
    a_second: float | None = None
    rest: float = 0.0


TRIALS = (
    Trial("batches", BATCH, 4),
    Trial("single rows", 1, 16),
    Trial("batches at half the target", BATCH, 16, 20.0),
    Trial("single rows at half the target", 1, 32, 250.0),
    Trial(f"single rows from {MANY} connections", 1, MANY, None, 1.0),
)

WARMING = (Trial("batches before", BATCH, 2, 4.0), Trial("single rows before", 1, 16))
WARMING_SECONDS = 15.0
"""A server runs for months: what is measured is not the first half minute, in which Java compiles its own code."""


@dataclass
class Target:
    """A running server, and where its processes are."""

    port: int
    token: str
    process: psutil.Process
    settle: Callable[[int], None] = lambda accepted: None
    accepted: int = 0
    drained: list[float] = field(default_factory=list)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        disk = {rows: _appends_a_second(folder, rows) for rows in (BATCH, 1)}
        with _empty_server(folder) as empty:
            nothing = {each.name: _measure(each, empty, given.seconds / 2) for each in TRIALS}
        with _real_server(folder / "project") as real:
            found = {each.name: _measure(each, real, given.seconds) for each in TRIALS}
    text = report(found, nothing, disk, load)
    print(text)
    if given.write:
        RESULT.write_text(text, encoding="utf-8")
    return 1 if misses(found) else 0


def _appends_a_second(folder: Path, rows: int, seconds: float = 2.0) -> float:
    """Appends of so many rows to one file, each forced to disk before the next."""
    content, made = body(rows, 0), 0
    with (folder / f"appends-{rows}").open("ab", buffering=0) as file:
        began = time.perf_counter()
        while (took := time.perf_counter() - began) < seconds:
            file.write(content)
            os.fsync(file.fileno())
            made += 1
    return made / took


@contextmanager
def _empty_server(folder: Path) -> Iterator[Target]:
    process = subprocess.Popen([sys.executable, str(HERE / "empty_server.py"), str(folder)])
    try:
        port = folder / "port"
        while not port.exists() or not port.read_text():
            if process.poll() is not None:
                raise RuntimeError("the empty server did not start")
            time.sleep(0.1)
        time.sleep(1.0)
        yield Target(int(port.read_text()), "none", psutil.Process(process.pid))
    finally:
        process.terminate()
        process.wait()


@contextmanager
def _real_server(folder: Path) -> Iterator[Target]:
    """A server with the project live and warm. Raises RuntimeError if rows are missing or there twice."""
    prepare_folder(folder)
    files = project()
    (folder / "penstock.toml").write_text(files["penstock.toml"])
    server = Server(folder)
    try:
        server.wait_until_ready()
        client = DemoClient(server.url, server.token)
        made = str(client.deploy(files)["id"])
        for _ in client.events(made):
            pass
        client.promote(made)
        process = psutil.Process(int((folder / ".penstock" / "server.pid").read_text().split()[0]))
        target = Target(int(server.url.rpartition(":")[2]), server.token, process)
        target.settle = lambda accepted: _wait_for_rows(client, accepted)
        for trial in WARMING:
            _measure(trial, target, WARMING_SECONDS)
        yield target
        client.close()
    finally:
        server.stop()


def _measure(trial: Trial, target: Target, seconds: float) -> Measured:
    load = Load(target.port, target.token, trial.rows, trial.connections, seconds, trial.a_second, trial.rest)
    before = _processor_seconds(target.process)
    command = [sys.executable, str(HERE / "ingest_client.py"), json.dumps(asdict(load))]
    outcome = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    after = _processor_seconds(target.process)
    target.accepted += outcome["accepted"] * trial.rows
    began = time.monotonic()
    target.settle(target.accepted)
    shares = {name: (after[name] - before[name]) / (outcome["seconds"] + 1.0) for name in after}
    shares["client"] = outcome["cpu"] / (outcome["seconds"] + 1.0)
    return Measured(
        trial.name,
        trial.rows,
        len(outcome["times"]) / outcome["seconds"],
        sorted(outcome["times"]),
        outcome["statuses"],
        outcome["told_when"],
        shares,
        time.monotonic() - began,
    )


def _processor_seconds(server: psutil.Process) -> dict[str, float]:
    """Of the server's Python, of Java, and of Spark's Python workers."""
    used = {"server": 0.0, "Java": 0.0, "workers": 0.0}
    for process in (server, *server.children(recursive=True)):
        try:
            times = process.cpu_times()
            name = "server" if process == server else "Java" if process.name() == "java" else "workers"
        except psutil.NoSuchProcess:
            continue
        used[name] += times.user + times.system
        if name == "workers":
            used[name] += times.children_user + times.children_system
    return used


def _wait_for_rows(client: DemoClient, accepted: int) -> None:
    """Wait until all acknowledged rows have come two views away. Raises RuntimeError if there are more, or too late."""
    until = time.monotonic() + PATIENCE
    while (far := int(client.sql(FAR_ROWS)[0]["n"] or 0)) < accepted:
        if time.monotonic() > until:
            raise RuntimeError(f"{accepted - far:,} of {accepted:,} rows are missing after {PATIENCE:.0f} s")
        time.sleep(0.2)
    landed = int(client.sql(ROWS)[0]["n"])
    if (landed, far) != (accepted, accepted):
        raise RuntimeError(f"{accepted:,} rows were acknowledged; {landed:,} are landed, {far:,} two views away")


if __name__ == "__main__":
    sys.exit(main())
