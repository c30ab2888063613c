from __future__ import annotations

import logging
import sys
import threading
from pathlib import Path

import psutil
import pytest

from penstock.deploy.worker import class_trainer
from penstock.deploy.worker.class_trainer import ClassTrainer
from penstock.lake.spark.class_archive import ClassArchive, archive_folder
from penstock.model.settings import Settings, SparkSettings
from waiting import wait_until

WAITS = "import sys; open(sys.argv[sys.argv.index('--class-path') + 1] + '.begun', 'w'); sys.stdin.read()"
SPARK = 1


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClassArchive:
    """The archive that is missing; what makes it only waits for the end of its input."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(class_trainer, "AFTER_SECONDS", 0.01)
    monkeypatch.setattr(class_trainer, "FREE_BYTES", 0)
    monkeypatch.setattr(class_trainer, "COMMAND", (sys.executable, "-c", WAITS))
    monkeypatch.setattr(class_trainer, "find_java_home", lambda: tmp_path)
    monkeypatch.setattr(class_trainer, "_class_path_of", lambda process: "whole")
    monkeypatch.setattr(class_trainer, "fits", lambda archive, file, path: file.exists() and path == "whole")
    found = {"spark.driver.extraClassPath": str(tmp_path / "path")}
    monkeypatch.setattr(class_trainer, "package_configuration", lambda settings, catalog: found)
    archive_folder().mkdir(parents=True)
    return ClassArchive(tmp_path, str(tmp_path / "path"), False)


def run(home: Path, settings: SparkSettings | None = None) -> tuple[ClassTrainer, threading.Thread]:
    trainer = ClassTrainer(Settings(spark=settings or SparkSettings()), home)
    return trainer, trainer.start(SPARK)


def assert_none_is_made(home: Path, settings: SparkSettings | None = None) -> None:
    trainer, thread = run(home, settings)
    thread.join(30)
    assert trainer._process is None


def test_it_ends_with_the_server(archive: ClassArchive, tmp_path: Path) -> None:
    trainer, thread = run(tmp_path)
    wait_until((tmp_path / "path.begun").exists, 30, lambda: "the process begins")
    process = trainer._process
    assert process is not None
    trainer.stop()
    thread.join(30)
    assert process.exit_code == 0
    assert not psutil.pid_exists(process.id)


def test_an_archive_that_java_takes_is_not_made_again(archive: ClassArchive, tmp_path: Path) -> None:
    archive.file.write_bytes(b"")
    assert_none_is_made(tmp_path)


def test_one_that_cannot_be_made_is_not_tried_again(archive: ClassArchive, tmp_path: Path) -> None:
    archive.failure.write_text("why")
    assert_none_is_made(tmp_path)


def test_a_server_that_runs_for_a_moment_makes_none(
    archive: ClassArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_trainer, "AFTER_SECONDS", 60.0)
    trainer, thread = run(tmp_path)
    trainer.stop()
    thread.join(30)
    assert trainer._process is None


def test_without_memory_none_is_made(archive: ClassArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_trainer, "FREE_BYTES", 2**60)
    assert_none_is_made(tmp_path)


def test_none_is_made_where_it_is_switched_off(archive: ClassArchive, tmp_path: Path) -> None:
    assert_none_is_made(tmp_path, SparkSettings(class_archive=False))


def test_a_failure_changes_nothing(
    archive: ClassArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "penstock.deploy")
    monkeypatch.setattr(class_trainer, "COMMAND", (sys.executable, "-c", "import sys; sys.exit(7)"))
    run(tmp_path)[1].join(30)
    monkeypatch.setattr(class_trainer, "COMMAND", (str(tmp_path / "nothing"),))
    run(tmp_path)[1].join(30)
    assert "was not made (exit code 7)" in caplog.text
    assert "No such file" in caplog.text
