"""A store as the server has it: every test runs on SQLite and on a real Postgres."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.state.database import Database, open_database
from postgres_server import Postgres, start_or_skip


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    server = start_or_skip()
    yield server
    server.end()


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store that does not exist yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'state.db'}"
    return request.getfixturevalue("postgres").store()


@pytest.fixture
def database(store_url: str) -> Iterator[Database]:
    opened = open_database(store_url)
    yield opened
    opened.close()
