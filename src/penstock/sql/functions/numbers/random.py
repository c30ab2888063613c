"""Random numbers: rand, rand64, randUniform, randCanonical

Every row of the result gets a number of its own; the argument of rand(x), which only tells calls apart, is ignored.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.sql.expr.typed import TypedSql, as_spark, typed_sql
from penstock.sql.functions.function import FLOAT64, UINT32, UINT64, Function


def _rand64(values: Sequence[TypedSql]) -> TypedSql:
    high, low = ("CAST(floor(rand() * 4294967296D) AS DECIMAL(20,0))" for _ in "ab")
    return typed_sql(f"CAST({high} * 4294967296 + {low} AS DECIMAL(20,0))", UINT64)


def _rand_uniform(values: Sequence[TypedSql]) -> TypedSql:
    low, high = (as_spark(value, "DOUBLE") for value in values)
    return typed_sql(f"({low} + rand() * ({high} - {low}))", FLOAT64)


FUNCTIONS: tuple[Function, ...] = (
    Function("rand", (0, 1), ("any",), lambda v: typed_sql("CAST(floor(rand() * 4294967296D) AS BIGINT)", UINT32)),
    Function("rand64", (0, 1), ("any",), _rand64),
    Function("randCanonical", (0, 1), ("any",), lambda values: typed_sql("rand()", FLOAT64)),
    Function("randUniform", (2, 3), ("number",), lambda values: _rand_uniform(values[:2])),
)
ALIASES: dict[str, str] = {"rand32": "rand"}
ANY_CASE: tuple[str, ...] = ("rand",)
