"""What a bridged column costs when it is read: the same queries over it and over the settled table.

In: two data sources with the same rows. Out: bench/results/bridge.md. One of the two is settled before anything is
measured, the other is in staging: once as it is by default when it could be promoted, and once with a budget of nothing
for it, so that it stays bridged. Each query runs over both by turns, so that both have the same machine.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import psutil
from bridge_report import Column, Measured, Run, report
from events import bodies
from pipelines import deployed, fill, pipeline, settle, unsettled

from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.deploy.pipeline import Pipeline

ROWS, REPEATS, WARM = 1_000_000, 9, 2
LONGEST, LEAST = 30.0, 3
"""A query that has run for so many seconds over both tables is not repeated more than so many times."""
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


COLUMNS = (
    Column("session_uuid", "UUID", "toUUID(session_id)", "'00000064-1234-4abc-8def-0000000c155c'"),
    Column("an_hour_later", "DateTime", "timestamp + INTERVAL 1 HOUR", "'2026-01-03 11:00:00'"),
    Column("shout", "String", "upper(action)", "'SEARCH'"),
    Column("pathname", "String", "JSONExtractString(payload, 'pathname')", "'/section/1/page/7'"),
    Column("version", "LowCardinality(String)", None, "'3'"),
)
CHEAP = Column("deed", "String", "action", "'search'", "action")
"""Another column under a name of its own, which is never materialized; compared with the column itself."""
NOTHING = {"penstock.toml": "[deploy]\nmaterialize_bytes = 0\n"}
BY = tuple(column for column in COLUMNS if column.by is not None)
FIRST = (Column("a_day_later", "DateTime", "timestamp + INTERVAL 1 DAY", ""),)
QUERIES = (
    ("all values", "SELECT uniq({column}) FROM {table}"),
    (
        "a group each",
        "SELECT {column}, count() AS rows FROM {table} GROUP BY {column} ORDER BY rows DESC, {column} LIMIT 10",
    ),
    ("one value", "SELECT count() FROM {table} WHERE {column} = {value}"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure queries over bridged columns.")
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of each of the two tables")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="runs of each query over each table")
    parser.add_argument("--write", action="store_true", help="write bench/results/bridge.md")
    asked = parser.parse_args()
    with pipeline() as running:
        files, seconds = _prepare(running, asked.rows)
        files[_path(BRIDGED)] = _text((*FIRST, *BY, CHEAP), (*BY, CHEAP))
        _stage(running, {**files, **NOTHING}, settled=False)
        sizes = {name: _files(running, name) for name in (BRIDGED, SETTLED)}
        bridged = list(_measure(running, asked.repeats))
        running.deployer.discard("staging")
        waited = _stage(running, files, settled=True)
        promoted = list(_measure(running, asked.repeats))
    usual = (asked.rows, asked.repeats) == (ROWS, REPEATS)
    options = f"--rows {asked.rows} --repeats {asked.repeats}"
    text = report(
        promoted,
        bridged,
        "make bench-bridge" if usual else f"python bench/bridge.py --write {options}",
        seconds=seconds,
        waited=waited,
        warm=WARM,
        repeats=asked.repeats,
        least=LEAST,
        longest=LONGEST,
        bridged_files=sizes[BRIDGED],
        settled_files=sizes[SETTLED],
    )
    print(text)
    if asked.write:
        (Path(__file__).parent / "results/bridge.md").write_text(text, encoding="utf-8")


def _prepare(running: Pipeline, rows: int) -> tuple[dict[str, str], float]:
    """Live, with one table that has the columns and is settled; the seconds that settling took in the background. Both
    are settled once before, so that their rows lie in files of the same kind."""
    files = {_path(name): BEFORE.format(more="") for name in (SETTLED, BRIDGED)}
    deployed(running, files, DeployOptions())
    for name in (SETTLED, BRIDGED):
        fill(running, ((name, body) for source, body in bodies(rows) if source == "analytics_events"))
    files = {_path(name): _text(FIRST, FIRST) for name in (SETTLED, BRIDGED)}
    deployed(running, files, DeployOptions())
    settle(running)
    files[_path(SETTLED)] = _text((*FIRST, *BY), BY)
    deployed(running, {**files, **NOTHING}, DeployOptions())
    return files, settle(running)


def _stage(running: Pipeline, files: Mapping[str, str], *, settled: bool) -> float:
    """The other table with the columns, in staging; the seconds until it was ready."""
    started = time.monotonic()
    staged = deployed(running, files, DeployOptions(promote=False))
    seconds = time.monotonic() - started
    strategies = {each["name"]: each["strategy"] for each in staged.plan["resources"]}  # type: ignore[attr-defined]
    found = BRIDGED not in unsettled(running, "ready")
    if staged.state != "ready" or strategies[BRIDGED] != "bridge" or found != settled:
        raise RuntimeError(f"not as it has to be: {staged.state} {staged.error}, {strategies}, settled: {found}")
    return seconds


def _path(name: str) -> str:
    return f"datasources/{name}.datasource"


def _text(columns: Sequence[Column], new: Sequence[Column]) -> str:
    """The data source with more columns, of which some are new."""
    more = "".join(f",\n    `{column.name}` {column.type} `json:$.{column.name}`" for column in columns)
    said = ", ".join(f"{column.by} AS {column.name}" for column in new)
    return f"{BEFORE.format(more=more)}\nFORWARD_QUERY >\n    SELECT *, {said}\n"


def _measure(running: Pipeline, repeats: int) -> Iterator[Measured]:
    for column in (*COLUMNS, CHEAP):
        for title, sql in QUERIES:
            names = {BRIDGED: column.name, SETTLED: column.stored_as or column.name}
            texts = {table: sql.format(column=name, table=table, value=column.value) for table, name in names.items()}
            runs = _by_turns(running, texts, repeats)
            yield Measured(column, title, tuple(runs[BRIDGED]), tuple(runs[SETTLED]))
            print(f"{column.name}, {title}: done", file=sys.stderr, flush=True)


def _by_turns(running: Pipeline, texts: Mapping[str, str], repeats: int) -> dict[str, list[Run]]:
    runs: dict[str, list[Run]] = {name: [] for name in texts}
    started = time.perf_counter()
    for turn in range(WARM + repeats):
        if turn >= WARM + LEAST and time.perf_counter() - started > LONGEST:
            break
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
    rows = list(running.reader.sql(sql, "staging").rows)
    clock = time.perf_counter() - started
    return Run(clock, sum(spark.cpu_times()[:2]) - busy), rows


def _files(running: Pipeline, name: str) -> str:
    """Of a table of live, by Iceberg's metadata; the pipeline's interface does not tell."""
    live = running.deployer._read_live(())
    assert live is not None
    bound = live.manifest.binding(name)
    assert bound is not None
    size = live.sizes[bound.table]
    return f"{size.rows:,} rows in {size.files} files, {size.bytes / 1e6:,.1f} MB"


if __name__ == "__main__":
    main()
