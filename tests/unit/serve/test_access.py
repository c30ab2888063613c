"""What each kind of token may do, see and be told."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from penstock.deploy.queries.service_sources import SERVICE_SOURCES
from penstock.errors import InvalidRequest
from penstock.model.service_sources import NEVER_FILLED
from penstock.serve.app import CALLS, create_app
from penstock.serve.http.access import parse_scopes
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.state.tokens import ApiToken, ApiTokens
from unit.serve.memory import MemoryPipeline
from unit.serve.test_deployments import deploy

ROWS = b'{"a": 1}\n'


def of(host: PipelineHost, tokens: ApiTokens, *scopes: str) -> TestClient:
    name = "of-" + "-".join(scopes).replace(":", ".")
    if any(token.name == name for token in tokens.list()):
        tokens.remove(name)
    return TestClient(create_app(host), headers={"Authorization": f"Bearer {tokens.create(name, scopes)}"})


def test_append_is_per_data_source(host: PipelineHost, tokens: ApiTokens, pipeline: MemoryPipeline) -> None:
    pipeline.rows["planes"] = []
    one = of(host, tokens, "append:flights")
    assert one.post("/v0/events?name=flights", content=ROWS).status_code == 202
    refused = one.post("/v0/events?name=planes", content=ROWS)
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert one.post("/v0/events", content=ROWS).status_code == 403
    assert one.post("/v0/events?name=flights&name=planes", content=ROWS).status_code == 403
    assert of(host, tokens, "append").post("/v0/events?name=planes", content=ROWS).status_code == 202
    assert len(pipeline.rows["planes"]) == 1


def test_read_is_per_pipe(host: PipelineHost, tokens: ApiTokens) -> None:
    one = of(host, tokens, "read:top")
    assert one.get("/v0/pipes/top.json").status_code == 200
    assert one.get("/v0/pipes/other.json").status_code == 403
    assert one.get("/v0/pipes/top.x.json").status_code == 403
    assert one.get("/v0/pipes/top").status_code == 404
    assert one.get("/v0/pipes/other").status_code == 403
    assert one.get("/v0/sql?q=SELECT+1").status_code == 200
    assert one.get("/v0/sql?q=SELECT+1+FROM+flights").status_code == 403
    for path in ("/metrics", "/v0/status", "/v1/deployments", "/v0/tokens"):
        assert one.get(path).status_code == 403, path
    assert one.post("/v0/events?name=top", content=ROWS).status_code == 403


@pytest.mark.parametrize(
    ("name", "scopes"),
    [
        ("audit_log", ("admin",)),
        ("jobs_log", ("admin", "read,deploy")),
        ("deployments_log", ("admin", "read,deploy")),
        ("datasources_ops_log", ("admin", "read,deploy", "read")),
    ],
)
def test_records_of_the_server_need_the_scope_of_the_call_that_shows_them(
    host: PipelineHost, tokens: ApiTokens, name: str, scopes: tuple[str, ...]
) -> None:
    """The audit log is for the admin by `GET /v0/audit`, so also by SQL."""
    kinds = ("admin", "read,deploy", "read", "read:flights", f"read:penstock__{name}", "declared")
    allowed = {
        kind: of(host, tokens, *kind.split(",")).get(f"/v0/sql?q=SELECT+1+FROM+penstock__{name}").status_code != 403
        for kind in kinds
    }
    assert {kind for kind, may in allowed.items() if may} == {*scopes, f"read:penstock__{name}"}


def test_every_record_of_the_server_is_in_the_page() -> None:
    docs = Path(__file__).parents[3] / "docs"
    security, operations = ((docs / f"{name}.md").read_text("utf-8") for name in ("security", "operations"))
    for source in SERVICE_SOURCES.values():
        assert f"| `penstock.{source.name}` | `{source.scope}` | " in security
        if source.name not in NEVER_FILLED:
            shown = f"| `{source.name}` | "
            row = operations[operations.index(shown) :].split("\n")[0]
            assert all(column in row for column, _ in source.columns), row


def test_a_declared_token_may_what_the_live_version_says(
    host: PipelineHost, tokens: ApiTokens, pipeline: MemoryPipeline
) -> None:
    declared, plain = of(host, tokens, "declared"), of(host, tokens, "read:other")
    assert declared.get("/v0/pipes/top.json").status_code == 403
    assert declared.post("/v0/events?name=flights", content=ROWS).status_code == 403
    pipeline.grants = {"of-declared": ("read:top", "append:flights"), "of-read.other": ("read:top",)}
    assert declared.get("/v0/pipes/top.json").status_code == 200
    assert declared.get("/v0/pipes/other.json").status_code == 403
    assert declared.post("/v0/events?name=flights", content=ROWS).status_code == 202
    assert plain.get("/v0/pipes/top.json").status_code == 403, "a token that was not made so gains nothing"
    pipeline.grants = {}
    assert declared.get("/v0/pipes/top.json").status_code == 403


def test_listings_show_what_may_be_read(client: TestClient, host: PipelineHost, tokens: ApiTokens) -> None:
    deploy(client)
    one, pipe = of(host, tokens, "read:flights"), of(host, tokens, "read:top")
    assert [each["name"] for each in one.get("/v0/datasources").json()["datasources"]] == ["flights"]
    assert one.get("/v0/pipes").json() == {"pipes": []}
    assert pipe.get("/v0/datasources").json() == {"datasources": []}
    assert [each["name"] for each in pipe.get("/v0/pipes").json()["pipes"]] == ["top"]
    assert one.get("/v0/datasources/flights").status_code == 200
    assert pipe.get("/v0/datasources/flights").status_code == 403
    assert list(one.get("/v0/pipes/openapi.json").json()["paths"]) == []
    assert "/v0/pipes/top.json" in pipe.get("/v0/pipes/openapi.json").json()["paths"]


def test_hints_do_not_name_what_may_not_be_read(host: PipelineHost, tokens: ApiTokens) -> None:
    known = of(host, tokens, "read").get("/v0/pipes/topp.json").json()
    assert known["problems"][0]["hint"] == "did you mean `top`?"
    hidden = of(host, tokens, "read:topp").get("/v0/pipes/topp.json").json()
    assert hidden["problems"][0]["hint"] is None
    assert "top`" not in str(hidden)


def test_scopes_are_checked_for_form() -> None:
    assert parse_scopes("read:top, append:events,read:top") == ("read:top", "append:events")
    for text, code in [
        ("red", "unknown-scope"),
        ("deploy:x", "invalid-scope"),
        ("admin:", "invalid-scope"),
        ("read:", "invalid-scope"),
        ("read:a b", "invalid-scope"),
        ("append:../x", "invalid-scope"),
        ("read:*", "invalid-scope"),
    ]:
        with pytest.raises(InvalidRequest) as caught:
            parse_scopes(text)
        assert [problem.code for problem in caught.value.problems] == [code], text
    with pytest.raises(InvalidRequest):
        parse_scopes(" , ")


def test_what_a_token_allows() -> None:
    one = ApiToken("t", ("read:a", "append"))
    assert one.allows("read", "a")
    assert not one.allows("read", "ab")
    assert not one.allows("read")
    assert one.allows("append", "anything")
    assert one.allows_any("read")
    assert not one.allows_any("deploy")
    assert ApiToken("t", ("admin",)).allows("read", "x")


@pytest.mark.parametrize("name", ["", "a b", "a/b", "x" * 101, "\0", "é"])
def test_names_of_tokens_can_stand_in_an_address(client: TestClient, name: str) -> None:
    assert client.post("/v0/tokens", json={"name": name, "scopes": "read"}).status_code == 400


def test_which_calls_need_no_token_and_which_ask_for_each_name() -> None:
    assert {call.path for call in CALLS if call.scope is None} == {
        "/health",
        "/health/live",
        "/health/ready",
        "/openapi.json",
        "/",
        "/page/{file}",
    }
    assert [call.path for call in CALLS if call.name is None] == [
        "/v0/datasources",
        "/v0/pipes",
        "/v0/pipes/openapi.json",
        "/v0/sql",
        "/iceberg/v1/config",
        *(
            f"/iceberg/v1{prefix}/namespaces{path}"
            for prefix in ("", "/{warehouse}")
            for path in ("", "/{ref}", "/{ref}/tables")
        ),
    ]
