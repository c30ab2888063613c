from __future__ import annotations

import json
from pathlib import Path

import pytest

from unit.cli.conftest import Run

PIPE = "node  n\nSQL >\n  SELECT a FROM flights # kept?\nTYPE endpoint"
LAID_OUT = "NODE n\nSQL >\n    SELECT a FROM flights # kept?\n\nTYPE endpoint\n"


@pytest.fixture
def messy(project: Path) -> Path:
    (project / "messy.pipe").write_text(PIPE)
    (project / "top.pipe").unlink()
    (project / "messy.pipe").chmod(0o640)
    return project / "messy.pipe"


def test_files_are_laid_out_once(penstock: Run, messy: Path) -> None:
    assert penstock("fmt") == (0, "messy.pipe\n1 of 2 files changed\n", "")
    assert messy.read_text() == LAID_OUT
    assert messy.stat().st_mode & 0o777 == 0o640
    assert penstock("fmt", str(messy.parent)) == (0, "0 of 2 files changed\n", "")


def test_a_check_writes_nothing_and_is_1(penstock: Run, messy: Path) -> None:
    assert penstock("fmt", "--check") == (1, "messy.pipe\n1 of 2 files would change\n", "")
    assert messy.read_text() == PIPE
    code, out, _ = penstock("fmt", "--check", "--output", "json")
    assert (code, json.loads(out)) == (1, {"changed": ["messy.pipe"], "files": 2, "problems": []})
    penstock("fmt", str(messy))
    assert penstock("fmt", "--check")[0] == 0
    assert sorted(path.name for path in messy.parent.iterdir() if path.is_file()) == ["messy.pipe", "penstock.toml"]


def test_a_file_with_errors_stays_and_the_others_are_laid_out(penstock: Run, messy: Path) -> None:
    wrong = messy.parent / "wrong.datasource"
    wrong.write_text("schema >\n  a UInt7\n")
    (messy.parent / "bytes.pipe").write_bytes(b"\xff")
    code, out, err = penstock("fmt")
    assert (code, "messy.pipe" in out) == (1, True)
    assert "wrong.datasource:2:5: unknown type `UInt7`" in err
    assert "bytes.pipe:1:1" in err
    assert wrong.read_text() == "schema >\n  a UInt7\n"
    assert messy.read_text() == LAID_OUT


def test_windows_ends_are_a_difference(penstock: Run, messy: Path) -> None:
    messy.write_bytes(LAID_OUT.replace("\n", "\r\n").encode())
    assert penstock("fmt")[0] == 0
    assert messy.read_bytes() == LAID_OUT.encode()


def test_what_is_no_datafile_is_refused(penstock: Run, messy: Path) -> None:
    assert "there is no folder or datafile" in penstock("fmt", "nowhere")[2]
    assert penstock("fmt", str(messy.parent / "penstock.toml"))[0] == 1
