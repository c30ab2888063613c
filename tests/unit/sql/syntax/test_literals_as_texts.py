"""Literals before `::`: which are read as texts, and what a refusal of one says."""

from __future__ import annotations

import pytest
from sqlglot import exp
from tests.unit.sql.flights import problems, text

from penstock.sql.engines.column_expression import compile_expression
from penstock.sql.syntax.tree import parse_query


def texts_cast(expression: str) -> list[str]:
    """The string literals that are cast in an expression."""
    casts = parse_query(text(f"SELECT {expression}")).find_all(exp.Cast, exp.CastToStrType)
    return [each.this.name for each in casts if isinstance(each.this, exp.Literal) and each.this.is_string]


TEXTS = {
    "1.50::String": "1.50",
    "0x1F::String": "0x1F",
    "1_000::String": "1_000",
    "-1.5::Int8": "-1.5",
    "- 1::Int8": "- 1",
    "2 -1.5::Int8": "1.5",
    "2 * -1.5::Int8": "-1.5",
    "x.1 - 1::Int8": "1",
    "[1, -2.50]::Array(Int8)": "[1, -2.50]",
    "( 1 ,['a\\'b'])::Array(Int8)": "( 1 ,['a\\'b'])",
    "(1)::Int8": "(1)",
}


@pytest.mark.parametrize("expression", TEXTS)
def test_a_literal_is_the_text_that_is_written(expression: str) -> None:
    assert texts_cast(expression) == [TEXTS[expression]]


@pytest.mark.parametrize(
    "expression",
    [
        "+1.5::Int8",
        "x.1::Int8",
        "f(1)::Int8",
        "x[1]::Int8",
        "[1, x]::Array(Int8)",
        "[1, NULL]::Array(Int8)",
        "(1 + 1)::Int8",
    ],
)
def test_what_is_no_literal_stays_as_it_is(expression: str) -> None:
    assert texts_cast(expression) == []


def test_a_decimal_has_the_digits_of_its_literal() -> None:
    assert compile_expression(text("1.15::Decimal(9, 2)"), []).sql == "CAST('1.15' AS DECIMAL(9,2))"
    assert compile_expression(text("[1.199]::Array(Decimal(9, 2))"), []).sql == "array(CAST('1.19' AS DECIMAL(9,2)))"


def test_a_literal_that_the_type_does_not_have_is_refused_with_a_hint() -> None:
    (problem,) = problems("SELECT 1.7::Int32 FROM flights")
    hint = "`::` reads the text of the literal; CAST(1.7 AS Int32) converts its value"
    assert problem == f"1:8: '1.7' is not a value of Int32 ({hint})"
