"""DEFAULT expressions: what they may read, and what is refused."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import column, text

from penstock.errors import InvalidQuery
from penstock.sql.compile import compile_expression

COLUMNS = (column("a", "UInt8"), column("t", "DateTime"))


def test_an_expression_over_columns() -> None:
    found = compile_expression(text("toDate(t) + a"), COLUMNS)
    moved = "date_from_unix_date(unix_date(date_add(CAST(`t` AS DATE), `a`)) & 65535)"
    assert (found.sql, str(found.type), found.uses) == (moved, "Date", ("a", "t"))


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("toDate(x)", "q.sql:1:8: unknown column `x` (available: a, t)"),
        ("a, t", "q.sql:1:1: expected one expression"),
        ("sum(a)", "q.sql:1:1: the aggregate `sum` is not allowed here"),
        ("(SELECT 1)", "q.sql:1:9: a SELECT is not allowed in this expression"),
    ],
)
def test_problems(sql: str, problem: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        compile_expression(text(sql), COLUMNS)
    assert [str(each) for each in caught.value.problems] == [problem]
