"""Numbers: rounding, roots, logarithms, hashes, random numbers.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: round goes to the
even neighbour for floats and away from zero for decimals, as in ClickHouse.

Rounding of whole numbers and decimals, to powers of two, ages and durations.

In: `Typed` arguments. Out: rows of the table and formulas for `maths`. Called by `functions.table` and `maths`.
Invariant: integers stay integers; half goes away from zero, to the even neighbour for roundBankers.

Hyperbolic functions and their inverses, hypot, atan2, powers of 2 and 10, logarithms near 1.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: results are doubles that may
differ from ClickHouse's in the last digit, so the rows are not `exact`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from penstock.model import types as t
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import Typed, as_spark, nullable_if_any, number_sql, typed
from penstock.sql.functions.function import FLOAT64, UINT8, UINT16, UINT32, BadArguments, Function


def _rounding_function(name: str) -> Function:
    """round, floor, ceil, trunc with the number of digits that are kept."""

    def build(values: Sequence[Typed]) -> Typed:
        digits = values[1].constant if len(values) > 1 else 0
        if not isinstance(digits, int):
            raise BadArguments(f"the digits of `{name}` must be a literal")
        value = values[0]
        if isinstance(value.bare, (t.Int, t.Bool)) and digits >= 0:
            return value
        if isinstance(value.bare, t.Bool):
            raise BadArguments(f"`{name}` of a Bool is not supported", "toUInt8")
        if isinstance(value.bare, t.Decimal):
            whole = f"DECIMAL({next(size for size in (9, 18, 38) if value.bare.precision <= size)},{value.bare.scale})"
            rounded = DECIMAL_ROUNDING[name].format(value.sql, digits)
            return Typed(f"CAST({rounded} AS {whole})", value.type, whole)
        if isinstance(value.bare, t.Int):
            return round_integer(name, value, digits)
        if value.bare == t.Float(32) and digits:
            return typed(f"CAST({_round_float32(name, value.sql, digits)} AS FLOAT)", value.type)
        return typed(f"CAST({_round_float64(name, value.sql, digits)} AS {value.spark})", value.type)

    return Function(name, (1, 2), ("number", "constant"), build)


def _round_float32(name: str, sql: str, digits: int) -> str:
    """A Float32 is scaled in single precision."""
    scale = f"CAST({10 ** abs(digits)} AS FLOAT)"
    if digits < 0:
        return f"({_round_float64(name, f'CAST({sql} / {scale} AS FLOAT)', 0)} * CAST({scale} AS DOUBLE))"
    return f"({_round_float64(name, f'({sql} * {scale})', 0)} / {scale})"


def _round_float64(name: str, sql: str, digits: int) -> str:
    """ClickHouse rounds `x * 10**digits` and divides again, in doubles."""

    def whole(x: str) -> str:
        match name:
            case "round" | "roundBankers":
                return f"rint({x})"
            case "floor" | "ceil":
                return bind_if_long(x, lambda v: f"if(abs({v}) < 4503599627370496D, CAST({name}({v}) AS DOUBLE), {v})")
            case _:
                down = f"sign({x}) * CAST(floor(abs({x})) AS DOUBLE)"
                return f"if(abs({x}) < 4503599627370496D, {down}, {x})"

    if digits == 0:
        return whole(sql)
    scale = f"{float(10 ** abs(digits))!r}D"
    return f"({whole(f'({sql} * {scale})')} / {scale})" if digits > 0 else f"({whole(f'({sql} / {scale})')} * {scale})"


def _abs(values: Sequence[Typed]) -> Typed:
    of = UINT8 if isinstance(values[0].bare, t.Bool) else values[0].bare
    result = t.Int(of.bits, signed=False) if isinstance(of, t.Int) else of
    spark = value_type(result)
    return typed(f"abs({as_spark(values[0], spark)})", nullable_if_any(result, list(values)))


def _sign(values: Sequence[Typed]) -> Typed:
    return typed(f"CAST(sign({as_spark(values[0], 'DOUBLE')}) AS INT)", nullable_if_any(t.Int(8), list(values)))


def _float_function(name: str, template: str, count: int = 1) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        sql = template.format(*(as_spark(value, "DOUBLE") for value in values))
        return typed(sql, nullable_if_any(FLOAT64, list(values)))

    return Function(name, (count, count), ("float",), build)


_INTEGER_ROUNDING: Mapping[str, str] = {
    "round": "round({0}, {1})",
    "roundBankers": "bround({0}, {1})",
    "floor": "({0} - pmod({0}, {2}L))",
    "ceil": "({0} + pmod(- {0}, {2}L))",
    "trunc": "({0} - {0} % {2}L)",
}
DECIMAL_ROUNDING: Mapping[str, str] = {
    "round": "round({0}, {1})",
    "roundBankers": "bround({0}, {1})",
    "floor": "floor({0}, {1})",
    "ceil": "ceil({0}, {1})",
    "trunc": "if({0} < 0, ceil({0}, {1}), floor({0}, {1}))",
}
_MAX_ROUNDED_DIGITS = {16: 3, 32: 8, 64: 17}


def round_integer(name: str, value: Typed, digits: int) -> Typed:
    """An integer to tens, hundreds …"""
    of = value.bare
    if (
        not isinstance(of, t.Int)
        or of.bits == 8
        or of == t.Int(64, signed=False)
        or -digits > _MAX_ROUNDED_DIGITS[of.bits]
    ):
        raise BadArguments(f"`{name}` of {value.type} to {digits} digits is not supported", "cast it by toInt64")
    exact = bind_if_long(as_spark(value, "BIGINT"), lambda v: _INTEGER_ROUNDING[name].format(v, digits, 10**-digits))
    return typed(bind_if_long(exact, lambda v: _check_range(v, of)) if of.bits < 64 else exact, value.type)


def _check_range(sql: str, of: t.Int) -> str:
    """A number of the type; what ClickHouse gives for one that is out of it is not a rounded number."""
    failed = f"raise_error('a rounded {of} is out of its range')"
    fits = f"CAST({sql} AS {value_type(of)})"
    return f"CASE WHEN {sql} IS NULL OR {sql} BETWEEN {of.low} AND {of.high} THEN {fits} ELSE {failed} END"


def _step_function(name: str, of: t.Int, bounds: Sequence[tuple[int, int]]) -> Function:
    """From each bound on its value; 0 below the first."""

    def build(values: Sequence[Typed]) -> Typed:
        value = values[0]
        tests = " ".join(f"WHEN {number_sql(value)} >= {low} THEN {result}" for low, result in reversed(bounds))
        null = f"WHEN {value.sql} IS NULL THEN NULL " if value.nullable else ""
        return typed(f"CASE {null}{tests} ELSE 0 END", nullable_if_any(of, [value]))

    return Function(name, (1, 1), ("integer",), build)


def _round_to_exp2(values: Sequence[Typed]) -> Typed:
    value = values[0]
    of = value.bare if isinstance(value.bare, t.Int) else UINT8
    if of == t.Int(64, signed=False):
        raise BadArguments("`roundToExp2` of a UInt64 is not supported", "cast it by toInt64")

    def power(v: str) -> str:
        return f"CASE WHEN {v} > 0 THEN shiftleft(1L, length(bin({v})) - 1) WHEN {v} <= 0 THEN 0L END"

    return typed(
        f"CAST({bind_if_long(as_spark(value, 'BIGINT'), power)} AS {value_type(of)})", nullable_if_any(of, [value])
    )


_AGE_BOUNDS = ((1, 17), (18, 18), (25, 25), (35, 35), (45, 45), (55, 55))
_DURATION_BOUNDS = (1, 10, 30, 60, 120, 180, 240, 300, 600, 1200, 1800, 3600, 7200, 18000, 36000)


_LARGE_ARGUMENT = "2.68435456E8D"
"""From here on x * x + 1 is x * x; later it is infinite."""
_LN2 = "0.6931471805599453D"


def _approximate_function(name: str, formula: Callable[[str], str]) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        return typed(bind_if_long(as_spark(values[0], "DOUBLE"), formula), nullable_if_any(FLOAT64, list(values)))

    return Function(name, (1, 1), ("float",), build, exact=False)


def _approximate_function_of_two(name: str, formula: Callable[[str, str], str]) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        a, b = (as_spark(value, "DOUBLE") for value in values)
        return typed(
            bind_if_long(a, lambda x: bind_if_long(b, lambda y: formula(x, y))), nullable_if_any(FLOAT64, list(values))
        )

    return Function(name, (2, 2), ("float",), build, exact=False)


def _atan2(y: str, x: str) -> str:
    """Spark's own takes no notice of the sign of 0."""
    left, right = (f"if(CAST({v} AS STRING) = '-0.0', -1D, 1D)" for v in (y, x))
    return f"if({y} = 0, {left} * atan2(0D, if({x} = 0, {right}, {x})), atan2({y}, {x}))"


def _log1p(x: str) -> str:
    """Spark's own is NULL where there is none."""
    return (
        f"CASE WHEN {x} > -1 THEN log1p({x}) WHEN {x} = -1 THEN double('-Infinity') "
        f"WHEN {x} IS NOT NULL THEN double('NaN') END"
    )


def _asinh(x: str) -> str:
    """Spark's own loses the digits of small and of large negative numbers."""
    a = f"abs({x})"
    near = f"log1p({a} + {x} * {x} / (1 + sqrt(1 + {x} * {x})))"
    return f"if({x} = 0, {x}, sign({x}) * if({a} > {_LARGE_ARGUMENT}, ln({a}) + {_LN2}, {near}))"


def _acosh(x: str) -> str:
    near = f"log1p({x} - 1 + sqrt(2 * ({x} - 1) + ({x} - 1) * ({x} - 1)))"
    far = f"ln(2 * {x} - 1 / ({x} + sqrt({x} * {x} - 1)))"
    chosen = f"CASE WHEN {x} > {_LARGE_ARGUMENT} THEN ln({x}) + {_LN2} WHEN {x} > 2 THEN {far} ELSE {near} END"
    return f"if({x} < 1, double('NaN'), {chosen})"


def _atanh(x: str) -> str:
    a = f"abs({x})"
    near = f"0.5D * log1p(2 * {a} + 2 * {a} * {a} / (1 - {a}))"
    far = f"0.5D * log1p(2 * {a} / (1 - {a}))"
    inside = f"if({x} = 0, {x}, sign({x}) * if({a} < 0.5D, {near}, {far}))"
    edge = f"if({a} = 1, {x} * double('Infinity'), double('NaN'))"
    return f"CASE WHEN {a} < 1 THEN {inside} WHEN {x} IS NOT NULL THEN {edge} END"


FUNCTIONS: tuple[Function, ...] = (
    *map(_rounding_function, ("round", "floor", "ceil", "trunc", "roundBankers")),
    Function("abs", (1, 1), ("number",), _abs),
    Function("sign", (1, 1), ("number",), _sign),
    _float_function("sqrt", "sqrt({0})"),
    _float_function("cbrt", "cbrt({0})"),
    _float_function("exp", "exp({0})"),
    _float_function("log", "if({0} <= 0, if({0} = 0, double('-Infinity'), double('NaN')), ln({0}))"),
    _float_function("log2", "if({0} <= 0, if({0} = 0, double('-Infinity'), double('NaN')), log2({0}))"),
    _float_function("log10", "if({0} <= 0, if({0} = 0, double('-Infinity'), double('NaN')), log10({0}))"),
    _float_function("pow", "pow({0}, {1})", 2),
    _float_function("degrees", "degrees({0})"),
    _float_function("radians", "radians({0})"),
    *(_float_function(name, f"{name}({{0}})") for name in ("sin", "cos", "tan", "asin", "acos", "atan")),
    Function("pi", (0, 0), ("any",), lambda values: typed("pi()", FLOAT64)),
    Function("e", (0, 0), ("any",), lambda values: typed("e()", FLOAT64)),
    Function("rand", (0, 1), ("any",), lambda v: typed("CAST(floor(rand() * 4294967296D) AS BIGINT)", UINT32)),
    Function("generateUUIDv4", (0, 1), ("any",), lambda values: typed("uuid()", t.UUID())),
    _step_function("roundAge", UINT8, _AGE_BOUNDS),
    _step_function("roundDuration", UINT16, [(low, low) for low in _DURATION_BOUNDS]),
    Function("roundToExp2", (1, 1), ("integer",), _round_to_exp2),
    *(_approximate_function(name, f"{name}({{}})".format) for name in ("sinh", "cosh", "tanh")),
    _approximate_function("asinh", _asinh),
    _approximate_function("acosh", _acosh),
    _approximate_function("atanh", _atanh),
    _approximate_function("log1p", _log1p),
    _approximate_function("exp2", "pow(2D, {})".format),
    _approximate_function("exp10", "pow(10D, {})".format),
    _approximate_function_of_two("atan2", _atan2),
    _approximate_function_of_two("hypot", "hypot({}, {})".format),
)
ALIASES: dict[str, str] = {"ceiling": "ceil", "truncate": "trunc", "power": "pow", "ln": "log", "rand32": "rand"}
ANY_CASE: tuple[str, ...] = (
    "round",
    "floor",
    "ceil",
    "ceiling",
    "truncate",
    "abs",
    "sign",
    "sqrt",
    "exp",
    "log",
    "log2",
    "log10",
    "pow",
    "power",
    "ln",
    "pi",
    "rand",
    "atan2",
)
