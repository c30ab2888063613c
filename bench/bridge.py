"""What a bridged column costs when it is read: the same queries over it and over the settled table.

In: two data sources with the same rows. Out: bench/results/bridge.md. Called by `make bench-bridge`.
Invariant: one of the two is settled before anything is measured, the other stays bridged since it is in
staging, and each query runs over both by turns, so that both have the same machine.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
from events import bodies
from pipelines import deployed, fill, pipeline, settle, unsettled

from penstock.deploy.options import DeployOptions
from penstock.deploy.pipeline import Pipeline

ROWS, REPEATS, WARM = 1_000_000, 9, 2
LIMIT = 1.3
SETTLED, BRIDGED = "settled_events", "bridged_events"
BEFORE = """SCHEMA >
    `timestamp` DateTime `json:$.timestamp`,
    `session_id` String `json:$.session_id`,
    `action` LowCardinality(String) `json:$.action`,
    `version` LowCardinality(String) `json:$.version`,
    `payload` String `json:$.payload`{more}

ENGINE MergeTree
ENGINE_PARTITION_KEY toYYYYMM(timestamp)
ENGINE_SORTING_KEY timestamp
"""


@dataclass(frozen=True, slots=True)
class Column:
    """A column, what it is bridged by (None: it is stored), and a value to look for."""

    name: str
    type: str
    by: str | None
    value: str


COLUMNS = (
    Column("session_uuid", "UUID", "toUUID(session_id)", "'00000064-1234-4abc-8def-0000000c155c'"),
    Column("an_hour_later", "DateTime", "timestamp + INTERVAL 1 HOUR", "'2026-01-03 11:00:00'"),
    Column("shout", "String", "upper(action)", "'SEARCH'"),
    Column("pathname", "String", "JSONExtractString(payload, 'pathname')", "'/section/1/page/7'"),
    Column("version", "LowCardinality(String)", None, "'3'"),
)
QUERIES = (
    ("all values", "SELECT uniq({column}) FROM {table}"),
    ("a group each", "SELECT {column}, count() AS rows FROM {table} GROUP BY {column} ORDER BY rows DESC, {column}"
     " LIMIT 10"),
    ("one value", "SELECT count() FROM {table} WHERE {column} = {value}"),
)  # fmt: skip


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


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure queries over bridged columns.")
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of each of the two tables")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="runs of each query over each table")
    parser.add_argument("--write", action="store_true", help="write bench/results/bridge.md")
    asked = parser.parse_args()
    with pipeline() as running:
        seconds = _prepare(running, asked.rows)
        files = {name: _files(running, name) for name in (BRIDGED, SETTLED)}
        found = list(_measure(running, asked.repeats))
    text = report(found, files, seconds, asked)
    print(text)
    if asked.write:
        (Path(__file__).parent / "results/bridge.md").write_text(text, encoding="utf-8")


def _prepare(running: Pipeline, rows: int) -> float:
    """One table settled and live, the other bridged and in staging; the seconds that settling took."""
    files = {f"datasources/{name}.datasource": BEFORE.format(more="") for name in (SETTLED, BRIDGED)}
    deployed(running, files, DeployOptions())
    for name in (SETTLED, BRIDGED):
        fill(running, ((name, body) for source, body in bodies(rows) if source == "analytics_events"))
    files |= _after(SETTLED)
    deployed(running, files, DeployOptions())
    seconds = settle(running)
    staged = deployed(running, files | _after(BRIDGED), DeployOptions(promote=False))
    strategies = {each["name"]: each["strategy"] for each in staged.plan["resources"]}  # type: ignore[attr-defined]
    if staged.state != "ready" or strategies[BRIDGED] != "bridge" or unsettled(running):
        raise RuntimeError(f"not as it has to be: {staged.state} {staged.error}, {strategies}")
    return seconds


def _after(name: str) -> dict[str, str]:
    new = [column for column in COLUMNS if column.by is not None]
    more = "".join(f",\n    `{column.name}` {column.type} `json:$.{column.name}`" for column in new)
    said = ", ".join(f"{column.by} AS {column.name}" for column in new)
    return {f"datasources/{name}.datasource": f"{BEFORE.format(more=more)}\nFORWARD_QUERY >\n    SELECT *, {said}\n"}


def _measure(running: Pipeline, repeats: int) -> Iterator[Measured]:
    for column in COLUMNS:
        for title, sql in QUERIES:
            texts = {
                name: sql.format(column=column.name, table=name, value=column.value) for name in (BRIDGED, SETTLED)
            }
            runs = _by_turns(running, texts, repeats)
            yield Measured(column, title, tuple(runs[BRIDGED]), tuple(runs[SETTLED]))
            print(f"{column.name}, {title}: done", file=sys.stderr, flush=True)


def _by_turns(running: Pipeline, texts: Mapping[str, str], repeats: int) -> dict[str, list[Run]]:
    runs: dict[str, list[Run]] = {name: [] for name in texts}
    for turn in range(WARM + repeats):
        answers = {}
        for name in sorted(texts, reverse=bool(turn % 2)):
            run, answers[name] = _ask(running, texts[name])
            runs[name] += [run] if turn >= WARM else []
        if len({str(answer) for answer in answers.values()}) != 1:
            raise RuntimeError(f"the two tables answer differently: {answers}")
    return runs


def _ask(running: Pipeline, sql: str) -> tuple[Run, list[tuple[object, ...]]]:
    spark = psutil.Process(running.jvm)
    busy, started = sum(spark.cpu_times()[:2]), time.perf_counter()
    rows = running.sql(sql, "staging").rows
    clock = time.perf_counter() - started
    return Run(clock, sum(spark.cpu_times()[:2]) - busy), rows


def _files(running: Pipeline, name: str) -> str:
    """Of a table of live, by Iceberg's metadata; the pipeline's interface does not tell."""
    live = running._deployer._live()
    assert live is not None
    bound = live.manifest.binding(name)
    assert bound is not None
    size = live.sizes[bound.table]
    return f"{size.rows:,} rows in {size.files} files, {size.bytes / 1e6:,.1f} MB"


INTRODUCTION = """\
# What a bridged column costs when it is read

Made by `{command}` (Python {python}; Spark with two cores in the same
process; load average {load}). A bridged column is computed by its forward query whenever rows
from before the change are read, until the background has settled it.

Two data sources have the same rows, in the schema of the web analytics example, and both get four columns by
a FORWARD_QUERY. `settled_events` was promoted and settled ({seconds:.0f} seconds in the background); `bridged_events`
stays bridged, in staging. Each query runs over both by turns, {warm} times to warm up and {repeats} times that count,
through the call that answers `/v0/sql`, planning included. The ratio is of medians of the clock, with the
quartiles in brackets; the processor's seconds are those of Spark's process, which other programs on the machine
lengthen less. The limit is {limit}.

- `bridged_events`: {bridged}
- `settled_events`: {settled}

All rows are from before the change, which is the worst a table can be. `version` is stored in both (the last three
rows): its ratio is what the other files and chance make. *All values* and *a group each* read every row and do
little else, so that the expression weighs more than in most queries; *one value* shows what settled columns have
besides: statistics and dictionaries, by which files and pages are passed over.

| bridged by | query | bridged, ms | processor | settled, ms | processor | ratio | of the processor | ≤ {limit} |
|---|---|---:|---:|---:|---:|---:|---:|---|
{rows}

{verdict}
"""


def report(found: Sequence[Measured], files: Mapping[str, str], seconds: float, asked: argparse.Namespace) -> str:
    """The whole page."""
    usual = (asked.rows, asked.repeats) == (ROWS, REPEATS)
    options = f"--rows {asked.rows} --repeats {asked.repeats}"
    return INTRODUCTION.format(
        command="make bench-bridge" if usual else f"python bench/bridge.py --write {options}",
        python=platform.python_version(),
        load=f"{os.getloadavg()[2]:.1f}",
        seconds=seconds,
        warm=WARM,
        repeats=asked.repeats,
        limit=LIMIT,
        bridged=files[BRIDGED],
        settled=files[SETTLED],
        rows="\n".join(each.row for each in found),
        verdict=_verdict(found),
    )


def _verdict(found: Sequence[Measured]) -> str:
    bridged = [each for each in found if each.column.by is not None]
    over = [f"`{each.column.by}`, {each.query} ({each.ratio:.2f})" for each in bridged if each.ratio > LIMIT]
    within = f"{len(bridged) - len(over)} of {len(bridged)} queries over bridged columns are within {LIMIT}."
    return "\n- ".join([f"{within} Over it:\n", *over]) if over else within


if __name__ == "__main__":
    main()
