"""Numbers out of arrays of numbers: sums, extremes, products, running sums, norms, distances, range.

In: `Typed` arguments. Out: rows of the table, and the folds that may be of a lambda. Called by `functions.table`
and lambdas. Invariant: elements that may be NULL are refused where ClickHouse refuses them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.functions.elements import check_order, element_type, side_by_side
from penstock.sql.functions.function import FLOAT64, BadArguments, Build, Function
from penstock.sql.let import let
from penstock.sql.supertypes import arithmetic, supertype
from penstock.sql.typed import Typed, as_spark, typed
from penstock.sql.value_types import value_type, value_zero


def array_sum_type(of: Type) -> Type:
    """The type of a sum of elements."""
    match of:
        case t.Int(_, signed):
            return t.Int(64, signed)
        case t.Bool():
            return t.Int(64, signed=False)
        case t.Float():
            return t.Float(64)
        case t.Decimal(_, scale):
            return t.Decimal(38, scale)
        case _:
            raise BadArguments(f"elements of {of} cannot be added")


def _numbers(value: Typed) -> Type:
    """The type of elements that are numbers and never NULL."""
    of = element_type(value)
    if t.nullable(of):
        raise BadArguments(
            f"elements of {of} cannot be added", "arrayFilter(x -> x IS NOT NULL, …), then assumeNotNull"
        )
    array_sum_type(t.bare(of))
    return t.bare(of)


def _sum(values: Sequence[Typed]) -> Typed:
    of = array_sum_type(_numbers(values[0]))
    spark = value_type(of)
    added = f"(` a`, ` x`) -> CAST(` a` + coalesce(` x`, 0) AS {spark})"
    array = as_spark(values[0], "ARRAY<INT>") if isinstance(_numbers(values[0]), t.Bool) else values[0].sql
    return typed(f"aggregate({array}, CAST(0 AS {spark}), {added})", of)


def _average(values: Sequence[Typed]) -> Typed:
    of = _numbers(values[0])
    if isinstance(of, t.Decimal):
        raise BadArguments("`arrayAvg` of decimals is not supported", "CAST(… AS Array(Float64))")
    array = as_spark(values[0], "ARRAY<INT>") if isinstance(of, t.Bool) else values[0].sql
    total = f"aggregate({array}, 0D, (` a`, ` x`) -> ` a` + CAST(` x` AS DOUBLE))"
    return typed(f"if(size({array}) = 0, 0D, {total} / size({array}))", FLOAT64)


def _product(values: Sequence[Typed]) -> Typed:
    if isinstance(_numbers(values[0]), t.Decimal):
        raise BadArguments("`arrayProduct` of decimals is not supported", "CAST(… AS Array(Float64))")
    array = as_spark(values[0], "ARRAY<DOUBLE>")
    return typed(f"if(size({array}) = 0, 0D, aggregate({array}, 1D, (` a`, ` x`) -> ` a` * ` x`))", FLOAT64)


def _extreme(name: str, spark: str) -> Build:
    """NaN is the extreme only of an array without another number."""

    def build(values: Sequence[Typed]) -> Typed:
        of = element_type(values[0])
        if of == t.Tuple(()) or t.bare(of) == t.Tuple(()):
            raise BadArguments(f"`{name}` needs elements with a type")
        check_order(of)
        array = values[0].sql
        found = f"{spark}({array})"
        if isinstance(t.bare(of), t.Float) and name == "arrayMax":
            found = f"coalesce({spark}(filter({array}, ` x` -> NOT isnan(` x`))), {found})"
        if t.nullable(of):
            return typed(found, of)
        return typed(f"coalesce({found}, {value_zero(t.bare(of))})", t.bare(of))

    return build


def _running(total: str) -> Build:
    """Each place's sum of what is up to it; `total` is written of `{}`, the sum."""

    def build(values: Sequence[Typed]) -> Typed:
        given = _numbers(values[0])
        of = array_sum_type(given)
        spark = value_type(of)
        array = as_spark(values[0], "ARRAY<INT>") if isinstance(given, t.Bool) else values[0].sql
        last = f"coalesce(try_element_at(` a`, -1), CAST(0 AS {spark}))"
        added = total.format(f"CAST({last} + ` x` AS {spark})", spark)
        rows = f"aggregate({array}, CAST(array() AS ARRAY<{spark}>), (` a`, ` x`) -> array_append(` a`, {added}))"
        return typed(rows, t.Array(of))

    return build


def _difference(values: Sequence[Typed]) -> Typed:
    of = _numbers(values[0])
    if isinstance(of, t.Bool):
        raise BadArguments("`arrayDifference` of Bool is not supported", "CAST(… AS Array(UInt8))")
    result = of if isinstance(of, t.Decimal) else FLOAT64 if isinstance(of, t.Float) else arithmetic("-", of, of)
    assert result is not None
    spark = value_type(result)

    whole = isinstance(of, t.Int) and of.bits == 64
    wide = "DECIMAL(38,0)" if whole else spark

    def formula(a: str) -> str:
        change = f"CAST(` x` AS {wide}) - CAST(try_element_at({a}, nullif(` i`, 0)) AS {wide})"
        if whole:
            change = f"pmod({change} + {2**63}, {2**64}) - {2**63}"
        return f"transform({a}, (` x`, ` i`) -> if(` i` = 0, CAST(0 AS {spark}), CAST({change} AS {spark})))"

    return typed(let(values[0].sql, formula), t.Array(result))


def _range(values: Sequence[Typed]) -> Typed:
    of = supertype([value.type for value in values])
    if of is None or not isinstance(t.bare(of), t.Int):
        raise BadArguments("`range` needs integers")
    step = values[2].constant if len(values) > 2 else 1
    if not isinstance(step, int) or step == 0:
        raise BadArguments("the step of `range` must be a literal integer that is not 0")
    low = as_spark(values[0], "BIGINT") if len(values) > 1 else "0L"
    high = as_spark(values[1] if len(values) > 1 else values[0], "BIGINT")
    if step < 0:
        whole = f"if({low} <= {high}, array(), sequence({low}, {high} + 1, {step}L))"
    else:
        shown = as_spark(values[2], "BIGINT") if len(values) > 2 else "1L"
        whole = f"if({low} >= {high}, array(), sequence({low}, {high} - 1, {shown}))"
    if len(values) == 1 and isinstance(values[0].bare, t.Int) and values[0].bare.signed:
        whole = f"if({high} < 0, raise_error('the end of range is negative'), {whole})"
    result = t.Array(t.bare(of))
    missing = " OR ".join(f"{value.sql} IS NULL" for value in values if value.nullable)
    if missing:
        whole = f"if({missing}, raise_error('range of NULL'), {whole})"
    return typed(f"CAST({whole} AS {value_type(result)})", result)


def _doubles(name: str, value: Typed) -> str:
    """An array as doubles; ClickHouse counts Float32 in Float32."""
    of = _numbers(value)
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


def _dot(values: Sequence[Typed]) -> Typed:
    """Whole numbers wrap around in the type of a product."""
    of = arithmetic("*", _numbers(values[0]), _numbers(values[1]))
    if not isinstance(of, (t.Int, t.Float)) or of == t.Int(64, signed=False):
        raise BadArguments(f"a product of {values[0].type} and {values[1].type} is not supported", "Array(Float64)")
    if isinstance(of, t.Float) and t.Float(32) in (_numbers(values[0]), _numbers(values[1])):
        raise BadArguments("a product of Float32 is not supported", "CAST(… AS Array(Float64))")
    spark, zero = ("DOUBLE", "0D") if isinstance(of, t.Float) else ("BIGINT", "0L")
    rows = side_by_side([as_spark(value, f"ARRAY<{spark}>") for value in values])
    total = f"aggregate({rows}, {zero}, (` a`, ` r`) -> ` a` + ` r`.`0` * ` r`.`1`)"
    if isinstance(of, t.Float) or of.bits == 64:
        return typed(total, of)
    wrapped = f"({total} & {2**of.bits - 1}L)"
    half = 2 ** (of.bits - 1)
    return typed(f"CAST({f'(({wrapped} ^ {half}L) - {half}L)' if of.signed else wrapped} AS {value_type(of)})", of)


ARRAY_FOLDS: Mapping[str, Build] = {
    "arraySum": _sum,
    "arrayMin": _extreme("arrayMin", "array_min"),
    "arrayMax": _extreme("arrayMax", "array_max"),
    "arrayAvg": _average,
    "arrayProduct": _product,
    "arrayCumSum": _running("{0}"),
    "arrayCumSumNonNegative": _running("greatest({0}, CAST(0 AS {1}))"),
    "arrayDifference": _difference,
}
FUNCTIONS: tuple[Function, ...] = (
    Function("range", (1, 3), ("integer",), _range),
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
    Function("arrayDotProduct", (2, 2), ("array",), _dot),
)  # fmt: skip
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
