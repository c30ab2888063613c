"""Find a Java that Spark 4.1 runs on.

In: the environment. Out: JAVA_HOME of a Java 17 to 23. Raises `JavaMissing`, which says what to install.
Invariant: nothing is installed or changed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from penstock.errors import PenstockError

MIN_VERSION = 17
MAX_VERSION = 23
"""Hadoop, by which Spark reads and writes files, asks Java for what Java 24 has no more (`Subject.getSubject`)."""
FOLDERS = ("/usr/lib/jvm", "/opt/java", "/opt/homebrew/opt", "/usr/local/opt", "/Library/Java/JavaVirtualMachines")


class JavaMissing(PenstockError):
    """No Java 17 to 23 on this machine."""

    status, code = 503, "java-missing"


def find_java_home() -> Path:
    """The home folder of the first Java 17 to 23: JAVA_HOME, PATH, then the usual folders.

    Raises JavaMissing with what was found and what to install.
    """
    seen: list[str] = []
    for home in _candidates():
        version = _java_version(home)
        if version is not None and MIN_VERSION <= version <= MAX_VERSION:
            return home
        seen.append(f"{home} (Java {version})" if version else f"{home} (does not run)")
    found = f"found only {', '.join(seen)}" if seen else "found none"
    raise JavaMissing(
        f"Spark needs Java {MIN_VERSION} to {MAX_VERSION}; {found}",
        hint="Debian: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17; or set JAVA_HOME",
    )


def _candidates() -> Iterator[Path]:
    if os.environ.get("JAVA_HOME"):
        yield Path(os.environ["JAVA_HOME"])
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path).resolve().parent.parent
    for folder in map(Path, FOLDERS):
        if folder.is_dir():
            for home in sorted(folder.iterdir(), reverse=True):
                yield from (each for each in (home, home / "Contents" / "Home") if (each / "bin" / "java").exists())


def _java_version(home: Path) -> int | None:
    try:
        answer = subprocess.run(
            [home / "bin" / "java", "-version"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(\d+)', answer.stderr)
    return int(found.group(1)) if found else None
