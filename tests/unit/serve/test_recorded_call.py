"""Which calls are in the call log, and with what."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from starlette.testclient import TestClient

from unit.serve.memory import MemoryPipeline

COLUMNS = ["pipe", "status", "error_code", "result_rows", "read_rows", "deployment", "token", "parameters"]


@pytest.fixture(autouse=True)
def empty_log(pipeline: MemoryPipeline) -> None:
    pipeline.calls.trim(datetime.now(timezone.utc) + timedelta(days=1))


def recorded(pipeline: MemoryPipeline) -> list[tuple[object, ...]]:
    return pipeline.calls.recent(COLUMNS, 100)


def test_an_endpoint_and_a_query(client: TestClient, pipeline: MemoryPipeline) -> None:
    assert client.get("/v0/pipes/top.json", params={"a": "1", "deployment": "staging"}).status_code == 200
    assert client.post("/v0/pipes/top.csv", json={"a": ["x", "y"]}).status_code == 200
    assert client.post("/v0/sql", content="SELECT 1 AS n").status_code == 200
    assert recorded(pipeline) == [
        ("query_api", 200, None, 1, 3, "live", "admin", {"q": "SELECT 1 AS n"}),
        ("top", 200, None, 1, 3, "live", "admin", {"a": ["x", "y"]}),
        ("top", 200, None, 1, 3, "staging", "admin", {"a": "1"}),
    ]


def test_calls_that_are_refused(client: TestClient, pipeline: MemoryPipeline) -> None:
    narrow = {"Authorization": f"Bearer {pipeline.tokens.create('narrow', ('read:flights',))}"}
    assert client.get("/v0/pipes/top.json", params={"a": "1"}, headers=narrow).status_code == 403
    assert client.get("/v0/pipes/nothing.json").status_code == 404
    assert client.get("/v0/sql", params={"q": "SELECT FROM"}).status_code == 400
    assert recorded(pipeline) == [
        ("query_api", 400, "invalid-query", 0, 0, "live", "admin", {"q": "SELECT FROM"}),
        ("nothing", 404, "not-found", 0, 0, "live", "admin", {}),
        ("top", 403, "forbidden", 0, 0, "", "narrow", {"a": "1"}),
    ]


def test_nobody_without_a_token_fills_the_log(client: TestClient, pipeline: MemoryPipeline) -> None:
    assert client.get("/v0/pipes/top.json", headers={"Authorization": "Bearer p.x"}).status_code == 401
    assert client.get("/v0/tokens").status_code == 200
    assert recorded(pipeline) == []


def test_a_token_in_the_address_is_not_recorded(client: TestClient, pipeline: MemoryPipeline) -> None:
    made = pipeline.tokens.create("reader", ("read",))
    asked = {"token": made, "a": f"Bearer {made}"}
    assert client.get("/v0/pipes/top.json", params=asked, headers={"Authorization": ""}).status_code == 200
    assert recorded(pipeline) == [("top", 200, None, 1, 3, "live", "reader", {"a": "Bearer ***"})]


def test_a_log_that_fails_costs_no_answer(
    client: TestClient, pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(record: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(pipeline.calls, "add", fail)
    assert client.get("/v0/pipes/top.json").status_code == 200


def test_a_call_without_a_format_is_recorded_by_its_name(client: TestClient, pipeline: MemoryPipeline) -> None:
    """And not by an empty one, which would be a row without a name in `penstock.endpoint_stats`."""
    for path in ("/v0/pipes/top", "/v0/pipes/.json"):
        assert client.get(path).status_code == 404
    assert [row[0] for row in recorded(pipeline)] == [".json", "top"]
