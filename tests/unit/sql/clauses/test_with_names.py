"""Names of a WITH around a SELECT, and columns of the same name."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems, query

INNER = {
    "WITH 'x' AS day SELECT (SELECT max(day) FROM flights)": "Nullable(UInt8)",
    "WITH 'x' AS day SELECT * FROM (SELECT day FROM flights)": "UInt8",
    "WITH 'x' AS day, days AS (SELECT day FROM flights) SELECT * FROM days": "UInt8",
    "WITH 'x' AS day SELECT (SELECT max(day) FROM (SELECT month FROM flights))": "Nullable(String)",
    "WITH 'x' AS day SELECT day FROM flights": "String",
    "WITH 'x' AS day SELECT day FROM flights UNION ALL SELECT day FROM flights": "String",
}


@pytest.mark.parametrize("sql", INNER)
def test_a_column_goes_before_a_name_from_around(sql: str) -> None:
    ((_, of),) = query(sql).columns
    assert str(of) == INNER[sql]


def test_a_name_that_a_column_hides_is_unknown_further_inside() -> None:
    """ClickHouse reads the column of the SELECT around there, which is not supported."""
    sql = "WITH 'x' AS day SELECT (SELECT max((SELECT any(day) FROM (SELECT 1 AS z))) FROM flights)"
    assert any("unknown column `day`" in problem for problem in problems(sql))
