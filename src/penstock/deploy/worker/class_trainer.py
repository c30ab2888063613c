"""Has the archive of classes made once, beside a server that runs, so that the next one starts sooner.

In: the settings, and Spark's process. Out: a child process with the lowest priority, two minutes after the start, if
there is no archive that Java takes. Invariants: it never outlives the server, and a failure of it changes nothing.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import psutil

from penstock.deploy.worker.child_process import ChildProcess, module_command
from penstock.deploy.worker.free_memory import free_memory
from penstock.errors import PenstockError
from penstock.lake.spark.class_archive import CLASS_PATH, ClassArchive, class_archive, fits
from penstock.lake.spark.java import find_java_home
from penstock.lake.spark.packages import package_configuration
from penstock.model.settings import Settings

COMMAND = module_command("penstock.lake.spark.class_training")
AFTER_SECONDS = 120.0
"""A server that is started for a moment only, as in a test, makes none."""
FREE_BYTES = 3 * 2**30
"""With less free memory none is made: it takes about 1 GB for a minute."""
log = logging.getLogger("penstock.deploy")


class ClassTrainer:
    """Makes the archive if there is none."""

    def __init__(self, settings: Settings, home: Path):
        self._settings = settings
        self._home = home
        self._process: ChildProcess | None = None
        self._ended = threading.Event()
        self._starting = threading.Lock()

    def start(self, spark: int) -> threading.Thread:
        """`spark` is the id of the process whose class path the archive is for."""
        thread = threading.Thread(target=self._run, args=(spark,), name="class archive", daemon=True)
        thread.start()
        return thread

    def stop(self) -> None:
        """End the process, if one runs."""
        with self._starting:
            self._ended.set()
        if self._process is not None:
            self._process.end()

    def _run(self, spark: int) -> None:
        if self._ended.wait(AFTER_SECONDS):
            return
        try:
            archive = self._missing_archive(spark)
            if archive is not None:
                self._make(archive)
        except (OSError, PenstockError, psutil.Error) as error:
            log.info("the archive of classes was not made: %s", error)

    def _missing_archive(self, spark: int) -> ClassArchive | None:
        """The archive to make; None if Java takes the one that is there, or if none can or should be made."""
        packages = package_configuration(self._settings.spark, self._settings.catalog.get("uri", ""))
        archive = class_archive(self._settings.spark, find_java_home(), packages.get(CLASS_PATH, ""))
        if archive is None or archive.failure.exists() or fits(archive, archive.file, _class_path_of(spark)):
            return None
        return archive if free_memory() >= FREE_BYTES else None

    def _make(self, archive: ClassArchive) -> None:
        wide = ("--wide-heap",) if archive.has_wide_heap else ()
        with self._starting:
            if self._ended.is_set():
                return
            command = (*COMMAND, "--of-server", "--class-path", archive.class_path, *wide)
            self._process = ChildProcess(command, self._home)
        log.info("Spark's classes are archived, once, so that servers start sooner")
        code = self._process.wait()
        if code == 0 and archive.file.exists():
            log.info("the archive of classes is made")
        elif archive.failure.exists():
            log.info("the archive of classes cannot be made: %s says why", archive.failure)
        elif not self._ended.is_set():
            log.info("the archive of classes was not made (exit code %s); apart.log has what was said", code)


def _class_path_of(process: int) -> str:
    command = psutil.Process(process).cmdline()
    return command[command.index("-cp") + 1]
