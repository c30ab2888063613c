"""Run the tests and sum them up: those without a JVM beside the others, which leave part of the processors idle.

In: `--fast` for the tests without a JVM, `--slow` for those marked slow, `--all` for every test; without one of
them, all but those marked slow. Other arguments go to pytest. Out: pytest's output, that of the tests without a JVM in
one piece once they are done, and, as the last lines, what failed and `N passed, N failed`. One JVM runs Spark at a
time, and each folder of tests/ runs in one process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as Xml
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parent.parent
PURE = ("unit", "golden", "properties", "docs")
"""Folders of tests/ whose tests need no JVM."""
SHARED = ("deploy", "flow", "maintenance", "fuzz", "worker")
"""Folders that share a process and with it the start of a JVM, in this order: the first decides how much memory the
JVM has. Their fixtures end with their folder (`scope="package"`, which needs an __init__.py)."""
LAST = ("chaos", "e2e")
"""Folders that run whole servers: after all others."""
KINDS = {"--slow": ["-m", "slow"], "--all": []}
"""What pytest is told for each kind of run. Any other run leaves out the slow tests."""
LISTED_FILES = 12
"""So many of the slowest files are named at the end."""
MESSAGE_CHARACTERS = 200
"""So much of what a failed test says stands beside its name at the end."""
EXIT_SECONDS = 60.0
"""What a test process has to end once its report is written. One that a thread keeps is killed, and is a failure."""
STARTED = "PENSTOCK_TEST_STARTED"
"""The file into which a test process writes the name of the test it runs. Where it is named, a folder whose tests are
all of the other kind is no failure (tests/conftest.py)."""
CRASH = "PENSTOCK_TEST_CRASH"
"""The file into which a test process writes what its threads did if native code ends it after the last test."""
CRASH_CHARACTERS = 1_500


@dataclass(frozen=True)
class Count:
    """The results of a pytest process. One that dies before its report counts as one failure."""

    passed: int = 0
    failed: tuple[str, ...] = ()
    """Each test's name and the beginning of its message."""
    skipped: int = 0
    seconds: Counter[str] = field(default_factory=Counter)
    """By test file."""

    def __add__(self, other: Count) -> Count:
        passed, failed, skipped = self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped
        return Count(passed, failed, skipped, self.seconds + other.seconds)


def main(arguments: list[str]) -> int:
    own = [argument for argument in arguments if argument in ("--fast", *KINDS)]
    options = KINDS.get(own[0] if own else "", ["-m", "not slow"])
    options = [*options, *(argument for argument in arguments if argument not in own)]
    started = time.monotonic()
    pure, *others = test_processes(without_jvm="--fast" in own)
    if others:
        with ThreadPoolExecutor(max_workers=1) as beside:
            first = beside.submit(run_pytest_beside, pure, options)
            total = sum((run_pytest(folders, options) for folders in others), Count())
            total += first.result()
    else:
        total = run_pytest(pure, options)
    print(f"\n{time.monotonic() - started:.0f} seconds in all; most of them in")
    for name, seconds in total.seconds.most_common(LISTED_FILES):
        print(f"  {seconds:6.0f} {name}")
    for failure in total.failed:
        print(f"FAILED {failure}")
    skipped = f", {total.skipped} skipped" if total.skipped else ""
    print(f"{total.passed} passed, {len(total.failed)} failed{skipped}")
    return 1 if total.failed or not total.passed else 0


def test_processes(*, without_jvm: bool) -> list[list[str]]:
    """The folders of each test process, in the order they run; those that need no JVM first."""
    folders = sorted(path.name for path in (ROOT / "tests").iterdir() if any(path.rglob("test_*.py")))
    pure, shared, last = ([name for name in group if name in folders] for group in (PURE, SHARED, LAST))
    alone = [[name] for name in folders if name not in (*pure, *shared, *last)]
    groups = [pure] if without_jvm else [pure, shared, *alone, *([name] for name in last)]
    return [[f"tests/{name}" for name in group] for group in groups if group]


def run_pytest_beside(paths: list[str], options: list[str]) -> Count:
    """Like `run_pytest`; what pytest prints is shown once it has ended."""
    with tempfile.TemporaryFile("w+") as shown:
        found = run_pytest(paths, options, shown)
        shown.seek(0)
        print(shown.read(), end="", flush=True)
    return found


def run_pytest(paths: list[str], options: list[str], shown: TextIO | None = None) -> Count:
    """Runs pytest, which prints to `shown` if there is one."""
    with tempfile.TemporaryDirectory() as folder:
        report, started, crash = (Path(folder, name) for name in ("report.xml", "started", "crash"))
        print(f"\n== pytest {' '.join(paths)}", file=shown, flush=True)
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *paths, *options]
        environment = {**os.environ, STARTED: str(started), CRASH: str(crash)}
        with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=shown, stderr=shown) as process:
            ended = wait_for_end(process, report)
        code = process.returncode
        if not ended:
            message = f"{' '.join(paths)}: a thread that a test left kept the process from its end"
            return count_report(report, 0, "") + Count(failed=(message,))
        if report.exists():
            return count_report(report, code, f"{' '.join(paths)}: {crash_line(crash)}")
        last = started.read_text() if started.exists() else "no test"
        return Count(failed=(f"{' '.join(paths)}: ended with exit code {code} while it ran {last}",))


def wait_for_end(process: subprocess.Popen[bytes], report: Path) -> bool:
    """False if the process had to be killed."""
    while process.poll() is None and not report.exists():
        time.sleep(0.2)
    try:
        process.wait(EXIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return False
    return True


def count_report(report: Path, code: int, about: str) -> Count:
    """The results in a JUnit report of a process that ended with this exit code; `about` is what is known of it."""
    root = Xml.parse(report).getroot()
    seconds: Counter[str] = Counter()
    failed: list[str] = []
    for case in root.iter("testcase"):
        seconds[case.get("classname", "")] += float(case.get("time", 0))
        failed += [failure_line(case, result) for result in case if result.tag in ("failure", "error")]
    suites = list(root.iter("testsuite"))
    tests, skipped = (sum(int(suite.get(name, 0)) for suite in suites) for name in ("tests", "skipped"))
    passed = max(tests - len(failed) - skipped, 0)
    if not failed and code != 0:  # nothing collected, an internal error, an interruption
        failed = [f"pytest ended with exit code {code}, and no test failed: {about}"]
    return Count(passed, tuple(failed), skipped, seconds)


def crash_line(crash: Path) -> str:
    """What each thread did when native code ended the process after its last test; nothing if it did not."""
    told = crash.read_text(errors="replace") if crash.exists() else ""
    return " ".join(told.split())[:CRASH_CHARACTERS]


def failure_line(case: Xml.Element, result: Xml.Element) -> str:
    message = " ".join(result.get("message", "").split())
    return f"{case.get('classname', '')}::{case.get('name', '')}: {message[:MESSAGE_CHARACTERS]}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
