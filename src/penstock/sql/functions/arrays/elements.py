"""Array elements and slices: arrayElement, arraySlice, arrayPushBack, arrayConcat, arrayStringConcat

Positions count from 1, or from the end where negative; a position outside of the array gives the zero value of the
element type.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.conversions.strings import as_text
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.common_type import value_supertype
from penstock.sql.expr.dates import as_common_type
from penstock.sql.expr.spark_types import missing_value
from penstock.sql.expr.typed import NOTHING, NULL, TypedSql, as_spark, integer, is_null, nullable_if_any, typed_sql
from penstock.sql.functions.arguments import array_position, as_spark_int, cast_to_common_array, element_type
from penstock.sql.functions.arrays.sets import cast_array_and_value
from penstock.sql.functions.function import MAX_ARGUMENTS, STRING, BadArguments, Function, template_function
from penstock.sql.functions.maps import map_element

_NESTED = (t.Array, t.Map, t.Tuple)


def array_or_map_element(values: Sequence[TypedSql]) -> TypedSql:
    """`array[position]` or `map[key]`."""
    value, key = values
    if is_null(key):
        return NULL
    if isinstance(value.bare, t.Map):
        return map_element(value, key)
    if not isinstance(value.bare, t.Array):
        raise BadArguments(f"`[…]` needs an Array or a Map, this is {value.type}")
    of, found = value.bare.of, _element_at(value, key)
    sql = found if t.is_nullable(of) else f"coalesce({found}, {missing_value(of)})"
    if not key.nullable:
        return typed_sql(sql, of)
    if isinstance(t.unwrap_type(of), _NESTED):
        raise BadArguments(f"a position that may be NULL in {value.type} is not supported", "assumeNotNull")
    return typed_sql(f"if({key.sql} IS NULL, NULL, {sql})", nullable_if_any(of, [key]))


def _element_at(value: TypedSql, key: TypedSql) -> str:
    if not isinstance(key.bare, (t.Int, t.Bool)):
        raise BadArguments(f"a position in an Array must be an integer, this is {key.type}")
    if key.constant == 0 and not isinstance(key.constant, bool):
        raise BadArguments("positions in arrays count from 1")
    if key.spark == "DECIMAL(20,0)":
        return f"try_element_at({value.sql}, nullif(try_cast({key.sql} AS INT), 0))"
    known = isinstance(key.constant, int) and not isinstance(key.constant, bool)
    place = array_position(int(str(key.constant)) if known else key)
    return f"try_element_at({value.sql}, {place})"


def _element_or_null(values: Sequence[TypedSql]) -> TypedSql:
    value, key = values
    of = element_type(value)
    if isinstance(t.unwrap_type(of), _NESTED):
        raise BadArguments(f"`arrayElementOrNull` of {value.type} is not supported", "arrayElement")
    return typed_sql(_element_at(value, key), of if t.is_nullable(of) else t.Nullable(of))


def _push_function(name: str, template: str) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        array, value, of = cast_array_and_value(values)
        return typed_sql(template.format(array, value), t.Array(of))

    return Function(name, (2, 2), ("array", "any"), build, strict=False)


def _same_type_function(name: str, template: str) -> Function:
    """An array function whose result has the type of its argument."""
    return template_function(name, "array", template, lambda values: values[0].bare)


def _slice(values: Sequence[TypedSql]) -> TypedSql:
    """A literal range from the start is a plain slice; other ranges are computed from the array's size."""
    array, start = values[0].sql, _within_int(values[1])
    length = _within_int(values[2]) if len(values) > 2 else None
    fixed = isinstance(start.constant, int) and start.constant != 0
    if fixed and int(start.constant or 0) > 0 and (length is None or _is_literal_count(length)):
        end = as_spark(length, "INT") if length else f"size({array})"
        return TypedSql(f"slice({array}, {as_spark(start, 'INT')}, {end})", values[0].type, values[0].spark)
    if fixed and length is None:
        place = f"greatest({as_spark(start, 'INT')}, - size({array}))"
        sql = f"if(size({array}) = 0, {array}, slice({array}, {place}, size({array})))"
        return TypedSql(sql, values[0].type, values[0].spark)
    if any(value.nullable for value in values[1:]):
        raise BadArguments("positions of `arraySlice` that may be NULL are not supported", "assumeNotNull")
    sql = bind_if_long(
        array, lambda a: _slice_of_signed_length(a, as_spark_int(start), as_spark_int(length) if length else None)
    )
    return TypedSql(sql, values[0].type, values[0].spark)


def _within_int(place: TypedSql) -> TypedSql:
    """A literal place or length beyond the longest array as one that is beyond it too, and whose sum with another
    fits into 32 bits: Spark's slice adds them."""
    if not isinstance(place.constant, int) or abs(place.constant) < 2**30:
        return place
    return integer(2**30 - 1 if place.constant > 0 else 1 - 2**30)


def _is_literal_count(length: TypedSql) -> bool:
    return isinstance(length.constant, int) and length.constant >= 0


def _slice_of_signed_length(array: str, start: str, length: str | None) -> str:
    """Any start and any length: a negative length leaves out so many elements at the end."""
    place, size = f"CAST({start} AS BIGINT)", f"size({array})"
    first = f"if({place} < 0, {size} + {place} + 1, {place})"
    wide = f"CAST({length} AS BIGINT)"
    last = (
        f"least(if({wide} < 0, {size} + {wide}, {first} + {wide} - 1), {size})" if length else f"CAST({size} AS BIGINT)"
    )
    begin = f"greatest({first}, 1L)"
    count = f"CAST(if({place} = 0, 0L, greatest({last} - {begin} + 1, 0L)) AS INT)"
    return f"slice({array}, CAST(least({begin}, 2147483647L) AS INT), {count})"


def _array_string_concat(values: Sequence[TypedSql]) -> TypedSql:
    of = element_type(values[0])
    shown = as_text(typed_sql("` x`", of)) if of != NOTHING else "` x`"
    if shown is None:
        raise BadArguments(f"elements of {of} cannot be joined")
    if len(values) > 1 and values[1].constant is None:
        raise BadArguments("the separator of `arrayStringConcat` must be a string literal")
    separator = values[1].sql if len(values) > 1 else "''"
    return typed_sql(f"array_join(transform({values[0].sql}, ` x` -> {shown}), {separator})", STRING)


def _make_array(values: Sequence[TypedSql]) -> TypedSql:
    if not values:
        return TypedSql("array()", t.Array(NOTHING), "ARRAY<VOID>")
    of = value_supertype(values)
    if of is None:
        raise BadArguments("the elements have no common type")
    return typed_sql(f"array({', '.join(as_common_type(value, of) for value in values)})", t.Array(of))


def _flatten(values: Sequence[TypedSql]) -> TypedSql:
    of, sql = values[0].bare, values[0].sql
    while isinstance(of, t.Array) and isinstance(of.of, t.Array):
        of, sql = of.of, f"flatten({sql})"
    return typed_sql(sql, of)


def _array_concat(values: Sequence[TypedSql]) -> TypedSql:
    arrays, of = cast_to_common_array(values)
    return typed_sql(f"concat({', '.join(arrays)})", t.Array(of))


FUNCTIONS: tuple[Function, ...] = (
    Function("arrayElement", (2, 2), ("any",), array_or_map_element),
    Function("arrayElementOrNull", (2, 2), ("array", "integer"), _element_or_null),
    _push_function("arrayPushBack", "array_append({0}, {1})"),
    _push_function("arrayPushFront", "array_prepend({0}, {1})"),
    _same_type_function("arrayReverse", "reverse({0})"),
    _same_type_function("arrayPopBack", "slice({0}, 1, greatest(size({0}) - 1, 0))"),
    _same_type_function("arrayPopFront", "slice({0}, 2, size({0}))"),
    _same_type_function(
        "arrayCompact",
        "transform(filter(transform({0}, (` x`, ` i`) -> struct(` x` AS v, "
        "if(` i` = 0, false, ` x` <=> {0}[` i` - 1]) AS r)), "
        "` s` -> NOT ` s`.r), ` s` -> ` s`.v)",
    ),
    Function("arrayFlatten", (1, 1), ("array",), _flatten),
    Function("arraySlice", (2, 3), ("array", "integer"), _slice),
    Function("arrayStringConcat", (1, 2), ("array", "string"), _array_string_concat),
    Function("arrayConcat", (1, MAX_ARGUMENTS), ("array",), _array_concat),
    Function("array", (0, MAX_ARGUMENTS), ("any",), _make_array, strict=False),
)
ALIASES: dict[str, str] = {"flatten": "arrayFlatten", "array_to_string": "arrayStringConcat"}
ANY_CASE: tuple[str, ...] = ("flatten", "array_to_string")
