"""Subqueries that read columns of the SELECT around them: what is refused though ClickHouse answers it, and the SQL."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems, query

FROM = "FROM flights AS o WHERE o.flight = a.flight"
EQUALITY = "a condition on columns of both the SELECT and the one around it must be an equality of the two"
PLACE = "is supported in WHERE and in a SELECT without groups"
REFUSED = {
    "SELECT day FROM flights AS a WHERE EXISTS (SELECT 1 FROM flights AS o WHERE o.day > a.day)": EQUALITY,
    "SELECT day FROM flights AS a WHERE EXISTS (SELECT 1 FROM flights AS o WHERE o.day = a.day OR 1)": EQUALITY,
    "SELECT day FROM flights AS a WHERE EXISTS (SELECT 1 FROM flights AS o WHERE o.day + a.day = 3)": EQUALITY,
    f"SELECT day FROM flights AS a WHERE EXISTS (SELECT count() {FROM})": "it is always true",
    f"SELECT day FROM flights AS a WHERE EXISTS (SELECT 1 {FROM} GROUP BY o.day)": "GROUP is not supported",
    f"SELECT day FROM flights AS a WHERE EXISTS (SELECT 1 {FROM} LIMIT 0)": "LIMIT is not supported",
    f"SELECT day FROM flights AS a WHERE EXISTS (SELECT a.day {FROM})": "`a.day` of the SELECT around",
    f"SELECT day, (SELECT o.day {FROM}) FROM flights AS a": "must be one aggregate, or it may have several rows",
    f"SELECT day, (SELECT max(o.day) {FROM} LIMIT 1) FROM flights AS a": "LIMIT is not supported",
    f"SELECT day, (SELECT max(o.day) {FROM} HAVING max(o.day) > 1) FROM flights AS a": "HAVING is not supported",
    f"SELECT day, (SELECT max(o.day) AS day {FROM} AND day > 1) FROM flights AS a": "`day` is an aggregate here",
    f"SELECT day, (SELECT count() {FROM} AND 0) FROM flights AS a": "a condition that reads no column is not",
    f"WITH 0 AS c SELECT day, (SELECT count() {FROM} AND c) FROM flights AS a": "a condition that reads no column",
    f"SELECT day, (SELECT count() {FROM} AND (SELECT max(day) FROM flights) > 3) FROM flights AS a": "reads no column",
    f"SELECT day, (SELECT count() {FROM} AND o.day IS NULL) FROM flights AS a": "a condition that reads no column",
    f"SELECT day, (SELECT count() {FROM} AND a.day IS NULL) FROM flights AS a": "a condition that reads no column",
    f"SELECT day, (SELECT count() {FROM} AND o.day IN (NULL)) FROM flights AS a": "a condition that reads no column",
    f"SELECT day, (SELECT count() {FROM} AND (o.day > 3 AND 0 OR 0)) FROM flights AS a": "that reads no column",
    f"SELECT day, (SELECT count() {FROM} AND o.day = 1 AND o.day = 2) FROM flights AS a": "that reads no column",
    f"SELECT day, (SELECT groupArray(o.day) {FROM}) FROM flights AS a": "cannot be Array(UInt8)",
    f"SELECT day, (SELECT sum(o.day + a.day) {FROM}) FROM flights AS a": "may be read in WHERE only",
    "SELECT day, (SELECT count() FROM flights AS o WHERE a.day = 1) FROM flights AS a": "needs an equality",
    "SELECT day, (SELECT count() FROM flights AS o WHERE o.dep_delay = a.dep_delay) FROM flights AS a": (
        "rows of a subquery cannot be found by Nullable(Float64) = Nullable(Float64)"
    ),
    f"SELECT day, count() FROM flights AS a GROUP BY day HAVING EXISTS (SELECT 1 {FROM})": PLACE,
    f"SELECT arrayMap(x -> EXISTS (SELECT 1 {FROM}), [1]) FROM flights AS a": PLACE,
    f"SELECT arrayMap(x -> x, [(SELECT max(o.day) {FROM})]) FROM flights AS a": "inside of a function of arrays",
    f"SELECT day FROM flights AS a WHERE EXISTS (SELECT arrayJoin([o.day]) {FROM})": "arrayJoin is not supported here",
    "SELECT day FROM flights AS a WHERE EXISTS (SELECT 1 FROM flights AS o WHERE o.day = arrayJoin([a.day]))": (
        "arrayJoin is not supported here"
    ),
    "SELECT EXISTS (SELECT arrayJoin([1]))": "arrayJoin is not supported here",
    f"SELECT EXISTS (SELECT 1 {FROM}) AS e, count() FROM flights AS a GROUP BY e": "not supported in GROUP BY",
    f"SELECT EXISTS (SELECT 1 {FROM}) AS e FROM flights AS a ORDER BY e": "not supported in ORDER BY",
    f"SELECT EXISTS (SELECT 1 {FROM}) AS e FROM flights AS a LIMIT 1 BY e": "not supported in LIMIT BY",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_refused(sql: str) -> None:
    assert any(REFUSED[sql] in problem for problem in problems(sql))


def test_a_problem_of_the_subquery_is_reported_once() -> None:
    found = problems(f"SELECT day FROM flights AS a WHERE EXISTS (SELECT nothere {FROM})")
    assert ["unknown column `nothere`" in each for each in found] == [True]


def test_an_element_of_an_own_tuple_is_no_column_around() -> None:
    own = "(SELECT (1, 2)::Tuple(day UInt8, x UInt8) AS a)"
    sql = query(f"SELECT day FROM flights AS a WHERE EXISTS (SELECT 1 FROM {own} WHERE a.day = 1)").sql
    assert "__correlated" not in sql


@pytest.mark.parametrize(
    "condition", ["1 IN (SELECT a.day FROM flights AS a)", "o.day = (SELECT max(a.day) FROM flights AS a)"]
)
def test_a_table_of_an_inner_select_hides_the_one_around(condition: str) -> None:
    sql = query(f"SELECT day FROM flights AS a WHERE EXISTS (SELECT 1 FROM flights AS o WHERE {condition})").sql
    assert "__correlated" not in sql


def test_exists_reads_the_rows_that_are_equal() -> None:
    sql = query(f"SELECT day FROM flights AS a WHERE NOT EXISTS (SELECT * {FROM} AND o.day > 3)").sql
    assert "EXISTS (SELECT 1 FROM (SELECT `o`.`flight` AS `__correlated0`" in sql
