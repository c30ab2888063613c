"""Arrays without lambdas: element, has, distinct, slices, sums, joins to text.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: places count from
1, from the end where negative; a place outside gives the element type's zero value.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.model.types import Type, nullable
from penstock.sql.conversion_texts import as_text
from penstock.sql.functions.function import MANY, STRING, UINT8, UINT32, UINT64, BadArguments, Function, simple
from penstock.sql.supertypes import supertype
from penstock.sql.typed import NOTHING, Typed, as_spark, typed
from penstock.sql.value_types import value_type, value_zero


def element_type(value: Typed) -> Type:
    """The type of an array's elements. Raises BadArguments for what is no array."""
    if not isinstance(value.bare, t.Array):
        raise BadArguments(f"expected an Array, this is {value.type}")
    return value.bare.of


def element(values: Sequence[Typed]) -> Typed:
    """`array[place]` or `map[key]`."""
    value, key = values
    if isinstance(value.bare, t.Map):
        of = value.bare.value
        found = f"try_element_at({value.sql}, {as_spark(key, value_type(value.bare.key))})"
    elif isinstance(value.bare, t.Array):
        of = value.bare.of
        place = as_spark(key, "INT")
        found = f"try_element_at({value.sql}, nullif({place}, 0))"
    else:
        raise BadArguments(f"`[…]` needs an Array or a Map, this is {value.type}")
    sql = found if nullable(of) else f"coalesce({found}, {value_zero(of)})"
    return typed(sql, of)


def _both(values: Sequence[Typed]) -> tuple[str, str, Type]:
    """An array and a value as one element type."""
    of = supertype((element_type(values[0]), values[1].type))
    if of is None:
        raise BadArguments(f"{values[0].type} cannot hold {values[1].type}")
    return as_spark(values[0], value_type(t.Array(of))), as_spark(values[1], value_type(of)), of


def _has(values: Sequence[Typed]) -> Typed:
    array, value, _ = _both(values)
    return Typed(f"exists({array}, ` x` -> ` x` <=> {value})", UINT8, "BOOLEAN")


def _index_of(values: Sequence[Typed]) -> Typed:
    array, value, _ = _both(values)
    return Typed(f"CAST(coalesce(array_position({array}, {value}), 0) AS INT)", UINT64, "INT")


def _pushed(name: str, template: str) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        array, value, of = _both(values)
        return typed(template.format(array, value), t.Array(of))

    return Function(name, (2, 2), ("array", "any"), build)


def _same(name: str, template: str) -> Function:
    """An array to an array of the same elements."""
    return simple(name, "array", template, lambda values: values[0].bare)


def _sets(name: str, spark: str, test: str) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        of = supertype([value.type for value in values])
        if of is None:
            raise BadArguments("the arrays have no common type")
        shown = [as_spark(value, value_type(of)) for value in values]
        sql = shown[0]
        for other in shown[1:]:
            sql = f"{spark}({sql}, {other})"
        return Typed(sql, UINT8, "BOOLEAN") if test else typed(sql, of)

    return Function(name, (2, 2 if test else MANY), ("array",), build)


def _has_all(values: Sequence[Typed]) -> Typed:
    of = supertype([value.type for value in values])
    if of is None:
        raise BadArguments("the arrays have no common type")
    a, b = (as_spark(value, value_type(of)) for value in values)
    return Typed(f"(size(array_except({b}, {a})) = 0)", UINT8, "BOOLEAN")


def array_sum_type(of: Type) -> Type:
    """The type of a sum of elements."""
    match of:
        case t.Int(_, signed):
            return t.Int(64, signed)
        case t.Bool():
            return UINT64
        case t.Float():
            return t.Float(64)
        case t.Decimal(_, scale):
            return t.Decimal(38, scale)
        case _:
            raise BadArguments(f"elements of {of} cannot be added")


def _sum(values: Sequence[Typed]) -> Typed:
    of = array_sum_type(t.bare(element_type(values[0])))
    spark = value_type(of)
    added = f"(` a`, ` x`) -> CAST(` a` + coalesce(` x`, 0) AS {spark})"
    return typed(f"aggregate({values[0].sql}, CAST(0 AS {spark}), {added})", of)


def _average(values: Sequence[Typed]) -> Typed:
    array_sum_type(t.bare(element_type(values[0])))
    array = values[0].sql
    total = f"aggregate({array}, 0D, (` a`, ` x`) -> ` a` + CAST(` x` AS DOUBLE))"
    return typed(f"if(size({array}) = 0, 0D, {total} / size({array}))", t.Float(64))


def _extreme(name: str, spark: str) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        of = element_type(values[0])
        return typed(f"coalesce({spark}({values[0].sql}), {value_zero(t.bare(of))})", t.bare(of))

    return Function(name, (1, 1), ("array",), build)


def _range(values: Sequence[Typed]) -> Typed:
    start = values[0] if len(values) > 1 else None
    low = as_spark(start, "BIGINT") if start else "0L"
    high = as_spark(values[1] if start else values[0], "BIGINT")
    step = as_spark(values[2], "BIGINT") if len(values) > 2 else "1L"
    of = supertype([value.type for value in values])
    if of is None or not isinstance(of, t.Int) or (len(values) > 2 and not isinstance(values[2].constant, int)):
        raise BadArguments("`range` needs integers, and a literal as its step")
    if len(values) > 2 and isinstance(values[2].constant, int) and values[2].constant <= 0:
        raise BadArguments("the step of `range` must be positive")
    whole = f"if({low} >= {high}, array(), sequence({low}, {high} - 1, {step}))"
    return typed(f"CAST({whole} AS {value_type(t.Array(of))})", t.Array(of))


def _slice(values: Sequence[Typed]) -> Typed:
    array, place = values[0].sql, as_spark(values[1], "INT")
    length = as_spark(values[2], "INT") if len(values) > 2 else f"size({array})"
    if not isinstance(values[1].constant, int) or values[1].constant == 0:
        raise BadArguments("the start of `arraySlice` must be a literal that is not 0")
    if len(values) > 2 and not (isinstance(values[2].constant, int) and values[2].constant >= 0):
        raise BadArguments("the length of `arraySlice` must be a literal from 0")
    if values[1].constant < 0:
        place = f"greatest({place}, - size({array}))"
        return Typed(
            f"if(size({array}) = 0, {array}, slice({array}, {place}, {length}))", values[0].type, values[0].spark
        )
    return Typed(f"slice({array}, {place}, {length})", values[0].type, values[0].spark)


def _join(values: Sequence[Typed]) -> Typed:
    of = element_type(values[0])
    shown = as_text(typed("` x`", of)) if of != NOTHING else "` x`"
    if shown is None:
        raise BadArguments(f"elements of {of} cannot be joined")
    separator = values[1].sql if len(values) > 1 else "''"
    return typed(f"array_join(transform({values[0].sql}, ` x` -> {shown}), {separator})", STRING)


def _make_array(values: Sequence[Typed]) -> Typed:
    if not values:
        return Typed("array()", t.Array(NOTHING), "ARRAY<VOID>")
    of = supertype([value.type for value in values])
    if of is None:
        raise BadArguments("the elements have no common type")
    return typed(f"array({', '.join(as_spark(value, value_type(of)) for value in values)})", t.Array(of))


def _flatten(values: Sequence[Typed]) -> Typed:
    of, sql = values[0].bare, values[0].sql
    while isinstance(of, t.Array) and isinstance(of.of, t.Array):
        of, sql = of.of, f"flatten({sql})"
    return typed(sql, of)


def _distance(values: Sequence[Typed]) -> Typed:
    a, b = (as_spark(value, "ARRAY<DOUBLE>") for value in values)

    def dot(x: str, y: str) -> str:
        return f"aggregate(zip_with({x}, {y}, (` p`, ` q`) -> ` p` * ` q`), 0D, (` s`, ` v`) -> ` s` + ` v`)"

    return typed(f"(1D - {dot(a, b)} / sqrt({dot(a, a)} * {dot(b, b)}))", t.Float(64))


FUNCTIONS: tuple[Function, ...] = (
    Function("arrayElement", (2, 2), ("any",), element),
    Function("has", (2, 2), ("array", "any"), _has, strict=False),
    Function("indexOf", (2, 2), ("array", "any"), _index_of),
    Function("hasAll", (2, 2), ("array",), _has_all),
    _sets("hasAny", "arrays_overlap", "test"),
    _sets("arrayIntersect", "array_intersect", ""),
    _pushed("arrayPushBack", "array_append({0}, {1})"),
    _pushed("arrayPushFront", "array_prepend({0}, {1})"),
    _same("arrayDistinct", "array_distinct(filter({0}, ` x` -> ` x` IS NOT NULL))"),
    _same("arrayReverse", "reverse({0})"),
    _same(
        "arrayCompact",
        "transform(filter(transform({0}, (` x`, ` i`) -> struct(` x` AS v, "
        "if(` i` = 0, false, ` x` <=> {0}[` i` - 1]) AS r)), "
        "` s` -> NOT ` s`.r), ` s` -> ` s`.v)",
    ),
    Function("arrayFlatten", (1, 1), ("array",), _flatten),
    Function("arraySlice", (2, 3), ("array", "integer"), _slice),
    Function("arrayStringConcat", (1, 2), ("array", "string"), _join),
    Function(
        "arrayConcat",
        (1, MANY),
        ("array",),
        lambda values: typed(f"concat({', '.join(v.sql for v in values)})", values[0].bare),
    ),
    Function("range", (1, 3), ("integer",), _range),
    Function("array", (0, MANY), ("any",), _make_array, strict=False),
    Function("cosineDistance", (2, 2), ("array",), _distance),
    simple(
        "arrayEnumerate",
        "array",
        "CAST(if(size({0}) = 0, array(), sequence(1, size({0}))) AS ARRAY<BIGINT>)",
        t.Array(UINT32),
    ),
)
ARRAY_FOLDS = {
    "arraySum": _sum,
    "arrayMin": _extreme("arrayMin", "array_min").build,
    "arrayMax": _extreme("arrayMax", "array_max").build,
    "arrayAvg": _average,
}
ALIASES = {"flatten": "arrayFlatten"}
ANY_CASE = ("flatten",)
