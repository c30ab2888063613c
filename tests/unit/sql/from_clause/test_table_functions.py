"""A count that is known, as those that templates write, makes rows one by one; any other makes an array of them.

That the rows are ClickHouse's is tested in tests/differential/queries/clauses_from.sql.
"""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import query


@pytest.mark.parametrize(
    ("call", "rows"),
    [
        ("numbers(7)", "range(0, 7)"),
        ("numbers(toUInt32('7'))", "range(0, 7)"),
        ("numbers(toInt8(3), toUInt64('4'))", "range(3, 7)"),
        ("generateSeries(toUInt8('1'), 5, toUInt8('2'))", "range(1, 6, 2)"),
        ("numbers(toUInt8(256))", "sequence("),
        ("numbers(toUInt8('7 '))", "sequence("),
        ("numbers(toUInt8(3) + 1)", "sequence("),
    ],
)
def test_rows_of_a_known_count_are_a_range(call: str, rows: str) -> None:
    assert rows in query(f"SELECT count() AS n FROM {call}").sql
