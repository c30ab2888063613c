"""Names that the compiler generates: none is one that a user can write, none hides another."""

from __future__ import annotations

import re

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp
from tests.unit.sql.flights import column, datasource, problems, query, text

from penstock.model.project import Project
from penstock.sql.expr.bind_once import fresh_name, is_generated_name
from penstock.sql.outputs.forward_query import compile_forward

COLUMNS = {"a": "Int32", "f": "Float64", "arr": "Array(Int32)", "texts": "Array(String)", "doc": "String"}
PROJECT = Project.of([datasource("t", COLUMNS)], [])
CALLS = (
    "has([1, 2], {0}.a)",
    "arrayMap(k -> k + {0}.a, {0}.arr)",
    "arrayMap((k, j) -> k + j + {0}.a, {0}.arr, {0}.arr)",
    "arrayFilter((k, j) -> k > {0}.a, {0}.arr, {0}.arr)",
    "arraySort(k -> k * {0}.a, {0}.arr)",
    "arrayAvg({0}.arr)",
    "arrayReverseSort({0}.arr)",
    "arraySum(k -> k + {0}.a, {0}.arr)",
    "CAST({0}.texts, 'Array(Int32)')",
    "arrayCompact({0}.arr)",
    "arrayStringConcat({0}.arr, ',')",
    "cosineDistance({0}.arr, {0}.arr)",
    "JSONExtractArrayRaw({0}.doc)",
    "JSONExtract({0}.doc, 'Array(Array(Int32))')",
    "splitByString('', {0}.doc)",
    "multiSearchAny({0}.doc, {0}.texts)",
    "multiSearchFirstIndex({0}.doc, {0}.texts)",
    "arrayDistinct({0}.arr)",
    "toString(toFloat64OrNull(toString({0}.f)))",
    "toFloat64(concat({0}.doc, '1')) / toFloat64(concat({0}.doc, '2'))",
)


def parameters(sql: str) -> set[str]:
    lambdas = sqlglot.parse_one(sql, dialect="spark").find_all(exp.Lambda)
    return {each.name for found in lambdas for each in found.expressions}


QUANTILE = "SELECT quantileMerge(0.5)(s) AS v FROM (SELECT quantileState(0.5)(f) AS s FROM t) AS x"


@pytest.mark.parametrize("sql", [*(f"SELECT {call.format('x')} AS v FROM t AS x" for call in CALLS), QUANTILE])
def test_every_parameter_is_made_up(sql: str) -> None:
    assert all(map(is_generated_name, parameters(query(sql, PROJECT).sql)))


def test_some_forms_have_parameters() -> None:
    found = [parameters(query(f"SELECT {call.format('x')} AS v FROM t AS x", PROJECT).sql) for call in CALLS]
    assert sum(map(bool, found)) >= len(CALLS) - 1


@pytest.mark.parametrize("alias", ["x", "x0", "s", "e", "i", "l", "r", "v", "a", "n", "p", "q"])
def test_the_names_of_tables_change_nothing_else(alias: str) -> None:
    shown = ", ".join(f"{call.format(alias)} AS c{place}" for place, call in enumerate(CALLS))
    other = ", ".join(f"{call.format('other')} AS c{place}" for place, call in enumerate(CALLS))
    assert query(f"SELECT {shown} FROM t AS {alias}", PROJECT).sql == (
        query(f"SELECT {other} FROM t AS other", PROJECT).sql.replace("`other`", f"`{alias}`")
    )


def test_a_column_is_not_a_parameter() -> None:
    (found,) = compile_forward(text("has([1, 2], x) AS y"), [column("x", "Int32")], [column("y", "UInt8")])
    assert "` x` -> ` x` <=> `x`" in found.sql


def test_a_table_cannot_be_called_like_a_parameter() -> None:
    hint = "give it an alias that begins with a letter"
    assert problems("SELECT 1 FROM t AS ` x`", PROJECT) == [f"1:15: a table cannot be called ` x` ({hint})"]


def test_lambdas_in_lambdas_keep_their_own() -> None:
    sql = query("SELECT arrayMap(k -> arrayMap(k -> arrayMap(j -> k + j, [k]), [k]), arr) AS v FROM t", PROJECT).sql
    (outer, middle, inner) = re.findall(r"(` x[0-9]`) ->", sql)
    assert middle not in (outer, inner)
    assert f"array({outer})" in sql
    assert f"array({middle})" in sql
    assert f"{inner} -> (CAST({middle} AS BIGINT) + CAST({inner} AS BIGINT))" in sql


@given(st.lists(st.integers(0, 12)))
def test_a_fresh_one_is_new(taken: list[int]) -> None:
    given = " ".join(f"` v{each}` ` x3`" for each in taken)
    assert fresh_name("v", given) not in given
