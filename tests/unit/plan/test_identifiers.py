"""Names in Spark SQL, replaced where they are columns."""

from __future__ import annotations

from penstock.plan.spark_text import names, output_names, replace_calls, substitute


def test_columns_are_replaced_and_nothing_else() -> None:
    sql = "concat(`a`, 'it is `a`', `s`.`a`, a(`a b`), `a`)"
    assert substitute(sql, {"a": "(x + 1)", "a b": "`y`"}) == "concat((x + 1), 'it is `a`', `s`.`a`, a(`y`), (x + 1))"


def test_names_are_the_columns() -> None:
    assert names("CASE WHEN _seq <= 3 THEN `a` ELSE `s`.`b` END") == {"a", "s"}


def test_output_names() -> None:
    assert output_names("SELECT CAST(`a` AS INT) AS `b`, `c`.`d` FROM (SELECT 1) AS `t`") == ("b", "d")


def test_calls_are_replaced_and_nothing_else() -> None:
    sql = "f('SECOND', current_timestamp()) || 'current_timestamp()' || `current_timestamp` || CURRENT_TIMESTAMP ( )"
    found = replace_calls(sql, {"current_timestamp": "x"})
    assert found == "f('SECOND', x) || 'current_timestamp()' || `current_timestamp` || x"
