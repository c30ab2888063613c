"""arrayJoin beside aggregates: what becomes a SELECT over a subquery, and what is refused since it cannot be split."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import PROJECT, problems, text

from penstock.sql.compile import compile_sql


def compiled(sql: str) -> str:
    return compile_sql(PROJECT, text(sql), "clickhouse").sql


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT arrayJoin(topK(3)(carrier)) AS v FROM flights",
        "SELECT carrier, arrayJoin([1, 2]) AS n, count() FROM flights GROUP BY carrier",
        "WITH groupArray(carrier) AS every SELECT arrayJoin(every) AS one FROM flights",
        "SELECT count() AS c FROM flights ORDER BY arrayJoin([1, 2])",
    ],
)
def test_the_groups_are_made_by_a_subquery(sql: str) -> None:
    before, _, after = compiled(sql).partition("LATERAL VIEW")
    assert before.count("SELECT") == 2
    assert "`__t0`" in before
    assert "count(" not in after


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT arrayJoin([1, 2]) AS n, count() FROM flights GROUP BY n",
        "SELECT arrayJoin([1, 2]), count() FROM flights GROUP BY 1",
        "SELECT sum(arrayJoin([1, 2])) FROM flights",
        "SELECT carrier, arrayJoin([1, 2]) FROM flights",
    ],
)
def test_rows_that_are_grouped_themselves_are_not_moved(sql: str) -> None:
    assert compiled(sql).count("SELECT") == 1


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT arrayJoin(groupArray(carrier)) AS carrier, max(carrier) FROM flights", "of an aggregate"),
        ("SELECT arrayJoin([1, 2]) AS n, sum(n) FROM flights", "`arrayJoin` beside these aggregates or clauses"),
        ("SELECT arrayJoin(groupArray(carrier)) AS v, row_number() OVER () FROM flights", "of an aggregate"),
        ("SELECT arrayMap(x -> arrayJoin(groupArray(carrier)), [1]) FROM flights", "inside a lambda"),
        (
            "SELECT arrayJoin([1, 2]) AS n, count() FROM flights GROUP BY carrier WITH ROLLUP",
            "beside these aggregates or clauses",
        ),
        ("SELECT arrayMap(x -> x + count(), arrayJoin([[1]])) FROM flights", "`arrayJoin` beside these"),
        ("SELECT b AS a, arrayJoin(groupArray(a)) AS b FROM flights", ""),
    ],
)
def test_what_cannot_be_split_is_refused(sql: str, told: str) -> None:
    assert any(told in problem for problem in problems(sql)), problems(sql)


def test_a_problem_in_a_moved_expression_has_its_place() -> None:
    (problem,) = problems("SELECT arrayJoin(groupArray(nope)) AS v FROM flights")
    assert "unknown column `nope`" in problem
    assert problem.startswith("1:29")
    assert "group0" not in problem


def test_names_that_mean_others_many_times_are_read_once() -> None:
    chain = ", ".join(f"a{each} + a{each} AS a{each + 1}" for each in range(60))
    assert problems(f"SELECT count() AS a0, arrayJoin([1, 2]) AS n, {chain} FROM flights")
