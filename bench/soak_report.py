"""The page and the picture of the soak.

In: the samples of a run. Out: Markdown, an SVG file, and the names of the series that grew. A series is flat if the
median of its last third after the warm-up is at most `MOST_GROWTH` times that of its first third, or has grown by
less than `SMALL`, the few of a kind by which one sample differs from the next; or, for what is only bounded, as long as
it keeps its bound.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import matplotlib
from soak_samples import Sample

from penstock.serve.server.log_files import KEPT, MOST_BYTES

matplotlib.use("svg")
from matplotlib import pyplot

MOST_GROWTH = 1.15
SMALL = 30.0
BOUNDS = {"bytes of logs": 3.0 * (KEPT + 1) * MOST_BYTES}
"""What grows until it is rotated: the logs of the server, of its start and of Spark."""
DRAWN = (
    "snapshots, all tables",
    "bytes of metadata folders",
    "files of tables",
    "inodes",
    "rows of the state store",
    "memory of Python, MiB",
    "memory of Java, MiB",
    "file handles",
    "seconds, post to table",
)


class Load(Protocol):
    """What the clients of the soak sent."""

    rows: int
    bytes: int
    deployments: int
    queries: int
    errors: list[str]


def growing(samples: Sequence[Sample], warm: float) -> list[str]:
    """The names of the series that grew after `warm` minutes."""
    return [name for name in _names(samples) if not _is_flat(samples, name, warm)]


def report(samples: Sequence[Sample], load: Load, warm: float) -> str:
    """The whole page."""
    minutes = samples[-1].minute
    head = [
        "# A month in an hour",
        "",
        f"Written by `make soak`: {minutes:.0f} minutes, {load.rows:,} rows in posts of 25 into four streams,",
        f"{load.deployments} deployments promoted, {load.queries:,} queries, {len(load.errors)} errors of clients.",
        f"{_amplification(samples, load)}",
        "",
        f"First and last: the medians of the first and the last third after minute {warm:.0f}.",
        "",
        "| series | first | last | growth | |",
        "|---|---:|---:|---:|---|",
    ]
    errors = [f"- {each}" for each in load.errors[:20]]
    return "\n".join([*head, *(_row(samples, name, warm) for name in _names(samples)), "", *errors, ""])


def draw(samples: Sequence[Sample], file: Path, warm: float) -> None:
    """Write the picture: one small chart a series, over the minutes of the run."""
    figure, charts = pyplot.subplots(3, 3, figsize=(11, 7), layout="constrained")
    minutes = [sample.minute for sample in samples]
    for chart, name in zip(charts.flat, DRAWN, strict=True):
        chart.plot(minutes, [sample.values.get(name, 0.0) for sample in samples], linewidth=1)
        chart.axvline(warm, color="lightgrey", linewidth=1)
        chart.set_title(name, fontsize=9)
        chart.set_ylim(bottom=0)
        chart.tick_params(labelsize=7)
    figure.supxlabel("minutes", fontsize=9)
    figure.savefig(file, metadata={"Date": None})
    pyplot.close(figure)


def _names(samples: Sequence[Sample]) -> list[str]:
    return list(dict.fromkeys(name for sample in samples for name in sample.values))


def _thirds(samples: Sequence[Sample], name: str, warm: float) -> tuple[float, float]:
    """The medians of the first and of the last third of the samples after the warm-up; of all, if there are none."""
    values = [each.values.get(name, 0.0) for each in samples if each.minute >= warm]
    values = values or [each.values.get(name, 0.0) for each in samples]
    third = max(1, len(values) // 3)
    return statistics.median(values[:third]), statistics.median(values[-third:])


def _is_flat(samples: Sequence[Sample], name: str, warm: float) -> bool:
    first, last = _thirds(samples, name, warm)
    if name in BOUNDS:
        return last <= BOUNDS[name]
    small = 0.5 if name.startswith("seconds") else SMALL
    return last <= first * MOST_GROWTH or last - first < small


def _row(samples: Sequence[Sample], name: str, warm: float) -> str:
    first, last = _thirds(samples, name, warm)
    growth = f"{last / first:.2f}" if first else "–"
    within = f"at most {BOUNDS[name]:,.0f}" if name in BOUNDS else "flat"
    verdict = within if _is_flat(samples, name, warm) else "**grows**"
    return f"| {name} | {first:,.1f} | {last:,.1f} | {growth} | {verdict} |"


def _amplification(samples: Sequence[Sample], load: Load) -> str:
    """The bytes of metadata files written: commits of each table between two samples, times its file's size."""
    written = 0.0
    for before, after in itertools.pairwise(samples):
        for folder, table in after.tables.items():
            if folder in before.tables:
                written += (table.commits - before.tables[folder].commits) * table.metadata_bytes
    return f"{written / max(1, load.bytes):.1f} bytes of table metadata were written for each byte of a posted row."
