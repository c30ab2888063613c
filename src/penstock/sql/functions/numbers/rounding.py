"""Rounding, limits and buckets: round, floor, roundBankers, roundAge, clamp, widthBucket

Integers stay integers. round takes half to the even neighbour for floats and away from zero for integers and decimals;
roundBankers always takes it to the even neighbour, as in ClickHouse. Limits that exclude each other are an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.model import types as t
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import TypedSql, as_spark, nullable_if_any, number_sql, typed_sql
from penstock.sql.functions.arguments import literal_integer
from penstock.sql.functions.conditions import require_common_type
from penstock.sql.functions.function import UINT8, UINT16, BadArguments, Function
from penstock.sql.functions.numbers.integer_rounding import round_integer

DECIMAL_ROUNDING: Mapping[str, str] = {
    "round": "round({0}, {1})",
    "roundBankers": "bround({0}, {1})",
    "floor": "floor({0}, {1})",
    "ceil": "ceil({0}, {1})",
    "trunc": "if({0} < 0, ceil({0}, {1}), floor({0}, {1}))",
}
_AGE_BOUNDS = ((1, 17), (18, 18), (25, 25), (35, 35), (45, 45), (55, 55))
"""ClickHouse's roundAge: from each age on, the value that stands for it."""
_DURATION_BOUNDS = (1, 10, 30, 60, 120, 180, 240, 300, 600, 1200, 1800, 3600, 7200, 18000, 36000)
"""ClickHouse's roundDuration: seconds, each bound stands for itself."""
_CONTAINERS = (t.Array, t.Map, t.Tuple)
_MAX_BUCKETS = 2**32 - 2


def _rounding_function(name: str) -> Function:
    """round, floor, ceil and trunc with the number of decimal digits to keep."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        digits = values[1].constant if len(values) > 1 else 0
        if not isinstance(digits, int):
            raise BadArguments(f"the digits of `{name}` must be a literal")
        if not -(2**15) <= digits < 2**15:
            raise BadArguments(f"the digits of `{name}` must be from -32768 to 32767")
        value = values[0]
        if isinstance(value.bare, (t.Int, t.Bool)) and digits >= 0:
            return value
        if isinstance(value.bare, t.Bool):
            raise BadArguments(f"`{name}` of a Bool is not supported", "toUInt8")
        if isinstance(value.bare, t.Decimal):
            digits = max(min(digits, value.bare.scale), value.bare.scale - value.bare.precision - 1)
            whole = f"DECIMAL({value.bare.kept_digits},{value.bare.scale})"
            rounded = DECIMAL_ROUNDING[name].format(value.sql, digits)
            return TypedSql(f"CAST({rounded} AS {whole})", value.type, whole)
        if isinstance(value.bare, t.Int):
            return round_integer(name, value, digits)
        if value.bare == t.Float(32) and digits:
            return typed_sql(f"CAST({_round_float32(name, value.sql, digits)} AS FLOAT)", value.type)
        return typed_sql(f"CAST({_round_float64(name, value.sql, digits)} AS {value.spark})", value.type)

    return Function(name, (1, 2), ("number", "constant"), build)


def _scale_of(digits: int) -> int:
    """The power of ten, which ClickHouse keeps in 64 bits."""
    return int(min(10 ** min(abs(digits), 20), 2**64 - 1))


def _round_float32(name: str, sql: str, digits: int) -> str:
    """A Float32 is scaled in single precision, as in ClickHouse."""
    scale = f"CAST({_scale_of(digits)} AS FLOAT)"
    if digits < 0:
        return f"({_round_float64(name, f'CAST({sql} / {scale} AS FLOAT)', 0)} * CAST({scale} AS DOUBLE))"
    return f"({_round_float64(name, f'({sql} * {scale})', 0)} / {scale})"


def _round_float64(name: str, sql: str, digits: int) -> str:
    """Scales by a power of ten, rounds and scales back in doubles, as ClickHouse does."""

    def whole(x: str) -> str:
        match name:
            case "round" | "roundBankers":
                return f"rint({x})"
            case "floor":
                return bind_if_long(x, _floor)
            case "ceil":
                return f"(- {bind_if_long(f'(- {x})', _floor)})"
            case _:
                down = f"sign({x}) * CAST(floor(abs({x})) AS DOUBLE)"
                return f"if(abs({x}) < 4503599627370496D, {down}, {x})"

    if digits == 0:
        return whole(sql)
    scale = f"{float(_scale_of(digits))!r}D"
    return f"({whole(f'({sql} * {scale})')} / {scale})" if digits > 0 else f"({whole(f'({sql} / {scale})')} * {scale})"


def _floor(x: str) -> str:
    """The floor of a double, in which -0.0 stays what it is: Spark's floor is an integer."""
    return f"(rint({x}) - if(rint({x}) > {x}, 1D, 0D))"


def _step_function(name: str, of: t.Int, bounds: Sequence[tuple[int, int]]) -> Function:
    """The value of the last bound that the number reaches; 0 below the first."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        value = values[0]
        tests = " ".join(f"WHEN {number_sql(value)} >= {low} THEN {result}" for low, result in reversed(bounds))
        null = f"WHEN {value.sql} IS NULL THEN NULL " if value.nullable else ""
        return typed_sql(f"CASE {null}{tests} ELSE 0 END", nullable_if_any(of, [value]))

    return Function(name, (1, 1), ("integer",), build)


def _round_to_exp2(values: Sequence[TypedSql]) -> TypedSql:
    """The greatest power of two up to the number; 0 for numbers below 1."""
    value = values[0]
    of = value.bare if isinstance(value.bare, t.Int) else UINT8
    if of == t.Int(64, signed=False):
        raise BadArguments("`roundToExp2` of a UInt64 is not supported", "cast it by toInt64")

    def power(v: str) -> str:
        return f"CASE WHEN {v} > 0 THEN shiftleft(1L, length(bin({v})) - 1) WHEN {v} <= 0 THEN 0L END"

    return typed_sql(
        f"CAST({bind_if_long(as_spark(value, 'BIGINT'), power)} AS {value_type(of)})", nullable_if_any(of, [value])
    )


def _clamp(values: Sequence[TypedSql]) -> TypedSql:
    """The value within two limits of a common type; NULL if any argument is NULL."""
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

    return typed_sql(bind_if_long(value, formula), nullable_if_any(of, list(values)))


def _limit_argument(value: TypedSql) -> float:
    if not isinstance(value.constant, (int, float)) or isinstance(value.constant, bool):
        raise BadArguments("the limits of `widthBucket` must be literal numbers")
    return float(value.constant)


def _width_bucket(values: Sequence[TypedSql]) -> TypedSql:
    """0 below the first bucket, the number of buckets + 1 above the last."""
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
    return typed_sql(f"CAST({sql} AS {value_type(of)})", nullable_if_any(of, [values[0]]))


FUNCTIONS: tuple[Function, ...] = (
    *map(_rounding_function, ("round", "floor", "ceil", "trunc", "roundBankers")),
    _step_function("roundAge", UINT8, _AGE_BOUNDS),
    _step_function("roundDuration", UINT16, [(low, low) for low in _DURATION_BOUNDS]),
    Function("roundToExp2", (1, 1), ("integer",), _round_to_exp2),
    Function("clamp", (3, 3), ("any",), _clamp),
    Function("widthBucket", (4, 4), ("number", "constant", "constant", "constant"), _width_bucket),
)
ALIASES: dict[str, str] = {"ceiling": "ceil", "truncate": "trunc", "width_bucket": "widthBucket"}
ANY_CASE: tuple[str, ...] = ("round", "floor", "ceil", "ceiling", "truncate", "width_bucket", "trunc")
