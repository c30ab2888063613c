"""A staging version that fails, that never ends, that eats all memory: rows of live arrive all the while.

Each case posts a fixed number of bodies to live, one after the other, each waiting until it is queryable
(`wait=true`), before and while the staging version misbehaves. What is asserted is that each one gets
there; how long they took is told, not asserted.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from chaos.crashing import Server, served
from chaos.results import record
from chaos.versions import V1

POSTS = 12
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


def misbehaving(view: str) -> dict[str, str]:
    """The first version and one more view, over the same landing table."""
    pipe = f"NODE greedy\nSQL >\n    {view}\nTYPE materialized\nDATASOURCE greedy\n"
    return V1 | {"datasources/greedy.datasource": GREEDY, "materializations/to_greedy.pipe": pipe}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    yield from served(tmp_path, V1)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", BAD_VIEWS)
def test_live_goes_on(server: Server, case: str) -> None:
    server.until(server.deploy(V1, promote=True), "live")
    quiet = [post(server, number) for number in range(POSTS)]
    made = server.deploy(misbehaving(BAD_VIEWS[case]), promote=False)
    until_it_begins(server, made)
    loud = [post(server, POSTS + number) for number in range(POSTS)]
    found = server.sql("SELECT count() AS rows, uniqExact(id) AS ids FROM events")[0]
    assert found == {"rows": 2 * POSTS * A_BODY, "ids": 2 * POSTS * A_BODY}
    assert server.sql("SELECT countMerge(events) AS rows FROM total")[0]["rows"] == 2 * POSTS * A_BODY
    state = server.state(made)
    assert state in ("preparing", "backfilling", "failed"), "the staging version was to misbehave"
    median = {"before": statistics.median(quiet), "during": statistics.median(loud)}
    figures = {f"median seconds {key}": round(value, 2) for key, value in median.items()}
    record("isolation", case, {**figures, "worst seconds during": round(max(loud), 2), "state": state})


def until_it_begins(server: Server, id: int) -> None:
    """Until its flows run (or have failed already)."""
    deadline = time.monotonic() + 60
    while server.state(id) not in ("backfilling", "failed"):
        assert time.monotonic() < deadline, server.state(id)
        time.sleep(0.1)


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
