"""The archive of Spark's classes with a real Java: made, used, and of no harm when it is damaged or stops Java."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.lake.spark.class_archive import CLASS_PATH, ClassArchive, archive_folder, archive_options
from penstock.lake.spark.java import find_java_home
from penstock.lake.spark.packages import package_configuration
from penstock.model.settings import SparkSettings

PAGE = 4096
OPEN = """
import sys
from pathlib import Path
from penstock.lake.spark.session import open_lake
from penstock.model.settings import Settings, SparkSettings
lake = open_lake(Settings(spark=SparkSettings(master="local[1]", driver_memory="512m")), Path(sys.argv[1]))
assert lake.spark.sql("SELECT 1 + 1 AS n").collect()[0].n == 2
print(".cache/penstock/classes/" in Path(f"/proc/{lake.jvm}/maps").read_text())
lake.close()
"""
JAVA = """#!/bin/sh
case "$*" in *SharedArchiveFile*) echo 'no such archive' >&2; exit 1;; esac
exec {java} "$@"
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    return tmp_path


def run_python(*arguments: str) -> str:
    ended = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def runs(archive: ClassArchive) -> bool:
    """Whether Java runs with the options that a server gives it."""
    java = archive.java_home / "bin" / "java"
    command = [java, *archive_options(archive), "-cp", archive.class_path, "-version"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_an_archive_is_made_and_used_and_never_stops_a_start(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java_home, class_path = find_java_home(), package_configuration(SparkSettings())[CLASS_PATH]
    archive = ClassArchive(java_home, class_path, False)
    run_python("-m", "penstock.lake.spark.class_training")
    assert sorted(each.name for each in archive_folder().iterdir()) == [archive.file.name, "lock"]
    assert run_python("-c", OPEN, str(cache / "home")) == "True"

    # A Java that ends with it starts without it, and it is removed.
    other = ClassArchive(cache / "java", class_path, False)
    (other.java_home / "bin").mkdir(parents=True)
    (other.java_home / "bin" / "java").write_text(JAVA.format(java=java_home / "bin" / "java"))
    (other.java_home / "bin" / "java").chmod(0o755)
    shutil.copy(archive.file, other.file)
    with monkeypatch.context() as patched:
        patched.setenv("JAVA_HOME", str(other.java_home))
        assert run_python("-c", OPEN, str(cache / "home")) == "False"
    assert not other.file.exists()
    assert archive.file.exists()

    whole = archive.file.read_bytes()
    for place in range(0, len(whole), len(whole) // 6):
        archive.file.write_bytes(whole[:place] + bytes(PAGE) + whole[place + PAGE :])
        assert runs(archive), f"with nothing but zeros from {place} on"
    archive.file.write_bytes(whole[: len(whole) // 2])
    assert runs(archive), "with half of it"
