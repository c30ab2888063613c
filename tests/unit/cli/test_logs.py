from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.commands.server import logs
from penstock.serve.http.pipeline_host import PipelineHost
from unit.cli.conftest import Run
from unit.serve.memory import MemoryPipeline

ANSWERS = [
    {"lines": ["a", "b\x1b[2J"], "position": "1-2"},
    {"lines": ["c"], "position": "1-3"},
    {"lines": [], "position": "1-3"},
    {"lines": ["d"], "position": "1-4"},
]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """What the server is asked; it is interrupted after its last answer."""
    calls: list[dict[str, str]] = []

    def get(_: object, path: str, parameters: dict[str, str]) -> dict[str, Any]:
        assert path == "/v0/logs"
        if len(calls) == len(ANSWERS):
            raise KeyboardInterrupt
        calls.append(parameters)
        return ANSWERS[len(calls) - 1]

    monkeypatch.setattr("penstock.cli.client.ServerClient.get", get)
    monkeypatch.setattr(logs, "PAUSE", 0.0)
    return calls


def test_the_latest_lines(penstock: Run, project: Path, asked: list[dict[str, str]]) -> None:
    assert penstock("logs", "--lines", "7", "--level", "error") == (0, "a\nb\\x1b[2J\n", "")
    assert asked == [{"lines": "7", "level": "error"}]
    assert json.loads(penstock("logs", "--output", "json")[1])["lines"] == ["c"]


def test_new_lines_follow_until_it_is_interrupted(penstock: Run, project: Path, asked: list[dict[str, str]]) -> None:
    code, out, _ = penstock("logs", "--follow")
    assert (code, out.splitlines()) == (130, ["a", "b\\x1b[2J", "c", "d"])
    assert [each.get("after") for each in asked] == [None, "1-2", "1-3", "1-3"]


def test_without_a_server_the_projects_own_log_is_read(penstock: Run, project: Path) -> None:
    assert penstock("logs", "--url", "http://127.0.0.1:9")[0] == 3
    (project / ".penstock").mkdir()
    (project / ".penstock" / "server.log").write_text("one\ntwo\nthree\n")
    code, out, err = penstock("logs", "--lines", "2", "--url", "http://127.0.0.1:9")
    assert (code, out) == (0, "two\nthree\n")
    assert "no server answers" in err


def test_while_the_server_starts_its_log_is_read_from_the_folder(
    penstock: Run, project: Path, pipeline: MemoryPipeline, host: PipelineHost
) -> None:
    host.stop()
    (project / ".penstock" / "server.log").write_text("Spark started\n")
    code, out, err = penstock("logs")
    assert (code, out) == (0, "Spark started\n")
    assert "the server is not ready" in err


def test_what_has_no_end_is_no_document(penstock: Run, project: Path) -> None:
    assert penstock("logs", "--follow", "--output", "json")[0] == 2
