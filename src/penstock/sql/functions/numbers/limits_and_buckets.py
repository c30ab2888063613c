"""Numbers within limits, in buckets, by their digits: clamp, widthBucket, countDigits.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: limits that exclude each
other are an error, as in ClickHouse.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import Typed, as_spark, nullable_if_any, number_sql, typed
from penstock.sql.functions.arguments import literal_integer
from penstock.sql.functions.conditions import require_common_type
from penstock.sql.functions.function import UINT8, BadArguments, Function

_CONTAINERS = (t.Array, t.Map, t.Tuple)
_MAX_BUCKETS = 2**32 - 2


def _clamp(values: Sequence[Typed]) -> Typed:
    of = t.unwrap_type(require_common_type([*values]))
    if isinstance(of, (*_CONTAINERS, t.Enum, t.Json, t.UUID, t.IPv4, t.IPv6)):
        raise BadArguments(f"`clamp` of {of} is not supported", "least(greatest(…))")
    if any(isinstance(value.bare, t.Bool) for value in values) and not isinstance(of, t.Bool):
        raise BadArguments("`clamp` of a Bool and a number is not supported", "toUInt8(…)")
    if isinstance(of, t.Float) and any(value.constant is None for value in values[1:]):
        raise BadArguments("the limits of `clamp` must be literals beside floats", "least(greatest(…))")
    value, low, high = (as_spark(each, value_type(of)) for each in values)
    nothing = " OR ".join(f"{each.sql} IS NULL" for each in values if each.nullable)
    empty = f"WHEN {nothing} THEN NULL " if nothing else ""
    wrong = f"WHEN {low} > {high} THEN raise_error('the limits of clamp exclude each other') "

    def formula(v: str) -> str:
        return f"CASE {empty}{wrong}WHEN {v} < {low} THEN {low} WHEN {v} > {high} THEN {high} ELSE {v} END"

    return typed(bind_if_long(value, formula), nullable_if_any(of, list(values)))


def _limit_argument(value: Typed) -> float:
    if not isinstance(value.constant, (int, float)) or isinstance(value.constant, bool):
        raise BadArguments("the limits of `widthBucket` must be literal numbers")
    return float(value.constant)


def _width_bucket(values: Sequence[Typed]) -> Typed:
    """0 below the first bucket, one more than there are above the last."""
    if isinstance(values[0].bare, t.Decimal):
        raise BadArguments("`widthBucket` of a Decimal is not defined", "toFloat64(…)")
    low, high = map(_limit_argument, values[1:3])
    count = literal_integer(values[3], "the number of buckets")
    if not 1 <= count <= _MAX_BUCKETS:
        raise BadArguments("the number of buckets must be a literal from 1", f"at most {_MAX_BUCKETS}")
    of = t.Int(16 if count < 2**8 else 32 if count < 2**16 else 64, signed=False)

    def formula(x: str) -> str:
        place = f"({x} - {low!r}D) * {count / (high - low) if high > low else 0.0!r}D + 1"
        inside = f"WHEN {x} >= {high!r}D THEN {count + 1} ELSE CAST({place} AS BIGINT)"
        wrong = f"WHEN isnan({x}) THEN raise_error('NaN is in no bucket')"
        below = "true" if low >= high else f"{x} < {low!r}D"
        return f"CASE WHEN {x} IS NULL THEN NULL {wrong} WHEN {below} THEN 0 {inside} END"

    sql = bind_if_long(as_spark(values[0], "DOUBLE"), formula)
    return typed(f"CAST({sql} AS {value_type(of)})", nullable_if_any(of, [values[0]]))


def _count_digits(values: Sequence[Typed]) -> Typed:
    """Of a decimal all its digits after the point count."""
    shown = f"CAST({number_sql(values[0])} AS STRING)"
    if isinstance(values[0].bare, t.Decimal):
        zeros = f"ltrim('0', translate({shown}, '-.', ''))"
        sql = bind_if_long(zeros, lambda z: f"if({z} = '', 1, length({z}))")
    elif isinstance(values[0].bare, t.Int):
        sql = f"length(ltrim('-', {shown}))"
    else:
        raise BadArguments(f"`countDigits` needs an integer or a Decimal, this is {values[0].type}")
    return typed(sql, nullable_if_any(UINT8, list(values)))


FUNCTIONS: tuple[Function, ...] = (
    Function("clamp", (3, 3), ("any",), _clamp),
    Function("widthBucket", (4, 4), ("number", "constant", "constant", "constant"), _width_bucket),
    Function("countDigits", (1, 1), ("number",), _count_digits),
)
ALIASES = {"width_bucket": "widthBucket"}
ANY_CASE = ("width_bucket",)
