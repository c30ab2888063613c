"""DEFAULT expressions: what they may read, and what is refused."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import column, text

from penstock.errors import InvalidQuery
from penstock.sql.analysis.expression_facts import expression_facts
from penstock.sql.compile import compile_default, compile_expression

COLUMNS = (column("a", "UInt8"), column("t", "DateTime"))


def test_an_expression_over_columns() -> None:
    found = compile_expression(text("toDate(t) + a"), COLUMNS)
    moved = "date_from_unix_date(unix_date(date_add(CAST(`t` AS DATE), `a`)) & 65535)"
    assert (found.sql, str(found.type), found.uses) == (moved, "Date", ("a", "t"))


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("toDate(x)", "q.sql:1:8: unknown column `x` (available: a, t)"),
        ("a, t", "q.sql:1:1: expected one expression"),
        ("sum(a)", "q.sql:1:1: the aggregate `sum` is not allowed here"),
        ("(SELECT 1)", "q.sql:1:9: a SELECT is not allowed in this expression"),
    ],
)
def test_problems(sql: str, problem: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        compile_expression(text(sql), COLUMNS)
    assert [str(each) for each in caught.value.problems] == [problem]


CONSTANTS = [
    ("DateTime", "'2020-01-02 03:04:05'", "TIMESTAMP'2020-01-02 03:04:05'"),
    ("DateTime", "'2200-01-01 00:00:00'", "TIMESTAMP'2106-02-07 06:28:15'"),
    ("DateTime", "1577934245", "1577934245"),
    ("DateTime('Asia/Tokyo')", "'2020-01-02 03:04:05'", "TIMESTAMP'2020-01-01 18:04:05'"),
    ("DateTime('Europe/Madrid')", "'2024-10-27 02:30:00'", "TIMESTAMP'2024-10-27 00:30:00'"),
    ("DateTime('Europe/Madrid')", "'2024-03-31 02:30:00'", "TIMESTAMP'2024-03-31 00:30:00'"),
    ("DateTime64(3)", "'2020-01-02 03:04:05.123456'", "TIMESTAMP'2020-01-02 03:04:05.123'"),
    ("DateTime64(9)", "'2020-01-02 03:04:05.123456789'", "CAST('1577934245.123456789' AS DECIMAL(20,9))"),
    ("DateTime64(7)", "'2020-01-02 03:04:05.123456789'", "CAST('1577934245.123456700' AS DECIMAL(20,9))"),
    ("DateTime64(9)", "'1969-12-31 23:59:59.999999999'", "CAST('-0.000000001' AS DECIMAL(20,9))"),
    ("Nullable(DateTime64(9, 'Asia/Tokyo'))", "'1970-01-01 09:00:00'", "CAST('0.000000000' AS DECIMAL(20,9))"),
    ("Date", "0", "DATE'1970-01-01'"),
    ("Date", "18000", "DATE'2019-04-14'"),
    ("Date", "'1900-01-01'", "DATE'1970-01-01'"),
    ("Date32", "'1900-01-01'", "DATE'1900-01-01'"),
    ("UUID", "'61F0C404-5cb3-11e7-907b-a6006ad3dba0'", "'61f0c404-5cb3-11e7-907b-a6006ad3dba0'"),
    ("IPv6", "'2001:DB8:0::0001'", "'2001:db8::1'"),
    ("IPv6", "'1.2.3.4'", "'::ffff:1.2.3.4'"),
    ("IPv6", "'::1.2.3.4'", "'::1.2.3.4'"),
    ("Enum8('a' = 1, 'b' = 2)", "2", "'b'"),
    ("JSON", '\'{"b": 1, "a": null}\'', "'{\"b\":1}'"),
    ("JSON(a Int64)", "'{}'", "'{\"a\":0}'"),
    ("Decimal(9, 2)", "'1.005'", "'1.00'"),
    ("Decimal(9, 2)", "-1.239", "'-1.23'"),
    ("Decimal(9, 2)", "0.29", "'0.28'"),
    ("LowCardinality(String)", "7", "'7'"),
    ("Int32", "'5'", "'5'"),
    ("Int32", "1.9", "1.9D"),
]
"""Types, DEFAULTs, and the constants that ClickHouse 26.9 stores for them."""


def default_of(of: str, sql: str) -> str:
    return compile_default(text(sql), COLUMNS, column("c", of))


@pytest.mark.parametrize(("of", "sql", "stored"), CONSTANTS)
def test_a_constant_is_what_clickhouse_converts_it_to(of: str, sql: str, stored: str) -> None:
    found = default_of(of, sql)
    assert found.startswith(f"CAST({stored} AS ")
    assert expression_facts(found).is_constant, "other Iceberg readers are given the value in metadata"


@pytest.mark.parametrize(
    ("of", "sql"),
    [
        ("Decimal(9, 2)", "12345678901"),
        ("FixedString(2)", "'abc'"),
        ("JSON", "'nope'"),
        ("Enum8('a' = 1)", "3"),
        ("IPv6", "'a.b'"),
        ("UUID", "'1'"),
        ("DateTime64(9)", "'soon'"),
    ],
)
def test_a_constant_that_is_no_value_of_the_type(of: str, sql: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        default_of(of, sql)
    (problem,) = caught.value.problems
    assert problem.code == "invalid-literal"


@pytest.mark.parametrize(
    ("of", "sql", "value"),
    [
        ("Decimal(10, 2)", "10/4", "CAST('2.50' AS DECIMAL(10,2))"),
        ("Decimal(10, 2)", "-10 / 3", "CAST('-3.33' AS DECIMAL(10,2))"),
        ("Decimal(10, 0)", "(1 + 4) / 2", "CAST('2.0' AS DECIMAL(10,0))"),
        ("Decimal(4, 2)", "-1/400", "CAST('0.00' AS DECIMAL(4,2))"),
        ("UInt8", "10/4", "CAST(2 AS INT)"),
        ("Nullable(Int8)", "-1/2", "CAST(0 AS INT)"),
    ],
)
def test_a_fraction_of_numbers_is_one_value(of: str, sql: str, value: str) -> None:
    """The rest is cut off, as in ClickHouse; so a plan knows the value of rows before."""
    assert default_of(of, sql) == value


@pytest.mark.parametrize(
    ("of", "sql", "message"),
    [
        ("UInt8", "1/0", "1/0 is inf, which is not a UInt8"),
        ("Int64", "0/0", "0/0 is nan, which is not a Int64"),
        ("Decimal(10, 2)", "-1 / 0", "-1 / 0 is -inf, which is not a Decimal(10, 2)"),
        ("Decimal(4, 2)", "1000/4", "1000/4 is 250, which is not a Decimal(4, 2)"),
        ("UInt8", "-3/2", "-3/2 is -1.5, which is not a UInt8"),
        ("UInt8", "intDiv(1, 0)", "it divides by zero"),
        ("UInt8", "1 + 5 % (2 - 2)", "it divides by zero"),
    ],
)
def test_a_fraction_that_no_row_could_have(of: str, sql: str, message: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        default_of(of, sql)
    (problem,) = caught.value.problems
    assert problem.message == f"DEFAULT of `c`: {message}"


@pytest.mark.parametrize(("of", "sql"), [("Float64", "1/0"), ("Float64", "1.5 % 0"), ("UInt8", "intDivOrZero(1, 0)")])
def test_what_has_a_value_although_it_divides_by_zero(of: str, sql: str) -> None:
    assert default_of(of, sql)


def test_a_default_repeats_no_row() -> None:
    with pytest.raises(InvalidQuery) as caught:
        default_of("Int32", "arrayJoin([1, 2])")
    (problem,) = caught.value.problems
    assert "arrayJoin is not allowed" in problem.message
