from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from penstock.serve.app import create_app
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.state.database import open_database
from penstock.state.tokens import ApiTokens
from unit.serve.memory import MemoryPipeline


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiTokens]:
    folder: Path = tmp_path_factory.mktemp("state")
    database = open_database(f"sqlite:///{folder / 'state.db'}")
    yield ApiTokens(database)
    database.close()


@pytest.fixture(scope="module")
def secrets(tokens: ApiTokens) -> dict[str, str]:
    return {scope: tokens.create(scope, (scope,)) for scope in ("admin", "deploy", "append", "read")}


@pytest.fixture
def pipeline(tokens: ApiTokens) -> MemoryPipeline:
    return MemoryPipeline(tokens)


@pytest.fixture
def host(pipeline: MemoryPipeline) -> PipelineHost:
    made = PipelineHost()
    made.opened(pipeline)  # type: ignore[arg-type]
    return made


@pytest.fixture
def client(host: PipelineHost, secrets: dict[str, str]) -> Iterator[TestClient]:
    headers = {"Authorization": f"Bearer {secrets['admin']}"}
    with TestClient(create_app(host), headers=headers) as opened:
        yield opened
