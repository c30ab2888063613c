"""Which constants are known not to fail, and which may."""

from __future__ import annotations

import pytest
from tests.differential.sure_expressions import COLUMNS, SURE, UNSURE

from penstock.model import types as t
from penstock.sql.analysis.opaque_calls import parse_opaque_value, write_opaque
from penstock.sql.analysis.sure_constants import is_sure, is_sure_sql, is_zero, without_sure_parts, zero_sum
from penstock.sql.stored_types import column_default, spark_type

PAIR = t.Tuple((("a b", t.Float(64)), (None, t.FixedString(3))))
TYPES: tuple[t.Type, ...] = (
    *(t.Int(bits, signed) for bits in (8, 16, 32, 64) for signed in (True, False)),
    *(t.Float(32), t.Float(64), t.Decimal(10, 2), t.Decimal(38, 38), t.Bool(), t.String(), t.FixedString(3)),
    *(t.UUID(), t.Date(), t.Date(wide=True), t.DateTime(), t.DateTime("Europe/Berlin"), t.DateTime64(3)),
    *(t.DateTime64(9), t.DateTime64(6, "Asia/Tokyo"), t.Enum(8, (("b", 2), ("a", 1))), t.IPv4(), t.IPv6(), t.Json()),
    *(t.Array(PAIR), t.Map(t.String(), t.Array(t.DateTime())), PAIR, t.Nullable(t.Float(64))),
    *(t.LowCardinality(t.Nullable(t.String())), t.LowCardinality(t.Float(64)), t.LowCardinality(t.DateTime())),
    t.SimpleAggregateFunction("max", t.DateTime()),
)


@pytest.mark.parametrize("of", TYPES, ids=str)
def test_the_default_of_each_type_is_sure(of: t.Type) -> None:
    assert is_sure_sql(column_default(of))
    assert is_sure_sql(f"CAST({column_default(of)} AS {spark_type(of)})")


@pytest.mark.parametrize(
    "sql",
    [
        "1.5D",
        "-1.5D",
        "1e+300D",
        "CAST(0.1D AS FLOAT)",
        "double('nan')",
        "CAST('-Infinity' AS DOUBLE)",
        "CAST(-128 AS TINYINT)",
        "CAST('1.25' AS DECIMAL(3,2))",
        "CAST(-7 AS DECIMAL(3,2))",
        "CAST(0.5 AS DECIMAL(2,2))",
        "CAST(1 AS BOOLEAN)",
        "CAST(1.5D AS STRING)",
        "DATE'2024-02-29'",
        "TIMESTAMP'2024-12-31 23:59:59.123456'",
        "CAST(TIMESTAMP'2024-12-31 23:59:59' AS DATE)",
        "CAST(array(1, NULL) AS ARRAY<DOUBLE>)",
        "map('a', 1, 'b', 2)",
        "CAST(named_struct('x', 1, 'y', '2024-01-01') AS STRUCT<`x`: DOUBLE, `y`: DATE>)",
        "coalesce(CAST(NULL AS DOUBLE), 1.5D)",
        "CAST(1.5D AS INT)",
        "1.5D * 2",
        "coalesce(CAST(NULL AS DECIMAL(38,0)) % 18446744073709551616, CAST(0 AS DECIMAL(20,0)))",
        "CAST((24 * 60 * 60) AS BIGINT)",
        "CAST(2147483647 AS BIGINT) + 1",
        "CAST(1 AS DOUBLE) / CAST(2 AS DOUBLE)",
    ],
)
def test_sure(sql: str) -> None:
    assert is_sure_sql(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "CAST(128 AS TINYINT)",
        "CAST('1' AS INT)",
        "CAST('x' AS DOUBLE)",
        "CAST(CAST('x' AS STRING) AS DOUBLE)",
        "CAST(CAST(1.5D AS STRING) AS INT)",
        "CAST('12.25' AS DECIMAL(3,2))",
        "CAST('1.255' AS DECIMAL(4,2))",
        "CAST(1.5D AS DECIMAL(10,2))",
        "CAST(1.5 AS DECIMAL)",
        "CAST('true' AS BOOLEAN)",
        "-CAST(-128 AS TINYINT)",
        "CAST('2023-02-29' AS DATE)",
        "CAST('2024-1-1' AS DATE)",
        "CAST('today' AS DATE)",
        "CAST('2024-01-01 24:00:00' AS TIMESTAMP)",
        "CAST('2024-01-01 00:00:00+01:00' AS TIMESTAMP)",
        "CAST(0 AS TIMESTAMP)",
        "array(1, 'a')",
        "array(CAST(1 AS DECIMAL(38,0)), CAST(0 AS DECIMAL(38,38)))",
        "array(array(1), array('a'))",
        "array(named_struct('a', 1), named_struct('a', 'x'))",
        "CAST(array(1, 300) AS ARRAY<TINYINT>)",
        "map('a', 1, 'a', 2)",
        "map(NULL, 1)",
        "map(0.0D, 1, -0.0D, 2)",
        "map('a', 1, 'b', 'x')",
        "coalesce(1, 'x')",
        "repeat('ab', 100000000)",
        "current_timestamp()",
        "rand()",
        "`a`",
        "CAST(`a` AS INT)",
        "(SELECT 1)",
        "2147483647 + 1",
        "1 / 0",
        "CAST(1.5D AS INT) % CAST(0 AS INT)",
        "CAST(1e300D * 2 AS INT)",
    ],
)
def test_not_sure(sql: str) -> None:
    assert not is_sure_sql(sql)


def test_what_is_left_may_still_fail() -> None:
    """The word in the place of a constant is no value of which another cast would be known."""
    node = parse_opaque_value("concat(CAST(1.5D AS STRING), CAST(CAST('x' AS STRING) AS INT), `a`)")
    assert node is not None
    assert write_opaque(without_sure_parts(node)) == "CONCAT(known, CAST(known AS INT), `a`)"


@pytest.mark.parametrize(
    ("sql", "total"),
    [
        ("CAST(0 AS FLOAT)", "CAST(0 AS DOUBLE)"),
        ("CAST(CAST(0 AS DOUBLE) AS DOUBLE)", "CAST(0 AS DOUBLE)"),
        ("CAST(0 AS DECIMAL(10,2))", "CAST(0 AS DECIMAL(20, 2))"),
        ("CAST(0 AS DECIMAL(38,10))", "CAST(0 AS DECIMAL(38, 10))"),
        ("CAST(1 AS DOUBLE)", None),
        ("-CAST(0 AS DOUBLE)", None),
        ("CAST('0' AS DOUBLE)", None),
        ("CAST(0 AS INT)", None),
    ],
)
def test_the_sum_of_zeros(sql: str, total: str | None) -> None:
    node = parse_opaque_value(sql)
    assert node is not None
    found = zero_sum(node)
    assert (found and write_opaque(found)) == total


@pytest.mark.parametrize(
    ("sql", "is_nothing"),
    [
        ("0", True),
        ("coalesce(CAST(0 AS DOUBLE), CAST(0 AS DOUBLE))", True),
        ("CAST(0 AS DECIMAL(20,0))", True),
        ("-0.0D", False),
        ("1", False),
        ("CAST(0 AS BOOLEAN)", False),
        ("CAST(0 AS STRING)", False),
    ],
)
def test_zero(sql: str, is_nothing: bool) -> None:
    node = parse_opaque_value(sql)
    assert node is not None
    assert is_zero(node) is is_nothing


@pytest.mark.parametrize("sql", SURE)
def test_sure_of_columns(sql: str) -> None:
    node = parse_opaque_value(sql)
    assert node is not None
    assert is_sure(node, COLUMNS)
    assert not is_sure(node), "nothing is known without the types"


@pytest.mark.parametrize("sql", UNSURE)
def test_not_sure_of_columns(sql: str) -> None:
    node = parse_opaque_value(sql)
    assert node is not None
    assert not is_sure(node, COLUMNS)


def test_a_parameter_of_a_lambda_is_no_column() -> None:
    node = parse_opaque_value("filter(`words`, `u` -> CAST(`u` AS DECIMAL(20,0)) > 1)")
    assert node is not None
    assert "CAST" in write_opaque(without_sure_parts(node, COLUMNS))
