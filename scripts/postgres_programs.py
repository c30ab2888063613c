"""Postgres' own programs, which the tests start a server with.

In: the machine. Out: their folder, if they are there. Only the standard library; installing is tried where it needs no
password (root, apt-get), takes two minutes at most, and failing is no error: those tests are skipped then.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAMS = ("initdb", "postgres", "pg_isready")
DEBIAN = Path("/usr/lib/postgresql")
HOW = "Debian and Ubuntu: apt-get install postgresql; macOS: brew install postgresql"
SECONDS = 120


def programs() -> Path | None:
    """The folder of the programs: that of PATH, of pg_config, else the newest of Debian's."""
    on_path = shutil.which("initdb")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += [*_configured(), *_debian()]
    return next((each for each in folders if all((each / name).exists() for name in PROGRAMS)), None)


def install() -> bool:
    """Whether they are there now."""
    if programs() is None:
        install_package("postgresql")
    return programs() is not None


def install_package(name: str) -> None:
    """Try to install a package of Debian's, where that needs no password."""
    if os.geteuid() == 0 and shutil.which("apt-get"):
        for command in (["update"], ["install", "--yes", "--no-install-recommends", name]):
            _quietly(["apt-get", "-qq", *command])


def _configured() -> list[Path]:
    if shutil.which("pg_config") is None:
        return []
    answer = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, check=False)
    return [Path(answer.stdout.strip())] if answer.returncode == 0 else []


def _debian() -> list[Path]:
    versions = [path for path in DEBIAN.glob("*/bin") if path.parent.name.isdigit()]
    return sorted(versions, key=lambda path: int(path.parent.name), reverse=True)


def _quietly(command: list[str]) -> None:
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        subprocess.run(command, env=environment, capture_output=True, timeout=SECONDS / 2, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return


if __name__ == "__main__":
    folder = programs()
    print(folder) if folder else sys.exit(f"Postgres is not installed ({HOW})")
