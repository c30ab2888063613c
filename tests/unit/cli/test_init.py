from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.parse.project_loader import load_folder
from unit.cli.conftest import Run


@pytest.mark.parametrize("example", [(), ("--example", "flights"), ("--example", "web-analytics")])
def test_a_new_project_has_no_problems(penstock: Run, tmp_path: Path, example: tuple[str, ...]) -> None:
    folder = tmp_path / "a" / "b"
    code, out, _ = penstock("init", str(folder), *example)
    assert (code, "penstock up" in out) == (0, True)
    assert load_folder(folder).problems == ()
    assert (folder / ".gitignore").read_text() == ".penstock/\n"


def test_nothing_is_written_over(penstock: Run, tmp_path: Path) -> None:
    (tmp_path / "penstock.toml").write_text("mine")
    (tmp_path / ".gitignore").write_text("mine")
    code, _, err = penstock("init", str(tmp_path))
    assert (code, "penstock.toml exists already" in err) == (1, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".gitignore", "penstock.toml"]


def test_the_nearest_example_is_named(penstock: Run, tmp_path: Path) -> None:
    code, out, err = penstock("init", str(tmp_path / "x"), "--example", "fligts", "--output", "json")
    assert (code, err) == (1, "")
    assert json.loads(out)["problems"][0]["hint"] == "did you mean `flights`?"
    assert not (tmp_path / "x").exists()


def test_a_folder_that_cannot_be_written_is_said(penstock: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, _, err = penstock("init", str(tmp_path / "file"))
    assert (code, "Traceback" in err) == (1, False)
