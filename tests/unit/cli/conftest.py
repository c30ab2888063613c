"""A real HTTP server over the pipeline in memory, and a project's folder to work in."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from penstock.cli.main import run
from penstock.serve.app import create_app
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.serve.server.admin_token import ensure_admin_token
from penstock.state.database import open_database
from penstock.state.tokens import ApiTokens
from unit.serve.memory import MemoryPipeline

SOURCE = "SCHEMA >\n    a UInt8 `json:$.a`\n"
ENDPOINT = "DESCRIPTION The top\nNODE n\nSQL >\n    SELECT a FROM flights\nTYPE endpoint\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    (folder / "datasources").mkdir(parents=True)
    (folder / "penstock.toml").write_text("")
    (folder / "datasources" / "flights.datasource").write_text(SOURCE)
    (folder / "top.pipe").write_text(ENDPOINT)
    for name in ("PENSTOCK_URL", "PENSTOCK_TOKEN", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(folder / "datasources")
    return folder


@pytest.fixture
def host() -> PipelineHost:
    return PipelineHost()


@pytest.fixture
def pipeline(project: Path, host: PipelineHost) -> Iterator[MemoryPipeline]:
    """Served where the project's folder says it is."""
    home = project / ".penstock"
    home.mkdir()
    database = open_database(f"sqlite:///{home / 'state.db'}")
    made = MemoryPipeline(ApiTokens(database))
    ensure_admin_token(home, made.tokens)
    host.opened(made)  # type: ignore[arg-type]
    server = uvicorn.Server(uvicorn.Config(create_app(host), port=0, log_config=None, lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    record = {"server": {"id": 1, "started": 0.0}, "jvm": None, "url": f"http://127.0.0.1:{port}"}
    (home / "server.json").write_text(json.dumps(record))
    yield made
    server.should_exit = True
    thread.join()
    database.close()


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def penstock(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command: exit code, standard output, standard error."""

    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(arguments)
        return code, *capfd.readouterr()

    return call


@pytest.fixture
def penstock_json(penstock: Run) -> Callable[..., tuple[int, Any]]:
    """Run a command with --output json: exit code and the one document."""

    def call(*arguments: str) -> tuple[int, Any]:
        code, out, err = penstock(*arguments, "--output", "json")
        assert err == ""
        return code, json.loads(out)

    return call
