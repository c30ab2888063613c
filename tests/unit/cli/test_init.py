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


def test_a_folder_with_other_files_becomes_a_project(penstock: Run, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    (tmp_path / ".gitignore").write_text("node_modules")
    code, out, _ = penstock("init", str(tmp_path))
    assert (code, "penstock up" in out) == (0, True)
    assert (tmp_path / "README.md").read_text() == "mine"
    assert (tmp_path / ".gitignore").read_text() == "node_modules\n.penstock/\n"
    assert load_folder(tmp_path).project.datasources


@pytest.mark.parametrize("ignored", [None, ".penstock\n", "a\n/.penstock/\nb"])
def test_a_folder_of_datafiles_gets_only_what_makes_it_a_project(
    penstock: Run, tmp_path: Path, ignored: str | None
) -> None:
    (tmp_path / "datasources").mkdir()
    (tmp_path / "datasources" / "a.datasource").write_text("SCHEMA >\n    a Int8\n")
    if ignored is not None:
        (tmp_path / ".gitignore").write_text(ignored)
    code, out, _ = penstock("init", str(tmp_path), "--output", "json")
    assert (code, json.loads(out)["example"]) == (0, None)
    assert json.loads(out)["files"] == (["penstock.toml"] if ignored else [".gitignore", "penstock.toml"])
    assert sorted(path.name for path in tmp_path.iterdir()) == [".gitignore", "datasources", "penstock.toml"]
    assert (tmp_path / ".gitignore").read_text() == (ignored or ".penstock/\n")
    assert load_folder(tmp_path).problems == ()


def test_an_example_is_not_put_among_datafiles(penstock: Run, tmp_path: Path) -> None:
    (tmp_path / "a.datasource").write_text("SCHEMA >\n    a Int8\n")
    code, _, err = penstock("init", str(tmp_path), "--example", "flights")
    assert (code, "has files of a project already" in err) == (1, True)


def test_up_in_a_folder_of_datafiles_names_the_command(
    penstock: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pipes").mkdir()
    (tmp_path / "pipes" / "a.pipe").write_text("NODE a\nSQL SELECT 1\n")
    monkeypatch.chdir(tmp_path)
    for words in (("up",), ("deploy",)):
        code, _, err = penstock(*words)
        assert code == 2
        assert "files of a project, but no penstock.toml" in err
        assert "`penstock init` adds what makes it a project" in err
    assert not (tmp_path / "penstock.toml").exists()


@pytest.mark.parametrize("path", ["main.py", "pipeline/tables.py"])
def test_python_that_is_no_part_of_a_project_is_not_hidden_by_an_example(
    penstock: Run, tmp_path: Path, path: str
) -> None:
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text("from penstock import OlapTable\n")
    code, out, _ = penstock("init", str(tmp_path))
    assert (code, f"{path} imports penstock" in out, "[python] module" in out) == (0, True, True)
    assert {found.name for found in tmp_path.iterdir()} == {".gitignore", "penstock.toml", Path(path).parts[0]}
