"""`penstock datasource files` and `sync` over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from penstock.deploy.ingest.imports.file_imports import ImportReport
from unit.cli.conftest import Run
from unit.serve.memory import MemoryPipeline

Json = Callable[..., tuple[int, Any]]


def test_files_of_a_data_source_are_listed(pipeline: MemoryPipeline, penstock: Run, penstock_json: Json) -> None:
    status, found = penstock_json("datasource", "files", "visits")
    assert (status, found["state"], found["counts"]) == (0, "idle", {"done": 3, "failed": 1})
    [file] = found["files"]
    assert (file["file"], file["state"], file["successful_rows"]) == ("s3://b/x.csv", "failed", 7)
    status, shown = penstock("datasource", "files", "visits")[:2]
    assert "3 done, 1 failed" in shown
    assert "it cannot be unpacked" in " ".join(shown.split())
    assert penstock("datasource", "files", "visit")[0] != 0


def test_the_status_says_which_imports_wait_and_which_files_cannot_be_read(
    pipeline: MemoryPipeline, penstock: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = {"datasource": "visits", "state": "waiting", "reason": "the bucket `b` cannot be read", "failed": 2}
    found = {
        **pipeline.status(),
        "imports": [waiting, {**waiting, "datasource": "sales", "state": "idle", "failed": 0}],
    }
    monkeypatch.setattr(pipeline, "status", lambda: found)
    shown = " ".join(penstock("status")[1].split())
    assert "the files of `visits` wait: the bucket `b` cannot be read" in shown
    assert "2 files of `visits` cannot be read: `penstock datasource files visits` says why" in shown
    assert "sales" not in shown


def test_a_look_waits_until_it_is_over_and_fails_if_a_file_cannot_be_read(
    pipeline: MemoryPipeline, penstock_json: Json
) -> None:
    status, found = penstock_json("datasource", "sync", "visits", "--retry")
    assert (status, found["looks"]) == (1, 4)
    assert "look for files" in [each.action for each in pipeline.audit.recent(10)]


def test_a_look_is_not_over_while_rows_of_small_files_are_being_stored(
    pipeline: MemoryPipeline, penstock_json: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, found = [{"storing": 2}, {"reading": 1, "done": 2}, {"waiting": 1, "done": 2}], pipeline.imports.files

    def files(name: str, limit: int) -> ImportReport:
        return replace(found(name, limit), counts=left.pop(0) if left else {"done": 3})

    monkeypatch.setattr(pipeline.imports, "files", files)
    status, shown = penstock_json("datasource", "sync", "visits")
    assert (status, shown["counts"], left) == (0, {"done": 3}, [])
