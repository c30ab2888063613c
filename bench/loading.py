"""How long `penstock check` and `penstock plan` take, for projects of datafiles and of Python.

In: the examples that exist in both forms. Out: a table of the time on the wall and of the processor, the median of
several runs each. Run it on a machine that does nothing else: `python bench/loading.py --write`.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "src/penstock/examples"
RESULT = ROOT / "bench/results/loading.md"
NAMES = ("minimal", "flights", "flights-python", "web-analytics", "web-analytics-python")
HEAD = """# How long a project takes to load

`python bench/loading.py --write` wrote this: the median of {runs} runs after one that does not count, of whole commands
from their start to their end. "cpu" is the time of the processors, which other programs on the machine change less;
it has that of the process in which Python of a project is read. Load of the machine before: {load:.1f} on {cores} cores.

| command | project | wall, s | cpu, s |
|---|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a command."""

    wall: float
    cpu: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.relative_to(ROOT)}")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    lines = [line(command, name, options.runs) for name in NAMES for command in ("check", "plan")]
    page = HEAD.format(runs=options.runs, load=load, cores=os.cpu_count()) + "".join(lines)
    print(page)
    if options.write:
        RESULT.write_text(page, encoding="utf-8")
    return 0


def line(command: str, name: str, runs: int) -> str:
    """One line of the table."""
    folder = str(EXAMPLES / name)
    words = [command, *{"check": [folder], "plan": [folder, folder]}.get(command, [])]
    found = measure(words, runs)
    wall, cpu = (statistics.median(getattr(each, which) for each in found) for which in ("wall", "cpu"))
    return f"| `{command}` | {name} | {wall:.2f} | {cpu:.2f} |\n"


def measure(words: Sequence[str], runs: int) -> list[Run]:
    """The runs of a command, without the first one, which fills the caches."""
    return [_run(words) for _ in range(runs + 1)][1:]


def _run(words: Sequence[str]) -> Run:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [str(Path(sys.executable).parent / "penstock"), *words]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, env=environment)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Run(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


if __name__ == "__main__":
    sys.exit(main())
