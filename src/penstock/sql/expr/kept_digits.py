"""Decimals that have more digits than their type says.

ClickHouse keeps a Decimal in 32, 64 or 128 bits, whatever its type says: the product of a Decimal(10, 2) and an integer
is a Decimal(10, 2) of up to 18 digits. Here such a value has a Spark decimal of 9, 18 or 38 digits. In: values, and how
something is made of them. Out: the same of all their digits. Invariant: the type of the result is the one that
ClickHouse names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import TypedSql

_SPARK_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")


def keep_digits(value: TypedSql) -> TypedSql:
    """The value, with a type of as many digits as it may have."""
    of = value.bare
    if not isinstance(of, t.Decimal) or value.spark == value_type(of):
        return value
    held = _SPARK_DECIMAL.fullmatch(value.spark)
    if held is None:
        return value
    kept: Type = t.Decimal(int(held[1]), int(held[2]))
    return replace(value, type=t.Nullable(kept) if value.nullable else kept)


def with_kept_digits(values: Sequence[TypedSql], make: Callable[[list[TypedSql]], TypedSql]) -> TypedSql:
    """What `make` makes of the values, of all their digits where that is a Decimal too. Raises what `make` raises."""
    named, kept = make(list(values)), list(map(keep_digits, values))
    if kept == list(values) or not isinstance(named.bare, t.Decimal):
        return named
    return replace(make(kept), type=named.type)
