"""Run the tests, cheapest first, and sum them up.

In: `--fast` for those without a JVM only, `--slow` for those marked slow and no others; other arguments
go to pytest. Out: pytest's output and, as the last lines, what failed and `N passed, N failed`. Called by
`make test`, `make test-slow`. Invariant: a test process holds at most one Spark session, so each folder of
JVM tests runs in a process of its own; each test runs in one of the two.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as Xml
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PURE = ("unit", "golden", "properties", "docs")
"""Folders of tests/ whose tests need no JVM."""
LAST = ("chaos", "e2e")
"""Folders that run whole servers: after all others."""
SHOWN = 12
"""So many of the slowest files are named at the end."""
MESSAGE = 200
"""So many characters of what a failed test says stand beside its name at the end."""
LEAVE = 60.0
"""Seconds a test process has to end once its report is written. One that a thread keeps is killed, and is a failure."""
STARTED = "PENSTOCK_TEST_STARTED"
"""The file into which a test process writes the name of the test it runs. Where it is named, a folder whose tests are
all of the other kind is no failure (tests/conftest.py)."""


@dataclass(frozen=True)
class Count:
    """What a pytest process said. A process that dies before its report counts as one failure."""

    passed: int = 0
    failed: tuple[str, ...] = ()
    """Each test's name and the beginning of what it said."""
    skipped: int = 0
    seconds: Counter[str] = field(default_factory=Counter)
    """By test file."""

    def __add__(self, other: Count) -> Count:
        passed, failed, skipped = self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped
        return Count(passed, failed, skipped, self.seconds + other.seconds)


def main(arguments: list[str]) -> int:
    passed_on = ["-m", "slow" if "--slow" in arguments else "not slow"]
    passed_on += [each for each in arguments if each not in ("--fast", "--slow")]
    started = time.monotonic()
    total = Count()
    for folders in processes("--fast" in arguments):
        total += pytest([f"tests/{folder}" for folder in folders], passed_on)
    print(f"\n{time.monotonic() - started:.0f} seconds in all; most of them in")
    for name, seconds in total.seconds.most_common(SHOWN):
        print(f"  {seconds:6.0f} {name}")
    for each in total.failed:
        print(f"FAILED {each}")
    skipped = f", {total.skipped} skipped" if total.skipped else ""
    print(f"{total.passed} passed, {len(total.failed)} failed{skipped}")
    return 1 if total.failed or not total.passed else 0


def processes(fast: bool) -> list[list[str]]:  # noqa: FBT001  (read once from the command line)
    """The folders of each test process, in the order they run."""
    folders = sorted(path.name for path in (ROOT / "tests").iterdir() if any(path.rglob("test_*.py")))
    pure = [name for name in PURE if name in folders]
    spark = [name for name in folders if name not in (*PURE, *LAST)]
    return [pure] if fast else [pure, *([name] for name in spark), *([name] for name in LAST if name in folders)]


def pytest(paths: list[str], arguments: list[str]) -> Count:
    with tempfile.TemporaryDirectory() as folder:
        report, started = Path(folder, "report.xml"), Path(folder, "started")
        print(f"\n== pytest {' '.join(paths)}", flush=True)
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *paths, *arguments]
        with subprocess.Popen(command, cwd=ROOT, env={**os.environ, STARTED: str(started)}) as process:
            ended = leave(process, report)
        code = process.returncode
        if not ended:
            kept = f"{' '.join(paths)}: a thread that a test left kept the process from its end"
            return counted(report, 0) + Count(failed=(kept,))
        if report.exists():
            return counted(report, code)
        last = started.read_text() if started.exists() else "no test"
        return Count(failed=(f"{' '.join(paths)}: ended with exit code {code} while it ran {last}",))


def leave(process: subprocess.Popen[bytes], report: Path) -> bool:
    """Wait until it ends; False where it had to be killed."""
    while process.poll() is None and not report.exists():
        time.sleep(0.2)
    try:
        process.wait(LEAVE)
    except subprocess.TimeoutExpired:
        process.kill()
        return False
    return True


def counted(report: Path, code: int) -> Count:
    root = Xml.parse(report).getroot()
    seconds: Counter[str] = Counter()
    failed: list[str] = []
    for case in root.iter("testcase"):
        seconds[case.get("classname", "")] += float(case.get("time", 0))
        failed += [named(case, said) for said in case if said.tag in ("failure", "error")]
    suites = list(root.iter("testsuite"))
    tests, skipped = (sum(int(suite.get(name, 0)) for suite in suites) for name in ("tests", "skipped"))
    passed = max(tests - len(failed) - skipped, 0)
    if not failed and code != 0:  # nothing collected, an internal error, an interruption
        failed = [f"pytest ended with exit code {code}, and no test failed"]
    return Count(passed, tuple(failed), skipped, seconds)


def named(case: Xml.Element, said: Xml.Element) -> str:
    message = " ".join(said.get("message", "").split())
    return f"{case.get('classname', '')}::{case.get('name', '')}: {message[:MESSAGE]}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
