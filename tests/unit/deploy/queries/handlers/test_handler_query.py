"""Variables of a handler's query are values, whatever is in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from penstock.deploy.queries.handlers.handler_query import bind_variables
from penstock.errors import InvalidQuery


@given(st.text())
def test_a_text_is_one_literal(value: str) -> None:
    bound = bind_variables("SELECT {x} AS a, '{x}' AS b, `{x}` -- {x}", {"x": ["text", value]})
    first, second, third = parse_one(bound, dialect="clickhouse").selects
    assert first.this == exp.Literal.string(value)
    assert (second.this.this, third.name) == ("{x}", "{x}")


@pytest.mark.parametrize(
    ("variable", "sql"),
    [
        (["null", ""], "NULL"),
        (["bool", "true"], "true"),
        (["int", "-5"], "(-5)"),
        (["int", str(2**64 - 1)], str(2**64 - 1)),
        (["int", str(2**64)], f"toDecimal128('{2**64}', 0)"),
        (["float", "-0.5"], "toFloat64('-0.5')"),
        (["float", "inf"], "toFloat64('inf')"),
        (["decimal", "-1.50"], "toDecimal128('-1.50', 2)"),
        (["decimal", "1E+3"], "toDecimal128('1000', 0)"),
        (["date", "2026-01-02"], "toDate32('2026-01-02')"),
        (["time", "2026-01-02 03:04:05"], "toDateTime64('2026-01-02 03:04:05.000000', 6)"),
        (["moment", "2026-01-02 03:04:05"], "toDateTime64('2026-01-02 03:04:05.000000', 6, 'UTC')"),
        (["name", 'a"b'], '"a""b"'),
        (["list", [["int", "1"], ["null", ""]]], "[1, NULL]"),
    ],
)
def test_every_kind(variable: object, sql: str) -> None:
    assert bind_variables("{x}", {"x": variable}) == sql


@pytest.mark.parametrize(
    "variable",
    [
        ["int", "5; DROP"],
        ["int", str(10**38)],
        ["decimal", "1E+38"],
        ["decimal", "1E-39"],
        ["date", "'"],
        ["decimal", "NaN"],
        ["odd", "1"],
        "text",
        ["list", "ab"],
    ],
)
def test_what_a_process_made_up_is_refused(variable: object) -> None:
    with pytest.raises(InvalidQuery):
        bind_variables("{x}", {"x": variable})


def test_comments_within_comments_hide_what_is_in_them() -> None:
    text = "SELECT 1 /* a /* b */ {x} */ AS a"
    assert bind_variables(text, {"x": ["text", "*/ (SELECT 2), /*"]}) == text


def test_a_missing_variable_is_named_with_the_nearest_one() -> None:
    with pytest.raises(InvalidQuery, match="`pages`") as raised:
        bind_variables("SELECT {pages}", {"page": ["int", "1"]})
    assert "page" in str(raised.value.hint)
