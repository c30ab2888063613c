"""WITH TOTALS and SAMPLE on a real pipeline, over HTTP: each format, and totals of the same rows while rows arrive."""

from __future__ import annotations

import threading

import pytest
from starlette.testclient import TestClient

from deploy.conftest import Running

HITS = """SCHEMA >
    `path` String `json:$.path`,
    `n` UInt8 `json:$.n`
ENGINE MergeTree
ENGINE_SORTING_KEY path, n
ENGINE_SAMPLING_KEY n
"""
TOP = """NODE grouped
SQL >
    SELECT path, sum(n) AS s, max(n) AS most FROM wt_hits GROUP BY path WITH TOTALS HAVING s < 200
NODE top
SQL >
    SELECT path, s + most AS both FROM grouped ORDER BY both DESC LIMIT 2
TYPE endpoint
"""
FILES = {"datasources/wt_hits.datasource": HITS, "pipes/wt_top.pipe": TOP}
ROWS = [{"path": path, "n": n} for path, n in (("/", 1), ("/a", 20), ("/", 64), ("/b", 255), ("/c", 3), ("/a", 127))]


@pytest.fixture(scope="module")
def client(running: Running) -> TestClient:
    assert running.deploy(FILES).state == "live"
    running.post("wt_hits", ROWS)
    return running.over_http("totals")


def test_totals_in_every_format(client: TestClient) -> None:
    document = client.get("/v0/pipes/wt_top.json").json()
    assert document["data"] == [{"path": "/a", "both": 274}, {"path": "/", "both": 129}]
    assert (document["totals"], document["rows"]) == ({"path": "", "both": 342}, 2)
    assert client.get("/v0/pipes/wt_top.csv").text == '"path","both"\n"/a",274\n"/",129\n\n"",342\n'
    assert client.get("/v0/pipes/wt_top.ndjson").text.count("\n") == 2


def test_sample_of_a_data_source(client: TestClient) -> None:
    query = "SELECT path, count() AS c FROM wt_hits SAMPLE 1/4 OFFSET 1/4 GROUP BY path WITH TOTALS ORDER BY path"
    document = client.get("/v0/sql", params={"q": query}).json()
    assert (document["data"], document["totals"]) == (
        [{"path": "/", "c": 1}, {"path": "/a", "c": 1}],
        {"path": "", "c": 2},
    )


def test_totals_are_of_the_rows_of_the_same_answer(client: TestClient, running: Running) -> None:
    query = "SELECT path, count() AS c FROM wt_hits GROUP BY path WITH TOTALS"
    done = threading.Event()

    def post() -> None:
        try:
            for _ in range(8):
                running.post("wt_hits", [{"path": "/new", "n": 7}])
        finally:
            done.set()

    seen = set()
    writer = threading.Thread(target=post)
    writer.start()
    while True:
        last = done.is_set()
        document = client.get("/v0/sql", params={"q": query}).json()
        seen.add(document["totals"]["c"])
        assert sum(row["c"] for row in document["data"]) == document["totals"]["c"]
        if last:
            break
    writer.join()
    assert len(seen) > 1
    assert max(seen) == len(ROWS) + 8
