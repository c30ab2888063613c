"""What it costs to write ClickHouse's SQL: the time to compile it, and beside Spark SQL written by hand.

In: queries in pairs, and rows. Out: bench/results/sql.md. Both of a pair give the same rows, which is checked, and run
by turns in one session, so that both have the same machine. Spark has no CityHash64: beside it stands its own hash.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.errors import Location
from penstock.lake.spark.java_process import SPARK_CONF
from penstock.lake.spark.packages import TEXT_FUNCTIONS_JAR
from penstock.lake.spark.session import BULK_CONF, register_functions
from penstock.model.datasource import Column, DataSource, Text
from penstock.model.engine import Engine
from penstock.model.project import Project
from penstock.parse.column_types import parse_type
from penstock.sql.compile import compile_sql

ROWS, REPEATS, WARM, COMPILED = 4_000_000, 5, 2, 50
COLUMNS = {
    "id": "Int64",
    "at": "DateTime",
    "path": "String",
    "user": "String",
    "country": "LowCardinality(String)",
    "ms": "Int32",
    "price": "Float64",
    "coupon": "Nullable(String)",
    "shown": "String",
    "day": "String",
    "other": "Nullable(String)",
    "payload": "String",
}
PAIRS: Mapping[str, tuple[str, str]] = {
    "hits a day": (
        "SELECT toDate(at) AS day, count() AS hits FROM hits GROUP BY day ORDER BY day",
        "SELECT to_date(at) AS day, count(1) AS hits FROM hits GROUP BY to_date(at) ORDER BY day",
    ),
    "sums and means by a text": (
        "SELECT country, sum(ms) AS total, avg(price) AS mean, max(at) AS latest FROM hits GROUP BY country ORDER BY country",
        "SELECT country, sum(ms) AS total, avg(price) AS mean, max(at) AS latest FROM hits GROUP BY country ORDER BY country",
    ),
    "a filter by text and time": (
        "SELECT count() AS hits FROM hits WHERE path LIKE '/shop/%' AND at >= '2026-01-05 00:00:00' AND country IN ('ES', 'US')",
        "SELECT count(1) AS hits FROM hits WHERE path LIKE '/shop/%' AND at >= TIMESTAMP'2026-01-05 00:00:00' AND country IN ('ES', 'US')",
    ),
    "a rollup by quarter of an hour": (
        "SELECT toStartOfInterval(at, INTERVAL 15 MINUTE) AS quarter, countIf(ms > 500) AS slow FROM hits GROUP BY quarter ORDER BY slow DESC, quarter LIMIT 10",
        "SELECT timestamp_seconds(floor(unix_seconds(at) / 900) * 900) AS quarter, count_if(ms > 500) AS slow FROM hits GROUP BY 1 ORDER BY slow DESC, quarter LIMIT 10",
    ),
    "the last row of each": (
        "SELECT user, at FROM (SELECT user, at, row_number() OVER (PARTITION BY user ORDER BY at DESC, id) AS place FROM hits WHERE id < 500000) WHERE place = 1 ORDER BY user LIMIT 5",
        "SELECT user, at FROM (SELECT user, at, row_number() OVER (PARTITION BY user ORDER BY at DESC, id) AS place FROM hits WHERE id < 500000) WHERE place = 1 ORDER BY user LIMIT 5",
    ),
    "a join with a rollup": (
        "SELECT a.country AS country, count() AS hits FROM hits AS a INNER JOIN (SELECT user, max(price) AS most FROM hits GROUP BY user) AS b ON a.user = b.user WHERE b.most > 99 GROUP BY country ORDER BY country",
        "SELECT a.country AS country, count(1) AS hits FROM hits AS a JOIN (SELECT user, max(price) AS most FROM hits GROUP BY user) AS b ON a.user = b.user WHERE b.most > 99 GROUP BY a.country ORDER BY country",
    ),
    "rows that have others": (
        "SELECT country, count() AS hits FROM hits AS a WHERE EXISTS (SELECT 1 FROM hits AS o WHERE o.user = a.user AND o.price > 99.9) GROUP BY country ORDER BY country",
        "SELECT country, count(1) AS hits FROM hits AS a LEFT SEMI JOIN (SELECT user FROM hits WHERE price > 99.9) AS o ON o.user = a.user GROUP BY country ORDER BY country",
    ),
    "rows that have no others": (
        "SELECT country, count() AS hits FROM hits AS a WHERE NOT EXISTS (SELECT 1 FROM hits AS o WHERE o.user = a.user AND o.price > 99.9) GROUP BY country ORDER BY country",
        "SELECT country, count(1) AS hits FROM hits AS a LEFT ANTI JOIN (SELECT user FROM hits WHERE price > 99.9) AS o ON o.user = a.user GROUP BY country ORDER BY country",
    ),
    "a value of other rows": (
        "SELECT count() AS hits FROM hits AS a WHERE a.price = (SELECT max(o.price) FROM hits AS o WHERE o.user = a.user)",
        "SELECT count(1) AS hits FROM hits AS a LEFT JOIN (SELECT user, max(price) AS most FROM hits GROUP BY user) AS o ON o.user = a.user WHERE a.price = o.most",
    ),
    "an expression a row": (
        "SELECT sum(intDiv(ms, 7) + length(path) % 3) AS s, sum(if(price > 50, price, 0)) AS p FROM hits",
        "SELECT sum(ms div 7 + octet_length(path) % 3) AS s, sum(if(price > 50, price, 0D)) AS p FROM hits",
    ),
    "missing values": (
        "SELECT coalesce(coupon, 'none') AS coupon, count() AS hits FROM hits GROUP BY coupon ORDER BY hits DESC, coupon LIMIT 5",
        "SELECT coalesce(coupon, 'none') AS coupon, count(1) AS hits FROM hits GROUP BY coalesce(hits.coupon, 'none') ORDER BY hits DESC, coupon LIMIT 5",
    ),
    "texts as dates": (
        "SELECT max(toDate(day)) AS d FROM hits",
        "SELECT max(CAST(day AS DATE)) AS d FROM hits",
    ),
    "texts as dates or NULL": (
        "SELECT max(toDateOrNull(day)) AS d, count(toDate32OrNull(shown)) AS n FROM hits",
        "SELECT max(try_cast(day AS DATE)) AS d, count(try_cast(shown AS DATE)) AS n FROM hits",
    ),
    "texts as times": (
        "SELECT max(toDateTime(shown)) AS at FROM hits",
        "SELECT max(CAST(shown AS TIMESTAMP)) AS at FROM hits",
    ),
    "texts as times of a zone": (
        "SELECT toTimeZone(max(toDateTime(shown, 'Europe/Berlin')), 'UTC') AS at FROM hits",
        "SELECT max(to_utc_timestamp(CAST(shown AS TIMESTAMP), 'Europe/Berlin')) AS at FROM hits",
    ),
    "texts or NULL as times": (
        "SELECT max(toDateTime(other)) AS at FROM hits",
        "SELECT max(try_cast(other AS TIMESTAMP)) AS at FROM hits",
    ),
    "texts as times or NULL": (
        "SELECT max(toDateTimeOrNull(shown)) AS at, count(toDateTimeOrNull(path)) AS n FROM hits",
        "SELECT max(try_cast(shown AS TIMESTAMP)) AS at, count(try_cast(path AS TIMESTAMP)) AS n FROM hits",
    ),
    "texts as times of milliseconds or NULL": (
        "SELECT max(toDateTime64OrNull(shown, 3)) AS at FROM hits",
        "SELECT max(date_trunc('MILLISECOND', try_cast(shown AS TIMESTAMP))) AS at FROM hits",
    ),
    "a text of a JSON document": (
        "SELECT JSONExtractString(payload, 'path') AS place, count() AS hits FROM hits GROUP BY place ORDER BY place",
        "SELECT get_json_object(payload, '$.path') AS place, count(1) AS hits FROM hits GROUP BY 1 ORDER BY place",
    ),
    "a number of a JSON document": (
        "SELECT sum(JSONExtractInt(payload, 'ms')) AS total FROM hits",
        "SELECT sum(CAST(get_json_object(payload, '$.ms') AS BIGINT)) AS total FROM hits",
    ),
    "a hash of a text": (
        "SELECT count() AS n FROM hits WHERE cityHash64(path) = 1",
        "SELECT count(1) AS n FROM hits WHERE CAST(pmod(CAST(xxhash64(path) AS DECIMAL(20,0)), 18446744073709551616BD) AS DECIMAL(20,0)) = 1",
    ),
    "a hash of four columns": (
        "SELECT count() AS n FROM hits WHERE cityHash64(path, user, country, ms) = 1",
        "SELECT count(1) AS n FROM hits WHERE CAST(pmod(CAST(xxhash64(path, user, country, ms) AS DECIMAL(20,0)), 18446744073709551616BD) AS DECIMAL(20,0)) = 1",
    ),
}


@dataclass(frozen=True)
class Measured:
    """Median seconds of both of a pair, and the milliseconds that compiling took."""

    name: str
    ours: float
    make_pipeline: float
    compiling: float


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure compiled queries beside ones written by hand.")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--only", default="", help="the pairs whose names contain this")
    parser.add_argument("--write", action="store_true", help="write bench/results/sql.md")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        session = _session(folder, asked.rows)
        text = _report(list(_measure(session, asked.repeats, asked.only)), asked.rows, asked.repeats)
        session.stop()
    print(text)
    if asked.write:
        (Path(__file__).parent / "results/sql.md").write_text(text, encoding="utf-8")


def _session(folder: str, rows: int) -> SparkSession:
    builder = SparkSession.builder.master("local[2]")
    for key, value in (
        SPARK_CONF | BULK_CONF | {"spark.driver.memory": "3g", "spark.ui.showConsoleProgress": "false"}
    ).items():
        if key not in ("spark.sql.extensions", "spark.sql.catalog.default_rewrite_catalog"):
            builder = builder.config(key, value)
    session = builder.config("spark.driver.extraClassPath", str(TEXT_FUNCTIONS_JAR)).getOrCreate()
    register_functions(session)
    session.sql(
        "SELECT id, timestamp_seconds(1767225600 + id % 2592000) AS at, concat(if(id % 3 = 0, '/shop/', '/docs/'), id % 97) AS path,"
        " concat('u', id % 100003) AS user, element_at(array('ES', 'US', 'DE', 'FR', 'JP'), int(id % 5) + 1) AS country,"
        " int(id * 31 % 1000) AS ms, double(id % 10000) / 100 AS price, if(id % 4 = 0, NULL, concat('c', id % 13)) AS coupon,"
        " date_format(timestamp_seconds(1767225600 + id % 2592000), 'yyyy-MM-dd HH:mm:ss') AS shown,"
        " date_format(timestamp_seconds(1767225600 + id % 2592000), 'yyyy-MM-dd') AS day,"
        " if(id % 4 = 0, NULL, date_format(timestamp_seconds(1767225600 + id % 2592000), 'yyyy-MM-dd HH:mm:ss')) AS other,"
        " to_json(struct(concat(if(id % 3 = 0, '/shop/', '/docs/'), id % 97) AS path, int(id * 31 % 1000) AS ms, concat('u', id) AS user,"
        " array('a', 'b') AS tags)) AS payload"
        f" FROM range({rows})"
    ).write.parquet(f"{folder}/hits")
    session.read.parquet(f"{folder}/hits").createOrReplaceTempView("hits")
    session.table("hits").createOrReplaceTempView("__all_hits__")
    return session


def _measure(session: SparkSession, repeats: int, only: str) -> Iterator[Measured]:
    columns = tuple(Column(name, parse_type(of), location=Location("hits.datasource")) for name, of in COLUMNS.items())
    project = Project.of([DataSource("hits", columns, Engine())], [])
    for name, (clickhouse, make_pipeline) in ((name, pair) for name, pair in PAIRS.items() if only in name):
        text = Text(clickhouse, Location("q.sql"))
        compiling = statistics.median(
            _seconds(lambda text=text: compile_sql(project, text, "clickhouse")) for _ in range(COMPILED)
        )
        pair = (compile_sql(project, text, "clickhouse").sql, make_pipeline)
        ours, theirs = _by_turns(session, pair, repeats)
        yield Measured(name, statistics.median(ours), statistics.median(theirs), compiling * 1000)


def _by_turns(session: SparkSession, pair: tuple[str, str], repeats: int) -> tuple[list[float], list[float]]:
    seconds: tuple[list[float], list[float]] = ([], [])
    for turn in range(WARM + repeats):
        answers = {}
        for which in sorted((0, 1), reverse=bool(turn % 2)):
            began = time.perf_counter()
            answers[which] = [[str(value) for value in row] for row in session.sql(pair[which]).collect()]
            seconds[which].append(time.perf_counter() - began)
        if answers[0] != answers[1]:
            raise RuntimeError(f"the two of a pair answer differently: {pair} {answers[0][:3]} {answers[1][:3]}")
    return seconds[0][WARM:], seconds[1][WARM:]


def _seconds(run) -> float:  # type: ignore[no-untyped-def]
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def _report(found: list[Measured], rows: int, repeats: int) -> str:
    lines = [
        "# ClickHouse's SQL beside Spark SQL written by hand",
        "",
        f"Written by `make bench-sql`: {rows:,} rows in Parquet, local Spark with two cores; each pair {repeats} times by turns after",
        f"{WARM} runs to warm up, medians; compiling {COMPILED} times, median. A ratio over 1 is what the compiler adds.",
        "",
        "| query | compiling | compiled | by hand | ratio |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {each.name} | {each.compiling:.1f} ms | {each.ours:.2f} s | {each.make_pipeline:.2f} s | {each.ours / each.make_pipeline:.2f} |"
        for each in found
    ]
    ratios = [each.ours / each.make_pipeline for each in found]
    lines += ["", f"Ratio: median {statistics.median(ratios):.2f}, greatest {max(ratios):.2f}."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
