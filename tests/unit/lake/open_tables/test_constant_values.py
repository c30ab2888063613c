"""Constants as Iceberg's metadata has them; `tests/deploy/test_open_tables.py` lets Spark compute them."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from penstock.lake.open_tables.constant_values import STORED, _written
from penstock.lake.open_tables.shown_columns import Constant


@pytest.mark.parametrize(
    ("kind", "value", "written"),
    [
        ("boolean", False, False),
        ("int", -1, -1),
        ("long", 2**40, 2**40),
        ("double", 0.1, 0.1),
        ("float", 1.5, 1.5),
        ("decimal(20, 0)", Decimal(2**64 - 1), str(2**64 - 1)),
        ("decimal(20, 9)", Decimal("0E-9"), "0.000000000"),
        ("date", date(1900, 1, 1), "1900-01-01"),
        ("timestamptz", -1, "1969-12-31T23:59:59.999999+00:00"),
        ("timestamp", 0, "1970-01-01T00:00:00.000000"),
        ("string", 'a "b" é', 'a "b" é'),
        ("binary", bytearray(b"\x00\xff"), "00ff"),
    ],
)
def test_each_type(kind: str, value: object, written: object) -> None:
    assert _written(kind, value) == Constant(written)  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "value"), [("double", float("nan")), ("float", float("inf")), ("fixed[2]", b"ab")])
def test_what_json_or_iceberg_does_not_have(kind: str, value: object) -> None:
    assert _written(kind, value) == STORED
