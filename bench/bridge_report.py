"""The page of the benchmark of bridged columns.

In: the runs of each query over a bridged and over a settled table. Out: Markdown. Ratios are of medians of runs that
went by turns.
"""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LIMIT = 1.3


@dataclass(frozen=True, slots=True)
class Column:
    """A column, what it is bridged by (None: it is stored), and a value to look for."""

    name: str
    type: str
    by: str | None
    value: str


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a query: seconds on the clock, and of the processor in Spark's process."""

    clock: float
    processor: float


@dataclass(frozen=True, slots=True)
class Measured:
    """The runs of a query over the bridged and over the settled table."""

    column: Column
    query: str
    bridged: tuple[Run, ...]
    settled: tuple[Run, ...]

    @property
    def ratio(self) -> float:
        return _median(each.clock for each in self.bridged) / _median(each.clock for each in self.settled)

    @property
    def work(self) -> float:
        return _median(each.processor for each in self.bridged) / _median(each.processor for each in self.settled)

    @property
    def row(self) -> str:
        by = f"`{self.column.by}`" if self.column.by else "stored in both"
        times = " | ".join(map(_told, (self.bridged, self.settled)))
        verdict = "–" if self.column.by is None else "yes" if self.ratio <= LIMIT else "**no**"
        return f"| {by} | {self.query} | {times} | {self.ratio:.2f} | {self.work:.2f} | {verdict} |"


def _median(numbers: Iterable[float]) -> float:
    return statistics.median(numbers)


def _told(runs: Sequence[Run]) -> str:
    """Milliseconds: the median of the clock, its quartiles, and the median of the processor."""
    low, middle, high = (1000 * each for each in statistics.quantiles((run.clock for run in runs), n=4))
    return f"{middle:,.0f} ({low:,.0f}–{high:,.0f}) | {1000 * _median(run.processor for run in runs):,.0f}"


INTRODUCTION = """\
# What a bridged column costs when it is read

Made by `{command}` (Python {python}; Spark with two cores in the same
process; load average {load}). A bridged column is computed by its forward query whenever rows
from before the change are read, until the background has settled it.

Two data sources have the same rows, in the schema of the web analytics example, and both get four columns by
a FORWARD_QUERY. (Both were settled once before, after another such change, so that their files are of a kind.)
`settled_events` was promoted and settled ({seconds:.0f} seconds in the background); `bridged_events` stays
bridged, in staging. Each query runs over both by turns, {warm} times to warm up and {repeats} times that count
(fewer, and at least {least}, if that takes more than {longest:.0f} seconds), through the call that answers
`/v0/sql`, planning included. The ratio is of medians of the clock, with the quartiles in brackets; the
processor's seconds are those of Spark's process, which other programs on the machine lengthen less. The limit
is {limit}.

- `bridged_events`: {bridged}
- `settled_events`: {settled}

All rows are from before the change, which is the worst a table can be. `version` is stored in both (the last three
rows): its ratio is what chance and wider files make. *All values* and *a group each* read every row and do
little else, so that the expression weighs more than in most queries; *one value* shows what settled columns have
besides: statistics and dictionaries, by which files and pages are passed over.

| bridged by | query | bridged, ms | processor | settled, ms | processor | ratio | of the processor | ≤ {limit} |
|---|---|---:|---:|---:|---:|---:|---:|---|
{rows}

{verdict}
"""


def report(found: Sequence[Measured], command: str, **told: object) -> str:
    """The whole page."""
    rows, load = "\n".join(each.row for each in found), f"{os.getloadavg()[2]:.1f}"
    python, verdict = platform.python_version(), _verdict(found)
    return INTRODUCTION.format(
        command=command, python=python, load=load, limit=LIMIT, rows=rows, verdict=verdict, **told
    )


def _verdict(found: Sequence[Measured]) -> str:
    bridged = [each for each in found if each.column.by is not None]
    over = [f"`{each.column.by}`, {each.query} ({each.ratio:.2f})" for each in bridged if each.ratio > LIMIT]
    within = f"{len(bridged) - len(over)} of {len(bridged)} queries over bridged columns are within {LIMIT}."
    return "\n- ".join([f"{within} Over it:\n", *over]) if over else within
