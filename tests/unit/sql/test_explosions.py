"""Short SQL that means very much, or nests without end, is compiled in little time or refused with its place."""

from __future__ import annotations

import subprocess
import sys

import pytest

from penstock.errors import InvalidQuery, Location
from penstock.model.datasource import Text
from penstock.model.pipe import Dialect
from penstock.parse.project_loader import load_files
from penstock.sql.compile import compile_sql
from penstock.sql.compiler.budget import CompileBudget
from penstock.sql.spark_text import DEEPEST
from penstock.sql.syntax.problems import MOST_PROBLEMS

PROJECT = load_files({"t.datasource": "SCHEMA >\n    x Int32 `json:$.x`,\n    s String `json:$.s`\n"}).project


def compiled(sql: str, dialect: Dialect = "clickhouse") -> str:
    return compile_sql(PROJECT, Text(sql, Location("query")), dialect).sql


def ctes(count: int, body: str) -> str:
    """CTEs that each name the one before twice."""
    later = (f"c{each} AS ({body.format(before=f'c{each - 1}')})" for each in range(1, count))
    return f"WITH c0 AS (SELECT x FROM t), {', '.join(later)} SELECT x FROM c{count - 1}"


def aliases(count: int, expression: str, first: str = "x") -> str:
    later = (f"{expression.format(before=f'a{each - 1}')} AS a{each}" for each in range(1, count))
    return f"SELECT {first} AS a0, {', '.join(later)} FROM t"


DOUBLING = {
    "join": ctes(40, "SELECT a.x AS x FROM {before} AS a, {before} AS b"),
    "union": ctes(40, "SELECT x FROM {before} UNION ALL SELECT x FROM {before}"),
    "in": ctes(40, "SELECT x FROM {before} WHERE x IN (SELECT x FROM {before})"),
    "sum": aliases(40, "{before} + {before}"),
    "concat": aliases(40, "concat({before}, {before})", "s"),
    "limit": aliases(40, "{before} + {before}", "1") + " LIMIT a39",
}


@pytest.mark.parametrize("sql", DOUBLING.values(), ids=DOUBLING)
def test_what_doubles_is_refused(sql: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        compiled(sql)
    assert {each.code for each in caught.value.problems} <= {"too-complex", "too-deep"}
    assert all(each.location is not None and each.location.file == "query" for each in caught.value.problems)


def test_a_part_that_is_named_often_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    spent: list[int] = []
    monkeypatch.setattr(CompileBudget, "spend", lambda self, text, steps=1: spent.append(steps))
    once, often = (
        f"WITH c AS (SELECT x + 1 AS x FROM t) {q}" for q in ("SELECT x FROM c", "SELECT 1 FROM c, c AS d, c AS e")
    )
    sizes = []
    for sql in (once, often):
        spent.clear()
        compiled(sql)
        sizes.append(sum(spent))
    assert sizes[1] <= sizes[0] + 5


def test_a_list_of_thousands_of_values_is_no_explosion() -> None:
    assert compiled(f"SELECT x IN ({', '.join(map(str, range(20_000)))}) AS found FROM t")


def test_columns_of_one_name_are_compared_with_the_first_of_them() -> None:
    assert compiled(f"SELECT {', '.join(['*'] * 10_000)} FROM t")


def test_only_so_many_problems_are_looked_for() -> None:
    with pytest.raises(InvalidQuery) as caught:
        compiled("SELECT " + ", ".join(f"unknown{each}" for each in range(20_000)) + " FROM t")
    assert len(caught.value.problems) == MOST_PROBLEMS


NESTED = {
    "types": "SELECT CAST(x AS " + "Array(" * 30_000,
    "brackets of types": "SELECT CAST(x AS " + "ARRAY<" * 30_000,
    "selects": "SELECT * FROM " + "(" * 60_000,
    "joins": "SELECT * FROM t JOIN " + "(t JOIN " * 20_000,
    "calls": "SELECT " + "f(" * 40_000,
    "elements": "SELECT x" + "[1]" * 30_000,
    "calls of calls": "SELECT f" + "()" * 40_000,
    "lists": "SELECT " + "[" * 60_000,
    "maps": "SELECT " + "{'a': " * 30_000,
}
PROGRAM = """
import sys
from unit.sql.test_explosions import NESTED, InvalidQuery, compiled
try:
    compiled(NESTED[sys.argv[1]], sys.argv[2])
except InvalidQuery as error:
    print(error.problems[0].code)
"""


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("dialect", ["clickhouse", "spark"])
def test_what_nests_without_end_is_refused(name: str, dialect: Dialect) -> None:
    with pytest.raises(InvalidQuery) as caught:
        compiled(NESTED[name], dialect)
    assert caught.value.problems[0].code in ("too-deep", "invalid-sql")


def test_such_a_text_does_not_end_the_process() -> None:
    """In a process of its own: before there was a limit, this was a segmentation fault."""
    command = [sys.executable, "-c", PROGRAM, "types", "clickhouse"]
    environment = {"PYTHONPATH": ":".join(sys.path)}
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=False)
    assert (ended.returncode, ended.stdout) == (0, "too-deep\n"), ended.stderr


def test_brackets_that_are_closed_do_not_count() -> None:
    assert compiled("SELECT " + " + ".join(["(x)"] * DEEPEST) + " AS n FROM t")
    assert compiled("SELECT " + ", ".join(f"[x, {each}][1] AS a{each}" for each in range(DEEPEST + 9)) + " FROM t")


def test_a_chain_of_operators_keeps_no_thread_waiting() -> None:
    with pytest.raises(InvalidQuery) as caught:
        compiled("SELECT " + "x = " * 100_000 + "1 AS n FROM t", "spark")
    assert caught.value.problems[0].code == "too-deep"
    assert compiled("SELECT " + "x + " * 100 + "1 AS n FROM t", "spark")


def test_aliases_that_double_are_refused_in_spark_sql_too() -> None:
    with pytest.raises(InvalidQuery) as caught:
        compiled(aliases(40, "{before} + {before}"), "spark")
    assert caught.value.problems[0].code == "too-complex"
    assert compiled(aliases(5, "{before} + {before}"), "spark")


@pytest.mark.parametrize("word", ["OR", "AND"])
def test_a_long_chain_of_conditions_is_no_deep_tree(word: str) -> None:
    """Its time is linear; before, 1,000 conditions took 9 s in which no other thread ran, and more were refused."""
    conditions = [f"x = {each}" for each in range(3_000)]
    sql = compiled("SELECT x FROM t WHERE " + f" {word} ".join(conditions), "spark")
    assert sql.endswith(" WHERE " + f" {word} ".join(f"`t`.`{each[0]}`{each[1:]}" for each in conditions))


def test_mixed_conditions_keep_their_meaning() -> None:
    parts = [f"x = {each} AND (x < {each} OR NOT x > {each} AND x <> 1)" for each in range(40)]
    sql = compiled("SELECT x FROM t WHERE " + " OR ".join(parts), "spark")
    assert sql.endswith(f" WHERE {' OR '.join(parts)}".replace("x ", "`t`.`x` "))
