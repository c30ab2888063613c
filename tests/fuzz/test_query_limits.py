"""Limits of queries and grants of tokens on a real Spark."""

from __future__ import annotations

import time

import pytest
from starlette.testclient import TestClient

from penstock.deploy.pipeline import Pipeline
from penstock.serve.app import create_app
from penstock.serve.http.pipeline_host import PipelineHost


def token(host: PipelineHost, pipeline: Pipeline, *scopes: str) -> TestClient:
    name = f"t{len(pipeline.tokens.list())}"
    return TestClient(create_app(host), headers={"Authorization": f"Bearer {pipeline.tokens.create(name, scopes)}"})


def test_a_query_that_takes_too_long_is_cancelled_and_frees_its_cores(host: PipelineHost, pipeline: Pipeline) -> None:
    client = token(host, pipeline, "read")
    endless = "SELECT sum(sin(a.number * b.number)) AS s FROM numbers(1000000) AS a CROSS JOIN numbers(1000000) AS b"
    began = time.monotonic()
    answer = client.post("/v0/sql", content=endless)
    assert (answer.status_code, answer.json()["code"]) == (408, "timeout"), answer.text
    assert "max_query_seconds" in answer.json()["problems"][0]["hint"]
    assert time.monotonic() - began < 15
    quick = time.monotonic()
    assert client.post("/v0/sql", content="SELECT count() AS n FROM flights").json()["data"] == [{"n": 2}]
    assert time.monotonic() - quick < 4
    assert pipeline.core.warehouse.lake.spark.sparkContext.statusTracker().getActiveJobsIds() == []


@pytest.mark.parametrize(
    ("sql", "unit"),
    [
        ("SELECT number FROM numbers(1001)", "rows"),
        ("SELECT number FROM numbers(100000000)", "rows"),
        ("SELECT repeat('x', 1000) AS a FROM numbers(500)", "bytes"),
    ],
)
def test_an_answer_that_is_too_large_is_refused(host: PipelineHost, pipeline: Pipeline, sql: str, unit: str) -> None:
    answer = token(host, pipeline, "read").post("/v0/sql", content=sql)
    assert (answer.status_code, answer.json()["code"]) == (413, "too-large"), answer.text
    assert unit in answer.json()["error"]


def test_an_answer_at_the_limit_is_given(host: PipelineHost, pipeline: Pipeline) -> None:
    answer = token(host, pipeline, "read").post("/v0/sql", content="SELECT number FROM numbers(1000)")
    assert answer.json()["rows"] == 1000


def test_variables_in_texts_are_not_substituted(host: PipelineHost, pipeline: Pipeline) -> None:
    client = token(host, pipeline, "read")
    for inner in ("${spark.penstock.hidden}", "${env:PATH}", "${system:user.home}", "__all_flights__"):
        answer = client.post("/v0/sql", content=f"SELECT '{inner}' AS a, carrier AS `b {inner}` FROM flights LIMIT 1")
        assert answer.json()["data"] == [{"a": inner, f"b {inner}": "AA"}], answer.text


def test_sql_reads_what_the_token_may_read(host: PipelineHost, pipeline: Pipeline) -> None:
    source, pipe = token(host, pipeline, "read:flights"), token(host, pipeline, "read:top")
    assert source.post("/v0/sql", content="SELECT count() AS n FROM flights").status_code == 200
    assert pipe.post("/v0/sql", content="SELECT count() AS n FROM top").status_code == 200
    assert pipe.get("/v0/pipes/top.json").status_code == 200
    for client, sql in [
        (source, "SELECT * FROM top"),
        (source, "SELECT * FROM planes"),
        (source, "SELECT * FROM flights_quarantine"),
        (source, "SELECT * FROM flights WHERE carrier IN (SELECT tail FROM planes)"),
        (source, "WITH p AS (SELECT tail FROM planes) SELECT count() AS n FROM flights, p"),
        (source, "SELECT carrier FROM flights UNION ALL SELECT tail FROM planes"),
        (source, "SELECT (SELECT count() FROM planes) AS n FROM flights"),
        (pipe, "SELECT * FROM flights"),
        (pipe, "SELECT * FROM top AS t JOIN planes AS p ON t.carrier = p.tail"),
    ]:
        answer = client.post("/v0/sql", content=sql)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), sql


@pytest.mark.parametrize("odd", ["\\ud800", "\\ude00\\ud83d", "\\u0000", "\\uffff", "\\u0085"])
def test_texts_that_cannot_be_encoded_are_no_error_of_the_server(
    host: PipelineHost, pipeline: Pipeline, odd: str
) -> None:
    client = token(host, pipeline, "read")
    kind = {"Content-Type": "application/json"}
    for path, body in (
        ("/v0/sql", f"""{{"q": "SELECT '{odd}' AS a, length('{odd}') AS n"}}"""),
        ("/v0/sql", f"""{{"q": "SELECT carrier AS `{odd}` FROM flights WHERE carrier = '{odd}'"}}"""),
        ("/v0/pipes/chosen.json", f"""{{"s": "{odd}", "a": ["{odd}", "x"], "raw": "{odd}"}}"""),
    ):
        answer = client.post(path, content=body.encode(), headers=kind)
        assert answer.status_code in (200, 400), (body, answer.text)
        answer.content.decode("utf-8", "strict")


def test_the_servers_own_records_are_read_by_sql(host: PipelineHost, pipeline: Pipeline) -> None:
    admin, narrow = token(host, pipeline, "admin"), token(host, pipeline, "read:flights")
    admin.post("/v1/deployments/nothing/set-live", headers={"X-Request-Id": "seen-by-sql"})
    query = "SELECT action, target, outcome FROM penstock.audit_log WHERE request_id = 'seen-by-sql'"
    answer = admin.post("/v0/sql", content=query)
    assert answer.json().get("data") == [{"action": "promote", "target": "nothing", "outcome": "not-found"}], (
        answer.text
    )
    operations = "SELECT event_type, sum(written_rows) AS n FROM tinybird.datasources_ops_log GROUP BY event_type"
    assert {each["event_type"] for each in admin.post("/v0/sql", content=operations).json()["data"]} >= {"append"}
    jobs = "SELECT job_type, status, count() AS n FROM penstock.jobs_log GROUP BY ALL"
    assert admin.post("/v0/sql", content=jobs).json()["data"] == [{"job_type": "deployment", "status": "done", "n": 1}]
    deployments = "SELECT state, count() AS n FROM penstock.deployments_log GROUP BY state"
    assert admin.post("/v0/sql", content=deployments).json()["data"] == [{"state": "live", "n": 1}]
    for client in (narrow, token(host, pipeline, "read")):
        assert client.post("/v0/sql", content=query).status_code == 403
    assert pipeline.core.warehouse.lake.spark.catalog.listTables("global_temp") == []
