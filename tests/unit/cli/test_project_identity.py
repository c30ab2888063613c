"""A command in the folder of one project does not talk to the server of another by mistake."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from penstock.model.servers.identity import ServerIdentity
from penstock.serve.http.pipeline_host import PipelineHost
from unit.cli.conftest import Run
from unit.serve.memory import MemoryPipeline

THIS, OTHER = socket.gethostname(), "another-machine"


@pytest.fixture
def wrong_folder(project: Path, pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A second project, whose settings name the address at which the first one's server listens."""
    url = json.loads((project / ".penstock" / "server.json").read_text())["url"]
    folder = project.parent / "wrong"
    folder.mkdir()
    (folder / "penstock.toml").write_text(f"[server]\nport = {url.rpartition(':')[2]}\n")
    monkeypatch.setenv("PENSTOCK_TOKEN", (project / ".penstock" / "admin_token").read_text().strip())
    return folder


def test_the_wrong_folder_is_refused(
    penstock: Run, host: PipelineHost, project: Path, pipeline: MemoryPipeline, wrong_folder: Path
) -> None:
    host.identity = ServerIdentity.of(project, THIS, (7, 1.0))
    for command in (("deploy",), ("deployment", "discard"), ("sql", "SELECT 1")):
        code, _, err = penstock(*command, "--project", str(wrong_folder))
        assert (code, "belongs to another project" in err, "--url http://" in err) == (1, True, True)
    assert pipeline.list_deployments() == ()
    url = f"http://127.0.0.1:{(wrong_folder / 'penstock.toml').read_text().split()[-1]}"
    assert penstock("sql", "SELECT 1", "--project", str(wrong_folder), "--url", url)[0] == 0
    assert penstock("sql", "SELECT 1", "--project", str(project))[0] == 0


def test_what_cannot_be_known_is_not_refused(penstock: Run, host: PipelineHost, wrong_folder: Path) -> None:
    assert penstock("sql", "SELECT 1", "--project", str(wrong_folder))[0] == 0
    host.identity = ServerIdentity.of(Path("/app"), OTHER, (7, 1.0))
    assert penstock("sql", "SELECT 1", "--project", str(wrong_folder))[0] == 0


def test_the_server_that_the_folder_recorded_is_its_own_wherever_it_was_started(
    penstock: Run, host: PipelineHost, project: Path, pipeline: MemoryPipeline
) -> None:
    record = json.loads((project / ".penstock" / "server.json").read_text())["server"]
    host.identity = ServerIdentity.of(Path("/elsewhere"), THIS, (record["id"], record["started"]))
    assert penstock("sql", "SELECT 1")[0] == 0
    host.identity = ServerIdentity.of(Path("/elsewhere"), THIS, (record["id"] + 1, record["started"]))
    assert penstock("sql", "SELECT 1")[0] == 1
