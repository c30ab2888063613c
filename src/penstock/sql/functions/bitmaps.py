"""Bitmaps: bitmapBuild, bitmapToArray, bitmapCardinality, bitmapContains, bitmapAnd, bitmapSubsetInRange

A bitmap is the state of `groupBitmap`, which Spark holds as an array of the different numbers, in any order. Two
bitmaps have one type of numbers, or the call is refused, as in ClickHouse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.model import types as t
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import TypedSql, nullable_if_any, typed_sql
from penstock.sql.functions.arguments import element_type
from penstock.sql.functions.function import UINT8, UINT64, BadArguments, Function
from penstock.sql.stored_types import spark_type

_LAST_PLACE = 10**9
"""More than an array has; Spark's `slice` adds two of them as INTs."""
_NUMBERS = tuple(t.Int(bits, signed) for bits in (8, 16, 32, 64) for signed in (False, True))


def _number_type(bitmap: TypedSql) -> t.Int:
    """The type of a bitmap's numbers. Raises BadArguments for a value that is no bitmap."""
    state = bitmap.bare
    of = state.arguments[0] if isinstance(state, t.AggregateFunction) and state.function == "groupBitmap" else None
    if not isinstance(of, t.Int) or of not in _NUMBERS:
        raise BadArguments(f"expected a bitmap, this is {bitmap.type}", "bitmapBuild(array), or groupBitmapState(x)")
    return of


def _check_pair(values: Sequence[TypedSql]) -> None:
    """Raises BadArguments for two bitmaps of different numbers."""
    one, other = map(_number_type, values)
    if one != other:
        raise BadArguments(f"both bitmaps must hold the same type, these are of {one} and {other}")


def _bitmap(sql: str, of: t.Int) -> TypedSql:
    state = t.AggregateFunction("groupBitmap", (of,))
    return TypedSql(sql, state, spark_type(state))


def _unsigned_numbers(bitmap: TypedSql) -> tuple[str, str]:
    """The numbers as ClickHouse compares them, by their bits, so that negative ones come last; and their Spark type."""
    of = _number_type(bitmap)
    if not of.signed:
        return bitmap.sql, value_type(of)
    spark = "DECIMAL(20,0)" if of.bits == 64 else "BIGINT"
    return f"transform({bitmap.sql}, ` x` -> CAST({_unsigned('` x`', of)} AS {spark}))", spark


def _unsigned(number: str, of: t.Int) -> str:
    return f"if({number} < 0, {number} + {2**of.bits}, {number})" if of.signed else number


def _ascending(bitmap: str, of: t.Int) -> str:
    """All numbers of an array, the negative ones last."""
    if not of.signed:
        return f"array_sort({bitmap})"
    return bind_if_long(
        f"array_sort({bitmap})",
        lambda b: f"concat(filter({b}, ` x` -> ` x` >= 0), filter({b}, ` x` -> ` x` < 0))",
    )


# ------------------------------------------------------------------------------------------- one bitmap


def _build(values: Sequence[TypedSql]) -> TypedSql:
    of = element_type(values[0])
    if not isinstance(of, t.Int) or of not in _NUMBERS:
        raise BadArguments(f"`bitmapBuild` needs an array of integers, this is {values[0].type}", "toUInt32(…)")
    return _bitmap(f"array_distinct({values[0].sql})", of)


def _to_array(values: Sequence[TypedSql]) -> TypedSql:
    of = _number_type(values[0])
    return typed_sql(_ascending(values[0].sql, of), t.Array(of))


def _cardinality(values: Sequence[TypedSql]) -> TypedSql:
    return _size(values[0].sql, _number_type(values[0]))


def _least(values: Sequence[TypedSql]) -> TypedSql:
    """Of an empty bitmap the greatest number of 32 or 64 bits."""
    return _end("array_min", values[0], 2 ** max(_number_type(values[0]).bits, 32) - 1)


def _greatest(values: Sequence[TypedSql]) -> TypedSql:
    return _end("array_max", values[0], 0)


def _end(function: str, bitmap: TypedSql, of_none: int) -> TypedSql:
    spark = "DECIMAL(20,0)" if _number_type(bitmap).bits == 64 else "BIGINT"
    found = f"CAST({function}({_unsigned_numbers(bitmap)[0]}) AS {spark})"
    return TypedSql(f"coalesce({found}, CAST({of_none} AS {spark}))", UINT64, spark)


def _contains(values: Sequence[TypedSql]) -> TypedSql:
    """No number that the type of the bitmap does not hold is in it; a negative one is its 64 bits."""
    number = values[1]
    if not isinstance(number.bare, (t.Bool, t.Int)) or (isinstance(number.bare, t.Int) and number.bare.bits > 64):
        raise BadArguments(f"`bitmapContains` needs an integer of up to 64 bits, this is {number.type}")
    numbers, spark = _unsigned_numbers(values[0])
    wide = f"CAST({number.sql} AS DECIMAL(20,0))"
    if isinstance(number.bare, t.Int):
        wide = f"CAST({_unsigned(wide, t.Int(64, number.bare.signed))} AS DECIMAL(20,0))"
    found = f"coalesce(array_contains({numbers}, try_cast({wide} AS {spark})), false)"
    sql = f"if({number.sql} IS NULL, NULL, {found})" if number.nullable else found
    return TypedSql(sql, nullable_if_any(UINT8, [number]), "BOOLEAN")


def _bounds(values: Sequence[TypedSql]) -> tuple[TypedSql, TypedSql]:
    """The second and third argument. Raises BadArguments unless they are unsigned integers without NULL."""
    for value in values[1:]:
        is_unsigned = isinstance(value.bare, t.Int) and not value.bare.signed and value.bare.bits <= 64
        if not is_unsigned or value.nullable:
            raise BadArguments(f"the bounds must be unsigned integers, this is {value.type}", "toUInt32(…)")
    return values[1], values[2]


def _in_range(values: Sequence[TypedSql]) -> TypedSql:
    """The numbers from the first bound on and below the second one."""
    of, (least, end) = _number_type(values[0]), _bounds(values)
    number = _unsigned("` x`", of)
    test = f"{number} >= {_number(least)} AND {number} < {_number(end)}"
    return _bitmap(f"filter({values[0].sql}, ` x` -> {test})", of)


def _first_from(values: Sequence[TypedSql]) -> TypedSql:
    """The least numbers from the first bound on, as many as the second one says."""
    of, (least, most) = _number_type(values[0]), _bounds(values)
    reached = f"filter({values[0].sql}, ` x` -> {_unsigned('` x`', of)} >= {_number(least)})"
    return _bitmap(f"slice({_ascending(reached, of)}, 1, {_place(most)})", of)


def _part(values: Sequence[TypedSql]) -> TypedSql:
    """So many numbers, in ascending order, after so many."""
    of, (before, most) = _number_type(values[0]), _bounds(values)
    return _bitmap(f"slice({_ascending(values[0].sql, of)}, {_place(before)} + 1, {_place(most)})", of)


def _number(bound: TypedSql) -> str:
    """A bound as a number of Spark's; a condition, which is a UInt8 here, is none."""
    return f"CAST({bound.sql} AS INT)" if bound.spark == "BOOLEAN" else bound.sql


def _place(count: TypedSql) -> str:
    """A count of numbers as an INT."""
    if isinstance(count.constant, int):
        return str(min(count.constant, _LAST_PLACE))
    return f"CAST(least({_number(count)}, {_LAST_PLACE}) AS INT)"


# ------------------------------------------------------------------------------------------- two bitmaps


def _pair_function(name: str, formula: Callable[[str, str], str], result: Callable[[str, t.Int], TypedSql]) -> Function:
    """A function of two bitmaps: `formula` is SQL of their SQL, of which `result` makes the value, given the type of
    the numbers."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        _check_pair(values)
        return result(formula(values[0].sql, values[1].sql), _number_type(values[0]))

    return Function(name, (2, 2), ("bitmap",), build)


def _truth(sql: str, _of: t.Int) -> TypedSql:
    return TypedSql(sql, UINT8, "BOOLEAN")


def _size(sql: str, _of: t.Int) -> TypedSql:
    return TypedSql(f"size({sql})", UINT64, "INT")


def _in_either(one: str, other: str) -> str:
    return f"array_union({one}, {other})"


def _in_one(one: str, other: str) -> str:
    return f"concat(array_except({one}, {other}), array_except({other}, {one}))"


FUNCTIONS: tuple[Function, ...] = (
    Function("bitmapBuild", (1, 1), ("array",), _build),
    Function("bitmapToArray", (1, 1), ("bitmap",), _to_array),
    Function("bitmapCardinality", (1, 1), ("bitmap",), _cardinality),
    Function("bitmapMin", (1, 1), ("bitmap",), _least),
    Function("bitmapMax", (1, 1), ("bitmap",), _greatest),
    Function("bitmapContains", (2, 2), ("bitmap", "integer"), _contains),
    _pair_function("bitmapHasAny", lambda one, other: f"arrays_overlap({one}, {other})", _truth),
    _pair_function("bitmapHasAll", lambda one, other: f"(size(array_except({other}, {one})) = 0)", _truth),
    _pair_function("bitmapAnd", lambda one, other: f"array_intersect({one}, {other})", _bitmap),
    _pair_function("bitmapOr", _in_either, _bitmap),
    _pair_function("bitmapXor", _in_one, _bitmap),
    _pair_function("bitmapAndnot", lambda one, other: f"array_except({one}, {other})", _bitmap),
    _pair_function("bitmapAndCardinality", lambda one, other: f"array_intersect({one}, {other})", _size),
    _pair_function("bitmapOrCardinality", _in_either, _size),
    _pair_function("bitmapXorCardinality", _in_one, _size),
    _pair_function("bitmapAndnotCardinality", lambda one, other: f"array_except({one}, {other})", _size),
    Function("bitmapSubsetInRange", (3, 3), ("bitmap", "integer", "integer"), _in_range),
    Function("bitmapSubsetLimit", (3, 3), ("bitmap", "integer", "integer"), _first_from),
    Function("subBitmap", (3, 3), ("bitmap", "integer", "integer"), _part),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
