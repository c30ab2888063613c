from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from penstock.lake.spark import class_training
from penstock.lake.spark.class_archive import ClassArchive, archive_folder
from penstock.lake.spark.class_training import main

JAVA = """#!/bin/sh
case "$*" in
*-version*) echo 'openjdk version "17.0.1"' >&2; [ "$1" = -version ] || test -s "$(cat {home}/last)";;
*-Xshare:dump*) for each; do case $each in -XX:SharedArchiveFile=*) file=${{each#*=}};; esac; done
  echo $file > {home}/last; {dump};;
esac
"""
MADE, REFUSED, KILLED = "echo archive > $file", "echo 'cannot dump' >&2; exit 1", "kill -9 $$"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a Java for which a test says what it does; Spark is not started."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    monkeypatch.setattr(class_training.os, "nice", lambda priority: 0)
    monkeypatch.setattr(class_training, "_list_classes", lambda archive, classes, home: archive.class_path)
    (tmp_path / "java" / "bin").mkdir(parents=True)
    return tmp_path / "java"


def make_java(home: Path, dump: str) -> ClassArchive:
    (home / "bin" / "java").write_text(JAVA.format(home=home, dump=dump))
    (home / "bin" / "java").chmod(0o755)
    (home / "last").write_text("/dev/null")
    return ClassArchive(home, "one.jar", False)


def train() -> int:
    return main(["--class-path", "one.jar"])


def names() -> list[str]:
    return sorted(each.name for each in archive_folder().iterdir())


def test_an_archive_appears_whole_and_for_this_user_alone(home: Path) -> None:
    archive = make_java(home, MADE)
    assert train() == 0
    assert archive.file.read_text() == "archive\n"
    assert archive.file.stat().st_mode & 0o777 == 0o600
    assert names() == [archive.file.name, "lock"]


def test_what_java_refuses_is_not_tried_again(home: Path) -> None:
    archive = make_java(home, REFUSED)
    assert train() == 0
    assert "cannot dump" in archive.failure.read_text()
    make_java(home, MADE)
    assert train() == 0
    assert names() == [archive.failure.name, "lock"]


def test_an_archive_that_java_does_not_take_is_not_kept(home: Path) -> None:
    archive = make_java(home, ": > $file")
    assert train() == 0
    assert archive.failure.read_text() == "Java does not take the archive that it made\n"


def test_java_without_memory_is_tried_again(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = make_java(home, KILLED)
    assert train() == 1
    assert "signal 9 ended Java" in capsys.readouterr().err
    make_java(home, MADE)
    assert train() == 0
    assert archive.file.exists()


def test_two_never_make_archives_at_once(home: Path) -> None:
    make_java(home, MADE)
    archive_folder().mkdir(parents=True)
    with open(archive_folder() / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert train() == 0
        assert names() == ["lock"]
    (archive_folder() / "making").mkdir()  # of one that was killed
    (archive_folder() / "making" / "archive.jsa").write_text("half")
    assert train() == 0
    assert len(names()) == 2


def test_a_folder_that_cannot_be_written_is_no_traceback(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_java(home, MADE)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert train() == 1
    assert "Not a directory" in capsys.readouterr().err


def test_a_full_disk_is_left_alone(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_java(home, MADE)
    monkeypatch.setattr(class_training, "FREE_BYTES", 2**62)
    assert train() == 1
    assert "free bytes" in capsys.readouterr().err
    assert os.listdir(archive_folder()) == ["lock"]
