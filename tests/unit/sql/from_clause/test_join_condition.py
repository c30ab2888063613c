"""The condition of a JOIN: each operand is translated once, though its sides and its value are both needed."""

from __future__ import annotations

from collections import Counter

import pytest
from sqlglot import exp
from tests.unit.sql.flights import datasource, problems, query

from penstock.model.project import Project
from penstock.sql import compile as compiler
from penstock.sql.compiler.environment import Environment, SelectOutput

COLUMNS = {"k": "Int32", "v": "Int64", "f": "Float64", "at": "DateTime"}
PROJECT = Project.of([datasource("t", COLUMNS), datasource("u", COLUMNS)], [])


@pytest.mark.parametrize(
    "tables",
    [
        "t JOIN u ON t.k = u.k + (SELECT 1) AND t.v > (SELECT 2)",
        "t LEFT JOIN u ON (t.k = u.k AND u.v = (SELECT 1)) OR (t.v = u.v AND t.v + (SELECT 3) = u.k)",
        "t JOIN u ON t.f = u.f + (SELECT 1) AND t.k = u.k",
        "t SEMI LEFT JOIN u ON t.k = u.k AND u.v = (SELECT 1)",
        "t ANY LEFT JOIN u ON t.k + (SELECT 1) = u.k AND u.v = (SELECT 2)",
        "t ANY LEFT JOIN (SELECT k, max(v) AS v FROM u GROUP BY k) AS u ON t.k + (SELECT 1) = u.k",
        "t ASOF JOIN u ON t.k = u.k + (SELECT 1) AND t.at >= u.at AND u.v = (SELECT 2)",
    ],
)
def test_an_operand_is_translated_once(tables: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: Counter[str] = Counter()
    compile_query = compiler.compile_query

    def counted(environment: Environment, tree: exp.Query) -> SelectOutput:
        compiled[tree.sql()] += 1
        return compile_query(environment, tree)

    monkeypatch.setattr(compiler, "compile_query", counted)
    query(f"SELECT 1 AS x FROM {tables}", PROJECT)
    literals = {sql: count for sql, count in compiled.items() if "FROM" not in sql}
    assert literals
    assert set(literals.values()) == {1}, literals


def test_using_columns_without_a_common_type() -> None:
    in_zone = "toDateTime('2024-01-01 00:00:00', 'America/New_York')"
    sql = "SELECT x FROM (SELECT today() AS x FROM flights) AS a JOIN (SELECT {} AS x FROM flights) AS b USING (x)"
    (found,) = problems(sql.format(in_zone))
    assert "USING (`x`) of Date and DateTime('America/New_York')" in found
