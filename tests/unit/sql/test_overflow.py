"""Arithmetic of 64 bits: it wraps around where it can pass them, and is plain Spark SQL where it cannot."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.sql.flights import datasource

from penstock.errors import Location
from penstock.model.datasource import Text
from penstock.model.project import Project
from penstock.sql.compile import compile_sql
from penstock.sql.expr.overflow import TWO_63, add_wrapping

_PROJECT = Project.of([datasource("t", {"a": "Int64", "b": "Int64", "i": "Int32", "u": "UInt32", "w": "UInt64"})], [])


def spark(expression: str) -> str:
    sql = compile_sql(_PROJECT, Text(f"SELECT {expression} AS x FROM t", Location("q.sql")), "clickhouse").sql
    return sql.removeprefix("SELECT ").removesuffix(" AS `x` FROM __all_t__ AS `t`").replace("`t`.", "")


@pytest.mark.parametrize(
    ("expression", "sql"),
    [
        ("i + i", "(CAST(`i` AS BIGINT) + CAST(`i` AS BIGINT))"),
        ("i * u", "(CAST(`i` AS BIGINT) * `u`)"),
        ("i + i - 5", "((CAST(`i` AS BIGINT) + CAST(`i` AS BIGINT)) - 5L)"),
        ("sum(i + 1)", "coalesce(sum((CAST(`i` AS BIGINT) + 1L)), CAST(0 AS BIGINT))"),
        ("sum(i)", "coalesce(sum(`i`), CAST(0 AS BIGINT))"),
    ],
)
def test_what_cannot_overflow_is_plain(expression: str, sql: str) -> None:
    assert spark(expression) == sql


@pytest.mark.parametrize(
    ("expression", "sql"),
    [
        ("a + b", "coalesce(try_add(`a`, `b`), try_add(`a` ^ shiftleft(1L, 63), `b` ^ shiftleft(1L, 63)))"),
        ("a - 1", "coalesce(try_subtract(`a`, 1L), try_subtract(`a` ^ shiftleft(1L, 63), -9223372036854775807L))"),
        ("-a", "coalesce(try_subtract(0L, `a`), `a`)"),
        ("-i", "coalesce(try_subtract(0, `i`), `i`)"),
        (
            "sum(a)",
            "coalesce((shiftleft(sum(shiftright(`a`, 32)) + shiftright(sum(`a` & 4294967295L), 32), 32)"
            " | (sum(`a` & 4294967295L) & 4294967295L)), CAST(0 AS BIGINT))",
        ),
    ],
)
def test_what_may_overflow_wraps(expression: str, sql: str) -> None:
    assert spark(expression) == sql


@pytest.mark.parametrize("expression", ["i * i * i", "a * b", "i + i + a", "(i + i) * a", "a + w", "i * i * u + i"])
def test_nothing_is_added_plainly_that_may_overflow(expression: str) -> None:
    sql = spark(expression)
    assert "coalesce(try_" in sql or "pmod(" in sql


def test_the_text_of_a_long_sum_grows_by_what_is_added() -> None:
    four, eight, twelve = (len(spark(" + ".join(["a", "b"] * times))) for times in (4, 8, 12))
    assert twelve - eight == eight - four


def test_the_text_of_a_sum_in_calls_does_not_double_for_ever() -> None:
    nested = "a"
    for _ in range(12):
        nested = f"abs(toInt64({nested} + b)) + toInt64(b)"
    assert len(spark(nested)) < 60_000


@given(st.integers(-TWO_63, TWO_63 - 1), st.integers(-TWO_63, TWO_63 - 1))
def test_both_moved_by_half_of_the_range_add_up_to_the_wrapped_sum(a: int, b: int) -> None:
    """The formula in whole numbers: what the second branch gives where the first has no result."""
    exact = a + b
    if not -TWO_63 <= exact < TWO_63:
        moved = sum(each - TWO_63 if each >= 0 else each + TWO_63 for each in (a, b))
        assert -TWO_63 <= moved < TWO_63
        assert (moved - exact) % 2**64 == 0


def test_a_literal_is_moved_when_the_query_is_compiled() -> None:
    assert add_wrapping("` a`", "7L").endswith(f"try_add(` a` ^ shiftleft(1L, 63), {7 - TWO_63}L))")
    assert add_wrapping("` a`", "-7L").endswith(f"try_add(` a` ^ shiftleft(1L, 63), {TWO_63 - 7}L))")
    assert add_wrapping("` a`", "0L").endswith("try_add(` a` ^ shiftleft(1L, 63), 0L ^ shiftleft(1L, 63)))")
