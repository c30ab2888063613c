"""Norms and distances of arrays of numbers.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: counted in doubles; of elements
for which ClickHouse counts otherwise they are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from penstock.model import types as t
from penstock.sql.functions.array_numbers import numbers
from penstock.sql.functions.elements import side_by_side
from penstock.sql.functions.function import FLOAT64, BadArguments, Function
from penstock.sql.typed import Typed, as_spark, typed


def _doubles(name: str, value: Typed) -> str:
    """An array as doubles; ClickHouse counts Float32 in Float32."""
    of = numbers(value)
    if isinstance(of, (t.Decimal, t.Bool)) or of == t.Float(32):
        raise BadArguments(f"`{name}` of elements of {of} is not supported", "CAST(… AS Array(Float64))")
    return as_spark(value, "ARRAY<DOUBLE>")


def _folded(rows: str, each: str, step: str = "` a` + ") -> str:
    return f"aggregate({rows}, 0D, (` a`, ` x`) -> {step}{each})"


_NORMS: Mapping[str, Callable[[str], str]] = {
    "L1": lambda rows: _folded(rows, "abs(` x`)"),
    "L2": lambda rows: f"sqrt({_folded(rows, '` x` * ` x`')})",
    "L2Squared": lambda rows: _folded(rows, "` x` * ` x`"),
    "Linf": lambda rows: f"aggregate({rows}, 0D, (` a`, ` x`) -> greatest(` a`, abs(` x`)))",
}


def _norm(kind: str) -> Function:
    name = f"{kind}Norm"
    return Function(name, (1, 1), ("array",), lambda v: typed(_NORMS[kind](_doubles(name, v[0])), FLOAT64))


def _gaps(name: str, values: Sequence[Typed]) -> str:
    rows = side_by_side([_doubles(name, value) for value in values[:2]])
    return f"transform({rows}, ` r` -> ` r`.`0` - ` r`.`1`)"


def _distance(kind: str) -> Function:
    name = f"{kind}Distance"
    return Function(name, (2, 2), ("array",), lambda v: typed(_NORMS[kind](_gaps(name, v)), FLOAT64))


def _power(value: Typed) -> str:
    number = value.constant
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not 1 <= number < 1e9:
        raise BadArguments("the power must be a literal number from 1")
    return f"{float(number)!r}D"


def _of_power(rows: str, value: Typed) -> str:
    power = _power(value)
    total = _folded(rows, f"power(abs(` x`), {power})")
    return f"power({total}, 1D / {power})"


def _cosine(values: Sequence[Typed]) -> Typed:
    a, b = (as_spark(value, "ARRAY<DOUBLE>") for value in values)
    for value in values:
        _doubles("cosineDistance", value)

    def dot(x: str, y: str) -> str:
        return f"aggregate(zip_with({x}, {y}, (` p`, ` q`) -> ` p` * ` q`), 0D, (` s`, ` v`) -> ` s` + ` v`)"

    same = f"if(size({a}) <> size({b}), raise_error('the arrays have different sizes'), 1D)"
    under = f"sqrt({dot(a, a)} * {dot(b, b)})"
    return typed(f"({same} - if({under} = 0, double('NaN'), {dot(a, b)} / nullif({under}, 0D)))", FLOAT64)


FUNCTIONS: tuple[Function, ...] = (
    *map(_norm, _NORMS),
    *map(_distance, _NORMS),
    Function(
        "LpNorm", (2, 2), ("array", "number"),
        lambda v: typed(_of_power(_doubles("LpNorm", v[0]), v[1]), FLOAT64),
    ),
    Function(
        "LpDistance", (3, 3), ("array", "array", "number"),
        lambda v: typed(_of_power(_gaps("LpDistance", v), v[2]), FLOAT64),
    ),
    Function("cosineDistance", (2, 2), ("array",), _cosine),
)  # fmt: skip
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
