from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.lake.spark.class_archive import (
    JAVA_OPTIONS,
    MOST_ARCHIVES,
    ClassArchive,
    archive_folder,
    archive_options,
    class_archive,
    fits,
    remove_old_archives,
)
from penstock.model.settings import SparkSettings


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache with a space"))
    (tmp_path / "java").mkdir()
    (tmp_path / "java" / "release").write_text('JAVA_VERSION="17.0.15"')
    archive_folder().mkdir(parents=True)
    return tmp_path / "java"


def test_an_archive_is_of_one_java_and_of_exactly_these_jars_and_options(
    java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar = tmp_path / "one.jar"
    jar.write_bytes(b"1")

    def file(class_path: str = str(jar), wide: bool = False) -> Path:
        return ClassArchive(java, class_path, wide).file

    first = file()
    assert file(f"{jar}:{tmp_path / 'missing.jar'}") == first
    found = {first, file(""), file(wide=True)}
    jar.write_bytes(b"22")
    found.add(file())
    os.utime(jar, (1, 1))
    found.add(file())
    (java / "release").write_text('JAVA_VERSION="21"')
    found.add(file())
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:+UseCompactObjectHeaders")
    found.add(file())
    assert len(found) == 7


def test_java_uses_an_archive_that_is_there_and_that_nobody_else_wrote(java: Path) -> None:
    archive = ClassArchive(java, "one.jar", False)
    assert archive_options(archive) == ()
    archive.file.write_bytes(b"")
    archive.file.chmod(0o600)
    os.utime(archive.file, (1, 1))
    assert archive_options(archive)[-1] == f"-XX:SharedArchiveFile={archive.file}"
    assert archive.file.stat().st_mtime > 1
    archive.file.chmod(0o620)
    assert archive_options(archive) == ()


@pytest.mark.parametrize(
    ("settings", "class_path", "wide"),
    [
        (SparkSettings(), "one.jar", False),
        (SparkSettings(driver_memory="32g"), "one.jar", True),
        (SparkSettings(driver_memory="32767m"), "one.jar", False),
        (SparkSettings(class_archive=False), "one.jar", None),
        (SparkSettings(conf={JAVA_OPTIONS: "-XX:+UseZGC"}), "one.jar", None),
        (SparkSettings(packages=("a:b:1",)), "", None),
    ],
)
def test_which_sessions_have_an_archive(
    java: Path, settings: SparkSettings, class_path: str, wide: bool | None
) -> None:
    archive = class_archive(settings, java, class_path)
    assert (archive.has_wide_heap if archive is not None else None) is wide


def test_without_java_no_archive_fits(java: Path) -> None:
    archive = ClassArchive(java, "one.jar", False)
    assert not fits(archive, archive.file, "one.jar")


def test_the_archives_that_were_used_last_are_kept(java: Path) -> None:
    for number in range(6):
        for suffix in ("jsa", "failed"):
            file = archive_folder() / f"{number}.{suffix}"
            file.write_bytes(b"")
            os.utime(file, (number, number))
    remove_old_archives()
    kept = sorted(each.name for each in archive_folder().iterdir())
    assert kept == ["3.failed", "3.jsa", "4.failed", "4.jsa", "5.failed", "5.jsa"]
    assert MOST_ARCHIVES == 3
