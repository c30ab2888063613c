"""When two versions of a column may be written to one physical column."""

from __future__ import annotations

import pytest

from penstock.errors import Location
from penstock.model.datasource import Column, DataSource, Text
from penstock.model.engine import Engine
from penstock.parse.column_types import parse_type
from penstock.plan.diff.column_compatibility import can_ingest, can_share_column, is_promotion, strip_nullable

DEFAULT = Text("1", Location("a"))


@pytest.mark.parametrize(
    ("before", "after", "shared"),
    [
        ("UInt8", "UInt16", True),
        ("UInt16", "Int64", True),
        ("UInt32", "Int64", True),
        ("Int32", "UInt32", False),  # negative numbers
        ("UInt32", "UInt64", False),  # stored as a decimal
        ("Float32", "Float64", True),
        ("Float64", "Float32", False),
        ("Decimal(9, 2)", "Decimal(18, 2)", True),
        ("Decimal(9, 2)", "Decimal(18, 4)", False),
        ("String", "LowCardinality(String)", True),
        ("LowCardinality(Nullable(String))", "Nullable(String)", True),
        ("FixedString(4)", "String", False),  # padded with zero bytes
        ("UUID", "String", False),  # in lower case
        ("DateTime", "DateTime64(3)", False),  # without a fraction
        ("DateTime", "DateTime('Europe/Madrid')", False),  # texts without a zone mean another moment
        ("Date", "Date32", True),
        ("Enum8('a' = 1)", "Enum16('a' = 1, 'b' = 2)", True),
        ("Enum8('a' = 1)", "Enum8('a' = 2)", False),
        ("String", "Nullable(String)", True),
        ("Nullable(String)", "String", False),
        ("AggregateFunction(count, UInt16)", "AggregateFunction(count, UInt64)", True),
        ("AggregateFunction(min, UInt16)", "AggregateFunction(max, UInt16)", False),
    ],
)
def test_types(before: str, after: str, shared: bool) -> None:
    assert can_share_column(Column("a", parse_type(before)), Column("a", parse_type(after))) is shared


def test_an_explicit_null_is_the_default_or_null() -> None:
    before, after = parse_type("UInt8"), parse_type("Nullable(UInt8)")
    assert not can_share_column(Column("a", before, default=DEFAULT), Column("a", after, default=DEFAULT))


@pytest.mark.parametrize(
    ("have", "want", "promoted"),
    [
        ("INT", "BIGINT", True),
        ("BIGINT", "INT", False),
        ("FLOAT", "DOUBLE", True),
        ("DECIMAL(9,2)", "DECIMAL(18,2)", True),
        ("DECIMAL(9,2)", "DECIMAL(9,2)", False),
        ("DECIMAL(9,2)", "DECIMAL(18,3)", False),
        ("STRING", "BIGINT", False),
    ],
)
def test_what_iceberg_promotes(have: str, want: str, promoted: bool) -> None:
    assert is_promotion(have, want) is promoted


def test_without_null() -> None:
    assert str(strip_nullable(parse_type("LowCardinality(Nullable(String))"))) == "LowCardinality(String)"
    assert str(strip_nullable(parse_type("Array(Nullable(String))"))) == "Array(Nullable(String))"


def test_a_target_of_states_takes_no_rows() -> None:
    key, state = Column("key", parse_type("String")), Column("n", parse_type("AggregateFunction(count)"))
    assert not can_ingest(DataSource("a", (key, state), Engine()))
    assert can_ingest(DataSource("a", (key,), Engine()))
    assert can_ingest(DataSource("a", (Column("key", key.type, json_path="$.key"), state), Engine()))
