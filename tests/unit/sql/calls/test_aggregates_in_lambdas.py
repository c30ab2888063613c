"""An aggregate inside of a lambda: it cannot read the lambda's parameter, and may do without it."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import PROJECT, problems, text

from penstock.sql.compile import compile_sql


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT arrayMap(i -> countIf(number >= i), [1, 2]) FROM numbers(3)",
        "SELECT arrayMap(i -> sum(arraySum(x -> x * i, [number])), [1, 2]) FROM numbers(3)",
        "SELECT arrayMap((j, i) -> sum(number + i), [1], [2]) FROM numbers(3)",
    ],
)
def test_the_parameter_of_a_lambda_is_refused_in_an_aggregate(sql: str) -> None:
    (problem,) = problems(sql)
    assert "reads `i`, the parameter of a lambda around it (gather the values" in problem


def test_a_lambda_inside_of_the_aggregate_has_its_own_parameter() -> None:
    sql = "SELECT arrayMap(x -> x + sum(arraySum(x -> x, [number])), [1, 2]) FROM numbers(3)"
    assert compile_sql(PROJECT, text(sql), "clickhouse").columns
