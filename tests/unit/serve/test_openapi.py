"""The OpenAPI document and the table of calls are the same."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from penstock.deploy.runtime import project_cache
from penstock.model.pipe import Pipe
from penstock.model.project import Project
from penstock.serve.app import CALLS, create_app
from penstock.serve.calls.openapi_schemas import SHAPES
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.template import declared_parameters
from penstock.template.declared_parameters import DeclaredParameter
from unit.serve.test_deployments import deploy


def test_every_call_has_a_shape_and_every_shape_a_call() -> None:
    assert set(SHAPES) == {(method, call.path) for call in CALLS for method in call.methods}


def test_it_is_there_while_the_server_starts_and_needs_no_token() -> None:
    found = TestClient(create_app(PipelineHost())).get("/openapi.json").json()
    assert set(found["paths"]) == {call.path for call in CALLS}
    assert found["paths"]["/health"]["get"]["security"] == []
    assert found["paths"]["/v0/events"]["post"]["security"] != []


def test_the_endpoints_of_live(client: TestClient) -> None:
    assert client.get("/v0/pipes/openapi.json").json()["paths"] == {}
    deploy(client)
    paths = client.get("/v0/pipes/openapi.json").json()["paths"]
    assert sorted(paths) == [f"/v0/pipes/top.{each}" for each in ("arrow", "csv", "json", "ndjson", "parquet")]
    assert client.get("/v0/pipes/openapi.json?deployment=nothing").status_code == 404


def test_templates_are_read_once_for_a_deployment(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def parameters_of(project: Project, pipe: Pipe) -> tuple[DeclaredParameter, ...]:
        read.append(pipe.name)
        return declared_parameters.parameters_of(project, pipe)

    monkeypatch.setattr(project_cache, "parameters_of", parameters_of)
    deploy(client)
    first, second = (client.get("/v0/pipes/openapi.json").json() for _ in range(2))
    assert first == second
    assert read == ["top"]
    deploy(client)
    client.get("/v0/pipes/openapi.json")
    assert read == ["top", "top"], "another deployment may have other files"
