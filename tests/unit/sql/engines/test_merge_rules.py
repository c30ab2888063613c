"""The merge rule of each engine, and where FINAL is refused for want of one."""

from __future__ import annotations

import pytest

from penstock.errors import InvalidQuery, Location
from penstock.model.datasource import DataSource, Text
from penstock.model.merge_rule import Aggregating, Collapsing, Merge, Replacing, Summing, VersionedCollapsing
from penstock.parse.project_loader import load_files
from penstock.sql.compile import compile_sql, compile_view
from penstock.sql.engines.merge_rules import merge_rule

COLUMNS = (
    "`k` UInt8, `day` Date, `s` String, `n` Int32, `m` Nullable(Float64), `sign` Int8, `ver` UInt64,"
    " `gone` UInt8, `c` AggregateFunction(count), `mx` SimpleAggregateFunction(max, Int32)"
)


def text(engine: str, options: str, columns: str = COLUMNS) -> str:
    return f"SCHEMA >\n    {columns}\n\nENGINE {engine}\n{options}\n"


def source(engine: str, options: str, columns: str = COLUMNS) -> DataSource:
    loaded = load_files({"x.datasource": text(engine, options, columns)})
    assert not loaded.problems, loaded.problems
    return loaded.project.datasources[0]


@pytest.mark.parametrize(
    ("engine", "options", "rule"),
    [
        (
            "ReplacingMergeTree",
            "ENGINE_SORTING_KEY k\nENGINE_VER ver\nENGINE_IS_DELETED gone",
            Replacing(("`k`",), "ver", "gone"),
        ),
        (
            "ReplacingMergeTree",
            "ENGINE_PARTITION_KEY toYYYYMM(day)\nENGINE_SORTING_KEY k, day",
            Replacing(("`k`", "`day`")),
        ),
        ("SummingMergeTree", "ENGINE_SORTING_KEY k, s\nENGINE_COLUMNS n, s2", None),
        ("SummingMergeTree", "ENGINE_SORTING_KEY k\nENGINE_COLUMNS n, m", Summing(("`k`",), ("n", "m"), True)),
        (
            "SummingMergeTree",
            "ENGINE_PARTITION_KEY sign\nENGINE_SORTING_KEY k, ver, gone",
            Summing(("`k`", "`ver`", "`gone`"), ("n", "m", "c", "mx"), False, ("CAST(`sign` AS STRING)",)),
        ),
        ("SummingMergeTree", "ENGINE_SORTING_KEY k\nENGINE_COLUMNS s", Summing(("`k`",), (), False)),
        ("AggregatingMergeTree", "ENGINE_SORTING_KEY k, mx", Aggregating(("`k`", "`mx`"), ("c",))),
        ("CollapsingMergeTree", "ENGINE_SORTING_KEY k\nENGINE_SIGN sign", Collapsing(("`k`",), "sign")),
        (
            "VersionedCollapsingMergeTree",
            "ENGINE_PARTITION_KEY day\nENGINE_SORTING_KEY k\nENGINE_SIGN sign\nENGINE_VERSION ver",
            VersionedCollapsing(("`k`",), "sign", "ver", ("date_format(`day`, 'yyyyMMdd')",)),
        ),
    ],
)
def test_rules(engine: str, options: str, rule: Merge | None) -> None:
    if rule is None:
        assert load_files({"x.datasource": text(engine, options)}).problems
    else:
        assert merge_rule(source(engine, options)).rule == rule


def test_a_partition_key_of_a_name_with_a_sign_lies_in_the_sorting_key() -> None:
    options = "ENGINE_PARTITION_KEY toYear(`@day`)\nENGINE_SORTING_KEY k, `@day`"
    found = merge_rule(source("ReplacingMergeTree", options, "k UInt8, `@day` Date, n UInt8"))
    assert found.rule == Replacing(("`k`", "`@day`")), found.why


@pytest.mark.parametrize(
    ("engine", "options", "columns", "message"),
    [
        ("MergeTree", "ENGINE_SORTING_KEY k", COLUMNS, "FINAL is not supported by the engine MergeTree"),
        ("Null", "", COLUMNS, "FINAL is not supported by the engine Null"),
        ("ReplacingMergeTree", "ENGINE_PARTITION_KEY s\nENGINE_SORTING_KEY k", COLUMNS, "a hash of the partition key"),
        ("SummingMergeTree", "ENGINE_SORTING_KEY tuple()", COLUMNS, "merges nothing"),
        ("AggregatingMergeTree", "", COLUMNS, "merges nothing"),
        ("SummingMergeTree", "ENGINE_SORTING_KEY k", "`k` UInt8, `b` Bool", "`b` is Bool"),
        (
            "AggregatingMergeTree",
            "ENGINE_SORTING_KEY k",
            "`k` UInt8, `u` SimpleAggregateFunction(max, UUID)",
            "`u` is SimpleAggregateFunction(max, UUID)",
        ),
        (
            "AggregatingMergeTree",
            "ENGINE_SORTING_KEY k",
            "`k` UInt8, `u` SimpleAggregateFunction(minMap, Map(String, Int64))",
            "which is not merged here",
        ),
    ],
)
def test_final_is_refused(engine: str, options: str, columns: str, message: str) -> None:
    loaded = load_files({"x.datasource": text(engine, options, columns)})
    assert not loaded.problems
    with pytest.raises(InvalidQuery) as raised:
        compile_sql(loaded.project, Text("SELECT k FROM x FINAL", Location("q.sql")), "clickhouse")
    (problem,) = raised.value.problems
    assert (problem.code, str(problem.location)) == ("unsupported-clause", "q.sql:1:15")
    assert message in problem.message
    compile_sql(loaded.project, Text("SELECT k FROM x", Location("q.sql")), "clickhouse")


VIEW = "NODE n\nSQL >\n    {}\nTYPE materialized\nDATASOURCE y\n"
Y = "SCHEMA >\n    `k` UInt8\n\nENGINE MergeTree\nENGINE_SORTING_KEY k\n"


def problems(sql: str) -> list[str]:
    """What is wrong with a view from x, which is replaced, into y."""
    files = {
        "x.datasource": text("ReplacingMergeTree", "ENGINE_SORTING_KEY k"),
        "y.datasource": Y,
        "z.datasource": Y,
        "v.pipe": VIEW.format(sql),
    }
    loaded = load_files(files)
    assert not loaded.problems
    pipe = loaded.project.pipe("v")
    assert pipe is not None
    assert pipe.materialized is not None
    try:
        compile_view(loaded.project, pipe, pipe.materialized)
    except InvalidQuery as error:
        return [f"{problem.code}: {problem.message}" for problem in error.problems]
    return []


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k FROM x FINAL",
        "SELECT k FROM (SELECT k FROM x FINAL)",
        "WITH w AS (SELECT k FROM x FINAL) SELECT k FROM w",
        "SELECT x.k AS k FROM x FINAL JOIN z ON x.k = z.k",
    ],
)
def test_a_view_sees_what_is_inserted(sql: str) -> None:
    (problem, *_) = problems(sql)
    assert problem == "unsupported-view: a materialized node cannot read the rows that trigger it with FINAL"


def test_a_view_may_join_what_is_merged() -> None:
    assert problems("SELECT z.k AS k FROM z JOIN x FINAL ON x.k = z.k") == []
    assert problems("SELECT k FROM z WHERE k IN (SELECT k FROM x FINAL)") == []


def problems_of_prewhere(test: str, columns: str = "k") -> list[str]:
    loaded = load_files({"x.datasource": text("ReplacingMergeTree", "ENGINE_SORTING_KEY k")})
    sql = f"SELECT {columns} FROM x FINAL PREWHERE {test}"
    try:
        compile_sql(loaded.project, Text(sql, Location("q.sql")), "clickhouse")
    except InvalidQuery as error:
        return [problem.message for problem in error.problems]
    return []


def test_prewhere_of_sorting_keys_keeps_or_drops_what_is_merged() -> None:
    assert problems_of_prewhere("k > 1 AND k IN (SELECT n FROM x)") == []


@pytest.mark.parametrize(("test", "columns"), [("n > 1", "k"), ("k > 1 AND x.n = 2", "k"), ("k > 1", "n AS k")])
def test_prewhere_would_filter_what_is_merged(test: str, columns: str) -> None:
    (problem,) = problems_of_prewhere(test, columns)
    assert problem == "PREWHERE with FINAL filters rows before they are merged: it is supported for sorting keys only"
