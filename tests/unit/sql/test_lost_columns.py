"""A column that cannot be compiled is one problem: those who read it are not told that it is missing."""

from __future__ import annotations

from tests.unit.sql.flights import problems


def test_a_reader_of_a_lost_column_is_not_blamed() -> None:
    (problem,) = problems("SELECT d + 1 AS e, x.d FROM (SELECT foo(day) AS d FROM flights) AS x WHERE d > 1")
    assert "unknown function `foo`" in problem


def test_a_column_that_was_never_there_is_a_problem() -> None:
    (problem,) = problems("SELECT day, foo AS foo FROM flights")
    assert "unknown column `foo`" in problem
    found = problems("SELECT d, lost FROM (SELECT foo(day) AS d FROM flights)")
    assert [each for each in found if "unknown column `lost`" in each]
