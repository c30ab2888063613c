"""Conversions in their modes: what a NULL becomes, what has a default, and how long the SQL is."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.unit.sql.flights import column, datasource, problems, query, text

from penstock.errors import InvalidQuery
from penstock.model.project import Project
from penstock.sql.analysis.may_raise import may_raise, suppress_errors
from penstock.sql.engines.column_expression import compile_expression

COLUMNS = {
    "s": "String",
    "n": "Nullable(String)",
    "i": "Int64",
    "u": "UInt32",
    "f": "Float64",
    "d": "Decimal(38, 2)",
    "arr": "Array(String)",
    "nulls": "Array(Nullable(String))",
    "pair": "Tuple(Int32, String)",
}
PROJECT = Project.of([datasource("t", COLUMNS)], [])


def sql_of(expression: str) -> str:
    return compile_expression(text(expression), [column(name, of) for name, of in COLUMNS.items()]).sql


OF_TEXT = ("toInt32({0})", "toDate({0})", "toDecimal32({0}, 2)", "toUUID({0})", "toFloat64({0})", "toIPv4({0})")


@pytest.mark.parametrize("call", OF_TEXT)
def test_a_text_of_another_form_is_null_where_the_argument_may_be(call: str) -> None:
    assert "raise_error" not in sql_of(call.format("n"))
    assert "raise_error" in sql_of(call.format("s"))


TO_NULLABLE = ("s::Nullable(Int32)", "CAST(n AS Nullable(UUID))", "accurateCast(s, 'Nullable(Int8)')")


@pytest.mark.parametrize("call", [*TO_NULLABLE, "CAST(arr AS Array(Nullable(Int8)))"])
def test_a_text_of_another_form_is_null_where_the_type_has_null(call: str) -> None:
    assert "raise_error" not in sql_of(call)


@pytest.mark.parametrize("call", ["toBool(n)", "toDateTime64(n, 3)", "toFixedString(n, 2)", "s::Nullable(Bool)"])
def test_some_types_give_null_for_no_text(call: str) -> None:
    assert "raise_error(concat('cannot convert '" in sql_of(call)


@pytest.mark.parametrize("call", ["toDateTime(n)", "s::Nullable(DateTime64(3))"])
def test_a_time_without_its_year_is_an_error(call: str) -> None:
    assert "raise_error(concat('a time without a year" in sql_of(call)


def test_a_date_literal_has_no_spaces_around_it() -> None:
    assert sql_of("toDate('2020-01-01')") == "DATE'2020-01-01'"
    assert "raise_error" in sql_of("toDate(' 2020-01-01')")


def test_a_null_fails_where_an_element_cannot_be_null() -> None:
    assert "if(` e` IS NULL, raise_error('cannot convert NULL to Int32')" in sql_of("CAST(nulls, 'Array(Int32)')")
    for strict in ("CAST(nulls, 'Array(Nullable(Int32))')", "CAST(arr, 'Array(Int32)')"):
        assert "` e` IS NULL" not in sql_of(strict)


LENIENT = (
    "accurateCastOrNull(i, 'Decimal(5, 2)')",
    "accurateCastOrDefault(i, 'Decimal(5, 2)')",
    "accurateCastOrNull(i, 'DateTime')",
    "accurateCastOrDefault(f, 'DateTime')",
    "accurateCastOrNull(i, 'DateTime64(3)')",
    "accurateCastOrNull(f, 'Decimal(9, 2)')",
    "accurateCastOrDefault(d, 'Decimal(5, 1)')",
    "toDateTimeOrNull(i)",
    "accurateCastOrNull(i, 'Date')",
    "accurateCastOrDefault(i, 'DateTime64(6)', toDateTime64('2020-01-01', 6))",
)


@pytest.mark.parametrize("call", LENIENT)
def test_lenient_conversions_have_a_check(call: str) -> None:
    sql = sql_of(call)
    assert "raise_error" not in sql
    assert suppress_errors(sql).replace("try_cast(0 AS", "CAST(0 AS") == sql or " BETWEEN 0 AND 4294967295" in sql


def test_what_never_fails_needs_none() -> None:
    assert sql_of("accurateCastOrNull(s, 'String')") == "`s`"
    assert not may_raise(sql_of("accurateCastOrDefault(i, 'String')"))
    assert "BETWEEN" not in sql_of("accurateCastOrNull(u, 'DateTime')")


def test_what_fails_in_the_operand_still_does() -> None:
    sql = sql_of("accurateCastOrNull(CAST(f, 'Int64'), 'Decimal(5, 2)')")
    assert sql.startswith("try_cast(if(`f` > ")
    assert "CAST(`f` AS BIGINT)" in sql
    assert sql.count("try_cast(") == 1


HINT = "accurateCast is strict; arrayMap(e -> …) converts elements one by one"
REFUSED = {
    "accurateCastOrDefault(arr, 'Array(UInt8)')": (
        f"1:8: Array(String) cannot be converted to Array(UInt8) with a default ({HINT})"
    ),
    "accurateCastOrNull(pair, 'Tuple(Int8, String)')": (
        f"1:8: Tuple(Int32, String) cannot be converted to Tuple(Int8, String) with a default ({HINT})"
    ),
    "accurateCastOrNull(d, 'DateTime64(3)')": (
        f"1:8: Decimal(38, 2) cannot be converted to DateTime64(3) with a default ({HINT})"
    ),
    "accurateCastOrNull(arr, 'Int32')": "1:8: Array(String) cannot be converted to Int32",
    "toDecimal64OrNull(i, 2)": "1:8: the argument must be a String, this is Int64",
    "parseDateTime64BestEffort(s, i)": (
        "1:8: argument 2 of `parseDateTime64BestEffort` must be a constant, this is Int64"
    ),
    "toDecimal32(toNullable(toFixedString('1', 2)), 1)": "1:8: Nullable(FixedString(2)) is no number with its zeros "
    "(trimRight(…) it, or make it a String)",
    "toNullable(arr)": "1:8: Array(String) is never Nullable (the value itself)",
    "parseDateTime64BestEffort(s, 10)": "1:8: the precision must be a literal from 0 to 9",
}


@pytest.mark.parametrize("call", REFUSED)
def test_what_has_no_default_is_refused(call: str) -> None:
    (problem,) = problems(f"SELECT {call} AS x FROM t", PROJECT)
    assert problem.partition(": ")[2] == REFUSED[call].partition(": ")[2]


def test_best_effort_takes_a_precision() -> None:
    calls = "parseDateTime64BestEffort(s, 6) AS a, parseDateTime64BestEffortOrNull(s, 3, 'UTC') AS b"
    found = query(f"SELECT {calls} FROM t", PROJECT)
    assert [str(of) for _, of in found.columns] == ["DateTime64(6)", "Nullable(DateTime64(3, 'UTC'))"]


@pytest.mark.parametrize("call", ["toString(toFloat64OrNull({0}))", "toDate(toString({0}))", "toString(toInt64({0}))"])
def test_nested_conversions_grow_by_what_each_adds(call: str) -> None:
    lengths, sql = [], "s"
    for _ in range(8):
        sql = call.format(sql)
        lengths.append(len(sql_of(sql)))
    steps = [after - before for before, after in pairwise(lengths)]
    assert max(steps) < 4_000


def test_what_becomes_too_long_is_refused_at_its_place() -> None:
    sql = "s"
    for _ in range(30):
        sql = f"concat({sql}, {sql})" if len(sql) < 200 else f"coalesce(nullIf({sql}, ''), 'x')"
    with pytest.raises(InvalidQuery) as caught:
        query(f"SELECT {sql} AS x FROM t", PROJECT)
    (problem,) = caught.value.problems
    assert (problem.code, problem.message) == (
        "too-deep",
        "this compiles to more than 1,000,000 characters of Spark SQL",
    )
    assert problem.location is not None


def test_tables_that_become_too_long_are_refused() -> None:
    names = ", ".join(f"c{n} AS (SELECT x.s FROM c{n - 1} AS x CROSS JOIN c{n - 1} AS y)" for n in range(1, 24))
    (problem,) = problems(f"WITH c0 AS (SELECT s FROM t), {names} SELECT s FROM c23", PROJECT)
    assert "more than 1,000,000 characters" in problem
