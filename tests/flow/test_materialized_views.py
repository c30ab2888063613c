"""The same inserts into ClickHouse and into Penstock, with the same materialized views: every target has the same
rows once it is merged, however the rows are split into batches and steps.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest
from chdb.session import Session
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clickhouse_session import open_session
from manual_pipeline import MakePipeline
from penstock.flow.stepper import StepLimits
from penstock.model.datasource import DataSource
from penstock.model.pipe import Materialized
from penstock.model.project import Project
from penstock.parse.project_loader import load_files

SOURCES = {
    "events": ("id UInt32, k UInt8, day Date, n Int32, kind String, sign Int8, tags Array(String)", "Null"),
    "users": ("k UInt8, name String", "ReplacingMergeTree", "SORTING_KEY k"),
    "latest": ("k UInt8, id UInt32, kind String", "ReplacingMergeTree", "SORTING_KEY k"),
    "newest": ("k UInt8, n Int32, gone UInt8", "ReplacingMergeTree", "SORTING_KEY k", "VER n", "IS_DELETED gone"),
    "sums": ("day Date, kind String, n Int64, rows UInt32", "SummingMergeTree", "SORTING_KEY day, kind"),
    "months": ("month Date, n Int64, rows UInt32", "SummingMergeTree", "SORTING_KEY month", "COLUMNS n, rows"),
    "states": (
        "k UInt8, c AggregateFunction(count), s AggregateFunction(sum, Int32), "
        "u AggregateFunction(uniqExact, String), m SimpleAggregateFunction(max, Int32), "
        "l SimpleAggregateFunction(anyLast, String)",
        "AggregatingMergeTree",
        "SORTING_KEY k",
    ),
    "all_states": (
        "one UInt8, c AggregateFunction(count), u AggregateFunction(uniqExact, String)",
        "AggregatingMergeTree",
        "SORTING_KEY one",
    ),
    "collapsed": ("k UInt8, n Int32, sign Int8", "CollapsingMergeTree", "SORTING_KEY k", "SIGN sign"),
    "versioned": (
        "k UInt8, n Int32, v UInt8, sign Int8",
        "VersionedCollapsingMergeTree",
        "SORTING_KEY k",
        "SIGN sign",
        "VERSION v",
    ),
    "tagged": ("tag String, rows UInt32", "SummingMergeTree", "SORTING_KEY tag"),
    "named": ("id UInt32, name String", "MergeTree", "SORTING_KEY id"),
}
VIEWS = {
    "latest": "SELECT k, id, kind FROM events",
    "newest": "SELECT k, n, toUInt8(n % 2 = 0) AS gone FROM events WHERE kind != ''",
    "sums": "SELECT day, kind, sum(n) AS n, toUInt32(count()) AS rows FROM events GROUP BY day, kind",
    "months": "SELECT toStartOfMonth(day) AS month, sum(n) AS n, toUInt32(sum(rows)) AS rows FROM sums GROUP BY month",
    "states": "SELECT k, countState() AS c, sumState(n) AS s, uniqExactState(kind) AS u, max(n) AS m, "
    "argMax(kind, id) AS l FROM events GROUP BY k",
    "all_states": "SELECT toUInt8(1) AS one, countMergeState(c) AS c, uniqExactMergeState(u) AS u FROM states",
    "collapsed": "SELECT k, n, sign FROM (SELECT k, n * 2 AS n, sign FROM events)",
    "versioned": "SELECT k, n, toUInt8(n % 2) AS v, sign FROM events",
    "tagged": "SELECT tag, toUInt32(1) AS rows FROM events ARRAY JOIN tags AS tag",
    "named": "SELECT events.id AS id, users.name AS name FROM events LEFT JOIN users FINAL ON events.k = users.k",
}
QUERIES = (
    "SELECT k, id, kind FROM latest FINAL ORDER BY k",
    "SELECT k, n, gone FROM newest FINAL ORDER BY k",
    "SELECT toString(day), kind, n, rows FROM sums FINAL ORDER BY day, kind",
    "SELECT toString(month), n, rows FROM months FINAL ORDER BY month",
    "SELECT k, finalizeAggregation(c), finalizeAggregation(s), finalizeAggregation(u), m, l "
    "FROM states FINAL ORDER BY k",
    "SELECT k, countMerge(c), sumMerge(s), uniqExactMerge(u), max(m) FROM states GROUP BY k ORDER BY k",
    "SELECT countMerge(c), uniqExactMerge(u) FROM all_states",
    "SELECT k, n, sign FROM collapsed FINAL ORDER BY k",
    "SELECT k, sum(n * sign), sum(sign) FROM collapsed GROUP BY k HAVING sum(sign) > 0 ORDER BY k",
    "SELECT k, n, v, sign FROM versioned FINAL ORDER BY k, v, n, sign",
    "SELECT tag, rows FROM tagged FINAL ORDER BY tag",
    "SELECT id, name FROM named ORDER BY id",
    "SELECT k, name FROM users FINAL ORDER BY k",
    "SELECT count() FROM events",
)
EVENT = st.fixed_dictionaries(
    {
        "k": st.integers(1, 3),
        "day": st.sampled_from(["2024-01-01", "2024-01-31", "2024-02-01"]),
        "n": st.integers(-2, 2),
        "kind": st.sampled_from(["x", "y", ""]),
        "tags": st.lists(st.sampled_from(["a", "b"]), max_size=2),
    }
)
USER = st.fixed_dictionaries({"k": st.integers(1, 3), "name": st.sampled_from(["ann", "bob", "é"])})
POST = st.tuples(st.just("events"), st.lists(EVENT, min_size=1, max_size=6)) | st.tuples(
    st.just("users"), st.lists(USER, min_size=1, max_size=3)
)
Row = dict[str, object]


def files() -> dict[str, str]:
    made = {}
    for name, (columns, engine, *options) in SOURCES.items():
        listed = (
            re.sub(r"(\w+) ([^,(]+(?:\([^)]*\))?)", r"`\1` \2", columns) if name not in ("events", "users") else None
        )
        schema = listed or ", ".join(
            f"`{each.split()[0]}` {each.split()[1]} `json:$.{each.split()[0]}{'[:]' if 'Array' in each else ''}`"
            for each in columns.split(", ")
        )
        told = "\n".join(f"ENGINE_{option}" for option in options)
        made[f"datasources/{name}.datasource"] = f"SCHEMA >\n    {schema}\n\nENGINE {engine}\n{told}\n"
    for name, sql in VIEWS.items():
        made[f"pipes/to_{name}.pipe"] = f"NODE n_{name}\nSQL >\n    {sql}\nTYPE materialized\nDATASOURCE {name}\n"
    return made


FILES = files()


@pytest.fixture(scope="module")
def clickhouse() -> Session:
    return open_session()


@pytest.mark.slow
@pytest.mark.timeout(1500)
@settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(posts=st.lists(POST, min_size=1, max_size=6), most_rows=st.sampled_from([1, 3, 1000]))
def test_targets_are_those_of_clickhouse(
    make_pipeline: MakePipeline,
    clickhouse: Session,
    posts: list[tuple[str, list[Row]]],
    most_rows: int,
) -> None:
    pipeline = make_pipeline(FILES)
    pipeline.limits = StepLimits(rows=most_rows, bytes=2**30, seconds_between=0.0)
    pipeline.restart()
    create(clickhouse, load_files(FILES).project)
    for stream, rows in numbered(posts):
        body = "\n".join(map(json.dumps, rows))
        clickhouse.query(f"INSERT INTO mv.{stream} SETTINGS optimize_on_insert = 0 FORMAT JSONEachRow {body}")
        pipeline.post(stream, [json.dumps(row).encode() for row in rows])
        pipeline.drain()  # a join reads the other table as it is then
    for query in QUERIES:
        assert [list(row) for row in pipeline.ask(query)] == answer(clickhouse, query), query


def numbered(posts: Sequence[tuple[str, list[Row]]]) -> list[tuple[str, list[Row]]]:
    """Events with an id in the order of insertion, and a sign by which each row with 1 is taken back by
    the next of its key, with the same value: CollapsingMergeTree wants it so, and sums stay whenever it merges."""
    count, made = 0, []
    open_keys: dict[object, object] = {}
    for stream, rows in posts:
        batch = []
        for row in rows:
            if stream == "events":
                count += 1
                sign = -1 if row["k"] in open_keys else 1
                value = open_keys.pop(row["k"]) if sign < 0 else open_keys.setdefault(row["k"], row["n"])
                row = {**row, "n": value, "id": count, "sign": sign}
            batch.append(row)
        made.append((stream, batch))
    return made


def create(session: Session, project: Project) -> None:
    session.query("DROP DATABASE IF EXISTS mv SYNC")
    session.query("CREATE DATABASE mv ENGINE = Atomic")
    session.query("USE mv")
    for source in project.datasources:
        columns = ", ".join(f"`{column.name}` {column.type}" for column in source.columns)
        session.query(f"CREATE TABLE {source.name} ({columns}) ENGINE = {engine(source)}")
    for pipe in project.pipes:
        node = pipe.materialized
        assert node is not None
        assert isinstance(node.kind, Materialized)
        session.query(f"CREATE MATERIALIZED VIEW {pipe.name} TO {node.kind.datasource} AS {node.sql.text}")


def engine(source: DataSource) -> str:
    of = source.engine
    if of.name == "Null":
        return of.name
    names = (of.ver, of.is_deleted, of.sign, of.version, f"({', '.join(of.summed)})" if of.summed else None)
    return f"{of.name}({', '.join(name for name in names if name)}) ORDER BY ({', '.join(of.sorting_key)})"


def answer(session: Session, query: str) -> list[list[object]]:
    text = session.query(f"{query} SETTINGS output_format_json_quote_64bit_integers = 0", "JSONCompact").bytes()
    rows: list[list[object]] = json.loads(text)["data"]
    return rows
