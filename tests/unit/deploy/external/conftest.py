"""A web server, from which files are read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from web_server import WebServer


@pytest.fixture(scope="module")
def web() -> Iterator[WebServer]:
    made = WebServer()
    yield made
    made.close()
