from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unit.cli.conftest import Run
from unit.serve.memory import MemoryPipeline

Json = Callable[..., tuple[int, Any]]
COPY = (
    "NODE n\nSQL >\n    SELECT a FROM flights\nTYPE copy\nTARGET_DATASOURCE kept\n"
    "COPY_SCHEDULE 0 * * * *\nCOPY_MODE append\n"
)


@pytest.fixture
def deployed(project: Path, pipeline: MemoryPipeline, penstock: Run) -> Path:
    (project / "kept.datasource").write_text("SCHEMA >\n    a UInt8 `json:$.a`\n")
    (project / "save.pipe").write_text(COPY)
    (project / "base.pipe").write_text("DESCRIPTION What others read\nNODE n\nSQL >\n    SELECT a FROM flights\n")
    assert penstock("deploy")[0] == 0
    return project


def test_pipes_are_listed_by_kind(deployed: Path, penstock: Run, penstock_json: Json) -> None:
    listed = penstock_json("pipe", "ls")[1]["pipes"]
    assert {each["name"]: each["kind"] for each in listed} == {"base": "pipe", "save": "copy", "top": "endpoint"}
    assert [each["name"] for each in penstock_json("pipe", "ls", "--kind", "copy")[1]["pipes"]] == ["save"]
    assert [each["name"] for each in penstock_json("endpoint", "ls")[1]["pipes"]] == ["top"]
    assert "What others read" in penstock("pipe", "ls")[1]
    assert penstock("pipe", "ls", "--kind", "odd")[0] == 2


def test_copies_are_listed_with_their_latest_job(
    deployed: Path, pipeline: MemoryPipeline, penstock: Run, penstock_json: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    (copy,) = penstock_json("copy", "ls")[1]["copies"]
    assert (copy["name"], copy["target"], copy["schedule"], copy["mode"]) == ("save", "kept", "0 * * * *", "append")
    assert copy["job"] is None
    assert "0 * * * *" in penstock("copy", "ls")[1]
    monkeypatch.setattr(
        "penstock.serve.calls.jobs.job_to_json",
        lambda job: {"id": job, "pipe": "save", "status": "done", "created_at": "2026-11-23T01:02:03.4+00:00"},
    )
    monkeypatch.setattr(pipeline, "recent_jobs", lambda _: [9, 8])
    monkeypatch.setattr(pipeline.jobs, "recent", lambda _: [9, 8])
    assert penstock_json("copy", "ls")[1]["copies"][0]["job"]["id"] == 9
    assert "9: done, 2026-11-23T01:02:03" in penstock("copy", "ls")[1]
    monkeypatch.setenv("PENSTOCK_TOKEN", pipeline.tokens.create("reader", ("read",)))
    assert penstock_json("copy", "ls")[1]["copies"][0]["job"] is None
