"""A folder of the former release is upgraded at another place, goes on, and is copied: each has rows of its own."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

from deploy.conftest import Running

FORMER = Path(__file__).parents[1] / "former_release" / "folder.tar.gz"
COUNTED = "SELECT name, countMerge(rows) AS rows FROM totals GROUP BY name ORDER BY name"


def opened(home: Path) -> Running:
    running = Running(home)
    running.files = dict(running.pipeline.store.find("live").files)
    return running


def files_below(home: Path) -> dict[str, int]:
    """The files of the tables and the raw rows, with their times of change."""
    found = [path for part in ("warehouse", "inbox") for path in (home / part).rglob("*") if path.is_file()]
    return {str(path): path.stat().st_mtime_ns for path in found}


def row(id: int) -> dict[str, object]:
    return {"id": id, "name": "a", "kind": "k", "at": "2026-03-01 00:00:00"}


def test_a_former_release_s_folder_moves_goes_on_and_is_copied(tmp_path: Path) -> None:
    first, second = tmp_path / "a place" / ".penstock", tmp_path / "copy" / ".penstock"
    with tarfile.open(FORMER) as archive:
        archive.extractall(first.parent, filter="data")
    running = opened(first)
    assert running.ask("SELECT count() AS rows FROM events") == [(12,)]
    running.post("events", [row(100)])
    assert running.ask(COUNTED) == [("A", 7), ("B", 6)]
    running.rollback()
    assert running.ask("SELECT count() AS rows FROM events") == [(13,)]
    running.promote("2")
    running.pipeline.close()
    shutil.copytree(first, second)
    untouched = files_below(first)
    copy = opened(second)
    copy.post("events", [row(200), row(201)])
    assert copy.ask(COUNTED) == [("A", 9), ("B", 6)]
    copy.pipeline.close()
    assert files_below(first) == untouched
    kept = files_below(second)
    original = opened(first)
    original.post("events", [row(300)])
    assert original.ask(COUNTED) == [("A", 8), ("B", 6)]
    assert original.pipeline.drift.found == ()
    original.pipeline.close()
    assert files_below(second) == kept
