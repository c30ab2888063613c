"""What calls of lambdas that WITH names refuse."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

REFUSED = {
    "WITH x -> x + 1 AS f SELECT f(1, 2) AS a": "the lambda `f` takes 1 arguments, 2 are given",
    "WITH x -> x + day AS f SELECT f(1) AS a FROM flights": "reads only its parameters and constants",
    "WITH x -> x + flights.day AS f SELECT f(1) AS a FROM flights": "reads only its parameters and constants",
    "WITH x -> arrayMap(y -> y + x, [1]) AS f SELECT arrayMap(y -> f(y), [1]) AS a": "`y` is a parameter of two",
    "WITH 1 AS k, x -> x + k AS f SELECT arrayMap(k -> f(k), [1]) AS a": "`k` is a parameter of two",
    "WITH x -> sum(x) AS f SELECT f(1) AS a": "must not contain an aggregate",
    "WITH x -> (SELECT 1) AS f SELECT f(1) AS a": "must not contain an aggregate",
    "WITH x -> arrayJoin(x) AS f SELECT f([1]) AS a": "must not contain an aggregate",
    "WITH x -> x AS sum SELECT sum(1) AS a": "the lambda `sum` has the name of an aggregate",
    "WITH x -> x - x AS f SELECT f(rand()) AS a": "random values as arguments of the lambda `f`",
    "WITH (x, y) -> x AS f SELECT arrayMap(f, [1]) AS a": "the lambda takes 2 values, 1 arrays are given",
    "WITH x -> x AS f SELECT f AS a": "`x -> x` is not supported",
    "WITH x -> f(x) AS f SELECT f(1) AS a": "",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_refused(sql: str) -> None:
    assert REFUSED[sql] in problems(sql)[0]
