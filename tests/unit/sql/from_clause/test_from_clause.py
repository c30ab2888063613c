"""What FROM and the select list refuse although ClickHouse answers, and who triggers after the joins."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import datasource, problems, query, view

from penstock.model.project import Project
from penstock.sql.compile import compile_view

COLUMNS = {"a": "Int32", "b": "Int32", "arr": "Array(Int32)", "m": "Map(String, Int32)"}
PROJECT = Project.of([datasource("t", COLUMNS), datasource("u", COLUMNS), datasource("w", {"a": "Int32"})], [])

CASES = {
    "SELECT g.month FROM flights f SEMI LEFT JOIN flights g ON f.day = g.day": "`g.month` has no single value",
    "SELECT f.month FROM flights f SEMI RIGHT JOIN flights g ON f.day = g.day": "`f.month` has no single value",
    "SELECT 1 FROM flights NATURAL JOIN flights AS g": "NATURAL JOIN is not supported",
    "SELECT day FROM (SELECT day, day, count() FROM flights GROUP BY day WITH TOTALS)": "gives the column `day` twice",
    "SELECT a FROM (SELECT 1, 2) AS z(a, b)": "column names after the alias of a table are not supported",
    "SELECT * FROM (SELECT 3 AS n) CROSS JOIN (SELECT 4 AS n)": "needs an alias: another table has a column `n` too",
    "SELECT CAST(1, 'Bool') AS x UNION ALL SELECT 5": "there is no common type",
    "SELECT toDecimal32(1, 2) AS x UNION ALL SELECT 5": "there is no common type",
    "SELECT map('a', 1) AS x UNION DISTINCT SELECT map('b', 2)": "cannot compare the rows by `x`",
    "SELECT arrayFilter(x -> x IN (SELECT 1), [1])": "a SELECT inside of a lambda is not supported",
    "SELECT * FROM url('x', 'CSV')": "`url(…)` is read by copies only",
    "SELECT * FROM nubers(3)": "`nubers` is not supported",
    "WITH RECURSIVE r AS (SELECT 1 AS n) SELECT n FROM r": "WITH RECURSIVE is not supported",
    "SELECT * ILIKE 'd%' FROM flights": "this form of `*` is not supported",
}


@pytest.mark.parametrize("sql", CASES)
def test_refused(sql: str) -> None:
    found = problems(sql)
    assert found
    assert CASES[sql] in found[0]


def test_a_name_that_a_select_gives_twice_means_the_first_column() -> None:
    found = query("SELECT *, x.b FROM (SELECT b, a, b, a AS c, c FROM t) AS x", PROJECT)
    assert [name for name, _ in found.columns] == ["b", "a", "b", "c", "c", "b"]
    assert "AS `x`(`b`, `a`, `__again2`, `c`, `__again4`)" in found.sql
    through_with = query("WITH x AS (SELECT a, a FROM t) SELECT a FROM x", PROJECT)
    assert "AS `x`(`a`, `__again1`)" in through_with.sql


@pytest.mark.parametrize(
    "right",
    [
        "(SELECT a, max(b) AS b FROM u GROUP BY a)",
        "(SELECT a, b FROM u GROUP BY a, b)",
        "(SELECT DISTINCT a FROM u)",
        "(SELECT a, b FROM u LIMIT 1 BY a)",
    ],
)
def test_any_is_a_join_where_no_key_comes_twice(right: str) -> None:
    on = "t.a = r.a AND t.b = r.b" if "a, b FROM u GROUP" in right else "t.a = r.a"
    sql = query(f"SELECT t.a FROM t ANY LEFT JOIN {right} AS r ON {on}", PROJECT).sql
    assert " LEFT JOIN (" in sql


@pytest.mark.parametrize("join", ["SEMI RIGHT JOIN u ON t.a = u.a", "ANTI RIGHT JOIN u USING (a)"])
def test_the_left_most_table_triggers_on_either_side_of_the_text(join: str) -> None:
    made = view("v", "w", f"SELECT u.a AS a FROM t {join}")
    found = compile_view(PROJECT, made, made.nodes[0])
    assert found.trigger.placeholder == "__new_t__"
    assert "__all_u__" in found.query.sql


def test_with_is_for_every_part_of_a_union() -> None:
    sql = "WITH x AS (SELECT a FROM t), 5 AS k SELECT a FROM x UNION ALL SELECT k FROM x"
    assert [each.columns for each in query(sql, PROJECT).reads] == [("a",)]


def test_names_of_columns_after_joins() -> None:
    sql = "SELECT * FROM t JOIN u USING (a) JOIN w USING (a)"
    assert [name for name, _ in query(sql, PROJECT).columns] == ["a", "t.b", "t.arr", "t.m", "u.b", "u.arr", "u.m"]
