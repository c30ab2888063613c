"""Which views give the `_seq` of the rows that theirs are made from."""

from __future__ import annotations

import pytest

from penstock.sql.analysis.row_seq import with_row_seq

NEW = "__new_events__"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (f"SELECT `e`.`a` AS `a` FROM {NEW} AS `e`", f"SELECT `e`.`a` AS `a`, `e`._seq FROM {NEW} AS `e`"),
        (
            f"SELECT q.`a` AS `a` FROM (SELECT `e`.`a` AS `a` FROM {NEW} AS `e` WHERE (`e`.`a` > 0)) AS q",
            f"SELECT q.`a` AS `a`, q._seq FROM (SELECT `e`.`a` AS `a`, `e`._seq FROM {NEW} AS `e`"
            " WHERE (`e`.`a` > 0)) AS q",
        ),
        (
            f"SELECT trim(BOTH 'FROM' FROM `e`.`a`) AS `a` FROM {NEW} AS `e` JOIN __all_u__ AS `u` ON true",
            f"SELECT trim(BOTH 'FROM' FROM `e`.`a`) AS `a`, `e`._seq FROM {NEW} AS `e` JOIN __all_u__ AS `u` ON true",
        ),
        (
            f"SELECT (SELECT max(`x`.`a`) FROM __all_x__ AS `x` GROUP BY 1) AS `GROUP` FROM {NEW} AS `e`",
            f"SELECT (SELECT max(`x`.`a`) FROM __all_x__ AS `x` GROUP BY 1) AS `GROUP`, `e`._seq FROM {NEW} AS `e`",
        ),
    ],
)
def test_a_row_of_its_own(sql: str, expected: str) -> None:
    assert with_row_seq(sql, NEW) == expected


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT `e`.`a` AS `a`, count(1) AS `n` FROM {NEW} AS `e` GROUP BY `e`.`a`",
        f"SELECT q.`a` AS `a` FROM (SELECT DISTINCT `e`.`a` AS `a` FROM {NEW} AS `e`) AS q",
        f"SELECT q.`a` AS `a` FROM (SELECT 1 AS `a` FROM {NEW} AS `e` UNION ALL SELECT 2 AS `a` FROM {NEW}) AS q",
        f"WITH `x` AS (SELECT 1) SELECT `e`.`a` AS `a` FROM {NEW} AS `e`",
        f"SELECT `o`.`a` AS `a` FROM __all_other__ AS `o` JOIN {NEW} AS `e` ON true",
        f"SELECT 1 FROM {NEW}",
        "SELECT 1",
        "",
    ],
)
def test_no_row_of_its_own(sql: str) -> None:
    assert with_row_seq(sql, NEW) is None
