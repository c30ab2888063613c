"""An endpoint over a roll-up of a million rows: by Spark as it is answered, and by engines that read the same files.

In: a table that is filled as the server fills it. Out: bench/results/local_reader.md. DuckDB and ClickHouse (chDB) get
the query written by hand for them, over the data files of the same snapshot; their rows are compared with the
endpoint's before anything is measured, and all ask by turns, so that they have the same machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import duckdb
from chdb.session import Session
from pipelines import deployed, fill, pipeline

from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.deploy.pipeline import Pipeline
from penstock.lake.spark.names import qualified_table
from penstock.model.settings import MaintenanceSettings

ROWS, REPEATS, WARM, SECONDS, CLIENTS = 1_000_000, 60, 200, 10.0, 8
COMPACTED = MaintenanceSettings().compact_files
BODIES = (50_000, 25_000)
"""Rows of one body: of the files of twenty the server compacts none, of those of forty it makes one."""
COUNTRIES, PAGES = 40, 500
RESULT = Path(__file__).parent / "results" / "local_reader.md"
FILES = {
    "datasources/hourly.datasource": "SCHEMA >\n    `hour` DateTime `json:$.hour`,\n"
    "    `country` LowCardinality(String) `json:$.country`,\n    `page` String `json:$.page`,\n"
    "    `hits` UInt32 `json:$.hits`,\n    `seconds` Float64 `json:$.seconds`\n\n"
    "ENGINE MergeTree\nENGINE_SORTING_KEY hour, country, page\n",
    "pipes/by_page.pipe": "NODE top\nSQL >\n    %\n"
    "    SELECT country, sum(hits) AS hits, round(avg(seconds), 6) AS seconds\n"
    "    FROM hourly WHERE page = {{ String(value) }} GROUP BY country ORDER BY country\n\nTYPE endpoint\n",
    "pipes/by_week.pipe": "NODE top\nSQL >\n    %\n"
    "    SELECT country, sum(hits) AS hits, round(avg(seconds), 6) AS seconds FROM hourly\n"
    "    WHERE hour >= {{ DateTime(value) }} AND hour < {{ DateTime(value) }} + INTERVAL 7 DAY\n"
    "    GROUP BY country ORDER BY country\n\nTYPE endpoint\n",
}
SQL = (
    "SELECT country, CAST(sum(hits) AS BIGINT) AS hits, round(avg(seconds), 6) AS seconds FROM {files}"
    " WHERE {where} GROUP BY country ORDER BY country"
)
Rows = list[tuple[str, int, float]]
Ask = Callable[[str], Rows]


@dataclass(frozen=True, slots=True)
class Question:
    """An endpoint, and what other engines are asked for the same answer."""

    endpoint: str
    about: str
    where: str
    """SQL in which `{value}` is the value."""
    values: tuple[str, ...]


QUESTIONS = (
    Question(
        "by_page",
        "a filter on a column that no file is sorted by: every row is read",
        "page = '{value}'",
        tuple(f"/page/{at * 7 % PAGES}" for at in range(PAGES)),
    ),
    Question(
        "by_week",
        "a range of the sorting key: a sixth of the rows is read",
        "hour >= TIMESTAMP '{value}' AND hour < TIMESTAMP '{value}' + INTERVAL 7 DAY",
        tuple(f"2026-01-{1 + at * 7 % 20:02} 00:00:00" for at in range(20)),
    ),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What one engine took."""

    engine: str
    alone: list[float]
    """Milliseconds of each question, one after the other."""
    together: float
    """Answers a second to `CLIENTS` threads that ask all the time."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure an endpoint by Spark and by local engines.")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.name}")
    asked = parser.parse_args()
    parts = [part for body in BODIES for part in measure_table(asked.rows, body)]
    text = "\n".join([_heading(asked.rows), *parts])
    print(text)
    if asked.write:
        RESULT.write_text(text, encoding="utf-8")


def measure_table(rows: int, body: int) -> Iterator[str]:
    """The parts of the page of results about a table that was filled by bodies of so many rows."""
    with pipeline() as running:
        made = deployed(running, FILES, DeployOptions())
        fill(running, _bodies(rows, body))
        running.maintenance.run_round()
        while len(files := _data_files(running, made.manifest.tables[0].id)) >= COMPACTED:
            running.maintenance.run_round()  # the one before gave way to rows that were still waiting
        for question in QUESTIONS:
            yield report(question, len(files), _measure(question, compared_engines(running, files, question)))


def _bodies(rows: int, body: int) -> Iterator[tuple[str, bytes]]:
    for first in range(0, rows, body):
        yield "hourly", b"\n".join(_row(at) for at in range(first, min(first + body, rows)))


def _row(at: int) -> bytes:
    hour, place = divmod(at, 1_000)
    row = {
        "hour": f"2026-{1 + hour // 672 % 12:02}-{1 + hour // 24 % 28:02} {hour % 24:02}:00:00",
        "country": f"country {place % COUNTRIES}",
        "page": f"/page/{(place * 7 + hour) % PAGES}",
        "hits": 1 + at % 900,
        "seconds": at % 3_000 / 8,
    }
    return json.dumps(row).encode()


def _data_files(running: Pipeline, table: str) -> list[str]:
    """The Parquet files of the current snapshot."""
    rows = running.core.warehouse.lake.spark.sql(f"SELECT file_path FROM {qualified_table(table)}.files").collect()
    return [str(row[0]).removeprefix("file:") for row in rows]


def compared_engines(running: Pipeline, files: list[str], question: Question) -> dict[str, Ask]:
    """What answers the question. Raises RuntimeError unless all answer alike."""
    engines = {"Spark, as an endpoint": _spark(running, question), **_local(files, question)}
    for value in question.values[::4][:5]:
        answers = {name: ask(value) for name, ask in engines.items()}
        first = next(iter(answers.values()))
        if not first or any(rows != first for rows in answers.values()):
            raise RuntimeError(f"the answers differ for {value}: {answers}")
    return engines


def _spark(running: Pipeline, question: Question) -> Ask:
    def ask(value: str) -> Rows:
        answer = running.reader.endpoint(question.endpoint, {"value": value}, "live")
        return [(str(country), int(hits), float(seconds)) for country, hits, seconds in answer.rows]  # type: ignore[call-overload]

    return ask


def _local(files: list[str], question: Question) -> dict[str, Ask]:
    connection, session, guard = duckdb.connect(), Session(), threading.Lock()
    listed = "read_parquet([" + ", ".join(f"'{each}'" for each in files) + "])"
    named = "(" + " UNION ALL ".join(f"SELECT * FROM file('{each}', Parquet)" for each in files) + ")"

    def text(source: str, value: str) -> str:
        return SQL.format(files=source, where=question.where.format(value=value))

    def ask_duckdb(value: str) -> Rows:
        return connection.cursor().execute(text(listed, value)).fetchall()

    def ask_chdb(value: str) -> Rows:
        with guard:  # one session answers one question at a time
            answer = session.query(text(named, value), "JSONCompact").bytes()
        return [(row[0], int(row[1]), float(row[2])) for row in json.loads(answer)["data"]]

    return {"DuckDB, over its files": ask_duckdb, "ClickHouse (chDB), over its files": ask_chdb}


def _measure(question: Question, engines: dict[str, Ask]) -> list[Measured]:
    alone: dict[str, list[float]] = {name: [] for name in engines}
    for at in range(WARM + REPEATS):
        for name, ask in engines.items():
            started = time.perf_counter()
            ask(question.values[at % len(question.values)])
            if at >= WARM:
                alone[name].append(1_000 * (time.perf_counter() - started))
    return [Measured(name, alone[name], _throughput(question, ask)) for name, ask in engines.items()]


def _throughput(question: Question, ask: Ask) -> float:
    ends = time.perf_counter() + SECONDS

    def ask_on(client: int) -> int:
        count = 0
        while time.perf_counter() < ends:
            ask(question.values[(client * 61 + count) % len(question.values)])
            count += 1
        return count

    with ThreadPoolExecutor(CLIENTS) as pool:
        return sum(pool.map(ask_on, range(CLIENTS))) / SECONDS


def _heading(rows: int) -> str:
    return "\n".join(
        [
            "# An endpoint by Spark, and by engines that read the same files",
            "",
            f"Made by `python bench/local_reader.py --write`, Python {platform.python_version()}, on"
            f" {os.cpu_count()} cores; load average at the end: {os.getloadavg()[0]:.1f}.",
            f"A filter, a group of {COUNTRIES} and two aggregates over {rows:,} rows, in the files the server left",
            f"after one round of maintenance; {REPEATS} questions by turns after {WARM} to warm up.",
            f"*Together* is {CLIENTS} threads that ask for {SECONDS:.0f} seconds. Spark's times have all that an",
            "endpoint does (template, compiler, limits) but HTTP; the others run SQL that was written for them,",
            "without any of it.",
            "",
        ]
    )


def report(question: Question, files: int, found: list[Measured]) -> str:
    """One question's part of the page of results."""
    spark = statistics.median(found[0].alone)
    lines = [
        f"| {each.engine} | {statistics.median(each.alone):.0f} | {statistics.quantiles(each.alone, n=20)[-1]:.0f} |"
        f" {statistics.median(each.alone) / spark:.2f} | {each.together:.0f} |"
        for each in found
    ]
    return "\n".join(
        [
            f"## `{question.endpoint}`, {files} file{'s' if files > 1 else ''}: {question.about}",
            "",
            "| | p50, ms | p95, ms | p50 as Spark's is 1 | answers a second, together |",
            "|---|---:|---:|---:|---:|",
            *lines,
            "",
        ]
    )


if __name__ == "__main__":
    main()
