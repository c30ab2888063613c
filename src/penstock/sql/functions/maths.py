"""Numbers: rounding, roots, logarithms, hashes, random numbers.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: round goes to the
even neighbour for floats and away from zero for decimals, as in ClickHouse.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.functions.function import FLOAT64, UINT8, UINT32, BadArguments, Function
from penstock.sql.functions.rounding import DECIMAL_ROUNDING, round_whole
from penstock.sql.let import let
from penstock.sql.typed import Typed, as_spark, null_if_any, typed
from penstock.sql.value_types import value_type


def _rounding(name: str) -> Function:
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
            return round_whole(name, value, digits)
        if value.bare == t.Float(32) and digits:
            return typed(f"CAST({_round_single(name, value.sql, digits)} AS FLOAT)", value.type)
        return typed(f"CAST({_round_float(name, value.sql, digits)} AS {value.spark})", value.type)

    return Function(name, (1, 2), ("number", "constant"), build)


def _round_single(name: str, sql: str, digits: int) -> str:
    """A Float32 is scaled in single precision."""
    scale = f"CAST({10 ** abs(digits)} AS FLOAT)"
    if digits < 0:
        return f"({_round_float(name, f'CAST({sql} / {scale} AS FLOAT)', 0)} * CAST({scale} AS DOUBLE))"
    return f"({_round_float(name, f'({sql} * {scale})', 0)} / {scale})"


def _round_float(name: str, sql: str, digits: int) -> str:
    """ClickHouse rounds `x * 10**digits` and divides again, in doubles."""

    def whole(x: str) -> str:
        match name:
            case "round" | "roundBankers":
                return f"rint({x})"
            case "floor" | "ceil":
                return let(x, lambda v: f"if(abs({v}) < 4503599627370496D, CAST({name}({v}) AS DOUBLE), {v})")
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
    return typed(f"abs({as_spark(values[0], spark)})", null_if_any(result, list(values)))


def _sign(values: Sequence[Typed]) -> Typed:
    return typed(f"CAST(sign({as_spark(values[0], 'DOUBLE')}) AS INT)", null_if_any(t.Int(8), list(values)))


def _float(name: str, template: str, count: int = 1) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        sql = template.format(*(as_spark(value, "DOUBLE") for value in values))
        return typed(sql, null_if_any(FLOAT64, list(values)))

    return Function(name, (count, count), ("float",), build)


FUNCTIONS: tuple[Function, ...] = (
    *map(_rounding, ("round", "floor", "ceil", "trunc", "roundBankers")),
    Function("abs", (1, 1), ("number",), _abs),
    Function("sign", (1, 1), ("number",), _sign),
    _float("sqrt", "sqrt({0})"),
    _float("cbrt", "cbrt({0})"),
    _float("exp", "exp({0})"),
    _float("log", "if({0} <= 0, if({0} = 0, double('-Infinity'), double('NaN')), ln({0}))"),
    _float("log2", "if({0} <= 0, if({0} = 0, double('-Infinity'), double('NaN')), log2({0}))"),
    _float("log10", "if({0} <= 0, if({0} = 0, double('-Infinity'), double('NaN')), log10({0}))"),
    _float("pow", "pow({0}, {1})", 2),
    _float("degrees", "degrees({0})"),
    _float("radians", "radians({0})"),
    *(_float(name, f"{name}({{0}})") for name in ("sin", "cos", "tan", "asin", "acos", "atan")),
    Function("pi", (0, 0), ("any",), lambda values: typed("pi()", FLOAT64)),
    Function("e", (0, 0), ("any",), lambda values: typed("e()", FLOAT64)),
    Function("rand", (0, 1), ("any",), lambda v: typed("CAST(floor(rand() * 4294967296D) AS BIGINT)", UINT32)),
    Function("generateUUIDv4", (0, 1), ("any",), lambda values: typed("uuid()", t.UUID())),
)
ALIASES = {"ceiling": "ceil", "truncate": "trunc", "power": "pow", "ln": "log", "rand32": "rand"}
ANY_CASE = (
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
)
