"""Mathematical functions: abs, sqrt, log, pow, sin, atan2, asinh, isNaN

Results of the hyperbolic functions and of those after them in the table may differ from ClickHouse's in the last digit,
so these rows are not `exact`. The inverse hyperbolic functions are computed as in fdlibm (s_asinh.c, e_acosh.c,
e_atanh.c).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.model import types as t
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import TypedSql, as_spark, nullable_if_any, typed_sql, unless_null
from penstock.sql.functions.function import FLOAT64, UINT8, BadArguments, Function

_LARGE_ARGUMENT = "2.68435456E8D"
"""2**28, as in fdlibm: from here on x * x + 1 equals x * x in doubles (and later overflows)."""
_LN2 = "0.6931471805599453D"


def _abs(values: Sequence[TypedSql]) -> TypedSql:
    of = UINT8 if isinstance(values[0].bare, t.Bool) else values[0].bare
    result = t.Int(of.bits, signed=False) if isinstance(of, t.Int) else of
    spark = value_type(result)
    return typed_sql(f"abs({as_spark(values[0], spark)})", nullable_if_any(result, list(values)))


def _sign(values: Sequence[TypedSql]) -> TypedSql:
    """-1, 0 or 1; 1 for NaN."""
    number = f"nanvl({values[0].sql}, 1)" if isinstance(values[0].bare, t.Float) else as_spark(values[0], "DOUBLE")
    return typed_sql(f"CAST(sign({number}) AS INT)", nullable_if_any(t.Int(8), list(values)))


def _float_function(name: str, template: str, count: int = 1) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        sql = template.format(*(as_spark(value, "DOUBLE") for value in values))
        return typed_sql(sql, nullable_if_any(FLOAT64, list(values)))

    return Function(name, (count, count), ("float",), build)


def _approximate_function(name: str, formula: Callable[[str], str]) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        return typed_sql(bind_if_long(as_spark(values[0], "DOUBLE"), formula), nullable_if_any(FLOAT64, list(values)))

    return Function(name, (1, 1), ("float",), build, exact=False)


def _approximate_function_of_two(name: str, formula: Callable[[str, str], str]) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        a, b = (as_spark(value, "DOUBLE") for value in values)
        return typed_sql(
            bind_if_long(a, lambda x: bind_if_long(b, lambda y: formula(x, y))), nullable_if_any(FLOAT64, list(values))
        )

    return Function(name, (2, 2), ("float",), build, exact=False)


def _atan2(y: str, x: str) -> str:
    """Spark's atan2 ignores the sign of zero."""
    left, right = (f"if(CAST({v} AS STRING) = '-0.0', -1D, 1D)" for v in (y, x))
    return f"if({y} = 0, {left} * atan2(0D, if({x} = 0, {right}, {x})), atan2({y}, {x}))"


def _log1p(x: str) -> str:
    """Spark's log1p is NULL where ClickHouse's is NaN or -inf."""
    return (
        f"CASE WHEN {x} > -1 THEN log1p({x}) WHEN {x} = -1 THEN double('-Infinity') "
        f"WHEN {x} IS NOT NULL THEN double('NaN') END"
    )


def _asinh(x: str) -> str:
    """Spark's asinh loses digits of small and of large negative numbers."""
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


def _float_test_function(name: str, template: str) -> Function:
    """A test for floats, which are the only numbers that pass or fail it; not for a Decimal."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        value = values[0]
        if isinstance(value.bare, t.Decimal):
            raise BadArguments(f"`{name}` of a Decimal is not defined", "toFloat64(…)")
        test = unless_null(template.format(as_spark(value, "DOUBLE")), value)
        return TypedSql(test, nullable_if_any(UINT8, [value]), "BOOLEAN")

    return Function(name, (1, 1), ("float",), build)


_POWER = "if({0} = 1D OR ({0} = -1D AND abs({1}) = double('Infinity')), if({1} IS NULL, NULL, 1D), pow({0}, {1}))"
"""C's, where Java's has NaN: a power of 1 is always 1."""

FUNCTIONS: tuple[Function, ...] = (
    Function("abs", (1, 1), ("number",), _abs),
    Function("sign", (1, 1), ("number",), _sign),
    _float_function("sqrt", "sqrt({0})"),
    _float_function("cbrt", "cbrt({0})"),
    _float_function("exp", "exp({0})"),
    _float_function("log", "if({0} <= 0, if({0} = 0, double('-Infinity'), double('NaN')), ln({0}))"),
    _float_function("log2", "if({0} <= 0, if({0} = 0, double('-Infinity'), double('NaN')), log2({0}))"),
    _float_function("log10", "if({0} <= 0, if({0} = 0, double('-Infinity'), double('NaN')), log10({0}))"),
    _float_function("pow", _POWER, 2),
    _float_function("degrees", "degrees({0})"),
    _float_function("radians", "radians({0})"),
    *(_float_function(name, f"{name}({{0}})") for name in ("sin", "cos", "tan", "asin", "acos", "atan")),
    Function("pi", (0, 0), ("any",), lambda values: typed_sql("pi()", FLOAT64)),
    Function("e", (0, 0), ("any",), lambda values: typed_sql("e()", FLOAT64)),
    *(_approximate_function(name, f"{name}({{}})".format) for name in ("sinh", "cosh")),
    # As ClickHouse computes it, with the digits that this loses near 0.
    _approximate_function("tanh", "(2D / (1D + exp(-2D * {})) - 1D)".format),
    _approximate_function("asinh", _asinh),
    _approximate_function("acosh", _acosh),
    _approximate_function("atanh", _atanh),
    _approximate_function("log1p", _log1p),
    _approximate_function("exp2", "pow(2D, {})".format),
    _approximate_function("exp10", "pow(10D, {})".format),
    _approximate_function_of_two("atan2", _atan2),
    _approximate_function_of_two("hypot", "hypot({}, {})".format),
    _float_test_function("isNaN", "isnan({0})"),
    _float_test_function("isFinite", "(abs({0}) < double('Infinity') AND NOT isnan({0}))"),
    _float_test_function("isInfinite", "(abs({0}) = double('Infinity'))"),
)
ALIASES: dict[str, str] = {"power": "pow", "ln": "log"}
ANY_CASE: tuple[str, ...] = (
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
    "atan2",
    "cos",
    "sin",
    "tan",
    "acos",
    "asin",
    "atan",
    "tanh",
    "degrees",
    "radians",
    "hypot",
)
