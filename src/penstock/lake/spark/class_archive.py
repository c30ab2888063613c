"""An archive of the classes that Spark loads, from which Java starts in about half the time (AppCDS, JEP 310).

In: a Java, the jars before Spark's own and the settings. Out: where their archive is, and the options by which Java
uses it. Invariant: an archive is of one Java, of exactly these jars and of one kind of heap, and Java checks all that
and each byte again: without one, or with one that is stale or damaged, Spark starts as it does otherwise.
"""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyspark

from penstock.model.settings import SparkSettings

CACHE = Path("~/.cache")
MOST_ARCHIVES = 3
"""As many are kept, of about 150 MB each: those of other versions, which another project may use."""
CLASS_PATH = "spark.driver.extraClassPath"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
WIDE_HEAP = 32 * 2**30
"""From this size on Java's references have eight bytes, and so have those of an archive."""
PASSED_ON = (
    *("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"),
    *("SPARK_HOME", "SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH"),
)
"""What else decides on the options and the class path of Spark's Java."""
CHECK_SECONDS = 60.0
SMALL_HEAP = "-Xmx128m"


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """The archive for one Java, one class path and one kind of heap, whether it is there or not."""

    java_home: Path
    class_path: str
    """What is on the class path before Spark's own jars."""
    has_wide_heap: bool

    @property
    def file(self) -> Path:
        known = hashlib.sha256()
        for line in _contents(self):
            known.update(f"{line}\n".encode(errors="surrogateescape"))
        return archive_folder() / f"{known.hexdigest()[:24]}.jsa"

    @property
    def failure(self) -> Path:
        """Beside the archive: why it cannot be made. As long as this is there, nobody tries."""
        return self.file.with_suffix(".failed")

    @property
    def heap_options(self) -> tuple[str, ...]:
        """The options that an archive is made with and used with."""
        return ("-XX:+UseG1GC", *(("-XX:-UseCompressedOops",) if self.has_wide_heap else ()))


def class_archive(settings: SparkSettings, java_home: Path, class_path: str) -> ClassArchive | None:
    """The archive for a session; None where there is to be none: it is switched off, Spark finds its jars in another
    way, or the settings have options for Java, which may be any."""
    if not settings.class_archive or not class_path or JAVA_OPTIONS in settings.conf:
        return None
    return ClassArchive(java_home, class_path, settings.driver_memory_bytes >= WIDE_HEAP)


def archive_folder() -> Path:
    """The folder of all archives of this user."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or CACHE.expanduser())
    return cache / "penstock" / "classes"


def archive_options(archive: ClassArchive) -> tuple[str, ...]:
    """The options by which Java uses the archive; none if it is not there, or if others could have written it."""
    file = archive.file
    if not _is_ours(file):
        return ()
    with suppress(OSError):  # others may read it only
        os.utime(file)  # the archives that were used last are kept
    # What Java says of an archive that does not fit is of no use to anybody: it starts without.
    return ("-Xshare:auto", "-XX:+VerifySharedSpaces", "-Xlog:cds=off", "-Xlog:cds+heap=off", _file_option(file))


def fits(archive: ClassArchive, file: Path, whole_path: str) -> bool:
    """Whether Java takes this file for a class path as it takes an archive: whole, and of these very jars."""
    options = ("-Xshare:on", "-XX:+VerifySharedSpaces", *archive.heap_options, SMALL_HEAP, _file_option(file))
    command = (str(archive.java_home / "bin" / "java"), *options, "-cp", whole_path, "-version")
    try:
        return subprocess.run(command, capture_output=True, timeout=CHECK_SECONDS, check=False).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def remove_old_archives() -> None:
    """Keep those that were used last."""
    for pattern in ("*.jsa", "*.failed"):
        found = sorted(archive_folder().glob(pattern), key=lambda each: each.stat().st_mtime, reverse=True)
        for file in found[MOST_ARCHIVES:]:
            file.unlink(missing_ok=True)


def _file_option(file: Path) -> str:
    return f"-XX:SharedArchiveFile={file}"


def _is_ours(file: Path) -> bool:
    """An archive is code: only this user or the administrator may have written it."""
    try:
        found = file.stat()
    except OSError:
        return False
    return found.st_uid in (0, os.getuid()) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _contents(archive: ClassArchive) -> Iterator[str]:
    release = archive.java_home / "release"
    yield release.read_text(encoding="utf-8", errors="replace") if release.exists() else str(archive.java_home)
    yield " ".join(archive.heap_options)
    yield from (f"{name} {os.environ.get(name, '')}" for name in PASSED_ON)
    jars = [Path(each) for each in archive.class_path.split(":") if each]
    jars += sorted((Path(os.environ.get("SPARK_HOME") or pyspark.__path__[0]) / "jars").glob("*.jar"))
    for jar in jars:
        if jar.exists():
            found = jar.stat()
            # Java compares whole seconds too; a container image keeps no parts of a second.
            yield f"{jar} {found.st_size} {int(found.st_mtime)}"
