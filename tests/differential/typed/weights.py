"""How often each function is drawn: those whose source files changed of late, more often.

In: the last commits, or PENSTOCK_SQL_CHANGED: names, which repeat a run of another commit (none: all weigh the same).
Out: weights by function. Invariant: without Git, or without its history, every function weighs 1.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from penstock.sql.aggregates.table import AGGREGATES
from penstock.sql.functions.table import FAMILIES

ROOT = Path(__file__).resolve().parents[3]
CHANGED = "PENSTOCK_SQL_CHANGED"
LATELY = "lately"
"""What PENSTOCK_SQL_CHANGED says for the functions that the last commits changed, as it does if it is not set."""
COMMITS = 20
MORE = 6


@lru_cache(maxsize=1)
def weights() -> Mapping[str, int]:
    """MORE for each function that changed."""
    named = os.environ.get(CHANGED, LATELY)
    return dict.fromkeys(changed_functions() if named == LATELY else [each for each in named.split(",") if each], MORE)


def changed_functions() -> list[str]:
    """The functions and aggregates whose files the last COMMITS commits changed."""
    files = _changed_files()
    scalar = {row.name for family in FAMILIES if Path(str(family.__file__)) in files for row in family.FUNCTIONS}
    aggregates = {name for name, row in AGGREGATES.items() if _file_of(row.finish.__module__) in files}
    return sorted(scalar | aggregates)


def _file_of(module: str) -> Path:
    return Path(str(sys.modules[module].__file__))


def _changed_files() -> frozenset[Path]:
    command = ["git", "log", f"-{COMMITS}", "--name-only", "--format=", "--", "src/penstock/sql"]
    try:
        said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return frozenset()
    return frozenset(ROOT / line for line in said.splitlines() if line)
