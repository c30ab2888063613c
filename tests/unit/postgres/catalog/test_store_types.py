"""Types of Postgres as types of the stores."""

from __future__ import annotations

import pytest

from penstock.postgres.catalog.replicated_table import EnumLabel, ReplicatedColumn, ReplicatedType
from penstock.postgres.catalog.store_types import clickhouse_type, iceberg_type, penstock_type


def packed(precision: int, scale: int) -> int:
    """As Postgres packs them."""
    return ((precision << 16) | (scale & 0x7FF)) + 4


SEVERITY = ReplicatedType("public.severity", labels=(EnumLabel(1, "low"), EnumLabel(2, "it's high")))
CASES = [
    (ReplicatedType("smallint"), "Int16", "Int16", "int"),
    (ReplicatedType("bigint"), "Int64", "Int64", "long"),
    (ReplicatedType("double precision"), "Float64", "Float64", "double"),
    (ReplicatedType("character varying", 14), "String", "String", "string"),
    (ReplicatedType("numeric", packed(10, 2)), "Decimal(10, 2)", "Decimal(10, 2)", "decimal(10, 2)"),
    (ReplicatedType("numeric", packed(50, 2)), "Decimal(50, 2)", "String", "string"),
    (ReplicatedType("numeric", packed(3, -2)), "String", "String", "string"),
    (ReplicatedType("numeric", packed(2, 5)), "String", "String", "string"),
    (ReplicatedType("numeric"), "String", "String", "string"),
    (ReplicatedType("integer[]"), "String", "String", "string"),
    (ReplicatedType("timestamp with time zone"), "DateTime64(6, 'UTC')", "DateTime64(6, 'UTC')", "timestamptz"),
    (ReplicatedType("time without time zone"), "String", "String", "string"),
    (SEVERITY, "Enum8('low' = 1, 'it\\'s high' = 2)", "String", "string"),
    (ReplicatedType("public.positive", base=ReplicatedType("integer")), "Int32", "Int32", "int"),
]


@pytest.mark.parametrize(("of", "clickhouse", "penstock", "iceberg"), CASES, ids=lambda each: str(each)[:40])
def test_a_type_has_every_value_or_is_text(of: ReplicatedType, clickhouse: str, penstock: str, iceberg: str) -> None:
    column = ReplicatedColumn(1, "c", of, not_null=True)
    assert (clickhouse_type(column), str(penstock_type(column)), iceberg_type(column)) == (
        clickhouse,
        penstock,
        iceberg,
    )


def test_what_may_be_null_may_be_null_in_the_stores() -> None:
    column = ReplicatedColumn(1, "c", ReplicatedType("bigint"))
    assert (clickhouse_type(column), str(penstock_type(column))) == ("Nullable(Int64)", "Nullable(Int64)")


def test_many_labels_need_more_numbers() -> None:
    labels = tuple(EnumLabel(at, f"l{at}") for at in range(128))
    column = ReplicatedColumn(1, "c", ReplicatedType("public.many", labels=labels), not_null=True)
    assert clickhouse_type(column).startswith("Enum16('l0' = 1,")
    assert clickhouse_type(column).endswith("'l127' = 128)")
