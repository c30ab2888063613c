"""Stored types, zero values and lossless casts of every type."""

from __future__ import annotations

import pytest
from hypothesis import given
from tests.type_strategies import types as any_type

from penstock.parse.column_types import parse_type
from penstock.sql.compile import cast_column
from penstock.sql.stored_types import UnknownState, column_default, spark_type

STORED = {
    "UInt16": ("INT", "CAST(0 AS INT)"),
    "UInt32": ("BIGINT", "CAST(0 AS BIGINT)"),
    "UInt64": ("DECIMAL(20,0)", "CAST(0 AS DECIMAL(20,0))"),
    "LowCardinality(String)": ("STRING", "''"),
    "Nullable(Date)": ("DATE", "CAST(NULL AS DATE)"),
    "DateTime64(3)": ("TIMESTAMP", "TIMESTAMP'1970-01-01 00:00:00'"),
    "DateTime64(9, 'Asia/Tokyo')": ("DECIMAL(20,9)", "CAST(0 AS DECIMAL(20,9))"),
    "Array(Nullable(String))": ("ARRAY<STRING>", "CAST(array() AS ARRAY<STRING>)"),
    "Tuple(UInt8, String)": ("STRUCT<`_1`: INT, `_2`: STRING>", "named_struct('_1', CAST(0 AS INT), '_2', '')"),
    "Map(String, UInt64)": ("MAP<STRING, DECIMAL(20,0)>", "CAST(map() AS MAP<STRING, DECIMAL(20,0)>)"),
    "SimpleAggregateFunction(sum, UInt64)": ("DECIMAL(20,0)", "CAST(0 AS DECIMAL(20,0))"),
    "AggregateFunction(count, UInt16)": ("BIGINT", "0L"),
    "AggregateFunction(sum, UInt64)": ("DECIMAL(38,0)", "CAST(0 AS DECIMAL(38,0))"),
    "AggregateFunction(avg, Float64)": (
        "STRUCT<`sum`: DOUBLE, `count`: BIGINT>",
        "named_struct('sum', CAST(0 AS DOUBLE), 'count', 0L)",
    ),
    "AggregateFunction(uniq, String)": ("BINARY", "CAST(NULL AS BINARY)"),
    "AggregateFunction(sumIf, UInt8, UInt8)": ("BIGINT", "CAST(0 AS BIGINT)"),
}


@pytest.mark.parametrize("name", STORED)
def test_stored(name: str) -> None:
    of = parse_type(name)
    assert (spark_type(of), column_default(of)) == STORED[name]


def test_a_state_of_an_unknown_function() -> None:
    with pytest.raises(UnknownState) as caught:
        spark_type(parse_type("AggregateFunction(unique, String)"))
    assert caught.value.hint == "did you mean `uniq`?"


LOSSLESS = {
    ("UInt16", "UInt32"): "CAST(x AS BIGINT)",
    ("UInt8", "UInt16"): "x",
    ("Float32", "Float64"): "CAST(x AS DOUBLE)",
    ("Int32", "Decimal(20, 2)"): "CAST(x AS DECIMAL(20,2))",
    ("DateTime", "DateTime64(3)"): "x",
    ("DateTime64(7)", "DateTime64(9)"): "x",
    ("DateTime64(9)", "DateTime64(3)"): None,
    ("DateTime64(3)", "DateTime64(9)"): ("CAST(CAST(unix_micros(x) AS DECIMAL(20,0)) * 0.000001BD AS DECIMAL(20,9))"),
    ("String", "LowCardinality(String)"): "x",
    ("LowCardinality(String)", "Nullable(String)"): "x",
    ("AggregateFunction(count, UInt16)", "AggregateFunction(count, UInt64)"): "x",
    ("UInt32", "UInt16"): None,
    ("UInt64", "Int64"): None,
    ("Nullable(String)", "String"): None,
    ("String", "UUID"): None,
    ("DateTime", "Date"): None,
    ("UInt8", "Bool"): None,
    ("AggregateFunction(count)", "AggregateFunction(sum, UInt64)"): None,
    ("Array(UInt8)", "Array(UInt32)"): "CAST(x AS ARRAY<BIGINT>)",
    ("Array(Nullable(UInt8))", "Array(UInt8)"): None,
    ("Enum8('a' = 1)", "Enum8('a' = 1, 'b' = 2)"): "x",
    ("Enum8('a' = 1)", "Enum8('b' = 1)"): None,
    ("Tuple(Tuple(a Int32, b Int32), String)", "Tuple(Tuple(b Int32, a Int32), String)"): (
        "named_struct('_1', named_struct('b', x.`_1`.`b`, 'a', x.`_1`.`a`), '_2', x.`_2`)"
    ),
    ("Tuple(Tuple(a Int32, b Int32), String)", "Tuple(p Tuple(b Int32, a Int32), s String)"): (
        "named_struct('p', named_struct('b', x.`_1`.`b`, 'a', x.`_1`.`a`), 's', x.`_2`)"
    ),
}


@pytest.mark.parametrize(("have", "want"), LOSSLESS)
def test_lossless(have: str, want: str) -> None:
    assert cast_column("x", parse_type(have), parse_type(want)) == LOSSLESS[(have, want)]


@given(any_type())
def test_every_type_is_stored_and_casts_to_itself(of: object) -> None:
    try:
        assert spark_type(of)  # type: ignore[arg-type]
        assert column_default(of)  # type: ignore[arg-type]
        assert cast_column("x", of, of) == "x"  # type: ignore[arg-type]
    except UnknownState:
        assert "AggregateFunction" in str(of)
