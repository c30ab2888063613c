"""Set up the project folder for one purpose: demo, demo-postgres, test or dev.

In: the purpose as the one argument. Out: `.venv` with the package and what the purpose needs, and Spark's jars in the
package cache. Only the standard library; nothing is written outside the folder but package caches (and, for the tests,
by root, Debian's packages of Postgres and MariaDB); a second run with the same pyproject.toml does nothing.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
PURPOSES = {"demo": True, "demo-postgres": True, "test": True, "dev": False}
"""Each purpose is an extra of pyproject.toml; the value says whether it runs Spark."""

BEAT = 10.0
"""Seconds between two lines that say that the work goes on."""

PIP_STEPS = re.compile(r"Downloading .* MB|Building wheel|Installing collected")
"""The lines of pip that say what takes long."""

NOTHING = re.compile(r"(?!)")
"""Matches no line."""

sys.path.insert(0, str(ROOT / "src"))
import mariadb_programs  # noqa: E402
import postgres_programs  # noqa: E402

from penstock.errors import PenstockError  # noqa: E402
from penstock.lake.spark.java import find_java_home  # noqa: E402


class SetupFailed(Exception):
    """The text is what the user reads."""


def main(purpose: str) -> None:
    if PURPOSES[purpose]:
        find_java()
    once(f"{purpose}-packages", lambda: install(purpose), ROOT / "pyproject.toml")
    if PURPOSES[purpose]:
        once("jars", fetch_jars, ROOT / "src/penstock/lake/spark/packages.py")
    if purpose == "demo-postgres" and not postgres_programs.install():
        raise SetupFailed(f"This demo needs Postgres, which is not installed.\n  {postgres_programs.HOW}")
    if purpose == "test":
        once("postgres", find_postgres, ROOT / "scripts/postgres_programs.py")
        once("mariadb", find_mariadb, ROOT / "scripts/mariadb_programs.py")
        once("kafka", fetch_kafka, ROOT / "scripts/kafka_programs.py")


def find_java() -> None:
    try:
        find_java_home()
    except PenstockError as error:
        raise SetupFailed(f"{error.message}\n  {error.hint}") from None


def once(name: str, work: Callable[[], None], depends_on: Path) -> None:
    """Do the work unless it was done in this .venv for these very contents of the file."""
    stamp = VENV / f".{name}.stamp"
    wanted = hashlib.sha256(depends_on.read_bytes() + sys.version.encode()).hexdigest()
    if PYTHON.exists() and stamp.exists() and stamp.read_text() == wanted:
        return
    work()
    stamp.write_text(wanted)


def install(purpose: str) -> None:
    if not PYTHON.exists():
        make_venv()
    say(f"Installing Penstock and what `make {purpose}` needs (the first time Spark is fetched, some 400 MB)")
    pip = [str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
    run([*pip, "--editable", f"{ROOT}[{purpose}]"], shown=PIP_STEPS)


def make_venv() -> None:
    say(f"Making .venv with Python {sys.version.split()[0]}")
    if importlib.util.find_spec("ensurepip") is None:
        raise SetupFailed(
            "This Python cannot make virtual environments: its `ensurepip` is missing.\n"
            f"  Debian and Ubuntu:  apt-get install python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        )
    run([sys.executable, "-m", "venv", "--clear", str(VENV)])


def find_postgres() -> None:
    if postgres_programs.programs() is None:
        say("Looking for Postgres, on which some of the tests run")
        if not postgres_programs.install():
            say(f"  there is none: those tests are skipped ({postgres_programs.HOW})")


def find_mariadb() -> None:
    if mariadb_programs.programs() is None:
        say("Looking for MariaDB, on which some of the tests run")
        for package in mariadb_programs.PACKAGES:
            postgres_programs.install_package(package)
        if mariadb_programs.programs() is None:
            say(f"  there is none: those tests are skipped ({mariadb_programs.HOW})")


def fetch_kafka() -> None:
    say("Fetching Kafka's broker, on which some of the tests run (some 43 MB)")
    if subprocess.run([str(PYTHON), str(ROOT / "scripts/kafka_programs.py")], check=False).returncode != 0:
        say("  it could not be fetched: those tests are skipped")


def fetch_jars() -> None:
    say("Fetching Iceberg for Spark (some 50 MB)")
    run([str(PYTHON), "-m", "penstock.lake.spark.jar_download"])


def run(command: list[str], shown: re.Pattern[str] = NOTHING) -> None:
    """Run a command; print the lines that begin as `shown` says, a beat every so often, and all of
    its output when it fails."""
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, cwd=ROOT
    )
    finished = threading.Event()
    threading.Thread(target=beat, args=(finished,), daemon=True).start()
    output: list[str] = []
    assert process.stdout is not None
    for line in process.stdout:
        output.append(line)
        if shown.match(line.strip()):
            say("  " + line.strip()[:110])
    finished.set()
    if process.wait() != 0:
        raise SetupFailed("".join(output) + f"\nThe set-up stopped at: {' '.join(command)}")


def beat(finished: threading.Event) -> None:
    started = time.monotonic()
    while not finished.wait(BEAT):
        say(f"  … {time.monotonic() - started:.0f} s")


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in PURPOSES:
        sys.exit(f"usage: scripts/bootstrap {'|'.join(PURPOSES)}")
    try:
        main(sys.argv[1])
    except SetupFailed as failure:
        sys.exit(str(failure))
    except KeyboardInterrupt:
        sys.exit(130)
