"""A real Postgres with logical replication, as the source of schema changes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.postgres.catalog.source_connection import SourceConnection, open_source
from postgres_server import Postgres, start_or_skip


@pytest.fixture(scope="session")
def source() -> Iterator[Postgres]:
    server = start_or_skip()
    yield server
    server.end()


@pytest.fixture
def connection(source: Postgres) -> Iterator[SourceConnection]:
    opened = open_source(source.url())
    yield opened
    opened.close()
