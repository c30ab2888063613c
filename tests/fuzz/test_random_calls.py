"""Random calls of a whole server (schemathesis): no status 500, no hang, every error in its documented form, and the
rows of live stay.

PENSTOCK_FUZZ_EXAMPLES: how many requests each call gets (8 unless set).
"""

from __future__ import annotations

import os
import time

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance
from starlette.testclient import TestClient

from fuzz.application import HOST
from penstock.deploy.pipeline import Pipeline
from penstock.serve.app import create_app
from penstock.serve.http.pipeline_host import PipelineHost

schemathesis.serializer.alias("application/x-ndjson", "text/plain")
EXAMPLES = int(os.environ.get("PENSTOCK_FUZZ_EXAMPLES", "8"))
LONGEST_SECONDS = 20.0
SCHEMA = schemathesis.openapi.from_asgi("/openapi.json", create_app(HOST)).exclude(path="/v0/backups")
"""Without backups: their folder may be anywhere on this machine."""
CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance]
SECRETS: dict[str, str] = {}


@pytest.fixture
def admin(host: PipelineHost, pipeline: Pipeline) -> dict[str, str]:
    if "admin" not in SECRETS:
        SECRETS["admin"] = pipeline.tokens.create("fuzz", ("admin",))
    return {"Authorization": f"Bearer {SECRETS['admin']}"}


@SCHEMA.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_call(case: schemathesis.Case, admin: dict[str, str]) -> None:
    began = time.monotonic()
    case.call_and_validate(headers=admin, checks=CHECKS)
    assert time.monotonic() - began < LONGEST_SECONDS


def test_the_server_is_still_right(host: PipelineHost, admin: dict[str, str]) -> None:
    client = TestClient(create_app(host), headers=admin)
    assert client.get("/v0/pipes/top.json").json()["data"][0]["worst"] in (1, 2)
    assert client.post("/v0/events?name=flights&wait=true", content=b'{"carrier": "DL", "delay": 9}').status_code == 200
    query = "SELECT count() AS n FROM flights WHERE carrier = 'DL'"
    assert client.post("/v0/sql", content=query).json()["data"] == [{"n": 1}]


@pytest.mark.parametrize("ref", ["³", "٣", "9" * 30, "9" * 5000, "-1", "1e3"])
def test_an_unknown_deployment_is_not_found(host: PipelineHost, admin: dict[str, str], ref: str) -> None:
    client = TestClient(create_app(host), headers=admin)
    assert client.get("/v0/sql", params={"q": "SELECT 1", "deployment": ref}).status_code == 404
    assert client.get(f"/v1/deployments/{ref}").status_code == 404
