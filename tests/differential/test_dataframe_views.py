"""A view over DataFrames gives the rows that its function gives on a DataFrame of Spark.

In: functions over DataFrames. Out: each runs on real DataFrames, and is recorded, compiled as the SQL of a pipe and run
as that. Invariant: both have the same columns and the same bag of rows, with equal values of equal types.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 the name that everybody uses

from penstock.api.dataframes.view_query import view_lines
from penstock.api.objects.declarations import CallLocation
from penstock.parse.project_loader import load_files
from penstock.sql.compile import compile_pipe
from penstock.sql.spark_text import replace_placeholders
from penstock.sql.stored_types import spark_type

EVENTS = """SCHEMA >
    id String, n Int32, big Int64, f Float64, s Nullable(String), t DateTime64(6), d Date32, tags Array(String),
    amount Decimal(10, 2), flag Bool
ENGINE MergeTree
"""
USERS = "SCHEMA >\n    id String, plan String, n Int32\nENGINE MergeTree\n"
EVENT_TYPES = (
    "id STRING, n INT, big BIGINT, f DOUBLE, s STRING, t TIMESTAMP, d DATE, tags ARRAY<STRING>, "
    "amount DECIMAL(10, 2), flag BOOLEAN"
)
EVENT_ROWS = [
    ("a", 1, 2**40, 1.5, "it's", dt.datetime(2024, 1, 31, 23, 59, 59, 123456, dt.timezone.utc), dt.date(2024, 1, 31)),
    ("a", -7, -3, -0.25, None, dt.datetime(1999, 12, 31, 12, 0, 0, 0, dt.timezone.utc), dt.date(1999, 12, 31)),
    ("b", 0, 0, 1e300, "back\\slash 12", dt.datetime(2024, 2, 29, 0, 0, 0, 0, dt.timezone.utc), dt.date(2024, 2, 29)),
    (
        "c",
        2**29 - 1,
        5,
        float("nan"),
        "x\ny",
        dt.datetime(2024, 6, 1, 1, 2, 3, 0, dt.timezone.utc),
        dt.date(2024, 6, 1),
    ),
]
ENDS = [
    (["x", "y"], Decimal("1.50"), True),
    ([], Decimal("-2.25"), False),
    (["x"], Decimal("0.00"), True),
    (["z"], Decimal("99999999.99"), False),
]
USER_ROWS = [("a", "gold", 10), ("b", "free", 20), ("b", "free", 21), ("z", "none", 0)]

Views = Callable[[DataFrame, DataFrame], DataFrame]


def _nested(e: DataFrame, u: DataFrame) -> DataFrame:
    counts = e.groupBy("id").agg(F.count("*").alias("c"), F.max("n").alias("n"))
    return counts.filter("c > 1").withColumn("both", F.col("c") + F.col("n")).drop("n")


def _self_join(e: DataFrame, u: DataFrame) -> DataFrame:
    a, b = e.alias("a"), e.alias("b")
    return a.join(b, (F.col("a.n") == F.col("b.n")) & (F.col("a.id") == F.col("b.id"))).select(
        "a.id", F.col("b.n").alias("m")
    )


def _plans(e: DataFrame, u: DataFrame) -> DataFrame:
    joined = e.join(u, e.id == u.id, "left")
    return joined.withColumn("m", e["n"] + F.coalesce(u["n"], F.lit(0))).drop(u["id"]).select("id", "plan", "m", e.n)


def _twice(e: DataFrame, u: DataFrame) -> DataFrame:
    grouped = u.groupBy("id").agg(F.sum("n").alias("total"))
    return e.join(grouped, "id").join(grouped.withColumnRenamed("total", "again"), on=["id"], how="left")


VIEWS: dict[str, Views] = {
    "columns": lambda e, u: e.select("id", F.col("n"), e.f, e["s"]),
    "star": lambda e, u: e.select("*", (F.col("n") + 1).alias("m")),
    "arithmetic": lambda e, u: e.filter(e.n < 100).select(
        (e.n * 2 - 3).alias("a"),
        (e.n / 2).alias("b"),
        (e.big % 3).alias("c"),
        (-e.n).alias("d"),
        (e.f + e.n).alias("e"),
        (10 - e.n).alias("g"),
        (e.n + 2**40).alias("h"),
        (e.amount * 2).alias("i"),
        (e.n * 1.5).alias("j"),
    ),
    "conditions": lambda e, u: e.filter((e.n > 0) | ~e.flag & e.s.isNull()).where(~e.id.isin("q", "b") & (e.id != "c")),
    "no values": lambda e, u: e.filter(e.id.isin([])),
    "null safe": lambda e, u: e.filter(e.s.eqNullSafe(None)).select("id", e.s.isNotNull().alias("x")),
    "between": lambda e, u: e.filter(e.d.between(dt.date(2000, 1, 1), dt.date(2024, 3, 1))).select("id"),
    "times": lambda e, u: e.filter(e.t >= dt.datetime(2024, 1, 31, 23, 59, 59, 123456, dt.timezone.utc)).select(
        "id", "t"
    ),
    "texts": lambda e, u: e.select(
        F.upper("id").alias("a"),
        F.concat_ws("-", "id", "s").alias("b"),
        e.s.like("%'%").alias("c"),
        F.lit("it's \\ \n\t ü").alias("d"),
        e.s.contains("\\").alias("g"),
        e.s.rlike(r"\d+").alias("h"),
        F.regexp_replace("s", r"(\d)", "<$1>").alias("i"),
        e.s.substr(1, 2).alias("j"),
        e.id.startswith("a").alias("k"),
        F.split("s", r"\s").alias("l"),
        F.lpad("id", 5, "*").alias("m"),
    ),
    "case": lambda e, u: e.select(
        F.when(e.n > 0, "pos").when(e.n == 0, "zero").otherwise(e.s).alias("k"), F.when(e.flag, 1).alias("m")
    ),
    "casts": lambda e, u: e.select(
        e.n.cast("long").alias("a"),
        e.n.cast("string").alias("b"),
        e.amount.cast("double").alias("c"),
        e.d.cast("timestamp").alias("d"),
        e.amount.cast("decimal(20, 4)").alias("e"),
        e.s.try_cast("int").alias("f"),
    ),
    "literals": lambda e, u: e.select(
        F.lit(2**31).alias("a"),
        F.lit(-(2**31)).alias("b"),
        F.lit(-1.5).alias("c"),
        F.lit(1e-7).alias("d"),
        F.lit(float("inf")).alias("e"),
        F.lit(Decimal("-12.340")).alias("g"),
        F.lit(dt.date(1969, 12, 31)).alias("h"),
        F.lit(True).alias("i"),
        F.lit(-(2**63)).alias("j"),
        F.lit("%{}`#--/*").alias("k"),
        F.lit(["a", "b"]).alias("l"),
        F.lit(0.1).alias("m"),
        F.lit(-5).alias("n"),
    ),
    "dates": lambda e, u: e.select(
        F.date_trunc("month", "t").alias("a"),
        F.to_date("t").alias("b"),
        F.year("d").alias("c"),
        F.date_format("t", "yyyy-MM").alias("d"),
        F.date_add("d", 3).alias("e"),
        F.datediff(F.lit(dt.date(2024, 1, 1)), "d").alias("f"),
        F.hour("t").alias("g"),
        F.unix_timestamp("t").alias("h"),
    ),
    "arrays": lambda e, u: e.select(
        F.size("tags").alias("a"),
        F.array_join(F.transform("tags", lambda x: F.concat(x, F.lit("!"))), ",").alias("b"),
        e.tags.getItem(0).isNull().alias("c"),
    ).filter("a > 0"),
    "explode": lambda e, u: e.withColumn("tag", F.explode("tags")).groupBy("tag").count(),
    "nested explode": lambda e, u: (
        e.select("id", F.explode_outer("tags").alias("tag"))
        .filter(F.col("tag").isNull())
        .withColumn("tag", F.col("tag").cast("string"))
    ),
    "hash": lambda e, u: e.select(
        F.md5("id").alias("a"), F.xxhash64("id", "n").alias("b"), F.crc32("id").alias("d"), F.sha2("id", 256).alias("c")
    ),
    "rename": lambda e, u: (
        e.select("id", "n").withColumnRenamed("n", "m").withColumn("n", F.lit(1)).toDF("x", "y", "z")
    ),
    "replaced": lambda e, u: (
        e.withColumn("n", e.big).withColumns({"big": F.col("n") + 1, "m": F.col("n")}).select("n", "big", "m")
    ),
    "text expressions": lambda e, u: e.selectExpr(
        "id", "n + 1 AS m", "CASE WHEN flag THEN 'y' ELSE 'n' END AS k"
    ).where("m > 0 AND k = 'y'"),
    "expr": lambda e, u: e.select(F.expr("coalesce(s, id)").alias("x"), F.expr("n > 0 and not flag").alias("y")),
    "group": lambda e, u: e.groupBy("id").agg(
        F.sum("n").alias("n"), F.avg("f").alias("f"), F.min("d").alias("d"), F.countDistinct("s").alias("s")
    ),
    "group by values": lambda e, u: e.groupBy((e.n > 0).alias("p"), F.lit("k").alias("k")).agg(
        F.count("s").alias("c"), F.sum(e.amount).alias("a")
    ),
    "group by a number": lambda e, u: e.withColumn("one", F.lit(2)).groupBy("one", "id").count(),
    "named aggregates": lambda e, u: (
        e.groupBy("id").sum("n", "big").withColumnRenamed("sum(n)", "a").select("id", "a", F.col("sum(big)").alias("b"))
    ),
    "after a group": lambda e, u: (
        e.groupBy("id").agg(F.sum("n").alias("n")).select("id", (F.col("n") * 2).alias("m")).filter(F.col("m") < 0)
    ),
    "all rows": lambda e, u: e.agg(F.count("*").alias("c"), F.max("t").alias("t")),
    "selected aggregates": lambda e, u: e.select(F.sum("n").alias("s"), (F.max("n") - F.min("n")).alias("r")),
    "nested": _nested,
    "distinct": lambda e, u: e.select("id", "flag").distinct().filter("flag").select("id"),
    "duplicates": lambda e, u: e.select("id").dropDuplicates().withColumn("x", F.lit(1)),
    "join": lambda e, u: e.join(u, "id").select("id", "plan", e.n.alias("en"), u.n.alias("un")),
    "left join": lambda e, u: e.join(u.withColumn("known", F.lit(True)), on=["id"], how="left").select(
        "id", "known", "plan"
    ),
    "filtered join": lambda e, u: e.filter("n > 0").join(u.filter("n > 10"), "id", "left").select("id", "plan"),
    "semi join": lambda e, u: e.join(u, e.id == u.id, "left_semi").select("id", "n"),
    "anti join": lambda e, u: e.join(u.select("id"), "id", "anti"),
    "cross join": lambda e, u: e.select("id").crossJoin(u.select("plan")),
    "grouped join": lambda e, u: (
        e.join(u.dropDuplicates(), "id").groupBy("plan").agg(F.sum(e.n).alias("n"), F.count(u.n).alias("c"))
    ),
    "joined twice": _twice,
    "self join": _self_join,
    "columns of sides": _plans,
    "chained": lambda e, u: (
        e.transform(lambda x: x.filter("n > -10"))
        .withColumn("k", F.col("n") + 1)
        .withColumn("k", F.col("k") * 2)
        .select("k")
    ),
}


@pytest.fixture(scope="module")
def tables(spark_session: SparkSession) -> Iterator[dict[str, DataFrame]]:
    rows = [(*row, *end) for row, end in zip(EVENT_ROWS, ENDS, strict=True)]
    found = {
        "events": spark_session.createDataFrame(rows, EVENT_TYPES).coalesce(1),
        "users": spark_session.createDataFrame(USER_ROWS, "id STRING, plan STRING, n INT").coalesce(1),
    }
    for name, frame in found.items():
        frame.createOrReplaceTempView(f"__{name}__")
    yield found
    for name in found:
        spark_session.catalog.dropTempView(f"__{name}__")


def record(view: Views, tables: dict[str, DataFrame]) -> str:
    sources = [(name, frame.columns) for name, frame in tables.items()]
    return "\n".join(each.text for each in view_lines(view, "view", sources, CallLocation("view.py", 1)))


@pytest.mark.parametrize("name", VIEWS)
def test_a_recorded_view_gives_the_rows_of_its_dataframe(
    spark_session: SparkSession, tables: dict[str, DataFrame], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = VIEWS[name]
    wanted = view(tables["events"], tables["users"])
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    text = record(view, tables)
    monkeypatch.delenv("SPARK_CONNECT_MODE_ENABLED")
    node = "\n".join(f"    {line}" for line in text.split("\n"))
    files = {
        "events.datasource": EVENTS,
        "users.datasource": USERS,
        "view.pipe": f"DIALECT spark\nNODE query\nSQL >\n{node}\n",
    }
    loaded = load_files(files)
    assert not loaded.problems
    pipe = loaded.project.pipe("view")
    assert pipe is not None
    query = compile_pipe(loaded.project, pipe)
    sql = replace_placeholders(query.sql, {each.placeholder: f"`__{each.datasource}__`" for each in query.reads})
    given = spark_session.sql(sql)
    assert given.columns == wanted.columns, text
    assert [each.dataType for each in given.schema] == [each.dataType for each in wanted.schema], text
    declared = [_without_width(spark_type(of)) for _, of in query.columns]
    assert declared == [_without_width(each.dataType.simpleString()) for each in given.schema], text
    assert _bag(given) == _bag(wanted), text


def _without_width(of: str) -> str:
    """A type without how many digits its numbers have: Spark stores what does not fit by raising an error."""
    return re.sub(r"decimal\(\d+,", "decimal(", re.sub(r"bigint|smallint|tinyint", "int", of.lower().replace(" ", "")))


def _bag(frame: DataFrame) -> Counter[Any]:
    return Counter(repr(tuple(row)) for row in frame.collect())
