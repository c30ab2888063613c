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
    """A column, what it is bridged by (None: it is stored), a value to look for, and the column of the settled table
    that it is compared with, if that has another name."""

    name: str
    type: str
    by: str | None
    value: str
    stored_as: str | None = None


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


_HEAD = """\
| bridged by | query | bridged, ms | processor | settled, ms | processor | ratio | of the processor | ≤ {limit} |
|---|---|---:|---:|---:|---:|---:|---:|---|"""
INTRODUCTION = """\
# What a bridged column costs when it is read

Made by `{command}` (Python {python}; Spark with two cores in the same
process; load average {load}). A bridged column is computed by its forward query whenever rows
from before the change are read, until it is materialized: before the version is ready where `[deploy]
materialize_bytes` allows it, else in the background once it is live.

Two data sources have the same rows, in the schema of the web analytics example, and both get four columns by
a FORWARD_QUERY. (Both were settled once before, after another such change, so that their files are of a kind.)
`settled_events` was promoted with a budget of nothing and settled ({seconds:.0f} seconds in the background);
`bridged_events` is in staging. Each query runs over both by turns, {warm} times to warm up and {repeats} times that
count (fewer, and at least {least}, if that takes more than {longest:.0f} seconds), through the call that answers
`/v0/sql`, planning included. The ratio is of medians of the clock, with the quartiles in brackets; the
processor's seconds are those of Spark's process, which other programs on the machine lengthen less. The limit
is {limit}.

- `bridged_events`: {bridged_files}
- `settled_events`: {settled_files}

All rows are from before the change, which is the worst a table can be. `version` is stored in both (*stored in
both*): its ratio is what chance and wider files make. `action` under another name is not materialized at all, since it
costs next to nothing; it is compared with `action` itself. *All values* and *a group each* read every row and do
little else, so that the expression weighs more than in most queries; *one value* shows what settled columns have
besides: statistics and dictionaries, by which files and pages are passed over.

## At the promotion, by default

The deployment was ready after {waited:.0f} seconds, in which the four columns were written. Both tables have them in
their files here, so what differs is chance, as in the rows *stored in both*; the processor tells it best.

{promoted}

## With `materialize_bytes = 0`

What a table costs that is larger than the budget, until the background has written its columns. The check of all rows
has taken the errors out of the conversions.

{bridged}
"""


def report(promoted: Sequence[Measured], bridged: Sequence[Measured], command: str, **told: object) -> str:
    """The whole page."""
    load, python = f"{os.getloadavg()[2]:.1f}", platform.python_version()
    tables = {"promoted": _table(promoted), "bridged": _table(bridged)}
    return INTRODUCTION.format(command=command, python=python, load=load, limit=LIMIT, **tables, **told)


def _table(found: Sequence[Measured]) -> str:
    return "\n".join([_HEAD.format(limit=LIMIT), *(each.row for each in found), "", _verdict(found)])


def _verdict(found: Sequence[Measured]) -> str:
    bridged = [each for each in found if each.column.by is not None]
    over = [f"`{each.column.by}`, {each.query} ({each.ratio:.2f})" for each in bridged if each.ratio > LIMIT]
    within = f"{len(bridged) - len(over)} of {len(bridged)} queries over bridged columns are within {LIMIT}."
    return "\n- ".join([f"{within} Over it:\n", *over]) if over else within
