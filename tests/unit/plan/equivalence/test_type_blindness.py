"""A wider column changes nothing where only its value counts."""

from __future__ import annotations

import pytest

from penstock.plan.equivalence.view_equivalence import ignores_column_width, stored_type_family

FROM = "FROM __new_events__ AS `events`"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT `events`.`n` AS `n` {FROM}",
        f"SELECT q.`n` AS `n` FROM (SELECT max(`events`.`n`) AS `n` {FROM}) AS q",
        "SELECT q.`k` AS `k`, q.`s` AS `s` FROM (SELECT `events`.`n` AS `k`, sum(`events`.`n`) AS `s` "
        f"{FROM} GROUP BY `events`.`n`) AS q",
        f"SELECT count(1) AS `c` {FROM} WHERE (`events`.`n` > 3) AND `events`.`n` IN (1, 2)",
        f"SELECT avg(`events`.`n`) AS `a` {FROM} GROUP BY `events`.`user`",
    ],
)
def test_only_the_value_counts(sql: str) -> None:
    assert ignores_column_width(sql, "n")


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT xxhash64(`events`.`n`) AS `n` {FROM}",
        f"SELECT theta_sketch_agg(if(`events`.`n` IS NOT NULL, xxhash64(`events`.`n`), NULL), 16) AS `u` {FROM}",
        f"SELECT `events`.`n` + 1 AS `n` {FROM}",
        f"SELECT CAST(`events`.`n` AS STRING) AS `n` {FROM}",
        f"SELECT xxhash64(q.`k`) AS `h` FROM (SELECT `events`.`n` AS `k` {FROM}) AS q",
        "SELECT (",
    ],
)
def test_the_type_may_count(sql: str) -> None:
    assert not ignores_column_width(sql, "n")


def test_families() -> None:
    passed = f"SELECT `events`.`n` AS `n` {FROM}"
    assert stored_type_family(passed, "n", "INT") == stored_type_family(passed, "n", "BIGINT")
    assert stored_type_family(passed, "n", "INT") != stored_type_family(passed, "n", "DOUBLE")
    assert stored_type_family(passed, "n", "STRING") == "STRING"
