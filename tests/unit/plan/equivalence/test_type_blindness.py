"""A wider column changes nothing where only its value counts."""

from __future__ import annotations

import pytest

from penstock.plan.equivalence.widened_numbers import UNSIGNED, ignores_width, stored_type_family, without_widths

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
        f"SELECT first(`events`.`n`, true) AS `a`, sum(CAST(`events`.`n` AS DOUBLE)) AS `b` {FROM}",
    ],
)
def test_only_the_value_counts(sql: str) -> None:
    assert ignores_width(sql, "n", "integer")
    assert ignores_width(sql, "n", "float")


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT xxhash64(`events`.`n`) AS `n` {FROM}",
        f"SELECT theta_sketch_agg(if(`events`.`n` IS NOT NULL, xxhash64(`events`.`n`), NULL), 16) AS `u` {FROM}",
        f"SELECT `events`.`n` + 1 AS `n` {FROM}",
        f"SELECT CAST(`events`.`n` AS BINARY) AS `n` {FROM}",
        f"SELECT CAST(`events`.`n` AS FLOAT) AS `n` {FROM}",
        f"SELECT if(`events`.`n`, 1, 0) AS `n` {FROM}",
        f"SELECT sum(if(`events`.`a` = 1, `events`.`n` * 2, 0)) AS `s` {FROM}",
        f"SELECT max(`events`.`n`) AS `a` {FROM} WHERE xxhash64(N) = 3",
        f"SELECT count(1) AS `a` {FROM} WHERE `events`.`n` = '0.1'",
        f"SELECT coalesce(`events`.`n`, 'none') AS `a` {FROM}",
        f"SELECT if((`events`.`a` = 1), `events`.`n`, `events`.`price`) AS `a` {FROM}",
        f"SELECT CASE WHEN (`events`.`a` = 1) THEN `events`.`n` WHEN TRUE THEN `events`.`a` ELSE 0 END AS `a` {FROM}",
        f"SELECT collect_set(`events`.`n`) AS `s` {FROM}",
        f"SELECT max(`events`.`n`, 2) AS `s` {FROM}",
        f"SELECT CASE `events`.`n` % 2 WHEN 0 THEN 'a' END AS `s` {FROM}",
        f"SELECT xxhash64(q.`k`) AS `h` FROM (SELECT `events`.`n` AS `k` {FROM}) AS q",
        "SELECT (",
    ],
)
def test_the_type_may_count(sql: str) -> None:
    assert not ignores_width(sql, "n", "integer")
    assert not ignores_width(sql, "n", "float")


def test_families() -> None:
    passed = f"SELECT `events`.`n` AS `n` {FROM}"
    assert stored_type_family(passed, "n", "INT") == stored_type_family(passed, "n", "BIGINT")
    assert stored_type_family(passed, "n", "INT") != stored_type_family(passed, "n", "DOUBLE")
    assert stored_type_family(passed, "n", "STRING") == "STRING"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT CAST(`events`.`n` AS STRING) AS `n` {FROM}",
        f"SELECT coalesce(max(`events`.`n`), CAST(0 AS INT)) AS `a` {FROM}",
        f"SELECT sum(if((`events`.`kind` = 'a'), `events`.`n`, NULL)) AS `a` {FROM}",
        f"SELECT CASE WHEN (`events`.`n` > 3) THEN 1 ELSE `events`.`n` END AS `a` {FROM}",
    ],
)
def test_only_the_value_of_a_whole_number_counts(sql: str) -> None:
    assert ignores_width(sql, "n", "integer")
    assert not ignores_width(sql, "n", "float")


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT IF((1 = `events`.`a`), `events`.`n`, {{}}) AS `n` {FROM}",
        f"SELECT COALESCE(MAX(`events`.`n`), {{}}) AS `n` {FROM}",
        f"SELECT `events`.`n` AS `n` {FROM} WHERE ({{}} < `events`.`n`)",
        f"SELECT q.`n` AS `n` FROM (SELECT IF((1 = `events`.`a`), `events`.`n`, {{}}) AS `n` {FROM}) AS q",
    ],
)
def test_a_constant_beside_a_number_has_no_width(sql: str) -> None:
    assert without_widths(sql.format("CAST(7 AS BIGINT)")) == without_widths(sql.format(7))
    assert without_widths(sql.format("CAST(7 AS BIGINT)")) != without_widths(sql.format(8))
    assert without_widths(sql.format("CAST(7 AS DOUBLE)")) != without_widths(sql.format(7))


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT `events`.`n` + {{}} AS `n` {FROM}",
        f"SELECT XXHASH64(COALESCE(`events`.`n`, {{}})) AS `n` {FROM}",
        f"SELECT {{}} AS `n` {FROM}",
        f"SELECT XXHASH64(q.`n`) AS `n` FROM (SELECT IF((1 = `events`.`a`), `events`.`n`, {{}}) AS `n` {FROM}) AS q",
    ],
)
def test_another_constant_keeps_its_width(sql: str) -> None:
    assert without_widths(sql.format("CAST(7 AS BIGINT)")) != without_widths(sql.format(7))


@pytest.mark.parametrize(
    ("sql", "is_free"),
    [
        (f"SELECT sum(`events`.`n`) AS `s` {FROM}", True),
        (f"SELECT CAST(sum(`events`.`n`) AS STRING) AS `s` {FROM}", True),
        (f"SELECT avg(`events`.`n`) AS `s` {FROM}", False),
        (f"SELECT xxhash64(sum(`events`.`n`)) AS `s` {FROM}", False),
        (f"SELECT xxhash64(q.`s`) AS `h` FROM (SELECT sum(`events`.`n`) AS `s` {FROM}) AS q", False),
    ],
)
def test_the_sum_of_decimals_is_one(sql: str, is_free: bool) -> None:
    """Where the sum of INT or BIGINT is a BIGINT."""
    assert (stored_type_family(sql, "n", UNSIGNED) == "integer") is is_free
    assert stored_type_family(sql, "n", "BIGINT") == "integer"
