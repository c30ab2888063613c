from __future__ import annotations

import asyncio
import logging

import pytest
from starlette.testclient import TestClient
from starlette.types import Message

from penstock.serve.app import CALLS, ApiCall, create_app
from penstock.serve.http.pipeline_host import MOST_WAITING, PipelineHost
from penstock.state.tokens import ApiTokens
from unit.serve.memory import MemoryPipeline

SHAPE = {"error", "code", "documentation", "problems", "request_id"}
GUARDED = [call for call in CALLS if call.scope is not None]


def address(call: ApiCall) -> str:
    return call.path.replace("{file}", "top.json").replace("{ref}", "1").replace("{name}", "x")


@pytest.mark.parametrize("call", GUARDED, ids=lambda call: f"{call.methods[0]} {call.path}")
def test_every_call_but_health_needs_a_token_with_its_scope(
    host: PipelineHost, secrets: dict[str, str], call: ApiCall
) -> None:
    client = TestClient(create_app(host))
    method, path = call.methods[-1], address(call)
    without = client.request(method, path)
    assert (without.status_code, without.json()["code"]) == (401, "unauthorized")
    assert without.headers["www-authenticate"] == "Bearer"
    assert client.request(method, path, headers={"Authorization": "Bearer wrong"}).status_code == 401
    other = next(scope for scope in ("read", "append") if scope != call.scope)
    assert client.request(method, path, params={"token": secrets[other]}).status_code == 403
    assert client.request(method, path, params={"token": secrets[str(call.scope)]}).status_code not in (401, 403)
    assert client.request(method, path, headers={"Authorization": f"bearer {secrets['admin']}"}).status_code != 403


def test_health_says_what_the_server_does(tokens: ApiTokens) -> None:
    host = PipelineHost()
    client = TestClient(create_app(host))
    starting = client.get("/health")
    assert (starting.status_code, starting.json()["phase"]) == (503, "starting Spark")
    refused = client.get("/v0/sql?q=SELECT+1")
    assert (refused.status_code, refused.json()["code"], refused.headers["retry-after"]) == (503, "unavailable", "1")
    host.opened(MemoryPipeline(tokens))  # type: ignore[arg-type]
    assert client.get("/health").json()["status"] == "ok"
    host.stop()
    assert client.get("/health").status_code == 503


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/v0/nothing", 404), ("PUT", "/v0/sql", 405), ("GET", "/v0/events", 405)]
)
def test_unknown_addresses_and_methods_have_the_same_shape(
    client: TestClient, method: str, path: str, status: int
) -> None:
    answer = client.request(method, path)
    assert answer.status_code == status
    assert set(answer.json()) == SHAPE


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/v0/pipes/top.json", "GET, POST"),
        ("GET", "/v0/events", "POST"),
        ("PUT", "/v1/deployments/4", "DELETE, GET"),
    ],
)
def test_a_wrong_method_is_told_which_are_right(client: TestClient, method: str, path: str, allowed: str) -> None:
    """RFC 9110, 15.5.6: a 405 names them in `Allow`."""
    answer = client.request(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
    assert answer.json()["problems"][0]["hint"] == f"it takes {allowed.replace(', ', ' and ')}"


@pytest.mark.parametrize(
    ("method", "path", "body", "message"),
    [
        ("POST", "/v0/events?name=flights&wiat=true", None, "no parameter `wiat`; did you mean `wait`?"),
        ("POST", "/v0/datasources?name=flights&mod=replace", None, "no parameter `mod`; did you mean `mode`?"),
        ("POST", "/v0/datasources/flights/truncate?chek=true", None, "no parameter `chek`; did you mean `check`?"),
        ("POST", "/v0/datasources/flights/truncate?deployment=staging", None, "no parameter `deployment`"),
        ("POST", "/v0/datasources/flights/delete?where=1", {"chek": "true"}, "no parameter `chek`; did you mean"),
        ("POST", "/v1/deploy?chek=true", None, "no parameter `chek`; did you mean `check`?"),
        ("GET", "/v0/jobs?limit=3", None, "no parameter `limit`; available: token"),
        ("GET", "/v0/audit?limt=3", None, "no parameter `limt`; did you mean `limit`?"),
        ("POST", "/v0/tokens", {"name": "a", "scope": "read"}, "no parameter `scope`; did you mean `scopes`?"),
    ],
)
def test_a_misspelt_parameter_is_named_and_nothing_is_done(
    client: TestClient, method: str, path: str, body: dict[str, str] | None, message: str
) -> None:
    answer = client.request(method, path, json=body)
    assert (answer.status_code, answer.json()["problems"][0]["code"]) == (400, "unknown-parameter")
    assert message in answer.json()["error"]


def test_other_programs_may_add_parameters(client: TestClient) -> None:
    for path in ("/health?_=1", "/metrics?x=1", "/v0/pipes/top.json?utm=1", "/v0/sql?q=SELECT+1+AS+a&x=1"):
        assert client.get(path).status_code == 200


def test_the_nearest_address_is_named(client: TestClient) -> None:
    assert client.get("/v0/dataources").json()["problems"][0]["hint"] == "did you mean `/v0/datasources`?"


def test_a_fault_of_ours_is_logged_and_not_shown(
    client: TestClient, pipeline: MemoryPipeline, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> dict[str, object]:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(pipeline, "status", fail)
    with caplog.at_level(logging.ERROR):
        answer = client.get("/v0/status")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert "secret detail" not in answer.text
    assert "secret detail" in caplog.text


def test_status_and_metrics(client: TestClient, pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    client.post("/v0/events?name=flights", content=b'{"a":1}\nx\n')
    client.get("/v0/sql?q=SELECT+1")
    client.get("/v0/sql?q=SELEC")
    with monkeypatch.context() as broken:
        broken.setattr(pipeline, "sql", None)
        assert client.get("/v0/sql?q=SELECT+1").status_code == 500
    assert client.get("/v0/status").json()["streams"] == {"flights": 2}
    lines = client.get("/metrics").text.splitlines()
    assert 'penstock_appended_rows_total{datasource="flights"} 1.0' in lines
    assert 'penstock_quarantined_rows_total{datasource="flights"} 1.0' in lines
    assert 'penstock_queries_total{code="invalid-query",kind="sql"} 1.0' in lines
    assert 'penstock_queries_total{code="internal",kind="sql"} 1.0' in lines
    assert 'penstock_batches{stream="flights"} 2.0' in lines


def test_tokens(client: TestClient) -> None:
    made = client.post("/v0/tokens", json={"name": "ci", "scopes": "deploy, read"})
    assert (made.status_code, made.json()["scopes"]) == (201, ["deploy", "read"])
    assert client.get("/v1/deployments", headers={"Authorization": f"Bearer {made.json()['token']}"}).status_code == 200
    listed = {each["name"]: each for each in client.get("/v0/tokens").json()["tokens"]}
    assert listed["ci"] == {"name": "ci", "created": True, "scopes": ["deploy", "read"], "grants": []}
    wrong = client.post("/v0/tokens", params={"name": "x", "scopes": "red"})
    assert wrong.json()["problems"][0]["hint"] == "did you mean `read`?"
    assert client.delete("/v0/tokens/ci").status_code == 200
    assert client.delete("/v0/tokens/ci").status_code == 404
    assert client.delete("/v0/tokens/admin").status_code == 409


def test_what_token_lines_grant_is_listed(client: TestClient, pipeline: MemoryPipeline) -> None:
    """Also to a name for which nobody has created a token."""
    pipeline.grants = {"tracker": ("append:flights", "read:top"), "append": ("append:flights",)}
    listed = {each["name"]: each for each in client.get("/v0/tokens").json()["tokens"]}
    assert listed["tracker"] == {
        "name": "tracker",
        "created": False,
        "scopes": [],
        "grants": ["append:flights", "read:top"],
    }
    assert listed["append"]["grants"] == ["append:flights"]
    assert listed["admin"]["grants"] == []


def test_too_many_callers_are_turned_away(
    client: TestClient, host: PipelineHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.serve.http.pipeline_host.MOST_WAITING", 0)
    assert MOST_WAITING > 0
    answer = client.get("/v0/sql?q=SELECT+1")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")


def test_a_call_that_the_stopping_server_gives_up_gets_an_answer(host: PipelineHost, secrets: dict[str, str]) -> None:
    """Its body never comes; Uvicorn cancels what is not done in time."""
    sent: list[Message] = []

    async def receive() -> Message:
        await asyncio.sleep(60)
        raise AssertionError("nobody waits that long")

    async def send(message: Message) -> None:
        sent.append(message)

    async def given_up() -> None:
        asked = f"name=events&token={secrets['admin']}".encode()
        call = {"type": "http", "method": "POST", "path": "/v0/events", "query_string": asked, "headers": []}
        task = asyncio.create_task(create_app(host)(call, receive, send))
        await asyncio.sleep(0.05)
        task.cancel()
        await task

    asyncio.run(given_up())
    assert (sent[0]["status"], b"the server is stopping" in sent[1]["body"]) == (503, True)
