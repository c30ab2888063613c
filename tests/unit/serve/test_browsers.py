"""Scripts of pages that the server's settings name may read its answers in a browser, and those of others may not."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from penstock.errors import Problem
from penstock.parse.settings import parse_settings
from penstock.serve.app import create_app
from penstock.serve.http.pipeline_host import PipelineHost

APP = "https://app.example.org"
PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}


def browser(host: PipelineHost, *origins: str) -> TestClient:
    host.allowed_origins = origins
    return TestClient(create_app(host))


def test_a_page_that_the_settings_name_may_call(host: PipelineHost, secrets: dict[str, str]) -> None:
    one = browser(host, APP)
    asked = one.options("/v0/pipes/top.json", headers={"Origin": APP, **PREFLIGHT})
    assert (asked.status_code, asked.headers["access-control-allow-origin"]) == (200, APP)
    assert "authorization" in asked.headers["access-control-allow-headers"].lower()
    assert "access-control-allow-credentials" not in asked.headers
    answer = one.get("/v0/pipes/top.json", headers={"Origin": APP, "Authorization": f"Bearer {secrets['admin']}"})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, APP)
    assert "Retry-After" in answer.headers["access-control-expose-headers"]


@pytest.mark.parametrize("path", ["/v0/pipes/top.json", "/nowhere"])
def test_it_may_read_errors_too(host: PipelineHost, path: str) -> None:
    refused = browser(host, APP).get(path, headers={"Origin": APP})
    assert refused.status_code in (401, 404)
    assert refused.headers["access-control-allow-origin"] == APP
    assert refused.headers["x-request-id"] == refused.json()["request_id"]


@pytest.mark.parametrize("origins", [(), (APP,)])
def test_another_page_may_not(host: PipelineHost, secrets: dict[str, str], origins: tuple[str, ...]) -> None:
    one, other = browser(host, *origins), {"Origin": "https://other.example.org"}
    assert one.options("/v0/pipes/top.json", headers={**other, **PREFLIGHT}).status_code in (400, 405)
    for headers in (other, {**other, "Authorization": f"Bearer {secrets['admin']}"}):
        assert "access-control-allow-origin" not in one.get("/v0/pipes/top.json", headers=headers).headers


def test_a_star_allows_every_page(host: PipelineHost) -> None:
    answer = browser(host, "*").get("/health/live", headers={"Origin": "null"})
    assert answer.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize(
    "value", ['["https://app.example.org/"]', '["app.example.org"]', '"*"', '["https://*.example.org"]']
)
def test_what_is_no_origin_is_a_problem(value: str) -> None:
    problems: list[Problem] = []
    parse_settings(f"[server]\nallowed_origins = {value}\n", "penstock.toml", problems)
    assert len(problems) == 1
    good: list[Problem] = []
    found = parse_settings('[server]\nallowed_origins = ["http://localhost:3000", "*"]\n', "penstock.toml", good)
    assert (found.server.allowed_origins, good) == (("http://localhost:3000", "*"), [])
