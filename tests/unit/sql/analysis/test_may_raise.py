"""Which SQL is known never to raise, and that everything else may."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.sql.analysis.may_raise import drop_errors, may_raise

NEVER = (
    "`a`",
    "1",
    "1L",
    "-5",
    "-1.5D",
    "'text with raise_error(x) + CAST('",
    "NULL",
    "true",
    "(`a`.`b` = 'x')",
    "CAST(`a` AS STRING)",
    "try_cast(`a` AS DECIMAL(38,0)) BETWEEN -128 AND 127",
    "CAST(0 AS DECIMAL(5,2))",
    "CASE WHEN `a` IS NULL THEN 'x' ELSE upper(`b`) END",
    "coalesce(`a`, concat('x', `b`))",
    "DATE'1970-01-01'",
    "`a` RLIKE '^[0-9]{4}-[a-f]+$'",
    "`a` LIKE 'x%'",
    "CAST(NULL AS DATE)",
    "if(`a` <=> `b`, `a`, lower(`b`))",
    "get_json_object(`a`, '$.b')",
    "try_variant_get(try_parse_json(`a`), '$', 'string')",
    "`a` IN (1, 2)",
    "CAST(array() AS ARRAY<INT>)",
    "exists(`a`, e -> e = 1)",
    "double('Infinity')",
    "try_element_at(transform(array(`a`), ` v0` -> upper(` v0`)), 1)",
)
MAY = (
    "raise_error('x')",
    "CAST(`a` AS INT)",
    "`a` + 1",
    "`a` - 1",
    "(- `a`)",
    "`a` * 2",
    "`a` / 2",
    "`a` % 2",
    "`a` & 1",
    "`a`[0]",
    "unheard_of(`a`)",
    "`a`::INT",
    "element_at(`a`, 1)",
    "timestamp_seconds(`a`)",
    "CAST(300000000000 AS INT)",
    "CAST('x' AS DATE)",
    "`a` RLIKE `b`",
    "`a` RLIKE '(a|b)*'",
    "`a` RLIKE '[[]'",
    "`a` LIKE `b`",
    "`a` DIV 2",
    "CAST(`a` AS DECIMAL(5,2))",
    "double(`a`)",
    "'unclosed",
    "x - 1",
    "abs(`a`)",
    "CAST(100 AS DECIMAL(3,2))",
    "CAST('null' AS INT)",
    "CAST('١' AS INT)",
    "('(' - 5)",
    "double(`Infinity`)",
    "`a` RLIKE",
    "CAST(1.5 AS INT)",
)


@pytest.mark.parametrize("sql", NEVER)
def test_what_never_raises(sql: str) -> None:
    assert not may_raise(sql)


@pytest.mark.parametrize("sql", MAY)
def test_what_may_raise(sql: str) -> None:
    assert may_raise(sql)


@given(
    st.sampled_from(MAY),
    st.sampled_from(
        [
            "coalesce({0}, 1)",
            "CASE WHEN {0} THEN 1 END",
            "CAST({0} AS STRING)",
            "try_cast({0} AS INT)",
            "concat('a', {0})",
        ]
    ),
)
def test_what_holds_something_that_may_raise_may(sql: str, around: str) -> None:
    assert may_raise(around.format(sql))


ERROR = "raise_error(concat('cannot convert ', `a`))"


@pytest.mark.parametrize(
    ("sql", "without"),
    [
        (f"if(NOT (`a` RLIKE '^[0-9,]+$'), {ERROR}, CAST(`a` AS INT))", "(CAST(`a` AS INT))"),
        (f"if(`a` IS NULL, CAST(`b` AS INT), {ERROR})", "(CAST(`b` AS INT))"),
        (f"coalesce(to_date(`a`), {ERROR})", "coalesce(to_date(`a`))"),
        (f"1 + if(`b`, {ERROR}, `a` + `b`) * 2", "1 + (`a` + `b`) * 2"),
        (f"if(`c`, if(`b`, {ERROR}, 1), f(`a`, coalesce(2, {ERROR})))", "if(`c`, (1), f(`a`, coalesce(2)))"),
        (f"transform(`a`, x -> if(x < 0, {ERROR}, g(x, ', ')))", "transform(`a`, x -> (g(x, ', ')))"),
        (f"if(`b`, {ERROR}, {ERROR})", f"if(`b`, {ERROR}, {ERROR})"),
        (f"f({ERROR})", f"f({ERROR})"),
        (f"if(`b`, concat('x', {ERROR}), 'y')", f"if(`b`, concat('x', {ERROR}), 'y')"),
        ("if(`a` = 'raise_error(1)', 'if(x, raise_error(1), 2)', `raise_error`)",) * 2,
    ],
)
def test_errors_that_no_row_gets_to_are_dropped_with_their_conditions(sql: str, without: str) -> None:
    assert drop_errors(sql) == without
