"""Rows keep arriving in live while a staging version fails, never ends or uses all memory, or a query cannot be
cancelled.

Each case posts a fixed number of bodies to live, one after the other, each waiting until its rows are queryable
(`wait=true`), before and while the staging version misbehaves. It asserts that each body gets there; how long they
took is reported, not asserted. All cases share one server; the staging version of each is discarded at its end.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx
import psutil
import pytest

from chaos.killable_server import Server, served
from chaos.project_versions import V1
from chaos.results import FULL, record
from waiting import wait_until

POSTS = 12 if FULL else 5
A_BODY = 100
GREEDY = """SCHEMA >
    `user` String,
    `many` UInt64

ENGINE MergeTree
ENGINE_SORTING_KEY user
"""
BAD_VIEWS = {
    "a cast that fails": "SELECT user, toUInt64(user) AS many FROM events",
    "a join that never ends": """SELECT a.user AS user, count() AS many
    FROM events AS a CROSS JOIN events AS b CROSS JOIN events AS c CROSS JOIN events AS d
    WHERE a.id + b.id + c.id + d.id >= 0 GROUP BY user""",
    "all memory": """SELECT user, toUInt64(length(groupArray(concat(text, text)))) AS many
    FROM (SELECT a.user AS user, repeat(concat(a.user, b.user, c.user), 2000) AS text
        FROM events AS a CROSS JOIN events AS b CROSS JOIN events AS c)
    GROUP BY user""",
}


IN_FULL = {"a cast that fails": pytest.mark.full}
"""In CI, tests/deploy/test_migration_cases.py has a staging version that fails beside live."""


def misbehaving(view: str) -> dict[str, str]:
    """The first version and one more view, over the same landing table."""
    pipe = f"NODE greedy\nSQL >\n    {view}\nTYPE materialized\nDATASOURCE greedy\n"
    return V1 | {"datasources/greedy.datasource": GREEDY, "materializations/to_greedy.pipe": pipe}


@dataclass
class Live:
    """A server with a live version, and how many bodies it was sent."""

    server: Server
    bodies: int = 0

    def post(self) -> list[float]:
        """Post some bodies, each when live has the one before. Returns the seconds that each took."""
        self.bodies += POSTS
        return [post(self.server, number) for number in range(self.bodies - POSTS, self.bodies)]

    def check(self) -> None:
        """Every row is there once."""
        rows = self.bodies * A_BODY
        found = self.server.sql("SELECT count() AS rows, uniqExact(id) AS ids FROM events")[0]
        assert found == {"rows": rows, "ids": rows}
        assert self.server.sql("SELECT countMerge(events) AS rows FROM total")[0]["rows"] == rows


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    settings = V1["penstock.toml"] + "[server]\nmax_query_seconds = 10\n"
    files = V1 | {"penstock.toml": settings}
    for server in served(tmp_path_factory.mktemp("isolation"), files):
        server.until(server.deploy(files, promote=True), "live")
        yield Live(server)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", [pytest.param(case, marks=IN_FULL.get(case, ())) for case in BAD_VIEWS])
def test_live_goes_on_beside_a_misbehaving_staging_version(live: Live, case: str) -> None:
    server, quiet = live.server, live.post()
    made = server.deploy(misbehaving(BAD_VIEWS[case]), promote=False)
    until_it_begins(server, made)
    loud = live.post()
    live.check()
    state = server.state(made)
    assert state in ("preparing", "backfilling", "failed"), "the staging version was to misbehave"
    answer = server.insist(lambda client: client.delete(f"/v1/deployments/{made}"))
    assert answer.status_code == 200, answer.text
    median = {"before": statistics.median(quiet), "during": statistics.median(loud)}
    figures = {f"median seconds {key}": round(value, 2) for key, value in median.items()}
    record("isolation", case, {**figures, "worst seconds during": round(max(loud), 2), "state": state})


NOT_TO_BE_CANCELLED = """SELECT count() AS n
    FROM numbers(100000) AS a CROSS JOIN numbers(100000) AS b CROSS JOIN numbers(100000) AS c
    WHERE (a.number + b.number * c.number) % 7 = 1"""
"""Spark does not look whether the query was cancelled before it is through with one row of `a`: many minutes."""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_query_that_cannot_be_cancelled_is_ended_with_spark(live: Live) -> None:
    """Two of them, as many as there are cores in CI: nothing else runs until the server has ended Spark."""
    server, before = live.server, live.server.java()
    with ThreadPoolExecutor(2) as threads:
        asked = [threads.submit(ask, server, NOT_TO_BE_CANCELLED) for _ in range(2)]
        assert [each.result().status_code for each in asked] == [408, 408]
    worst = max(live.post())
    after = another_java(server, before)
    worst = max(worst, *live.post())
    live.check()
    assert server.java() == after, "once was enough"
    record("isolation", "a query that cannot be cancelled", {"worst seconds during": round(worst, 2)})


ENDS_SPARK = "SELECT length(arrayStringConcat(arrayMap(x -> toString(x), range(200000000)))) AS n FROM numbers(1)"
"""One value takes gigabytes, and within it Spark does not look whether it was cancelled."""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_query_that_ends_spark_is_refused_when_it_did_so_again(live: Live) -> None:
    server = live.server
    for _ in range(2):
        before = server.java()
        assert ask(server, ENDS_SPARK).status_code == 503
        another_java(server, before)
        live.post()
    before = server.java()
    answer = server.insist(lambda client: client.get("/v0/sql", params={"q": ENDS_SPARK}))
    assert (answer.status_code, answer.json()["code"]) == (413, "too-large"), answer.text
    assert "refused until" in answer.json()["error"]
    assert ask(server, "SELECT 1 AS a").json()["data"] == [{"a": 1}]
    live.check()
    assert server.java() == before


def another_java(server: Server, before: psutil.Process | None) -> psutil.Process | None:
    """The process of Spark once it is not the one before."""
    wait_until(lambda: server.java() not in (None, before), 120, lambda: "Spark was not started again")
    return server.java()


def ask(server: Server, sql: str) -> httpx.Response:
    with server.client() as client:
        return client.get("/v0/sql", params={"q": sql})


def until_it_begins(server: Server, id: int) -> None:
    """Until its flows run (or have failed already)."""
    wait_until(lambda: server.state(id) in ("backfilling", "failed"), explain=lambda: server.state(id))


def post(server: Server, number: int) -> float:
    """Post a body and wait until live has it in every table. Returns the seconds it took. A server that
    begins anew (its JVM was out of memory) keeps the caller waiting, and the key makes it once."""
    ids = range(number * A_BODY, (number + 1) * A_BODY)
    body = "\n".join(json.dumps({"id": id, "user": f"u{id}", "size": "1"}) for id in ids).encode()
    started = time.monotonic()

    def call(client: httpx.Client) -> httpx.Response:
        headers = {"Idempotency-Key": f"body {number}"}
        return client.post("/v0/events", params={"name": "events", "wait": "true"}, content=body, headers=headers)

    answer = server.insist(call)
    assert answer.status_code == 200, answer.text
    return time.monotonic() - started
