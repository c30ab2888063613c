"""transform, and functions about their argument's type or that only pass it on.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: what transform maps from
and to are literal arrays of as many values.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.functions.conditions import common_type
from penstock.sql.functions.function import FLOAT64, MANY, UINT8, UINT64, BadArguments, Function
from penstock.sql.functions.text_arguments import constant_text
from penstock.sql.supertypes import supertype
from penstock.sql.typed import Typed, as_spark, condition, typed
from penstock.sql.value_types import text_literal, value_type, value_zero


def _transform(values: Sequence[Typed]) -> Typed:
    """The value at the place of `value` in the second array; else the last argument, or the value itself."""
    value, source, target = values[:3]
    if not isinstance(source.bare, t.Array) or not isinstance(target.bare, t.Array):
        raise BadArguments("`transform` takes a value, two arrays and a default")
    if not source.sql.startswith("array(") or not target.sql.startswith("array("):
        raise BadArguments("the arrays of `transform` must be literals", "multiIf")
    if any(each.nullable for each in (value, *values[3:])) or any(
        isinstance(array.bare, t.Array) and isinstance(array.bare.of, t.Nullable) for array in (source, target)
    ):
        raise BadArguments("`transform` of Nullable values is not supported", "multiIf")
    key = supertype((value.type, source.bare.of))
    if key is None or (key != value.bare and not isinstance(key, t.Int)):
        raise BadArguments(f"{value.type} is not looked up among {source.bare.of}", "cast it first")
    other = values[3] if len(values) > 3 else value
    result = target.bare.of if len(values) == 3 else common_type([typed("", target.bare.of), other])
    if len(values) == 3 and value.bare != result and not isinstance(value.bare, t.Int):
        raise BadArguments("without a default the values of `transform` must be of the argument's type")
    spark = value_type(key)
    place = f"array_position(CAST({source.sql} AS ARRAY<{spark}>), {as_spark(value, spark)})"
    shown = f"CAST({target.sql} AS ARRAY<{value_type(result)}>)"
    found = f"try_element_at({shown}, CAST(nullif({place}, 0) AS INT))"
    return typed(f"coalesce({found}, {as_spark(other, value_type(result))})", result)


def _throw_if(values: Sequence[Typed]) -> Typed:
    message = constant_text(values[1], "the message") if len(values) > 1 else "Value passed to 'throwIf' is non-zero"
    if values[0].nullable:
        raise BadArguments("`throwIf` of a Nullable is not supported", "ifNull")
    return typed(f"if({condition(values[0])}, raise_error({text_literal(message)}), 0)", UINT8)


def _is_nullable(values: Sequence[Typed]) -> Typed:
    return typed("1" if values[0].nullable else "0", UINT8)


def _default_of(values: Sequence[Typed]) -> Typed:
    return typed(value_zero(values[0].type), values[0].type)


def _rand64(values: Sequence[Typed]) -> Typed:
    high, low = ("CAST(floor(rand() * 4294967296D) AS DECIMAL(20,0))" for _ in "ab")
    return typed(f"CAST({high} * 4294967296 + {low} AS DECIMAL(20,0))", UINT64)


def _rand_uniform(values: Sequence[Typed]) -> Typed:
    low, high = (as_spark(value, "DOUBLE") for value in values)
    return typed(f"({low} + rand() * ({high} - {low}))", FLOAT64)


FUNCTIONS: tuple[Function, ...] = (
    Function("transform", (3, 4), ("any",), _transform),
    Function("throwIf", (1, 2), ("number", "constant"), _throw_if),
    Function("isNullable", (1, 1), ("any",), _is_nullable, strict=False),
    Function("ignore", (0, MANY), ("any",), lambda values: typed("0", UINT8), strict=False),
    Function("defaultValueOfArgumentType", (1, 1), ("any",), _default_of),
    Function("rand64", (0, 1), ("any",), _rand64),
    Function("randCanonical", (0, 1), ("any",), lambda values: typed("rand()", FLOAT64)),
    Function("randUniform", (2, 3), ("number",), lambda values: _rand_uniform(values[:2])),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
