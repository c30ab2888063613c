"""`kill -9` while copy jobs run: the rows of every job are there once, at whatever moment the server was killed."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from chaos.killable_server import Server, served
from chaos.results import FULL, record

FILES = {
    "penstock.toml": '[spark]\nmaster = "local[2]"\ndriver_memory = "1g"\n',
    "datasources/taken.datasource": "SCHEMA >\n    `run` UInt32,\n    `id` UInt64\nENGINE MergeTree\n",
    "datasources/sums.datasource": "SCHEMA >\n    `run` UInt32,\n    `rows` AggregateFunction(count),\n"
    "    `ids` AggregateFunction(sum, UInt64)\nENGINE AggregatingMergeTree\nENGINE_SORTING_KEY run\n",
    "copies/take.pipe": "NODE n\nSQL >\n    %\n    SELECT {{ UInt32(run) }} AS run, number AS id "
    "FROM numbers({{ UInt64(rows) }})\nTYPE copy\nTARGET_DATASOURCE taken\n",
    "copies/renew.pipe": "NODE n\nSQL >\n    %\n    SELECT {{ UInt32(run) }} AS run, number AS id "
    "FROM numbers({{ UInt64(rows) }})\nTYPE copy\nTARGET_DATASOURCE taken\nCOPY_MODE replace\n",
    "datasources/small.datasource": "SCHEMA >\n    `id` UInt32,\n    `n` UInt8\nENGINE MergeTree\n",
    "materializations/to_sums.pipe": "NODE n\nSQL SELECT run, countState() AS rows, sumState(id) AS ids FROM taken "
    "GROUP BY run\nTYPE materialized\nDATASOURCE sums\n",
}
PARTS = 120_000
"""Rows that are appended in three parts."""
STAGES = ("copy.spooled:1", "inbox.written:1", "inbox.logged:1", "copy.appended:2", "landing.committed:1")
PASSED = STAGES if FULL else tuple(point for point in STAGES if point not in ("inbox.written:1", "landing.committed:1"))
"""A copied row is a posted row from the inbox on (decision 0017): in CI test_kills.py dies at those two points."""
REPLACED = ("copy.spooled:1", "inbox.written:1", "inbox.logged:1", "copy.appended:1", "landing.committed:1")
REPLACED_IN_CI = REPLACED if FULL else ("inbox.logged:1", "landing.committed:1")
REPLAYED = ("copy.spooled:1", "inbox.logged:1", "copy.appended:1", "rows.removed:1", "copy.settled:1")
POINTS = [(point, number) for point in ("state.before", "state.after") for number in range(1, 16)]
DRAWN = POINTS if FULL else random.Random(7).sample(POINTS, 1)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    for made in served(tmp_path, FILES):
        made.until(made.deploy(FILES, promote=True), "live")
        yield made


def run(server: Server, number: int, rows: int, pipe: str = "take") -> None:
    """Ask for a copy. A server that dies meanwhile may have taken it or not."""
    try:
        with server.client() as client:
            client.post(f"/v0/pipes/{pipe}/copy", params={"run": str(number), "rows": str(rows)}).raise_for_status()
    except httpx.TransportError:
        pass


def done(server: Server) -> list[Mapping[str, Any]]:
    """All jobs, once every one of them is over."""
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        with server.client() as client:
            jobs = client.get("/v0/jobs").json()["jobs"]
        if all(job["status"] == "done" for job in jobs):
            return list(jobs)
        assert not [job for job in jobs if job["status"] in ("failed", "cancelled")], jobs
        time.sleep(0.2)
    raise AssertionError(f"a job is not done: {jobs}")


def check(server: Server, jobs: list[Mapping[str, Any]]) -> int:
    """Rows of all jobs in the data source and in the view below, each once."""
    wanted = {(int(job["parameters"]["run"]), int(job["parameters"]["rows"])) for job in jobs}
    assert len(wanted) == len(jobs)
    expected = sorted((run, rows, rows * (rows - 1) // 2) for run, rows in wanted)
    below = "SELECT run, countMerge(rows) AS rows, sumMerge(ids) AS ids FROM sums GROUP BY run"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and summed(server, below) != expected:
        time.sleep(0.2)
    assert summed(server, below) == expected
    assert summed(server, "SELECT run, uniqExact(id) AS rows, sum(id) AS ids FROM taken GROUP BY run") == expected
    return sum(rows for _, rows in wanted)


def summed(server: Server, query: str) -> list[tuple[int, ...]]:
    return sorted(tuple(int(str(value)) for value in row.values()) for row in server.sql(query))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_job_that_is_killed_at_each_stage_appends_its_rows_once(server: Server) -> None:
    server.stop()
    for number, fault in enumerate(PASSED):
        server.start({"PENSTOCK_FAULT": fault})
        if number == 0:
            server.ready()
            run(server, 1, PARTS)
        server.died(120)
    server.start()
    server.ready()
    rows = check(server, done(server))
    assert rows == PARTS
    record("copies", "each stage", {"kills": len(PASSED), "rows": rows, "lost": 0, "doubled": 0})


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_job_that_is_killed_while_it_replaces_leaves_the_rows_of_before_or_its_own(server: Server) -> None:
    run(server, 1, 1_000)
    check(server, done(server))
    rows = "SELECT run, count() AS rows, uniqExact(id) AS ids FROM taken GROUP BY run"
    server.stop()
    for number, fault in enumerate(REPLACED_IN_CI):
        server.start({"PENSTOCK_FAULT": fault})
        if number == 0:
            server.ready()
            run(server, 2, PARTS, "renew")
        server.died(120)
    server.start()
    server.ready()
    assert summed(server, rows) in ([(1, 1_000, 1_000)], [(2, PARTS, PARTS)])
    done(server)
    assert summed(server, rows) == [(2, PARTS, PARTS)]
    below = summed(server, "SELECT run, countMerge(rows) AS rows FROM sums GROUP BY run")
    assert below == [(1, 1_000)], "replaced rows trigger no view"
    record("copies", "replaced", {"kills": len(REPLACED_IN_CI), "rows": PARTS, "lost": 0, "doubled": 0})


@pytest.mark.full
@pytest.mark.timeout(900)
def test_quarantined_rows_are_posted_again_once_though_the_server_dies(server: Server) -> None:
    rows = "\n".join(f'{{"id": {id}, "n": {id}}}' for id in range(1_000))
    with server.client() as client:
        client.post("/v0/events", params={"name": "small", "wait": "true"}, content=rows).raise_for_status()
    wider = {**FILES, "datasources/small.datasource": FILES["datasources/small.datasource"].replace("UInt8", "UInt16")}
    server.until(server.deploy(wider, promote=True), "live")
    with server.client() as client:
        client.post("/v1/deployments/previous/retire").raise_for_status()
    server.stop()
    for number, fault in enumerate(REPLAYED):
        server.start({"PENSTOCK_FAULT": fault})
        if number == 0:
            server.ready()
            try:
                with server.client() as client:
                    client.post("/v0/datasources/small/quarantine/replay").raise_for_status()
            except httpx.TransportError:
                pass
        server.died(120)
    server.start()
    server.ready()
    done(server)
    assert summed(server, "SELECT count() AS rows, uniqExact(id) AS ids FROM small") == [(1_000, 1_000)]
    assert summed(server, "SELECT count() AS rows FROM small_quarantine") == [(0,)]
    record("copies", "replayed", {"kills": len(REPLAYED), "rows": 744, "lost": 0, "doubled": 0})


@pytest.mark.full
@pytest.mark.timeout(900)
def test_a_job_goes_on_when_sparks_process_ends_under_it(server: Server) -> None:
    run(server, 1, 600_000)
    while not reads(server):
        time.sleep(0.05)
    java = server.java()
    assert java is not None
    java.kill()
    java.wait(60)
    server.ready()
    record("copies", "spark ends", {"kills": 1, "rows": check(server, done(server)), "lost": 0, "doubled": 0})


def reads(server: Server) -> bool:
    with server.client() as client:
        return bool(client.get("/v0/jobs/1").json()["status"] == "reading")


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600)
def test_a_server_that_dies_at_any_write_of_the_store_runs_each_job_once(server: Server) -> None:
    kills = 0
    for number, (point, at) in enumerate(DRAWN):
        server.stop()
        server.start({"PENSTOCK_FAULT": f"{point}:{at}"})
        if alive(server):
            run(server, number, 1_000 + number)
            kills += ends(server)
        else:
            kills += 1
        server.stop()
        server.start()
        server.ready()
        rows = check(server, done(server))
    record("copies", "any write", {"kills": kills, "rows": rows, "lost": 0, "doubled": 0})
    assert kills


def alive(server: Server) -> bool:
    """Whether it becomes ready before it dies."""
    try:
        server.ready()
    except AssertionError:
        return False
    return True


def ends(server: Server) -> bool:
    """Whether it dies within some seconds."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        assert server.process is not None
        if server.process.poll() is not None:
            return True
        time.sleep(0.1)
    return False
