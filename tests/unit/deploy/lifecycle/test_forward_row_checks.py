"""A forward query's check tells rows that do not convert from a Spark that could not look."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from penstock.deploy.lifecycle.forward_row_checks import _compute_unsure
from penstock.deploy.runtime.warehouse import Warehouse
from penstock.model.manifest import Binding
from penstock.plan.steps import Check, CheckRows


def warehouse_whose_queries_raise(error: Exception) -> Warehouse:
    def sql(_: str) -> None:
        raise error

    return cast(Warehouse, SimpleNamespace(lake=SimpleNamespace(bulk=SimpleNamespace(sql=sql))))


STEP = CheckRows("events", cast(Binding, None), (Check("x", "unsure", "f(x)", "f(`x`)"),))


@pytest.mark.parametrize(
    "error", [ConnectionRefusedError(111, "Connection refused"), RuntimeError("java.lang.OutOfMemoryError: Java heap")]
)
def test_a_spark_that_ends_or_has_no_memory_is_not_blamed_on_the_rows(error: Exception) -> None:
    with pytest.raises(type(error)):
        _compute_unsure(warehouse_whose_queries_raise(error), "events", STEP)


def test_what_spark_says_of_a_row_is_a_problem_that_names_the_column() -> None:
    (problem,) = _compute_unsure(warehouse_whose_queries_raise(ValueError("overflow")), "events", STEP)
    assert problem.code == "rows-do-not-convert"
    assert "column `x` of `events`" in problem.message
    assert "overflow" in problem.message
