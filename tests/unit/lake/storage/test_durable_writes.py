"""A file is the one before or the new one, whatever happens on the way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.lake.storage.durable_writes import SUFFIX, replace_file


def test_the_new_content_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "marker.json"
    path.write_text("before")
    with replace_file(path, 0o600) as file:
        assert str(file.name) == str(path) + SUFFIX, "others put files beside it"
        file.write(b"after")
        assert path.read_text() == "before"
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("after", 0o600)
    assert os.listdir(tmp_path) == ["marker.json"]


def test_an_error_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "marker.json"
    path.write_text("before")

    def write_half() -> None:
        with replace_file(path) as file:
            file.write(b"aft")
            raise ValueError("half")

    with pytest.raises(ValueError, match="half"):
        write_half()
    assert (path.read_text(), os.listdir(tmp_path)) == ("before", ["marker.json"])


def test_what_a_crash_left_behind_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "marker.json"
    path.with_name(path.name + SUFFIX).write_text("half of a file that was longer")
    with replace_file(path) as file:
        file.write(b"after")
    assert path.read_text() == "after"
