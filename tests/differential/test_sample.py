"""SAMPLE on ClickHouse's MergeTree (chDB) and on Spark: the same rows, for each type of key and many ratios."""

from __future__ import annotations

import json

import pytest
from tests.differential.engines import ClickHouse, Spark

from penstock.errors import InvalidQuery, Location
from penstock.model.datasource import Column, DataSource, Text
from penstock.model.engine import Engine
from penstock.model.project import Project
from penstock.parse.column_types import parse_type
from penstock.sql.compile import compile_sql
from penstock.sql.stored_types import spark_type

pytestmark = pytest.mark.spark

BITS = {"s8": 8, "s16": 16, "s32": 32, "s64": 64}
KEYS = {**dict.fromkeys(BITS, "x"), "hashed": "cityHash64(x)"}
RATIOS = (
    "0.1",
    "1/10 OFFSET 0",
    "1/3 OFFSET 1/3",
    "0.1 OFFSET 0.9",
    "0.5 OFFSET 0.8",
    "0.1 OFFSET 1",
    "1",
    "0",
    "0.001",
    "0.001 OFFSET 0.5",
    "1e-1 OFFSET 2E-1",
    "0.1/0.3",
    "10/100",
    "0.99999999999999999",
    "0.7 OFFSET 0.30000000000000001",
)
REFUSED = ("1 OFFSET 0.5", "0 OFFSET 0.1", "1/0", ".5", "-0.1", "0.5 OFFSET -0.1", "'0.1'", "x")


def _types(name: str) -> dict[str, str]:
    return {"id": "UInt32", "x": f"UInt{BITS.get(name, 64)}"}


def _source(name: str) -> DataSource:
    columns = tuple(Column(each, parse_type(of)) for each, of in _types(name).items())
    return DataSource(name, columns, Engine(sorting_key=("id", KEYS[name]), sampling_key=KEYS[name]))


PROJECT = Project.of([_source(name) for name in KEYS], [])


@pytest.fixture(scope="module")
def both(clickhouse: ClickHouse, spark: Spark) -> tuple[ClickHouse, Spark]:
    """Every key that a step of a 256th makes, with its neighbours, and the greatest."""
    for name, key in KEYS.items():
        step, most = 2 ** (BITS.get(name, 64) - 8), 2 ** BITS.get(name, 64) - 1
        values = sorted({max(0, min(each * step + near, most)) for each in range(257) for near in (-1, 0, 1)})
        types = ", ".join(f"{each} {of}" for each, of in _types(name).items())
        clickhouse.session.query(
            f"CREATE TABLE d.{name} ({types}) ENGINE = MergeTree ORDER BY (id, {key}) SAMPLE BY {key}"
        )
        rows = ", ".join(f"({place}, {value})" for place, value in enumerate(values))
        clickhouse.session.query(f"INSERT INTO d.{name} VALUES {rows}")
        columns = ", ".join(
            f"CAST({sql} AS {spark_type(parse_type(of))}) AS {each}"
            for sql, (each, of) in zip(("c[0]", "c[1]"), _types(name).items(), strict=True)
        )
        pairs = ", ".join(f"array('{place}', '{value}')" for place, value in enumerate(values))
        frame = spark.session.sql(f"SELECT {columns} FROM (SELECT explode(array({pairs})) AS c)")
        frame.createOrReplaceTempView(f"__all_{name}__")
    clickhouse.session.query("USE d")
    return clickhouse, spark


@pytest.mark.parametrize("name", KEYS)
def test_same_rows(name: str, both: tuple[ClickHouse, Spark]) -> None:
    clickhouse, spark = both
    sql = " UNION ALL ".join(
        f"SELECT '{ratio}' AS r, count() AS n, sum(id) AS s, min(id) AS a, max(id) AS z FROM {name} SAMPLE {ratio}"
        for ratio in RATIOS
    )
    query = compile_sql(PROJECT, Text(sql, Location("q.sql")), "clickhouse")
    ours = {row[0]: [int(each) for each in row[1:]] for row in spark.session.sql(query.sql).collect()}
    lines = clickhouse.session.query(sql, "JSONCompactEachRow").bytes().decode().splitlines()
    theirs = {row[0]: [int(each) for each in row[1:]] for row in map(json.loads, lines)}
    assert len(ours) == len(RATIOS)
    assert ours == theirs


@pytest.mark.parametrize("ratio", REFUSED)
def test_what_clickhouse_refuses_is_refused(ratio: str, both: tuple[ClickHouse, Spark]) -> None:
    sql = f"SELECT count() FROM s8 SAMPLE {ratio}"
    with pytest.raises(RuntimeError):
        both[0].session.query(sql, "JSONCompact").bytes()
    with pytest.raises(InvalidQuery):
        compile_sql(PROJECT, Text(sql, Location("q.sql")), "clickhouse")
