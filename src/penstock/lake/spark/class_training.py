"""Makes the archive of classes: `python -m penstock.lake.spark.class_training [--with-postgres]`.

In: nothing, for a server with the default settings; or what the server says that started it. Out: the archive (see
`class_archive`), or a file that says why there can be none. A Spark of its own runs typical statements, and Java writes
down which classes it loads; a second Java makes the archive of these. Invariants: it has the lowest priority; two never
make archives in one folder at once; an archive appears under its name only when it is whole and Java takes it.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from penstock.lake.spark.class_archive import (
    CLASS_PATH,
    JAVA_OPTIONS,
    ClassArchive,
    archive_folder,
    fits,
    remove_old_archives,
)
from penstock.lake.spark.java import find_java_home
from penstock.lake.spark.java_process import JAVA_DEFAULTS
from penstock.lake.spark.names import CATALOG, NAMESPACE
from penstock.lake.spark.packages import package_configuration
from penstock.lake.spark.session import Lake, open_lake
from penstock.model.settings import Settings, SparkSettings

MEMORY = "768m"
LOWEST_PRIORITY = 19
LONGEST_REASON = 4000
FREE_BYTES = 2**30
TABLE = f"{CATALOG}.{NAMESPACE}.training"
STATEMENTS = (
    f"CREATE TABLE {TABLE} (id BIGINT, name STRING, at TIMESTAMP, list ARRAY<STRING>) USING iceberg",
    f"INSERT INTO {TABLE} SELECT id, concat('n', id), timestamp_seconds(id), array('a') FROM range(1000)",
    f"ALTER TABLE {TABLE} ADD COLUMNS (more DOUBLE)",
    f"SELECT name, count(*), sum(id), max_by(id, at) FROM {TABLE} WHERE id > 5 GROUP BY name ORDER BY 2 DESC LIMIT 10",
    f"SELECT a.id, b.name FROM {TABLE} a JOIN {TABLE} b ON a.id = b.id WHERE hour(a.at) < 30",
    f"SELECT id, row_number() OVER (PARTITION BY name ORDER BY at), explode(list) FROM {TABLE}",
)


class _TrainingFailed(Exception):
    """Why there can be no archive: as long as nothing of Java and the jars changes, it would fail again."""


def main(arguments: Sequence[str]) -> int:
    """Make the archive, unless it is there or is being made. Returns the exit code."""
    options = _parse_options(arguments)
    if options.of_server:
        threading.Thread(target=_end_with_input, name="input", daemon=True).start()
    with suppress(OSError):  # a container may forbid it
        os.nice(LOWEST_PRIORITY)
    try:
        archive = ClassArchive(find_java_home(), options.class_path, options.wide_heap)
        with _making_folder() as folder:
            if folder is not None and not archive.failure.exists():
                _make(archive, folder)
    except Exception as error:  # no Java, no space, no right to write, and whatever Spark says: the next one may do
        print(str(error).partition("\n")[0], file=sys.stderr)
        return 1
    return 0


def _parse_options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m penstock.lake.spark.class_training")
    parser.add_argument("--class-path", help="what is before Spark's own jars")
    parser.add_argument("--wide-heap", action="store_true", help="for `[spark] driver_memory` of 32 GB or more")
    parser.add_argument("--with-postgres", action="store_true", help="for a catalog in Postgres")
    parser.add_argument("--of-server", action="store_true", help="end when standard input ends")
    options = parser.parse_args(arguments)
    if options.class_path is None:
        catalog = "jdbc:postgresql:" if options.with_postgres else ""
        options.class_path = package_configuration(SparkSettings(), catalog).get(CLASS_PATH)
    if not options.class_path:
        parser.error("the jars are not there yet: run `python -m penstock.lake.spark.jar_download` first")
    return options


def _end_with_input() -> None:
    """End this process and its children when the server has ended, or has closed our input. What it leaves in the
    folder, the next one removes."""
    while os.read(sys.stdin.fileno(), 4096):
        continue
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            child.kill()
    os._exit(1)


@contextmanager
def _making_folder() -> Iterator[Path | None]:
    """An empty folder beside the archives; None if another process makes one."""
    parent = archive_folder()
    parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with open(parent / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        folder = parent / "making"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _make(archive: ClassArchive, folder: Path) -> None:
    if shutil.disk_usage(folder).free < FREE_BYTES:
        raise OSError(f"{folder.parent} has less than {FREE_BYTES:,} free bytes")
    classes, made = folder / "classes", folder / "archive.jsa"
    whole_path = _list_classes(archive, classes, folder / "home")
    if fits(archive, archive.file, whole_path):
        return  # it was made while this process started
    try:
        _dump_classes(archive, whole_path, classes, made)
        if not fits(archive, made, whole_path):
            raise _TrainingFailed("Java does not take the archive that it made")
    except _TrainingFailed as failed:
        archive.failure.write_text(f"{failed}\n")
    else:
        made.chmod(0o600)
        made.replace(archive.file)
    remove_old_archives()


def _list_classes(archive: ClassArchive, classes: Path, home: Path) -> str:
    """Write the names of the classes that Spark loads; returns the whole class path of a server's Spark."""
    options = " ".join((f'"-XX:DumpLoadedClassList={classes}"', *archive.heap_options, JAVA_DEFAULTS))
    cache = Path(archive.class_path.split(":")[0]).parent.parent
    conf = {CLASS_PATH: archive.class_path, JAVA_OPTIONS: options, "spark.jars.ivy": str(cache)}
    spark = SparkSettings(master="local[1]", driver_memory=MEMORY, conf=conf, class_archive=False)
    if CLASS_PATH not in package_configuration(spark):
        raise FileNotFoundError(f"there are jars missing in {cache}")
    lake = open_lake(Settings(spark=spark), home)
    try:
        _run_statements(lake)
        command = psutil.Process(lake.jvm).cmdline()
    finally:
        lake.close()
    ours = command[command.index("-cp") + 1]
    # Ours has the same jars, perhaps in another order; Spark too names each only once.
    return ":".join(dict.fromkeys((*archive.class_path.split(":"), *ours.split(":"))))


def _run_statements(lake: Lake) -> None:
    """What a server does, in small: plain Spark, and results as rows and as Arrow."""
    for session in (lake.spark, lake.bulk):
        for statement in STATEMENTS[3:] if session is lake.bulk else STATEMENTS:
            list(session.sql(statement).toLocalIterator())
    lake.spark.sql(STATEMENTS[-1]).toArrow()
    lake.spark.createDataFrame([(1, "a")], "id BIGINT, name STRING").collect()


def _dump_classes(archive: ClassArchive, class_path: str, classes: Path, made: Path) -> None:
    options = ["-Xshare:dump", *archive.heap_options, f"-Xmx{MEMORY}"]
    files = [f"-XX:SharedClassListFile={classes}", f"-XX:SharedArchiveFile={made}"]
    command = [str(archive.java_home / "bin" / "java"), *options, *files, "-cp", class_path]
    ended = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if ended.returncode < 0:
        raise InterruptedError(f"signal {-ended.returncode} ended Java")  # such as for its memory: the next one may do
    if ended.returncode != 0 or not made.exists():
        said = f"{ended.stdout}{ended.stderr}"[-LONGEST_REASON:]
        raise _TrainingFailed(f"Java ended with {ended.returncode} and made no archive: {said}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
