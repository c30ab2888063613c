"""ANY and ASOF joins: what is refused although ClickHouse answers, views, what is read, and in which shape."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import datasource, problems, query, view

from penstock.errors import InvalidQuery
from penstock.model.project import Project
from penstock.sql.analysis.row_seq import with_row_seq
from penstock.sql.compile import compile_view

COLUMNS = {"k": "Int32", "v": "Int64", "f": "Float64", "s": "String", "at": "DateTime", "arr": "Array(Int32)"}
PROJECT = Project.of(
    [datasource("t", COLUMNS), datasource("u", COLUMNS), datasource("w", {"v": "Int64", "at": "DateTime"})], []
)

REFUSED = {
    "t ANY LEFT JOIN u ON t.k = u.k AND t.v > u.v": ("unsupported-clause", "ANY LEFT JOIN takes equalities of both"),
    "t ANY INNER JOIN u ON t.k = u.k OR t.v = u.v": ("unsupported-clause", "ANY INNER JOIN takes equalities of both"),
    "t ANY LEFT JOIN u ON 1": ("invalid-join", "ANY LEFT JOIN needs an equality of both sides"),
    "t ANY JOIN u ON t.arr = u.arr": ("unsupported-clause", "a key of Array(Int32) and Array(Int32)"),
    "t ANY JOIN u ON (t.k, t.v) = (u.k, u.v)": ("unsupported-clause", "a key of Tuple(Int32, Int64) and"),
    "t ANY JOIN u ON t.v = u.f": ("no-common-type", "Int64 and Float64 have no common type"),
    "t ANY JOIN u ON arrayJoin(t.arr) = u.k": ("unsupported-clause", "arrayJoin in the condition of ANY INNER JOIN"),
    "t ANY JOIN u USING (nothing)": ("unknown-column", "unknown column `nothing` in USING"),
    "t ANY JOIN u": ("invalid-join", "ANY INNER JOIN needs ON or USING"),
    "t ASOF JOIN u ON t.k = u.k AND t.f >= u.f": ("unsupported-clause", "ASOF by floats is not supported"),
    "t ASOF JOIN u ON t.k = u.k AND t.at BETWEEN u.at AND now()": ("unsupported-clause", "ASOF JOIN takes equalities"),
    "t ASOF JOIN u ON t.k = u.k AND t.at > u.at AND t.v IN (SELECT v FROM u)": (
        "unsupported-clause",
        "a SELECT in a condition on the left side of ASOF JOIN",
    ),
    "t ASOF JOIN u ON t.at > u.at": ("invalid-join", "ASOF JOIN needs an equality of both sides"),
    "t ASOF RIGHT JOIN u ON t.k = u.k AND t.at > u.at": ("unsupported-clause", "ASOF RIGHT JOIN is not supported"),
    "t ANY JOIN u ON t.k = u.k WHERE t.v > 1": (
        "unsupported-clause",
        "WHERE together with ANY INNER JOIN is not supported: ClickHouse may filter before",
    ),
    "t ANY JOIN u USING (k) WHERE k IN (SELECT k FROM u)": (
        "unsupported-clause",
        "WHERE together with ANY INNER JOIN",
    ),
    "t ANY RIGHT JOIN u ON t.k = u.k PREWHERE t.v > 1": ("unsupported-clause", "PREWHERE with ANY RIGHT JOIN"),
    "t ANY JOIN u ON t.k = u.k JOIN w ON w.v = t.v": ("unsupported-clause", "a JOIN together with ANY INNER JOIN"),
    "t ANY FULL JOIN u ON t.k = u.k": ("unsupported-clause", "ANY FULL JOIN is not supported"),
    "t JOIN u ON t.v = u.f": ("no-common-type", "Int64 and Float64 have no common type"),
}


@pytest.mark.parametrize("tables", REFUSED)
def test_refused(tables: str) -> None:
    code, message = REFUSED[tables]
    with pytest.raises(InvalidQuery) as caught:
        query(f"SELECT t.k FROM {tables}", PROJECT)
    assert caught.value.problems[0].code == code
    assert caught.value.problems[0].message.startswith(message)
    assert caught.value.problems[0].location is not None


TAKEN = "(SELECT t.k AS k, t.v AS v, u.v AS w FROM t ANY INNER JOIN u ON t.k = u.k)"
CHANGES_WHAT_IS_TAKEN = {
    "SELECT * FROM {} WHERE v > 1": "WHERE",
    "SELECT * FROM {} AS j JOIN w ON w.v = j.v": "a JOIN",
    "SELECT * FROM t JOIN {} AS j ON t.k = j.w": "a JOIN",
    "SELECT * FROM {} AS j JOIN u USING (v)": "a JOIN",
    "SELECT * FROM {} AS j JOIN u ON u.k = j.k WHERE u.v > j.v": "WHERE",
    "SELECT v, count() AS n FROM {} GROUP BY v HAVING v > 1": "HAVING",
    "SELECT * FROM (SELECT v AS q, count() AS n FROM {} GROUP BY v) WHERE q > 1": "WHERE",
    "WITH x AS (SELECT k + w AS q FROM {}) SELECT * FROM x WHERE q = 3": "WHERE",
    "SELECT * FROM (SELECT k FROM {} UNION ALL SELECT k FROM t) WHERE k = 1": "WHERE",
    "SELECT v AS k, k + 1 AS z FROM {} WHERE k = 1": "WHERE",
    "SELECT k, e FROM (SELECT t.k AS k, t.arr AS a FROM t ANY JOIN u ON t.k = u.k) ARRAY JOIN a AS e WHERE e": "WHERE",
    "SELECT k FROM {} QUALIFY v = 1": "QUALIFY",
}
KEEPS_WHAT_IS_TAKEN = [
    "SELECT * FROM {} AS j WHERE k > 1 AND j.k < 5",
    "SELECT * FROM {} AS j JOIN u ON u.k = j.k WHERE u.v > 3",
    "SELECT * FROM {} AS j JOIN u USING (k)",
    "SELECT * FROM {} AS j, w",
    "SELECT * FROM (SELECT * FROM {} LIMIT 5) WHERE v > 1",
    "SELECT v, count() AS n FROM {} GROUP BY v HAVING n > 1",
    "SELECT * FROM (SELECT v, count() AS n FROM {} GROUP BY v) WHERE n > 1",
    "WITH x AS (SELECT k + 1 AS q FROM {}) SELECT * FROM x WHERE q = 3",
    "SELECT k AS k FROM {} WHERE k = 1",
    "SELECT k FROM {} QUALIFY row_number() OVER (PARTITION BY k ORDER BY v) = 1",
]


@pytest.mark.parametrize("sql", CHANGES_WHAT_IS_TAKEN)
def test_what_may_change_the_row_that_is_taken_is_refused(sql: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        query(sql.format(TAKEN), PROJECT)
    (problem,) = caught.value.problems
    assert problem.code == "unsupported-clause"
    clause = CHANGES_WHAT_IS_TAKEN[sql]
    assert problem.message.startswith(
        f"{clause} together with ANY INNER JOIN is not supported: ClickHouse may filter before"
    )
    assert problem.location is not None
    assert (problem.location.line, problem.location.column) > (1, 20)


@pytest.mark.parametrize("sql", KEEPS_WHAT_IS_TAKEN)
def test_what_passes_all_rows_of_a_key_or_none_is_answered(sql: str) -> None:
    assert query(sql.format(TAKEN), PROJECT).sql


def test_the_place_and_the_nearest_form_are_named() -> None:
    found = problems("SELECT f.day FROM flights f ANY LEFT JOIN flights g ON f.day = g.day AND f.month < g.month")
    assert found == [
        "1:74: ANY LEFT JOIN takes equalities of both sides, not this "
        "(conditions of one side may stand beside them, others in WHERE)"
    ]


def test_any_takes_one_whole_row_of_each_key() -> None:
    assert query("SELECT t.k, u.v FROM t ANY LEFT JOIN u ON t.k = u.k AND u.v > 3", PROJECT).sql == (
        "SELECT `t`.`k` AS `k`, coalesce(`u`.`v`, CAST(0 AS BIGINT)) AS `u.v` FROM __all_t__ AS `t` LEFT JOIN "
        "(SELECT `__row`.`k` AS `k`, `__row`.`v` AS `v` FROM "
        "(SELECT min(named_struct('k', `u`.`k`, 'v', `u`.`v`)) AS `__row` FROM __all_u__ AS `u` "
        "WHERE (`u`.`v` > 3L) GROUP BY `u`.`k`)) AS `u` ON (`t`.`k` = `u`.`k`) AND (`u`.`v` > 3L)"
    )


def test_rows_with_a_map_have_an_order_too() -> None:
    sql = "SELECT t.k, x.m FROM t ANY LEFT JOIN (SELECT k, map(s, v) AS m FROM u) AS x ON t.k = x.k"
    found = query(sql, PROJECT).sql
    row, order = "named_struct('k', `x`.`k`, 'm', `x`.`m`)", "named_struct('k', `x`.`k`, 'm', CAST(`x`.`m` AS STRING))"
    assert f"min_by({row}, {order}) AS `__row`" in found


def test_only_what_the_select_names_is_carried_along() -> None:
    found = query("SELECT t.k FROM t ASOF JOIN u ON t.k = u.k AND t.at >= u.at ANY JOIN w ON w.v = u.v", PROJECT)
    assert {(each.placeholder, each.columns) for each in found.reads} == {
        ("__all_t__", ("k", "v", "at")),
        ("__all_u__", ("k", "v", "at")),
        ("__all_w__", ("v", "at")),
    }


def test_asof_sorts_both_sides_once() -> None:
    found = query("SELECT t.k, u.v FROM t ASOF LEFT JOIN u ON t.k = u.k AND t.at < u.at", PROJECT).sql
    assert " JOIN " not in found
    assert found.count("__all_t__") == found.count("__all_u__") == 1
    assert "PARTITION BY `__key0` ORDER BY `__near` DESC NULLS FIRST, `__side` ASC NULLS LAST" in found


VIEWS = {
    "t ANY LEFT JOIN u ON t.k = u.k": "LEFT JOIN (SELECT `__row`",
    "t ASOF JOIN u ON t.k = u.k AND t.at >= u.at": "INNER JOIN (SELECT `__key0`",
    "t ASOF LEFT JOIN u USING (k, at)": "LEFT JOIN (SELECT `__key0`",
}


@pytest.mark.parametrize("tables", VIEWS)
def test_the_rows_of_a_view_stay_what_they_are(tables: str) -> None:
    """Each row of a step has the place of the row that it was made from."""
    made = view("m", "w", f"SELECT u.v AS v, t.at AS at FROM {tables}")
    found = compile_view(PROJECT, made, made.nodes[0])
    assert found.trigger.placeholder == "__new_t__"
    assert f"FROM __new_t__ AS `t` {VIEWS[tables]}" in found.query.sql
    own = with_row_seq(found.query.sql, "__new_t__")
    assert own is not None
    assert own.count(", `t`._seq ") == 1


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ("t ANY JOIN u ON t.k = u.k", "ANY INNER JOIN keeps one of the rows that trigger a view"),
        ("t ANY RIGHT JOIN u ON t.k = u.k", "ANY RIGHT JOIN keeps one of the rows that trigger a view"),
        ("(SELECT * FROM t LIMIT 5) AS t ASOF JOIN u ON t.k = u.k AND t.at > u.at", "ASOF JOIN in a view needs"),
        ("t JOIN w ON t.v = w.v ASOF JOIN u ON t.k = u.k AND t.at > u.at", "ASOF JOIN in a view needs"),
    ],
)
def test_views_that_would_depend_on_how_rows_come_in(tables: str, message: str) -> None:
    made = view("m", "w", f"SELECT u.v AS v, t.at AS at FROM {tables}")
    with pytest.raises(InvalidQuery) as caught:
        compile_view(PROJECT, made, made.nodes[0])
    assert [each.code for each in caught.value.problems] == ["unsupported-view"]
    assert caught.value.problems[0].message.startswith(message)


def test_nan_is_found_by_nan_as_a_key() -> None:
    found = query("SELECT t.k FROM t JOIN u ON t.f = u.f AND t.k = u.k", PROJECT).sql
    assert found.endswith(" ON ((`t`.`f` = `u`.`f`) AND (`t`.`k` = `u`.`k`))")


def test_a_star_begins_with_the_columns_of_using() -> None:
    found = query("SELECT * FROM (SELECT v, k, s FROM t) AS a JOIN (SELECT s AS x, k FROM u) AS b USING (k)", PROJECT)
    assert [name for name, _ in found.columns] == ["k", "v", "s", "x"]
