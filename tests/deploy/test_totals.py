"""WITH TOTALS, SAMPLE, row limits and statements about the catalog on a real pipeline, over HTTP: each format, what was
read, and totals of the same rows while rows arrive."""

from __future__ import annotations

import threading
from typing import Any

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


def ask(client: TestClient, query: str, **parameters: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/v0/sql", params={"q": query, **parameters}).json()
    return found


def test_what_was_read_is_what_the_tasks_read(client: TestClient) -> None:
    read = ask(client, "SELECT sum(n), any(path) FROM wt_hits")["statistics"]
    assert read["rows_read"] == len(ROWS)
    assert read["bytes_read"] > 0
    twice = ask(client, "SELECT count() FROM wt_hits AS a JOIN wt_hits AS b ON a.path = b.path WHERE a.n + b.n >= 0")
    assert twice["statistics"]["rows_read"] == 2 * len(ROWS)
    nothing = ask(client, "SELECT 1")["statistics"]
    assert (nothing["rows_read"], nothing["bytes_read"]) == (0, 0)


def test_an_answer_is_cut_at_the_row_limit(client: TestClient) -> None:
    cut = ask(client, "SELECT path FROM wt_hits ORDER BY path", row_limit="2")
    assert (cut["data"], cut["rows_before_limit_at_least"]) == ([{"path": "/"}, {"path": "/"}], 3)
    whole = ask(client, "SELECT path FROM wt_hits", row_limit=str(len(ROWS)))
    assert (whole["rows"], whole["rows_before_limit_at_least"]) == (len(ROWS), len(ROWS))
    totals = ask(
        client, "SELECT path, count() AS c FROM wt_hits GROUP BY path WITH TOTALS ORDER BY path", row_limit="1"
    )
    assert (totals["data"], totals["totals"]["c"]) == ([{"path": "/", "c": 2}], len(ROWS))
    assert totals["rows_before_limit_at_least"] == 2
    assert client.get("/v0/sql", params={"q": "SELECT 1", "row_limit": "0"}).status_code == 400


def test_numbers_that_json_has_not(client: TestClient) -> None:
    query = "SELECT 1 / 0 AS a, -1 / 0 AS b, 0 / 0 AS c, [1 / 0] AS d, NULL AS e"
    assert ask(client, query)["data"] == [{"a": None, "b": None, "c": None, "d": [None], "e": None}]
    quoted = ask(client, query, output_format_json_quote_denormals="1")["data"]
    assert quoted == [{"a": "inf", "b": "-inf", "c": "nan", "d": ["inf"], "e": None}]
    assert client.get("/v0/sql", params={"q": f"{query} FORMAT CSVWithNames"}).text.endswith(
        'inf,-inf,nan,"[inf]",\\N\n'
    )


def test_show_tables(client: TestClient) -> None:
    found = ask(client, "SHOW TABLES LIKE 'wt%'")["data"]
    assert found == [
        {"name": "wt_hits", "kind": "data source"},
        {"name": "wt_hits_quarantine", "kind": "quarantine"},
        {"name": "wt_top", "kind": "endpoint"},
    ]
    assert {"name": "datasources_ops_log", "kind": "service data source"} in ask(client, "SHOW TABLES FROM penstock")[
        "data"
    ]


def test_describe(client: TestClient) -> None:
    described = ask(client, "DESCRIBE TABLE wt_hits")["data"]
    assert [(each["name"], each["type"]) for each in described] == [("path", "String"), ("n", "UInt8")]
    assert [each["name"] for each in ask(client, "DESC wt_top")["data"]] == ["path", "both"]
    wrong = ask(client, "DESCRIBE TABLE wt_hit")["problems"][0]
    assert (wrong["column"], wrong["hint"]) == (16, "did you mean `wt_hits`?")


def test_explain(client: TestClient) -> None:
    lines = [each["explain"] for each in ask(client, "EXPLAIN SELECT count() AS c FROM wt_hits WHERE n > 3")["data"]]
    assert lines[0] == "Spark SQL:"
    assert any("FROM `wt_hits`" in line for line in lines)
    (read,) = [line for line in lines if line.startswith("  wt_hits: columns n;")]
    assert f"{len(ROWS)} rows" in read
    assert lines[-1] == "  c UInt64"


def test_division_by_zero_is_told_without_the_advice_of_spark(client: TestClient) -> None:
    refused = ask(client, "SELECT intDiv(n, 0) FROM wt_hits")
    assert (refused["error"], refused["code"]) == ("Division by zero.", "invalid-query")


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
