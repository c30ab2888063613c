"""How long `penstock plan` takes, and how that grows with the project.

In: numbers of resources. Out: a table of seconds, printed and, if asked, written to a file. Called
from the command line. Invariant: what is measured is the whole command, as a user runs it, on one
core.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
SIZES = (1_000, 2_000, 5_000, 10_000)
COMMAND = "python bench/plan_scale.py"


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of the command: the size of the project and the seconds on the clock."""

    resources: int
    seconds: float

    @property
    def row(self) -> str:
        return f"| {self.resources:,} | {self.seconds:.2f} | {self.seconds / self.resources * 1000:.2f} |"


def measure(resources: int) -> Measured:
    """Generate a project, plan it against its edited copy; the number of files in it is the size."""
    with tempfile.TemporaryDirectory() as folder:
        _run([sys.executable, str(HERE / "generate.py"), folder, "--resources", str(resources)])
        files = sum(1 for path in Path(folder, "before").rglob("*") if path.is_file())
        return Measured(files, time_plan(folder))


def time_plan(folder: str) -> float:
    """The seconds of the plan from `before` to `after` in a folder."""
    penstock = [sys.executable, "-m", "penstock.cli"]
    plan = [*penstock, "plan", f"{folder}/before", f"{folder}/after", "--output", "json"]
    _run([*penstock, "plan", "--help"])  # what Python compiles once, as where Penstock is installed
    started = time.perf_counter()
    _run([*_one_core(), *plan])
    return time.perf_counter() - started


def _one_core() -> list[str]:
    return ["taskset", "-c", "0"] if shutil.which("taskset") else []


def _run(command: list[str]) -> None:
    """Run from the sources, compiled once; a command that fails is told with what it said."""
    given = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    source = {"PYTHONPATH": str(HERE.parent / "src")}
    done = subprocess.run(command, check=False, env=given | source, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def report(found: list[Measured], sizes: list[int]) -> str:
    """The table, with the command that made it."""
    asked = "" if tuple(sizes) == SIZES else f" --sizes {' '.join(map(str, sizes))}"
    pinned = "pinned to one core" if _one_core() else "not pinned to a core"
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return "\n".join(
        [
            "# How long `penstock plan BEFORE AFTER` takes",
            "",
            f"Made by `{COMMAND}{asked} --write`, Python {platform.python_version()}, {pinned}; the whole command,",
            f"its start included. At most {peak:,.0f} MB of memory.",
            "",
            "| resources | seconds | seconds per 1,000 |",
            "|---:|---:|---:|",
            *(each.row for each in found),
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure `penstock plan` on generated projects.")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--write", action="store_true", help="write bench/results/plan_scale.md")
    asked = parser.parse_args()
    found = []
    for size in asked.sizes:
        found.append(measure(size))
        print(found[-1].row, flush=True)
    text = report(found, asked.sizes)
    print(text)
    if asked.write:
        (HERE / "results").mkdir(exist_ok=True)
        (HERE / "results" / "plan_scale.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
