"""Calls that both engines answered the same when every cell was walked; each run asks some of them.

In: kept_calls.tsv (`scripts/sql_coverage.py` writes it), the weights of functions, a seed. Out: `Generated` queries.
Invariant: which calls a run asks depends on the file, the weights and the seed alone, so a failure can be repeated.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.differential.typed.batches import Generated
from tests.differential.typed.weights import ROOT

FILE = Path(__file__).with_name("kept_calls.tsv")
SEED = "PENSTOCK_SQL_SEED"


@dataclass(frozen=True, order=True)
class KeptCall:
    """A call of one function: its source is the key and the rest of its query."""

    function: str
    key: str
    rest: str
    call: str

    @property
    def query(self) -> Generated:
        return Generated(0, (self.call,), self.key, self.rest)


def kept_calls() -> list[KeptCall]:
    """In the order of the file."""
    lines = FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else []
    return [KeptCall(*line.split("\t")) for line in lines]


def write_kept_calls(calls: Iterable[KeptCall]) -> None:
    """One line a call."""
    lines = ("\t".join((each.function, each.key, each.rest, each.call)) + "\n" for each in sorted(set(calls)))
    FILE.write_text("".join(lines), encoding="utf-8")


def chosen(calls: Sequence[KeptCall], many: int, weights: Mapping[str, int], seed: int) -> list[KeptCall]:
    """So many of the calls; one of a function of weight 6 is six times as likely among them."""
    random = Random(seed)
    lots = [(random.random() ** (1 / weights.get(each.function.split("-")[0], 1)), each) for each in calls]
    return sorted(each for _, each in sorted(lots, reverse=True)[:many])


def seed_of_commit() -> int:
    """A number that is another one for each commit: PENSTOCK_SQL_SEED, else of the commit, 1 where there is no Git."""
    if SEED in os.environ:
        return int(os.environ[SEED])
    command = ["git", "rev-parse", "HEAD"]
    try:
        said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        return int(said[:8], 16)
    except (OSError, subprocess.CalledProcessError, ValueError):
        return 1
