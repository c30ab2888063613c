"""The JSON rows of a copy: what is written where, and what cannot be."""

from __future__ import annotations

import pytest

from penstock.errors import InvalidQuery
from penstock.parse.project_loader import load_files
from penstock.sql.compile import compile_copy
from penstock.template.render_frame import RenderInput


def rows(schema: str, sql: str, given: RenderInput | None = None) -> str:
    files = {
        "t.datasource": f"SCHEMA >\n    {schema}\n",
        "c.pipe": f"NODE n\nSQL >\n    {sql}\nTYPE copy\nTARGET_DATASOURCE t\n",
    }
    loaded = load_files(files)
    assert not loaded.problems
    pipe = loaded.project.pipe("c")
    assert pipe is not None
    assert pipe.copied is not None
    compiled = compile_copy(loaded.project, pipe, pipe.copied, *([given] if given else []))
    assert (compiled.target, [name for name, _ in compiled.query.columns]) == ("t", ["row"])
    return compiled.query.sql


def refused(schema: str, sql: str) -> list[str]:
    with pytest.raises(InvalidQuery) as refusal:
        rows(schema, sql)
    return [f"{problem.code} {problem.message}" for problem in refusal.value.problems]


def keys(sql: str) -> str:
    """The texts of the row between the values."""
    return "".join(
        part for part in sql.split(" FROM ")[0].split("'")[1::2] if part not in ("ignoreNullFields", "false")
    )


def test_columns_stand_at_their_paths() -> None:
    sql = rows(
        "a Int8 `json:$.x.y`, b String `json:$.x.z`, c Array(Int8) `json:$.l[:]`", "SELECT 'q' AS b, 1 AS a, [1] AS c"
    )
    assert keys(sql) == '{"x":{"y":,"z":},"l":}'
    assert keys(rows("a Int8, b String", "SELECT 1 AS a, 'x' AS b")) == '{"a":,"b":}'
    assert keys(rows("""a Int8 `json:$["x.y"]['a key']`, b Int8 `json:$.z`""", "SELECT 1 AS a, 2 AS b")) == (
        '{"x.y":{"a key":},"z":}'
    )


def test_what_the_select_does_not_give_is_left_to_the_default_or_zero() -> None:
    assert keys(rows("a Int8, b String DEFAULT 'x', c Int8, d Nullable(Int8)", "SELECT 1 AS a")) == '{"a":,"c":}'
    assert keys(rows("a Int8 `json:$.a`, b Int8", "SELECT 1 AS a")) == '{"a":}'


def test_what_cannot_be_written_is_refused() -> None:
    state = "a AggregateFunction(sum, Int64), b Int8"
    assert refused(state, "SELECT sumState(toInt64(1)) AS a") == [
        "copied-states this copy does not run: column `a`: AggregateFunction(sum, Int64) holds states, which in this"
        " version only a materialized view fills"
    ]
    assert refused(state, "SELECT 1 AS b")[0].startswith("copied-states this copy does not run: column `a`")
    assert refused("a Map(DateTime, UInt8)", "SELECT map(toDateTime(1), 1) AS a") == [
        "unsupported-copy column `a`: a Map whose keys are times cannot be copied"
    ]
    assert refused("a Int8 `json:$.l[:].x`", "SELECT 1 AS a") == [
        "unsupported-copy column `a`: a copy cannot write `$.l[:].x`"
    ]
    assert refused("a Int8 `json:$.x`, b Int8 `json:$.x.y`", "SELECT 1 AS a, 2 AS b")[0].startswith("unsupported-copy")
    assert refused("a String `json:$`", "SELECT 'x' AS a") == ["unsupported-copy column `a`: a copy cannot write `$`"]
    assert "has no path" in refused("a Int8 `json:$.a`, b Int8", "SELECT 1 AS a, 2 AS b")[0]


def test_every_problem_of_the_columns_is_told() -> None:
    assert refused("a Int8, b Date", "SELECT 1 AS c, [1] AS b") == [
        "unknown-column `t` has no column `c`",
        "incompatible-type column `b`: Array(UInt8) cannot be stored as Date",
    ]


def test_parameters_of_the_call() -> None:
    sql = rows("a Int8", "%\n    SELECT {{ Int8(n) }} AS a", RenderInput("call", {"n": "7"}))
    assert "7" in sql
