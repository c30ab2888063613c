from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unit.cli.conftest import Run
from unit.serve.memory import MemoryPipeline

Json = Callable[..., tuple[int, Any]]
ODD = b"\xef\xbb\xbfNODE n\r\nSQL >\r\n\tSELECT 'h\xc3\xa9' AS a, 1 AS b  \r\n\r\nTYPE endpoint"


@pytest.fixture
def deployed(project: Path, pipeline: MemoryPipeline, penstock: Run) -> Path:
    (project / "deep" / "er").mkdir(parents=True)
    (project / "deep" / "er" / "odd.pipe").write_bytes(ODD)
    assert penstock("deploy")[0] == 0
    return project


def read_all(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".penstock" not in path.parts
    }


def test_files_come_back_byte_for_byte(deployed: Path, tmp_path: Path, penstock: Run) -> None:
    code, out, _ = penstock("pull", str(tmp_path / "copy"))
    assert (code, "4 files written into" in out) == (0, True)
    assert read_all(tmp_path / "copy") == read_all(deployed)
    code, out, _ = penstock("pull", str(tmp_path / "copy"))
    assert (code, "0 files written" in out, "4 the same" in out) == (0, True, True)


def test_a_changed_file_is_not_overwritten_without_the_flag(deployed: Path, penstock: Run) -> None:
    (deployed / "top.pipe").write_text("# mine\n")
    (deployed / "deep" / "er" / "odd.pipe").unlink()
    before = read_all(deployed)
    code, out, err = penstock("pull")
    assert (code, out) == (1, "")
    assert "1 file in" in err
    assert "top.pipe:1:1" in err
    assert "--overwrite" in err
    assert read_all(deployed) == before
    code, out, _ = penstock("pull", "--overwrite")
    assert (code, "changed: top.pipe" in out, "new: deep/er/odd.pipe" in out) == (0, True, True)
    assert b"# mine" not in (deployed / "top.pipe").read_bytes()


def test_files_that_the_version_does_not_have_stay(deployed: Path, penstock: Run) -> None:
    (deployed / "mine.pipe").write_text("# mine\n")
    code, out, _ = penstock("pull")
    assert (code, "only here: mine.pipe" in out) == (0, True)
    assert (deployed / "mine.pipe").exists()


def test_a_check_says_whether_the_folder_is_what_is_live(deployed: Path, penstock: Run, penstock_json: Json) -> None:
    assert penstock("pull", "--check")[0] == 0
    (deployed / "top.pipe").unlink()
    (deployed / "mine.pipe").write_text("# mine\n")
    code, out, _ = penstock("pull", "--check")
    assert (code, "new: top.pipe" in out, "would be written" in out) == (1, True, True)
    assert not (deployed / "top.pipe").exists()
    code, document = penstock_json("pull", "--check")
    assert (code, document["new"], document["extra"], document["deployment"]) == (1, ["top.pipe"], ["mine.pipe"], 1)


def test_settings_with_a_password_are_for_the_admin(
    project: Path, pipeline: MemoryPipeline, penstock: Run, penstock_json: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "penstock.toml").write_text('[state]\nurl = "postgresql://me:hush-hush@db/penstock"\n')
    assert penstock("deploy")[0] == 0
    assert penstock_json("pull")[1]["withheld"] == []
    monkeypatch.setenv("PENSTOCK_TOKEN", pipeline.tokens.create("ci", ("deploy",)))
    code, document = penstock_json("pull", "--check")
    assert (code, document["withheld"], document["same"]) == (
        0, ["penstock.toml"], ["datasources/flights.datasource", "top.pipe"]
    )  # fmt: skip
    assert "withheld" in penstock("pull", "--check")[1]


def test_nothing_is_written_outside_the_folder(
    project: Path, pipeline: MemoryPipeline, penstock: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = {
        "../out.pipe": "x",
        "/abs.pipe": "x",
        ".git/hooks/x.pipe": "x",
        "README.md": "x",
        "link/x.pipe": "x",
        "ok.pipe": "x",
    }
    answer = {"id": 1, "name": "", "state": "live", "files": sent, "withheld": []}
    monkeypatch.setattr("penstock.cli.client.ServerClient.get", lambda *_: answer)
    (tmp_path / "copy").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "copy" / "link").symlink_to(tmp_path / "elsewhere")
    assert penstock("pull", str(tmp_path / "copy"))[0] == 0
    assert read_all(tmp_path / "copy") == {"ok.pipe": b"x"}
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_no_version_is_an_error(project: Path, pipeline: MemoryPipeline, penstock: Run) -> None:
    assert penstock("pull")[0] == 1
    assert json.loads(penstock("pull", "--deployment", "77", "--output", "json")[1])["code"] == "not-found"
