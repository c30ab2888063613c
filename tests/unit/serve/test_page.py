"""The page for people is whole, needs no token, loads nothing from elsewhere and cannot be framed."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from penstock.serve.app import create_app
from penstock.serve.calls.page import FOLDER, MEDIA_TYPES
from penstock.serve.http.pipeline_host import PipelineHost


@pytest.fixture
def anyone() -> TestClient:
    """Somebody without a token, while the server starts."""
    return TestClient(create_app(PipelineHost()))


def test_the_page_and_all_that_it_loads_are_there(anyone: TestClient) -> None:
    page = anyone.get("/")
    loaded = re.findall(r'(?:src|href)="(?!data:)([^"]+)"', page.text)
    assert loaded == ["page/page.css", "page/page.js", "openapi.json"]
    for path in loaded:
        assert anyone.get(f"/{path}").status_code == 200
    assert sorted(MEDIA_TYPES) == sorted(each.name for each in FOLDER.iterdir())


@pytest.mark.parametrize("path", ["/", "/page/page.js", "/page/page.css"])
def test_no_other_site_has_a_part_in_it(anyone: TestClient, path: str) -> None:
    headers = anyone.get(path).headers
    policy = headers["content-security-policy"].split("; ")
    assert {"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "form-action 'none'"} <= set(policy)
    assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")


@pytest.mark.parametrize("name", ["page.py", "..%2Fapp.py", "%2e%2e", "index.htm"])
def test_only_its_own_files_are_given(anyone: TestClient, name: str) -> None:
    assert anyone.get(f"/page/{name}").status_code == 404


def test_texts_are_never_read_as_html() -> None:
    """A row or a description may hold anything."""
    script = (FOLDER / "page.js").read_text(encoding="utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", script)
