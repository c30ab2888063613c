"""`kill -9` while rows are deleted and what was computed of them is rebuilt: both happen once, although nobody asks
again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from chaos.killable_server import Server, served
from chaos.results import FULL, record
from waiting import wait_until

FILES = {
    "penstock.toml": '[spark]\nmaster = "local[2]"\ndriver_memory = "1g"\n',
    "datasources/hits.datasource": "SCHEMA >\n    `id` UInt64,\n    `page` String\nENGINE MergeTree\n",
    "datasources/pages.datasource": "SCHEMA >\n    `page` String,\n    `hits` AggregateFunction(count)\n"
    "ENGINE AggregatingMergeTree\nENGINE_SORTING_KEY page\n",
    "materializations/to_pages.pipe": "NODE n\nSQL SELECT page, countState() AS hits FROM hits GROUP BY page\n"
    "TYPE materialized\nDATASOURCE pages\n",
}
ROWS = 1_000
REBUILT = (
    "inbox.logged:1",
    "rows.removed:1",
    "landing.committed:1",
    "rebuild.deleted:1",
    "rebuild.begun:1",
    "step.ran:1",
)
REBUILT_IN_CI = REBUILT if FULL else ("rebuild.begun:1",)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    for made in served(tmp_path, FILES):
        made.until(made.deploy(FILES, promote=True), "live")
        post(made, 0)
        yield made


def post(server: Server, first: int) -> None:
    rows = "\n".join(f'{{"id": {id}, "page": "/{id % 10}"}}' for id in range(first, first + ROWS))
    with server.client() as client:
        client.post("/v0/events", params={"name": "hits", "wait": "true"}, content=rows).raise_for_status()


def ask(server: Server, path: str, key: str, **parameters: str) -> None:
    """Ask for a change. A server that dies meanwhile may have taken it or not."""
    try:
        with server.client() as client:
            client.post(f"/v0/datasources/hits/{path}", params=parameters, headers={"Idempotency-Key": key})
    except httpx.TransportError:
        pass


def number(server: Server, query: str, deployment: str = "live") -> int:
    [row] = server.sql(query, deployment)
    return int(str(next(iter(row.values()))))


def hits(server: Server, deployment: str = "live") -> tuple[int, int]:
    counted = number(server, "SELECT count() FROM hits", deployment)
    return counted, number(server, "SELECT uniqExact(id) FROM hits", deployment)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_rebuild_follows_a_deletion_whenever_the_server_dies(server: Server) -> None:
    server.stop()
    for count, fault in enumerate(REBUILT_IN_CI):
        server.start({"PENSTOCK_FAULT": fault})
        if count == 0:
            server.ready()
            ask(server, "delete", "a", where="id < 100", rebuild="true")
        server.died(120)
    server.start()
    server.ready()
    if number(server, "SELECT count() FROM hits WHERE id < 100"):  # it died before it was logged
        ask(server, "delete", "a", where="id < 100", rebuild="true")
    left = "SELECT countMerge(hits) FROM pages"
    wait_until(lambda: number(server, left) == ROWS - 100, 120)
    assert hits(server) == (ROWS - 100, ROWS - 100)
    with server.client() as client:
        jobs = client.get("/v0/jobs").json()["jobs"]
        deployments = client.get("/v1/deployments").json()["deployments"]
        asked = {"where": "id < 200", "rebuild": "true", "check": "true"}
        again = client.post("/v0/datasources/hits/delete", params=asked)
    assert [(each["kind"], each["status"], "where" in each["parameters"]) for each in jobs] == [
        ("rebuild", "done", False)
    ]
    assert len(deployments) == 2
    assert again.status_code == 200, "the second rebuild loses nothing, so nothing has to be allowed"
    record("removals", "rebuilt", {"kills": len(REBUILT_IN_CI), "rows": ROWS - 100, "lost": 0, "doubled": 0})
