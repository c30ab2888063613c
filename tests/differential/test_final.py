"""FINAL for every engine, over random rows in random parts: the rows that ClickHouse shows after the same inserts.
Compacting any prefix of the rows changes none of them.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import pytest
from tests.differential.engines import ClickHouse, Spark, same, shown

from penstock.lake.read.engine_merge import can_compact, compacted_relation, final_relation
from penstock.model import types as t
from penstock.model.datasource import DataSource
from penstock.model.merge_rule import Merge
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.parse.project_loader import load_files
from penstock.sql.engines.merge_rules import merge_rule
from penstock.sql.stored_types import spark_type

SEEDS = (1, 2)
KEYS = "`k` UInt8, `p` UInt16"
BOTH = "ENGINE_PARTITION_KEY p\nENGINE_SORTING_KEY k"
NUMBERS = (
    "`i8` Int8, `u8` UInt8, `i32` Nullable(Int32), `i64` Int64, `u64` UInt64, `f` Float64, `f32` Float32,"
    " `d` Decimal(9, 2), `lc` LowCardinality(String), `e` Enum8('b' = 1, 'a' = 2), `day` Date, `s` Nullable(String)"
)
SIMPLE = (
    "`mx` SimpleAggregateFunction(max, Float64), `mn` SimpleAggregateFunction(min, Nullable(Int32)),"
    " `me` SimpleAggregateFunction(max, Enum8('b' = 1, 'a' = 2)), `an` SimpleAggregateFunction(any, Nullable(String)),"
    " `al` SimpleAggregateFunction(anyLast, Nullable(String)),"
    " `ar` SimpleAggregateFunction(any_respect_nulls, Nullable(String)),"
    " `su` SimpleAggregateFunction(sum, Int64), `uu` SimpleAggregateFunction(sum, UInt64),"
    " `ga` SimpleAggregateFunction(groupArrayArray, Array(Int32)),"
    " `sm` SimpleAggregateFunction(sumMap, Map(String, Int64)),"
    " `bx` SimpleAggregateFunction(groupBitXor, UInt8), `bo` SimpleAggregateFunction(groupBitOr, UInt64),"
    " `ba` SimpleAggregateFunction(groupBitAnd, Int32)"
)
TABLES = {
    "replacing": (f"{KEYS}, `v` String", "ReplacingMergeTree", "ENGINE_SORTING_KEY k"),
    "of_all": (f"{KEYS}, `v` String", "ReplacingMergeTree", "ENGINE_SORTING_KEY tuple()"),
    "partitions": (f"{KEYS}, `v` String", "ReplacingMergeTree", BOTH),
    "settled": (f"{KEYS}, `v` String", "ReplacingMergeTree", "ENGINE_PARTITION_KEY p % 2\nENGINE_SORTING_KEY k, p"),
    "days": (
        f"{KEYS}, `v` String, `day` Date, `e` Enum8('b' = 1, 'a' = 2)",
        "ReplacingMergeTree",
        "ENGINE_PARTITION_KEY day, e\nENGINE_SORTING_KEY k",
    ),
    "moments": (
        f"{KEYS}, `v` String, `at` DateTime",
        "ReplacingMergeTree",
        "ENGINE_PARTITION_KEY at\nENGINE_SORTING_KEY k",
    ),
    "versions": (f"{KEYS}, `v` String, `ver` UInt64", "ReplacingMergeTree", f"{BOTH}\nENGINE_VER ver"),
    "deleted": (
        f"{KEYS}, `v` Nullable(String), `at` DateTime, `gone` UInt8",
        "ReplacingMergeTree",
        "ENGINE_SORTING_KEY k\nENGINE_VER at\nENGINE_IS_DELETED gone",
    ),
    "expression": (f"{KEYS}, `v` Float64", "ReplacingMergeTree", "ENGINE_SORTING_KEY k % 2, v"),
    "sums": (f"{KEYS}, {NUMBERS}", "SummingMergeTree", "ENGINE_SORTING_KEY k, p"),
    "sums_in_parts": (f"{KEYS}, {NUMBERS}", "SummingMergeTree", "ENGINE_PARTITION_KEY p\nENGINE_SORTING_KEY k % 3"),
    "some_sums": (
        f"{KEYS}, {NUMBERS}, `mx` SimpleAggregateFunction(max, Float64)",
        "SummingMergeTree",
        "ENGINE_SORTING_KEY k\nENGINE_COLUMNS i8, i32",
    ),
    "no_sums": (f"{KEYS}, `s` String", "SummingMergeTree", "ENGINE_SORTING_KEY k, p"),
    "texts": (f"{KEYS}, `s` String, `i8` Int8", "SummingMergeTree", "ENGINE_SORTING_KEY k, p\nENGINE_COLUMNS s"),
    "sums_and_more": (f"{KEYS}, `i8` Int8, {SIMPLE}", "SummingMergeTree", "ENGINE_SORTING_KEY k, p"),
    "aggregates": (f"`k` UInt8, {SIMPLE}", "AggregatingMergeTree", "ENGINE_SORTING_KEY k"),
    "aggregates_in_parts": (f"{KEYS}, {SIMPLE}", "AggregatingMergeTree", BOTH),
    "collapsing": (f"{KEYS}, `v` Int32, `sign` Int8", "CollapsingMergeTree", f"{BOTH}\nENGINE_SIGN sign"),
    "collapsing_together": (
        f"{KEYS}, `v` Int32, `sign` Int8",
        "CollapsingMergeTree",
        "ENGINE_SORTING_KEY k\nENGINE_SIGN sign",
    ),
    "collapsing_all": (
        f"{KEYS}, `v` Int32, `sign` Int8",
        "CollapsingMergeTree",
        "ENGINE_SORTING_KEY tuple()\nENGINE_SIGN sign",
    ),
    "versioned": (
        f"{KEYS}, `v` Int32, `sign` Int8, `ver` Int8",
        "VersionedCollapsingMergeTree",
        "ENGINE_SORTING_KEY k\nENGINE_SIGN sign\nENGINE_VERSION ver",
    ),
    "versioned_in_parts": (
        f"{KEYS}, `v` Int32, `sign` Int8, `ver` DateTime",
        "VersionedCollapsingMergeTree",
        f"{BOTH}\nENGINE_SIGN sign\nENGINE_VERSION ver",
    ),
}
POOLS: dict[str, Sequence[object]] = {
    "k": (1, 2, 3),
    "p": (2, 10, 30),
    "gone": (0, 0, 1),
    "sign": (1, 1, -1),
    "ver": (1, 2),
    "i8": (0, 100, -100, 127),
    "u8": (0, 200, 1),
    "i64": (0, 2**63 - 1, -(2**63), 5),
    "u64": (0, 2**64 - 1, 7),
    "uu": (0, 2**64 - 1, 7),
    "su": (0, 2**63 - 1, -(2**63), 5),
    "bo": (0, 2**63, 5),
    "ba": (-1, 7, 12),
    "bx": (1, 255, 6),
    "i32": (None, 0, 2**31 - 1, -5),
    "mn": (None, 3, -5),
    "mx": (0.5, math.nan, -1.0, math.inf),
    "ga": ([], [1, 2], [2]),
    "sm": ({}, {"a": 1, "b": 0}, {"a": -1, "é": 2**63 - 1}),
}


@dataclass(frozen=True)
class Case:
    source: DataSource
    rule: Merge

    @property
    def columns(self) -> list[tuple[str, Type]]:
        return [(column.name, column.type) for column in self.source.columns]


def case(name: str) -> Case:
    schema, engine, options = TABLES[name]
    text = f"SCHEMA >\n    {schema}\n\nENGINE {engine}\n{options}\n"
    loaded = load_files({f"{name}.datasource": text})
    assert not loaded.problems
    source = loaded.project.datasources[0]
    rule = merge_rule(source).rule
    assert rule is not None
    return Case(source, rule)


@pytest.mark.spark
@pytest.mark.parametrize("name", TABLES)
def test_final_is_what_clickhouse_shows(name: str, clickhouse: ClickHouse, spark: Spark) -> None:
    of = case(name)
    create(clickhouse, of)
    for seed in SEEDS:
        chosen = random.Random(f"{name} {seed}")
        parts = [[row(chosen, of) for _ in range(chosen.randrange(1, 5))] for _ in range(chosen.randrange(1, 7))]
        insert(clickhouse, of, parts)
        _, types, theirs = clickhouse.rows(f"SELECT * FROM {name} FINAL")
        assert types == [str(kind) for _, kind in of.columns]
        rows = [each for part in parts for each in part]
        relation = values(of, rows, 0)
        compare(name, spark, of, final_relation(of.rule, of.columns, relation), theirs)
        if can_compact(of.rule):
            at = chosen.randrange(len(rows) + 1)
            merged = compacted_relation(of.rule, of.columns, values(of, rows[:at], 0))
            both = f"(SELECT * FROM {merged} UNION ALL SELECT * FROM {values(of, rows[at:], at)})"
            compare(f"{name} compacted", spark, of, final_relation(of.rule, of.columns, both), theirs)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "mark", "wrong"), [("deleted", "gone", 2), ("collapsing_together", "sign", 0), ("versioned", "sign", 3)]
)
def test_final_ignores_rows_that_clickhouse_does_not_accept(
    name: str, mark: str, wrong: int, clickhouse: ClickHouse, spark: Spark
) -> None:
    """ClickHouse has the rows without those, for it refuses to insert them."""
    of, chosen = case(name), random.Random(name)
    create(clickhouse, of)
    at = [column for column, _ in of.columns].index(mark)
    rows = [row(chosen, of) for _ in range(24)]
    for each in rows[::3]:
        each[at] = wrong
    insert(clickhouse, of, [[each] for each in rows if each[at] != wrong])
    _, _, theirs = clickhouse.rows(f"SELECT * FROM {name} FINAL")
    compare(name, spark, of, final_relation(of.rule, of.columns, values(of, rows, 0)), theirs)
    merged = compacted_relation(of.rule, of.columns, values(of, rows, 0))
    compare(f"{name} compacted", spark, of, final_relation(of.rule, of.columns, merged), theirs)


def create(clickhouse: ClickHouse, of: Case) -> None:
    """The table, whose parts stay as they are inserted."""
    source, engine = of.source, of.source.engine
    names = (engine.ver, engine.is_deleted, engine.sign, engine.version, f"({', '.join(engine.summed)})")
    options = ", ".join(each for each in names if each and each != "()")
    parted = f"PARTITION BY ({', '.join(engine.partition_key)})" if engine.partition_key else ""
    columns = ", ".join(f"`{column.name}` {column.type}" for column in source.columns)
    key = f"ORDER BY ({', '.join(engine.sorting_key)})" if engine.sorting_key else "ORDER BY tuple()"
    clickhouse.session.query(f"DROP TABLE IF EXISTS d.{source.name} SYNC")
    clickhouse.session.query(
        f"CREATE TABLE d.{source.name} ({columns}) ENGINE = {engine.name}({options}) {parted} {key}"
    )


def insert(clickhouse: ClickHouse, of: Case, parts: Sequence[Sequence[Sequence[object]]]) -> None:
    name = of.source.name
    clickhouse.session.query(f"TRUNCATE TABLE d.{name} SYNC")
    clickhouse.session.query(f"SYSTEM STOP MERGES d.{name}")
    for part in parts:
        rows = ", ".join(f"({', '.join(map(in_clickhouse, each))})" for each in part)
        clickhouse.session.query(f"INSERT INTO d.{name} SETTINGS optimize_on_insert = 0 VALUES {rows}")


def compare(name: str, spark: Spark, of: Case, relation: str, theirs: Sequence[tuple[object, ...]]) -> None:
    found = [tuple(each) for each in spark.session.sql(f"SELECT * FROM {relation}").collect()]
    ours = [tuple(shown(value, kind) for value, (_, kind) in zip(each, of.columns, strict=True)) for each in found]
    mine, other = sorted(ours, key=repr), sorted(theirs, key=repr)
    assert len(mine) == len(other), f"{name}: {mine} {other}"
    for each in mine:
        assert any(same(each, their) for their in other), f"{name}: {each} of {other}"


def row(chosen: random.Random, of: Case) -> list[object]:
    return [chosen.choice(pool(name, kind)) for name, kind in of.columns]


def pool(name: str, kind: Type) -> Sequence[object]:
    match unwrap_type(kind):
        case t.DateTime():
            return ("2024-01-01 00:00:00", "1999-12-31 23:59:59")
        case t.Date():
            return ("2024-01-01", "1999-12-31", "2024-02-01")
        case t.Enum():
            return ("a", "b")
        case t.String():
            return ("x", "", "é", None) if is_nullable(kind) else ("x", "", "é", "z")
        case t.Float() if name not in POOLS:
            return (0.0, 0.1, 0.2, -0.1, -0.0)
        case t.Decimal():
            return (Decimal("0.00"), Decimal("1.25"), Decimal("-1.25"))
        case _:
            return POOLS.get(name, (1, 2, 3, 4, 5))


def in_clickhouse(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case str():
            return "'" + value + "'"
        case list():
            return f"[{', '.join(map(in_clickhouse, value))}]"
        case dict():
            return f"map({', '.join(in_clickhouse(each) for pair in value.items() for each in pair)})"
        case _:
            return str(value)


def values(of: Case, rows: Sequence[Sequence[object]], first: int) -> str:
    """The rows as a relation, with `_seq` from `first` on."""
    names = ", ".join(f"`{name}`" for name, _ in of.columns)
    if not rows:
        empty = ", ".join(f"CAST(NULL AS {spark_type(kind)}) AS `{name}`" for name, kind in of.columns)
        return f"(SELECT {empty}, 0L AS _seq WHERE false)"
    told = ", ".join(
        f"({', '.join(in_spark(value, kind) for value, (_, kind) in zip(each, of.columns, strict=True))}, {seq}L)"
        for seq, each in enumerate(rows, first)
    )
    return f"(SELECT * FROM VALUES {told} AS v({names}, _seq))"


def in_spark(value: object, kind: Type) -> str:
    spark = spark_type(kind)
    match value:
        case float():
            text = f"'{value}'" if math.isnan(value) or math.isinf(value) else f"{value}D"
        case list():
            text = f"array({', '.join(map(str, value))})"
        case dict():
            text = f"map({', '.join(in_clickhouse(each) for pair in value.items() for each in pair)})"
        case -9223372036854775808:
            text = "(-9223372036854775807L - 1L)"
        case _:
            text = in_clickhouse(value)
    return f"CAST({text} AS {spark})"
