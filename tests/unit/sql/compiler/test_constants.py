"""Constants that are written as expressions: what is known when the SQL is compiled, and what is not."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems, query


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1 + 2 * 3", 7),
        ("toInt32('5')", 5),
        ("toInt32('5') * toInt32('2')", 10),
        ("intDiv(7, 2)", 3),
        ("7 DIV 2", 3),
        ("(9 % 5)", 4),
        ("-(-4)", 4),
        ("(SELECT 2)", 2),
        ("if(1 > 2, 3, 4)", 4),
        ("least(3, 4)", 3),
        ("'6'::UInt32", 6),
        ("CAST(6 AS Int64)", 6),
        ("toInt32OrZero('8')", 8),
        ("greatest(abs(-3), negate(-2))", 3),
        ("2.0", 2),
        ("10 / 5", 2),
    ],
)
def test_a_limit_of_an_expression(written: str, value: int) -> None:
    assert query(f"SELECT day FROM flights LIMIT {written}").sql.endswith(f" LIMIT {value}")


def test_an_alias_of_a_constant_is_one() -> None:
    sql = query("WITH 3 AS n, n * 2 AS m SELECT day FROM flights LIMIT m OFFSET n - 1").sql
    assert sql.endswith(" LIMIT 6 OFFSET 2")


@pytest.mark.parametrize(
    "written",
    [
        "month",
        "0 - 1",
        "9223372036854775807 * 4",
        "1 / 0",
        "1 / 3",
        "'a' + 1",
        "toInt8('300')",
        "toUInt8(-1)",
        "rand()",
        "true",
    ],
)
def test_what_is_not_known_or_no_number_is_refused(written: str) -> None:
    (found,) = [each for each in problems(f"SELECT day FROM flights LIMIT {written}") if "from 0" in each]
    assert "expected a number from 0 that is known when the SQL is compiled" in found


def test_a_name_that_stands_for_itself_is_no_constant() -> None:
    assert problems("SELECT month + 1 AS month FROM flights LIMIT month")


def test_parameters_of_aggregates_may_be_expressions() -> None:
    one, other = (query(f"SELECT quantile({level})(month) AS q FROM flights").sql for level in ("0.95", "95 / 100"))
    assert one == other


def test_limit_by_takes_expressions() -> None:
    one, other = (query(f"SELECT day FROM flights LIMIT {n} BY month LIMIT 3").sql for n in ("1, 2", "2 - 1, 1 + 1"))
    assert one == other
    assert "`__place` > 1 AND `__place` <= 3" in one


def test_the_sign_of_a_constant_that_is_no_literal_keeps_its_type() -> None:
    found = query("SELECT negate(toInt64(-5)) AS x, negate(-5) AS y")
    assert [str(of) for _, of in found.columns] == ["Int64", "Int8"]
