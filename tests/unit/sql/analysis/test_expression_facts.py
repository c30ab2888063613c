"""What is told of a compiled expression: constant, cheap, NULL, repeatable."""

from __future__ import annotations

import pytest

from penstock.sql.analysis.expression_facts import expression_facts


@pytest.mark.parametrize(
    ("sql", "facts"),
    [
        ("CAST(1 AS INT)", "cheap constant repeatable"),
        ("'rand()'", "cheap constant repeatable"),
        ("CAST(NULL AS STRING)", "cheap constant null repeatable"),
        ("`a`", "cheap repeatable"),
        ("CASE WHEN _seq <= 3 THEN `a` ELSE `b` END", "cheap repeatable"),
        ("CAST(array() AS ARRAY<STRING>)", "cheap repeatable"),
        ("CASE WHEN _seq <= 3 THEN array(1, 2) ELSE `b` END", "cheap repeatable"),
        (f"{'CASE WHEN _seq <= 3 THEN `a` ELSE ' * 3}`b`{' END' * 3}", "cheap repeatable"),
        (f"{'CASE WHEN _seq <= 3 THEN `a` ELSE ' * 4}`b`{' END' * 4}", "repeatable"),
        ("array(`a`)", "repeatable"),
        ("array(uuid())", ""),
        ("length(`a`)", "repeatable"),
        ("concat(`a`, uuid())", ""),
        ("`rand`", "cheap repeatable"),
        ("current_timestamp()", ""),
        ("(", "repeatable"),
    ],
)
def test_facts(sql: str, facts: str) -> None:
    found = expression_facts(sql)
    told = {
        "cheap": found.is_cheap,
        "constant": found.is_constant,
        "null": found.is_null,
        "repeatable": found.is_repeatable,
    }
    assert " ".join(name for name, holds in told.items() if holds) == facts


def test_the_same_text_has_the_same_facts() -> None:
    assert expression_facts("`a` + 1") is expression_facts("`a` + 1")
