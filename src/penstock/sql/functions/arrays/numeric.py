"""Arithmetic on arrays of numbers: range, arrayDotProduct, L2Norm, L2Distance, cosineDistance

`ARRAY_FOLDS` holds the folds that may also take a lambda (arraySum, arrayMin, arrayCumSum …). Elements that may be
NULL are refused where ClickHouse refuses them. Norms and distances compute in doubles; elements for which ClickHouse
computes otherwise (Float32, decimals) are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.common_type import arithmetic_type, supertype
from penstock.sql.expr.overflow import TWO_64, add_wrapping, int64_arithmetic, lowest_64_bits
from penstock.sql.expr.spark_types import value_default, value_type
from penstock.sql.expr.typed import TypedSql, as_spark, typed_sql
from penstock.sql.functions.arguments import check_order, checked_size, element_type, zip_arrays
from penstock.sql.functions.function import FLOAT64, BadArguments, Build, Function
from penstock.sql.operators.decimal_arithmetic import decimal_arithmetic


def array_sum_type(of: Type) -> Type:
    """The type of a sum of elements. Raises BadArguments for elements that cannot be added."""
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


def number_element_type(value: TypedSql) -> Type:
    """The type of elements that are numbers and never NULL. Raises BadArguments for others."""
    of = element_type(value)
    if t.is_nullable(of):
        raise BadArguments(
            f"elements of {of} cannot be added", "arrayFilter(x -> x IS NOT NULL, …), then assumeNotNull"
        )
    array_sum_type(t.unwrap_type(of))
    return t.unwrap_type(of)


def _add_element(of: Type, total: str, each: str) -> str:
    """The sum with one more element; 64-bit integers wrap around."""
    spark = value_type(of)
    if of == t.Int(64):
        return add_wrapping(total, each)
    if of == t.Int(64, signed=False):
        return f"CAST(pmod({total} + {each}, {TWO_64}) AS {spark})"
    return f"CAST({total} + {each} AS {spark})"


def _sum(values: Sequence[TypedSql]) -> TypedSql:
    given = number_element_type(values[0])
    of = array_sum_type(given)
    spark = value_type(of)
    narrow = isinstance(given, t.Int) and given.bits < 64
    element = "coalesce(` x`, 0)"
    step = f"CAST(` a` + {element} AS {spark})" if narrow else _add_element(of, "` a`", element)
    array = as_spark(values[0], "ARRAY<INT>") if isinstance(given, t.Bool) else values[0].sql
    return typed_sql(f"aggregate({array}, CAST(0 AS {spark}), (` a`, ` x`) -> {step})", of)


def _average(values: Sequence[TypedSql]) -> TypedSql:
    of = number_element_type(values[0])
    if isinstance(of, t.Decimal):
        return _average_of_decimals(values)
    array = as_spark(values[0], "ARRAY<INT>") if isinstance(of, t.Bool) else values[0].sql
    total = f"aggregate({array}, 0D, (` a`, ` x`) -> ` a` + CAST(` x` AS DOUBLE))"
    if isinstance(of, t.Int) and of.bits == 64:
        total = f"CAST({_sum(values).sql} AS DOUBLE)"
    return typed_sql(f"if(size({array}) = 0, 0D, {total} / size({array}))", FLOAT64)


def _average_of_decimals(values: Sequence[TypedSql]) -> TypedSql:
    """The digits behind the scale of the elements are cut off before the average becomes a double."""
    total, count = _sum(values), TypedSql(f"size({values[0].sql})", t.Int(32), "INT")
    of = arithmetic_type("/", total.bare, count.bare)
    if not isinstance(of, t.Decimal):
        raise BadArguments(f"`arrayAvg` of {values[0].type} is not supported", "CAST(… AS Array(Float64))")
    average = decimal_arithmetic("/", (total, count), of, of).sql
    return typed_sql(f"if({count.sql} = 0, 0D, CAST({average} AS DOUBLE))", FLOAT64)


def _product(values: Sequence[TypedSql]) -> TypedSql:
    """Integers are multiplied in 64 bits, where they wrap around, and only the result is made a double."""
    of = number_element_type(values[0])
    if isinstance(of, t.Decimal):
        raise BadArguments("`arrayProduct` of decimals is not supported", "CAST(… AS Array(Float64))")
    if isinstance(of, t.Int):
        return typed_sql(f"if(size({values[0].sql}) = 0, 0D, CAST({_whole_product(values[0], of)} AS DOUBLE))", FLOAT64)
    array = as_spark(values[0], "ARRAY<DOUBLE>")
    return typed_sql(f"if(size({array}) = 0, 0D, aggregate({array}, 1D, (` a`, ` x`) -> ` a` * ` x`))", FLOAT64)


def _whole_product(value: TypedSql, of: t.Int) -> str:
    wide = value_type(of).startswith("DECIMAL")
    each = TypedSql(lowest_64_bits("` x`") if wide else "` x`", t.Int(64), "BIGINT" if wide else value_type(of))
    step = int64_arithmetic("*", TypedSql("` a`", t.Int(64), "BIGINT"), each).sql
    bits = f"aggregate({value.sql}, 1L, (` a`, ` x`) -> {step})"
    return bits if of.signed else f"pmod(CAST({bits} AS DECIMAL(20,0)), {TWO_64})"


def _extreme_build(name: str, spark: str) -> Build:
    """NaN is the extreme only of an array without another number."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        of = element_type(values[0])
        if of == t.Tuple(()) or t.unwrap_type(of) == t.Tuple(()):
            raise BadArguments(f"`{name}` needs elements with a type")
        check_order(of)
        array = values[0].sql
        found = f"{spark}({array})"
        if isinstance(t.unwrap_type(of), t.Float) and name == "arrayMax":
            found = f"coalesce({spark}(filter({array}, ` x` -> NOT isnan(` x`))), {found})"
        if t.is_nullable(of):
            return typed_sql(found, of)
        return typed_sql(f"coalesce({found}, {value_default(t.unwrap_type(of))})", t.unwrap_type(of))

    return build


def _running_sum_build(total: str) -> Build:
    """Each element's sum of the elements up to it. `total` is a template of the sum and its Spark type."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        given = number_element_type(values[0])
        of = array_sum_type(given)
        spark = value_type(of)
        array = as_spark(values[0], "ARRAY<INT>") if isinstance(given, t.Bool) else values[0].sql
        last = f"coalesce(try_element_at(` a`, -1), CAST(0 AS {spark}))"
        narrow = isinstance(given, t.Int) and given.bits < 64
        more = f"CAST({last} + ` x` AS {spark})" if narrow else _add_element(of, last, "` x`")
        step = f"array_append(` a`, {total.format(more, spark)})"
        rows = f"aggregate({array}, CAST(array() AS ARRAY<{spark}>), (` a`, ` x`) -> {step})"
        return typed_sql(rows, t.Array(of))

    return build


def _difference(values: Sequence[TypedSql]) -> TypedSql:
    """The difference of each element to the one before it, 0 for the first; 64-bit integers wrap around."""
    of = number_element_type(values[0])
    if isinstance(of, t.Bool):
        raise BadArguments("`arrayDifference` of Bool is not supported", "CAST(… AS Array(UInt8))")
    result = of if isinstance(of, t.Decimal) else FLOAT64 if isinstance(of, t.Float) else arithmetic_type("-", of, of)
    assert result is not None
    spark = value_type(result)

    whole = isinstance(of, t.Int) and of.bits == 64
    wide = "DECIMAL(38,0)" if whole else spark

    def formula(a: str) -> str:
        change = f"CAST(` x` AS {wide}) - CAST(try_element_at({a}, nullif(` i`, 0)) AS {wide})"
        if whole:
            change = f"pmod({change} + {2**63}, {2**64}) - {2**63}"
        return f"transform({a}, (` x`, ` i`) -> if(` i` = 0, CAST(0 AS {spark}), CAST({change} AS {spark})))"

    return typed_sql(bind_if_long(values[0].sql, formula), t.Array(result))


def _sequence_up(low: str, high: str, step: str) -> str:
    return f"if({low} >= {high}, array(), sequence({low}, {high} - 1, {step}))"


def _sequence_down(low: str, high: str, step: str) -> str:
    return f"if({low} <= {high}, array(), sequence({low}, {high} + 1, {step}))"


def _range(values: Sequence[TypedSql]) -> TypedSql:
    """The integers from the first argument, or 0, to below the last, by the step in the third."""
    of = supertype([value.type for value in values])
    if of is None or not isinstance(t.unwrap_type(of), t.Int):
        raise BadArguments("`range` needs integers")
    step = values[2].constant if len(values) > 2 else 1
    if step == 0:
        raise BadArguments("the step of `range` must not be 0")
    low = as_spark(values[0], "BIGINT") if len(values) > 1 else "0L"
    high = as_spark(values[1] if len(values) > 1 else values[0], "BIGINT")
    shown = as_spark(values[2], "BIGINT") if len(values) > 2 else "1L"
    up, down = _sequence_up(low, high, shown), _sequence_down(low, high, shown)
    if isinstance(step, int):
        whole = checked_size(up if step > 0 else down, _distance(low, high, step), values)
    else:
        size = f"abs(CAST({high} AS DECIMAL(20,0)) - CAST({low} AS DECIMAL(20,0))) DIV abs({shown})"
        whole = checked_size(f"if({shown} > 0, {up}, {down})", size, values)
        whole = f"if({shown} = 0, raise_error('the step of range is 0'), {whole})"
    if len(values) == 1 and isinstance(values[0].bare, t.Int) and values[0].bare.signed:
        whole = f"if({high} < 0, raise_error('the end of range is negative'), {whole})"
    result = t.Array(t.unwrap_type(of))
    missing = " OR ".join(f"{value.sql} IS NULL" for value in values if value.nullable)
    if missing:
        whole = f"if({missing}, raise_error('range of NULL'), {whole})"
    return typed_sql(f"CAST({whole} AS {value_type(result)})", result)


def _distance(low: str, high: str, step: int) -> str:
    """SQL of the number of steps from one BIGINT to another; of any two, without overflow."""
    apart = f"CAST({high} AS DECIMAL(20,0))" + (f" - CAST({low} AS DECIMAL(20,0))" if low != "0L" else "")
    return apart if step == 1 else f"({apart}) DIV {step}"


def _dot_product(values: Sequence[TypedSql]) -> TypedSql:
    """Integers wrap around in the type of a product."""
    of = arithmetic_type("*", number_element_type(values[0]), number_element_type(values[1]))
    if not isinstance(of, (t.Int, t.Float)) or of == t.Int(64, signed=False):
        raise BadArguments(f"a product of {values[0].type} and {values[1].type} is not supported", "Array(Float64)")
    if isinstance(of, t.Float) and t.Float(32) in (number_element_type(values[0]), number_element_type(values[1])):
        raise BadArguments("a product of Float32 is not supported", "CAST(… AS Array(Float64))")
    spark, zero = ("DOUBLE", "0D") if isinstance(of, t.Float) else ("BIGINT", "0L")
    rows = zip_arrays([as_spark(value, f"ARRAY<{spark}>") for value in values])
    step = "` a` + ` r`.`0` * ` r`.`1`"
    if of == t.Int(64):
        sum_so_far, left, right = (TypedSql(sql, of, spark) for sql in ("` a`", "` r`.`0`", "` r`.`1`"))
        step = int64_arithmetic("+", sum_so_far, int64_arithmetic("*", left, right)).sql
    total = f"aggregate({rows}, {zero}, (` a`, ` r`) -> {step})"
    if isinstance(of, t.Float) or of.bits == 64:
        return typed_sql(total, of)
    wrapped = f"({total} & {2**of.bits - 1}L)"
    half = 2 ** (of.bits - 1)
    return typed_sql(f"CAST({f'(({wrapped} ^ {half}L) - {half}L)' if of.signed else wrapped} AS {value_type(of)})", of)


def _as_doubles(name: str, value: TypedSql) -> str:
    """The array as doubles. Raises BadArguments for decimals."""
    of = number_element_type(value)
    if isinstance(of, (t.Decimal, t.Bool)):
        raise BadArguments(f"`{name}` of elements of {of} is not supported", "CAST(… AS Array(Float64))")
    return as_spark(value, "ARRAY<DOUBLE>")


def _length(sql: str, arrays: Sequence[TypedSql]) -> TypedSql:
    """A length or distance, computed in doubles: a Float32 where the elements make one in ClickHouse."""
    if supertype([number_element_type(each) for each in arrays]) == t.Float(32):
        return typed_sql(f"CAST({sql} AS FLOAT)", t.Float(32))
    return typed_sql(sql, FLOAT64)


def _fold_sum(rows: str, each: str, step: str = "` a` + ") -> str:
    return f"aggregate({rows}, 0D, (` a`, ` x`) -> {step}{each})"


def _norm_function(kind: str) -> Function:
    name = f"{kind}Norm"
    return Function(name, (1, 1), ("array",), lambda v: _length(_NORMS[kind](_as_doubles(name, v[0])), v))


def _differences(name: str, values: Sequence[TypedSql]) -> str:
    rows = zip_arrays([_as_doubles(name, value) for value in values[:2]])
    return f"transform({rows}, ` r` -> ` r`.`0` - ` r`.`1`)"


def _distance_function(kind: str) -> Function:
    name = f"{kind}Distance"
    return Function(name, (2, 2), ("array",), lambda v: _length(_NORMS[kind](_differences(name, v)), v))


def _power_argument(value: TypedSql) -> str:
    number = value.constant
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not 1 <= number < 1e9:
        raise BadArguments("the power must be a literal number from 1")
    return f"{float(number)!r}D"


def _power_norm(rows: str, value: TypedSql) -> str:
    power = _power_argument(value)
    total = _fold_sum(rows, f"power(abs(` x`), {power})")
    return f"power({total}, 1D / {power})"


def _cosine_distance(values: Sequence[TypedSql]) -> TypedSql:
    """1 - cosine of the angle between two vectors; NaN if one of them is zero."""
    a, b = (_as_doubles("cosineDistance", value) for value in values)

    def dot(x: str, y: str) -> str:
        return f"aggregate(zip_with({x}, {y}, (` p`, ` q`) -> ` p` * ` q`), 0D, (` s`, ` v`) -> ` s` + ` v`)"

    same = f"if(size({a}) <> size({b}), raise_error('the arrays have different sizes'), 1D)"
    under = f"sqrt({dot(a, a)} * {dot(b, b)})"
    return _length(f"({same} - if({under} = 0, double('NaN'), {dot(a, b)} / nullif({under}, 0D)))", values)


ARRAY_FOLDS: Mapping[str, Build] = {
    "arraySum": _sum,
    "arrayMin": _extreme_build("arrayMin", "array_min"),
    "arrayMax": _extreme_build("arrayMax", "array_max"),
    "arrayAvg": _average,
    "arrayProduct": _product,
    "arrayCumSum": _running_sum_build("{0}"),
    "arrayCumSumNonNegative": _running_sum_build("greatest({0}, CAST(0 AS {1}))"),
    "arrayDifference": _difference,
}
_NORMS: Mapping[str, Callable[[str], str]] = {
    "L1": lambda rows: _fold_sum(rows, "abs(` x`)"),
    "L2": lambda rows: f"sqrt({_fold_sum(rows, '` x` * ` x`')})",
    "L2Squared": lambda rows: _fold_sum(rows, "` x` * ` x`"),
    "Linf": lambda rows: (
        f"aggregate({rows}, 0D, (` a`, ` x`) -> if(abs(` x`) > ` a` AND NOT isnan(` x`), abs(` x`), ` a`))"
    ),
}

FUNCTIONS: tuple[Function, ...] = (
    Function("range", (1, 3), ("integer",), _range),
    Function("arrayDotProduct", (2, 2), ("array",), _dot_product),
    *map(_norm_function, _NORMS),
    *map(_distance_function, _NORMS),
    Function(
        "LpNorm",
        (2, 2),
        ("array", "number"),
        lambda v: _length(_power_norm(_as_doubles("LpNorm", v[0]), v[1]), v[:1]),
    ),
    Function(
        "LpDistance",
        (3, 3),
        ("array", "array", "number"),
        lambda v: _length(_power_norm(_differences("LpDistance", v), v[2]), v[:2]),
    ),
    Function("cosineDistance", (2, 2), ("array",), _cosine_distance),
)
ALIASES: dict[str, str] = {
    **{f"norm{kind}": f"{kind}Norm" for kind in (*_NORMS, "Lp")},
    **{f"distance{kind}": f"{kind}Distance" for kind in (*_NORMS, "Lp")},
}
ANY_CASE: tuple[str, ...] = tuple(ALIASES)
