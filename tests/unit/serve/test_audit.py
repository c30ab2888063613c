"""What a call changes is in the audit log, whatever becomes of it; and every request has an id."""

from __future__ import annotations

import logging

import pytest
from starlette.testclient import TestClient

from penstock.errors import Overloaded, Unavailable
from penstock.serve import app
from penstock.serve.app import CALLS, create_app
from penstock.serve.http import audited_call
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.state.logs.audit_log import AuditEntry
from unit.serve.memory import MemoryPipeline

READS = {"/v0/sql", "/v0/pipes/{file}", "/v0/events", "/v0/diff"}
"""Calls by POST that change no deployment, token or job; posted rows are in the operations log."""


def latest(pipeline: MemoryPipeline) -> AuditEntry:
    return pipeline.audit.recent(1)[0]


def test_every_call_that_changes_something_is_recorded() -> None:
    for call in CALLS:
        changes = set(call.methods) & {"POST", "DELETE", "PUT", "PATCH"}
        assert bool(call.action) == bool(changes and call.path not in READS), call.path


def test_who_deployed_what_from_where(client: TestClient, pipeline: MemoryPipeline) -> None:
    files = [("files", ("flights.datasource", b"SCHEMA >\n    a UInt8 `json:$.a`\n"))]
    answer = client.post("/v1/deploy?name=v1&token=p.secret", files=files, headers={"X-Request-Id": "deploy-7"})
    assert (answer.status_code, answer.headers["x-request-id"]) == (201, "deploy-7")
    entry = latest(pipeline)
    assert (entry.action, entry.target, entry.outcome, entry.token) == ("deploy", "1", "ok", "admin")
    assert (entry.address, entry.request_id, entry.details) == ("testclient", "deploy-7", '{"name":"v1"}')
    client.post("/v1/deployments/9/set-live")
    assert (latest(pipeline).action, latest(pipeline).target, latest(pipeline).outcome) == ("promote", "9", "not-found")
    client.post("/v0/tokens", json={"name": "audited", "scopes": "read"})
    assert (latest(pipeline).action, latest(pipeline).target) == ("create token", "audited (read)")


def test_what_was_only_checked_is_recorded_as_that(client: TestClient, pipeline: MemoryPipeline) -> None:
    files = [("files", ("flights.datasource", b"SCHEMA >\n    a UInt8 `json:$.a`\n"))]
    client.post("/v1/deploy?check=true", files=files)
    assert (latest(pipeline).action, latest(pipeline).target) == ("deploy", "only checked")
    client.post("/v0/datasources/flights/truncate?check=true")
    assert (latest(pipeline).action, latest(pipeline).target) == ("truncate", "flights, only checked")
    client.post("/v0/datasources/flights/delete", data={"where": "1", "check": "true"})
    assert (latest(pipeline).action, latest(pipeline).target) == ("delete rows", "flights, 0 rows, only checked")


def test_a_refused_call_is_recorded(
    client: TestClient, pipeline: MemoryPipeline, secrets: dict[str, str], host: PipelineHost
) -> None:
    refused = TestClient(create_app(host)).post(
        "/v1/deployments/rollback", headers={"Authorization": f"Bearer {secrets['read']}"}
    )
    assert refused.status_code == 403
    assert (latest(pipeline).action, latest(pipeline).token, latest(pipeline).outcome) == (
        "roll back",
        "read",
        "forbidden",
    )


def test_refused_calls_do_not_fill_the_store(
    pipeline: MemoryPipeline, secrets: dict[str, str], host: PipelineHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audited_call, "MOST_REFUSALS", 3)
    before, refused = len(pipeline.audit.recent(100)), TestClient(create_app(host))

    def ask(kind: str) -> int:
        headers = {"Authorization": f"Bearer {secrets[kind]}"}
        return refused.post("/v1/deployments/rollback", headers=headers).status_code

    assert [ask("read") for _ in range(5)] == [403] * 5
    assert len(pipeline.audit.recent(100)) == before + 3
    assert ask("append") == 403
    assert latest(pipeline).token == "append"
    monkeypatch.setattr(audited_call, "REFUSAL_SECONDS", -1.0)
    assert ask("read") == 403
    assert latest(pipeline).token == "read"


def test_a_call_is_refused_while_its_entry_must_wait_too_long(
    secrets: dict[str, str], host: PipelineHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: object) -> None:
        raise Overloaded("too many calls wait already")

    monkeypatch.setattr(app, "record_refusal", fail)
    answer = TestClient(create_app(host)).post(f"/v1/deployments/rollback?token={secrets['read']}")
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


def test_nothing_is_changed_that_cannot_be_recorded(
    client: TestClient, pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(entry: AuditEntry) -> int:
        raise Unavailable("the state store does not answer")

    monkeypatch.setattr(pipeline.audit, "add", fail)
    assert client.post("/v0/tokens", json={"name": "never", "scopes": "read"}).status_code == 503
    assert "never" not in [each.name for each in pipeline.tokens.list()]


def test_an_outcome_that_cannot_be_stored_is_in_the_log(
    client: TestClient, pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*given: object) -> None:
        raise Unavailable("the state store does not answer")

    monkeypatch.setattr(pipeline.audit, "end", fail)
    with caplog.at_level(logging.INFO):
        assert client.delete("/v0/tokens/nobody").status_code == 404
    assert "remove token nobody by the token admin from testclient: not-found" in caplog.text
    assert "does not have the outcome" in caplog.text


@pytest.mark.parametrize("path", ["/health", "/v0/nothing", "/v0/sql?q=SELEC", "/v0/sql?q=SELECT+1"])
def test_every_answer_has_an_id(client: TestClient, path: str) -> None:
    answer = client.get(path, headers={"X-Request-Id": "mine"})
    assert answer.headers["x-request-id"] == "mine"
    if not answer.is_success:
        assert answer.json()["request_id"] == "mine"
    assert client.get(path).headers["x-request-id"] != client.get(path).headers["x-request-id"]


@pytest.mark.parametrize("sent", ["", "a b", "x" * 129, "a\tb", "é"])
def test_an_id_that_is_no_plain_text_is_replaced(client: TestClient, sent: str) -> None:
    answer = client.get("/health", headers={"X-Request-Id": sent.encode("latin-1")})  # type: ignore[dict-item]
    assert answer.headers["x-request-id"] != sent
    assert len(answer.headers["x-request-id"]) == 32


def test_calls_and_refused_posts_are_counted(client: TestClient) -> None:
    client.get("/v0/nothing")
    client.post("/v0/events?name=nobody", content=b"{}")
    client.post("/v0/events?name=flights", content=b'{"a":1}')
    lines = client.get("/metrics").text.splitlines()
    assert 'penstock_refused_posts_total{reason="not-found"} 1.0' in lines
    assert 'penstock_http_seconds_count{call="/v0/events",status="202"} 1.0' in lines
    assert 'penstock_http_seconds_count{call="none",status="404"} 1.0' in lines


def test_the_latest_entries_are_listed(client: TestClient, secrets: dict[str, str]) -> None:
    client.delete("/v0/tokens/nobody")
    entries = client.get("/v0/audit?limit=1").json()["entries"]
    assert [(each["action"], each["target"], each["outcome"]) for each in entries] == [
        ("remove token", "nobody", "not-found")
    ]
    for limit in ("0", "x", "10001", "-1"):
        assert client.get(f"/v0/audit?limit={limit}").status_code == 400
    reads = {"Authorization": f"Bearer {secrets['read']}"}
    assert client.get("/v0/audit", headers=reads).status_code == 403
