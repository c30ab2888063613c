"""Hyperbolic functions and their inverses, hypot, atan2, powers of 2 and 10, logarithms near 1.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: results are doubles that may
differ from ClickHouse's in the last digit, so the rows are not `exact`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.sql.functions.function import FLOAT64, Function
from penstock.sql.let import let
from penstock.sql.typed import Typed, as_spark, null_if_any, typed

_LARGE = "2.68435456E8D"
"""From here on x * x + 1 is x * x; later it is infinite."""
_LN2 = "0.6931471805599453D"


def _of_one(name: str, formula: Callable[[str], str]) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        return typed(let(as_spark(values[0], "DOUBLE"), formula), null_if_any(FLOAT64, list(values)))

    return Function(name, (1, 1), ("float",), build, exact=False)


def _of_two(name: str, formula: Callable[[str, str], str]) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        a, b = (as_spark(value, "DOUBLE") for value in values)
        return typed(let(a, lambda x: let(b, lambda y: formula(x, y))), null_if_any(FLOAT64, list(values)))

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
    return f"if({x} = 0, {x}, sign({x}) * if({a} > {_LARGE}, ln({a}) + {_LN2}, {near}))"


def _acosh(x: str) -> str:
    near = f"log1p({x} - 1 + sqrt(2 * ({x} - 1) + ({x} - 1) * ({x} - 1)))"
    far = f"ln(2 * {x} - 1 / ({x} + sqrt({x} * {x} - 1)))"
    chosen = f"CASE WHEN {x} > {_LARGE} THEN ln({x}) + {_LN2} WHEN {x} > 2 THEN {far} ELSE {near} END"
    return f"if({x} < 1, double('NaN'), {chosen})"


def _atanh(x: str) -> str:
    a = f"abs({x})"
    near = f"0.5D * log1p(2 * {a} + 2 * {a} * {a} / (1 - {a}))"
    far = f"0.5D * log1p(2 * {a} / (1 - {a}))"
    inside = f"if({x} = 0, {x}, sign({x}) * if({a} < 0.5D, {near}, {far}))"
    edge = f"if({a} = 1, {x} * double('Infinity'), double('NaN'))"
    return f"CASE WHEN {a} < 1 THEN {inside} WHEN {x} IS NOT NULL THEN {edge} END"


FUNCTIONS: tuple[Function, ...] = (
    *(_of_one(name, f"{name}({{}})".format) for name in ("sinh", "cosh", "tanh")),
    _of_one("asinh", _asinh),
    _of_one("acosh", _acosh),
    _of_one("atanh", _atanh),
    _of_one("log1p", _log1p),
    _of_one("exp2", "pow(2D, {})".format),
    _of_one("exp10", "pow(10D, {})".format),
    _of_two("atan2", _atan2),
    _of_two("hypot", "hypot({}, {})".format),
)
ALIASES: dict[str, str] = {}
ANY_CASE = ("atan2",)
