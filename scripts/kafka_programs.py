"""Kafka's own broker, which the tests start, as jars of Maven.

In: Java, and Ivy, which Spark brings. Out: the jars in a folder of Spark's package cache, fetched once; those tests are
skipped where there are none. Only the standard library, besides Penstock itself.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import PenstockError
from penstock.lake.spark.java import find_java_home
from penstock.lake.spark.packages import CACHE

PACKAGE = ("org.apache.kafka", "kafka_2.13", "4.1.0")
HOW = "python scripts/kafka_programs.py fetches its jars, some 43 MB"
JARS = "[artifact]-[revision].[ext]"
IVY = """<ivysettings>
  <settings defaultResolver="central"/>
  <caches defaultCacheDir="{cache}"/>
  <resolvers><ibiblio name="central" m2compatible="true"/></resolvers>
</ivysettings>
"""


@dataclass(frozen=True)
class Programs:
    """The command of Java, and the folder of the broker's jars."""

    java: str
    jars: Path


def folder() -> Path:
    return CACHE.expanduser() / f"broker-{PACKAGE[1]}-{PACKAGE[2]}"


def programs() -> Programs | None:
    """The programs, if all are there."""
    try:
        java = find_java_home() / "bin" / "java"
    except PenstockError:
        return None
    return Programs(str(java), folder()) if folder().is_dir() else None


def install() -> bool:
    """Fetch the jars, all or none. Returns whether they are there."""
    try:
        java = find_java_home() / "bin" / "java"
    except PenstockError:
        return False
    found = importlib.util.find_spec("pyspark")
    ivy = next(iter(sorted((Path(str(found.origin)).parent / "jars").glob("ivy-*.jar"))), None) if found else None
    if ivy is None:
        return False
    made = folder().with_name(f"{folder().name}.{os.getpid()}")
    with tempfile.TemporaryDirectory() as scratch:
        settings = Path(scratch) / "ivysettings.xml"
        settings.write_text(IVY.format(cache=Path(scratch) / "cache"), encoding="utf-8")
        wanted = ["-settings", str(settings), "-dependency", *PACKAGE, "-confs", "default"]
        command = [str(java), "-jar", str(ivy), *wanted, "-retrieve", f"{made}/{JARS}"]
        fetched = subprocess.run(command, capture_output=True, check=False, timeout=600).returncode == 0
    if fetched and not folder().is_dir():
        made.rename(folder())
    shutil.rmtree(made, ignore_errors=True)
    return folder().is_dir()


if __name__ == "__main__":
    sys.exit(0 if programs() is not None or install() else 1)
