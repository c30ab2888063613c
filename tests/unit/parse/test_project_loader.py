"""Folders and uploads to projects: which files count, and that both give the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.errors import NotFound
from penstock.parse.project_files import MOST_BYTES
from penstock.parse.project_loader import load_files, load_folder

EVENTS = "SCHEMA >\n    a Int8\n"
PIPE = "NODE n\nSQL >\n    SELECT a FROM events\nTYPE materialized\nDATASOURCE copy\n"
FILES = {
    "datasources/events.datasource": EVENTS,
    "copy.datasource": EVENTS,
    "pipes/deep/down/move.pipe": PIPE,
    "penstock.toml": 'dialect = "spark"\n',
}
OTHERS = {
    ".penstock/old.pipe": "nonsense",
    ".venv/x/y.pipe": "nonsense",
    "node_modules/z.datasource": "nonsense",
    "fixtures/events.ndjson": "{}",
    "deeper/penstock.toml": "nonsense",
    "datasources/.hidden.pipe": "nonsense",
    "README.md": "nonsense",
}


def write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def test_folder_and_upload_are_the_same(tmp_path: Path) -> None:
    write(tmp_path, FILES | OTHERS)
    loaded = load_folder(tmp_path)
    assert loaded == load_files(FILES | OTHERS)
    assert loaded.problems == ()
    assert loaded.files == FILES
    assert loaded.project.names == ("copy", "events", "move")
    assert [pipe.dialect for pipe in loaded.project.pipes] == ["spark"]


def test_paths_of_other_systems() -> None:
    assert list(load_files({"a\\b\\events.datasource": EVENTS}).files) == ["a/b/events.datasource"]


def test_project_does_not_depend_on_folders() -> None:
    moved = {path.rpartition("/")[2]: text for path, text in FILES.items()}
    assert load_files(moved).project == load_files(FILES).project


def test_a_file_that_is_known_is_not_read_again(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    before = load_folder(tmp_path)
    write(tmp_path, {"copy.datasource": "SCHEMA >\n    a Int16\n"})
    after = load_folder(tmp_path, before)
    assert after == load_folder(tmp_path)
    assert after.project.datasource("events") is before.project.datasource("events")
    assert after.project.pipe("move") is before.project.pipe("move")
    assert after.project.datasource("copy") != before.project.datasource("copy")


def test_a_file_that_moved_has_its_new_place(tmp_path: Path) -> None:
    write(tmp_path / "old", {"a/events.datasource": EVENTS})
    write(tmp_path / "new", {"b/events.datasource": EVENTS})
    before = load_folder(tmp_path / "old")
    after = load_folder(tmp_path / "new", before)
    assert after.project == before.project
    places = [str(loaded.project.datasources[0].columns[0].location) for loaded in (before, after)]
    assert places == ["a/events.datasource:2:5", "b/events.datasource:2:5"]


def test_the_problems_of_a_file_that_is_known_are_told_again(tmp_path: Path) -> None:
    write(tmp_path, {"wrong.datasource": "SCHEMA >\n    a Int8,\n    b Int7\n", "empty.pipe": "", "other.pipe": PIPE})
    before = load_folder(tmp_path)
    assert load_folder(tmp_path, before) == before
    assert len(before.problems) == 3


def test_another_dialect_reads_pipes_again(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    before = load_folder(tmp_path)
    write(tmp_path, {"penstock.toml": ""})
    assert [pipe.dialect for pipe in load_folder(tmp_path, before).project.pipes] == ["clickhouse"]


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        load_folder(tmp_path / "nowhere")


def test_empty_folder(tmp_path: Path) -> None:
    loaded = load_folder(tmp_path)
    assert (loaded.project.names, loaded.problems, loaded.files) == ((), (), {})


def test_target_with_problems_is_still_a_target() -> None:
    loaded = load_files({"copy.datasource": "", "move.pipe": PIPE})
    assert [problem.code for problem in loaded.problems] == ["missing-directive"]
    assert loaded.errors == loaded.problems


def test_what_is_no_file_is_a_problem_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.datasource")
    (tmp_path / "b.datasource").symlink_to("/dev/zero")
    (tmp_path / "c.pipe").write_text("NODE n\nSQL >\n    SELECT 1 AS x\n")
    loaded = load_folder(tmp_path)
    found = [(each.code, str(each.location)) for each in loaded.problems]
    assert found == [("unreadable-file", "a.datasource:1:1"), ("unreadable-file", "b.datasource:1:1")]
    assert set(loaded.files) == {"c.pipe"}


def test_a_file_that_is_too_large_is_a_problem(tmp_path: Path) -> None:
    with open(tmp_path / "a.datasource", "wb") as file:
        file.truncate(MOST_BYTES + 1)
    assert [each.message for each in load_folder(tmp_path).problems] == ["the file has more than 67,108,864 bytes"]
