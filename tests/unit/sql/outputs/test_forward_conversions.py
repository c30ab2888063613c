"""In a FORWARD_QUERY a text that is no value of the new type raises an error, also where a query would give NULL."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import column, text

from penstock.sql.engines.column_expression import compile_expression
from penstock.sql.outputs.forward_query import compile_forward

OLD = [column("s", "String"), column("n", "Nullable(String)"), column("arr", "Array(String)")]
CONVERSIONS = {
    "toUUID(n)": "Nullable(UUID)",
    "toDate(n)": "Nullable(Date)",
    "toDecimal64(n, 2)": "Nullable(Decimal(18, 2))",
    "n::Nullable(Int32)": "Nullable(Int32)",
    "CAST(s AS Nullable(UUID))": "Nullable(UUID)",
    "accurateCast(s, 'Nullable(Int8)')": "Nullable(Int8)",
    "CAST(arr AS Array(Nullable(Int8)))": "Array(Nullable(Int8))",
    "arrayMap(v -> v::Nullable(Int8), arr)": "Array(Nullable(Int8))",
    "if(s = '', NULL, toInt64(n))": "Nullable(Int64)",
}


def forward(sql: str, of: str) -> str:
    (found,) = compile_forward(text(f"{sql} AS x"), OLD, [column("x", of)])
    return found.sql


@pytest.mark.parametrize(("sql", "of"), CONVERSIONS.items())
def test_a_text_that_does_not_parse_fails(sql: str, of: str) -> None:
    assert "raise_error" in forward(sql, of)
    assert "raise_error" not in compile_expression(text(sql), OLD).sql


def test_a_conversion_of_an_alias_is_strict_too() -> None:
    new = [column("y", "Nullable(Int8)"), column("x", "Nullable(Int8)")]
    assert all("raise_error" in each.sql for each in compile_forward(text("toInt8(n) AS y, y AS x"), OLD, new))


@pytest.mark.parametrize("sql", ["toUUIDOrNull(n)", "accurateCastOrNull(s, 'UUID')"])
def test_a_function_that_says_so_gives_null(sql: str) -> None:
    assert "raise_error" not in forward(sql, "Nullable(UUID)")
