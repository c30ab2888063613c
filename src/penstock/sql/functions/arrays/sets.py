"""Membership and duplicates in arrays: has, indexOf, hasAll, arrayIntersect, arrayDistinct, arrayUniq

NULL equals NULL. NaN does not equal NaN where ClickHouse compares elements (has, indexOf), and does where it hashes
them (arrayUniq, arrayDistinct). Results that ClickHouse gives in the order of a hash table are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.common_type import supertype
from penstock.sql.expr.dates import as_common_type
from penstock.sql.expr.spark_types import value_default, value_type
from penstock.sql.expr.typed import TypedSql, typed_sql
from penstock.sql.functions.arguments import cast_to_common_array, check_equality, element_type, zip_arrays
from penstock.sql.functions.function import (
    FLOAT64,
    MAX_ARGUMENTS,
    UINT8,
    UINT32,
    UINT64,
    BadArguments,
    Function,
    template_function,
)
from penstock.sql.functions.maps import map_contains
from penstock.sql.spark_text import quote_identifier


def cast_array_and_value(values: Sequence[TypedSql]) -> tuple[str, str, Type]:
    """An array and a value cast to one element type, and that type. Raises BadArguments if there is none."""
    of = supertype((element_type(values[0]), values[1].type))
    if of is None:
        raise BadArguments(f"{values[0].type} cannot hold {values[1].type}")
    return as_common_type(values[0], t.Array(of)), as_common_type(values[1], of), of


def _is_float(of: Type) -> bool:
    return isinstance(t.unwrap_type(of), t.Float)


def _equality_test(values: Sequence[TypedSql]) -> tuple[str, str]:
    """The array, and the test whether its element ` x` equals the value."""
    array, value, of = cast_array_and_value(values)
    check_equality(of)
    if element_type(values[0]) == t.String() and values[1].nullable and "`" in array and "`" in value:
        value = f"coalesce({value}, '')"  # what ClickHouse keeps where a row has NULL
    known = f" AND NOT coalesce(isnan({value}), false)" if _is_float(of) else ""
    return array, f"` x` <=> {value}{known}"


def _has(values: Sequence[TypedSql]) -> TypedSql:
    if isinstance(values[0].bare, t.Map):
        return map_contains(values)
    array, test = _equality_test(values)
    return TypedSql(f"exists({array}, ` x` -> {test})", UINT8, "BOOLEAN")


def _index_of(values: Sequence[TypedSql]) -> TypedSql:
    array, test = _equality_test(values)
    return TypedSql(f"CAST(array_position(transform({array}, ` x` -> {test}), true) AS INT)", UINT64, "INT")


def _count_equal(values: Sequence[TypedSql]) -> TypedSql:
    array, test = _equality_test(values)
    return TypedSql(f"size(filter({array}, ` x` -> {test}))", UINT64, "INT")


def _two_arrays(values: Sequence[TypedSql]) -> tuple[tuple[str, str], Type]:
    """Two arrays cast to one type, and their element type. If only one of them can hold NULL, NULL counts as what
    ClickHouse keeps in its place, the default of the type."""
    (a, b), of = cast_to_common_array(values)
    check_equality(of)
    if not t.is_nullable(of) or t.is_nullable(element_type(values[0])) == t.is_nullable(element_type(values[1])):
        return (a, b), of
    plain = t.unwrap_type(of)
    filled = (f"transform({sql}, ` x` -> coalesce(` x`, {value_default(plain)}))" for sql in (a, b))
    return (next(filled), next(filled)), plain


def _arrays_without_nan(values: Sequence[TypedSql]) -> tuple[str, str]:
    """Two arrays cast to one type, the second without NaN."""
    (a, b), of = _two_arrays(values)
    return a, f"filter({b}, ` x` -> NOT coalesce(isnan(` x`), false))" if _is_float(of) else b


def _has_any(values: Sequence[TypedSql]) -> TypedSql:
    a, b = _arrays_without_nan(values)
    return TypedSql(f"(size(array_intersect({a}, {b})) > 0)", UINT8, "BOOLEAN")


def _has_all(values: Sequence[TypedSql]) -> TypedSql:
    (a, b), of = _two_arrays(values)
    if _is_float(of):
        unlike = f"NOT exists({b}, ` x` -> coalesce(isnan(` x`), false)) AND "
        return TypedSql(f"({unlike}size(array_except({b}, {a})) = 0)", UINT8, "BOOLEAN")
    return TypedSql(f"(size(array_except({b}, {a})) = 0)", UINT8, "BOOLEAN")


def _has_subarray(values: Sequence[TypedSql]) -> TypedSql:
    (a, b), of = _two_arrays(values)
    if _is_float(of):
        raise BadArguments(f"`hasSubstr` of elements of {of} is not supported", "integers or strings")
    places = f"sequence(1, greatest(size({a}) - size({b}) + 1, 1))"
    return TypedSql(f"exists({places}, ` p` -> slice({a}, ` p`, size({b})) <=> {b})", UINT8, "BOOLEAN")


def _most_subtype(types: Sequence[Type]) -> Type:
    """ClickHouse's getMostSubtype: the narrowest type, unsigned before signed; Nullable if all types are."""
    plain = [t.unwrap_type(of) for of in types]
    wraps = all(map(t.is_nullable, types))
    if any(of == t.Tuple(()) for of in plain):
        return t.Tuple(())
    numbers = [of for of in plain if isinstance(of, t.Int)]
    if len(numbers) == len(plain):
        least: Type = min(numbers, key=lambda of: (of.bits, of.signed))
    elif all(of == plain[0] for of in plain) and isinstance(plain[0], (t.String, t.Date, t.Bool, t.Float, t.DateTime)):
        least = plain[0]
    else:
        raise BadArguments("arrays of several types are not intersected", "CAST them to one type")
    return t.Nullable(least) if wraps else least


def _intersect(values: Sequence[TypedSql]) -> TypedSql:
    """In the order of the first array."""
    arrays, of = cast_to_common_array(values)
    least = _most_subtype([element_type(value) for value in values])
    sql = arrays[0]
    for other in arrays[1:] or arrays:
        sql = f"array_intersect({sql}, {other})"
    if not t.is_nullable(of) and least == of:
        return typed_sql(sql, t.Array(of))
    return typed_sql(f"CAST({sql} AS {value_type(t.Array(least))})", t.Array(least))


def _array_except(values: Sequence[TypedSql]) -> TypedSql:
    """The elements of the first array that are not in the second, repeated as in the first."""
    if element_type(values[0]) != element_type(values[1]):
        raise BadArguments("both arrays of `arrayExcept` must have elements of one type")
    arrays, of = cast_to_common_array(values)
    check_equality(of)
    if _is_float(of):
        raise BadArguments("`arrayExcept` of floats is not supported", "arrayFilter(x -> NOT has(…, x), …)")
    return typed_sql(f"filter({arrays[0]}, ` x` -> NOT exists({arrays[1]}, ` y` -> ` y` <=> ` x`))", t.Array(of))


def _jaccard(values: Sequence[TypedSql]) -> TypedSql:
    (a, b), of = cast_to_common_array(values)
    check_equality(of)
    if _is_float(of):
        raise BadArguments("`arrayJaccardIndex` of floats is not supported", "integers or strings")
    union = f"size(array_union({a}, {b}))"
    shared = f"CAST(size(array_intersect({a}, {b})) AS DOUBLE)"
    return typed_sql(f"if({union} = 0, double('NaN'), {shared} / greatest({union}, 1))", FLOAT64)


def _distinct(values: Sequence[TypedSql]) -> TypedSql:
    of = element_type(values[0])
    given = f"filter({values[0].sql}, ` x` -> ` x` IS NOT NULL)"
    result = t.Array(of.of if isinstance(of, t.Nullable) else of)
    if not _is_float(of):
        return typed_sql(f"array_distinct({given})", result)
    keyed = f"transform({given}, ` x` -> struct(` x` AS v, CAST(` x` AS STRING) AS k))"
    return typed_sql(f"transform(array_distinct({keyed}), ` s` -> ` s`.v)", result)


def _equality_keys(values: Sequence[TypedSql]) -> str:
    """An array of structs that are equal where the elements are; -0.0 differs from 0.0."""
    for value in values:
        check_equality(element_type(value))

    def key(sql: str, value: TypedSql) -> str:
        return f"CAST({sql} AS STRING)" if _is_float(element_type(value)) else sql

    if len(values) == 1:
        return f"transform({values[0].sql}, ` x` -> struct({key('` x`', values[0])} AS k))"
    fields = (f"{key(f'` r`.{quote_identifier(str(place))}', value)} AS k{place}" for place, value in enumerate(values))
    return f"transform({zip_arrays([value.sql for value in values])}, ` r` -> struct({', '.join(fields)}))"


def _uniq(values: Sequence[TypedSql]) -> TypedSql:
    return TypedSql(f"size(array_distinct({_equality_keys(values)}))", UINT32, "INT")


def _enumerate_uniq(values: Sequence[TypedSql]) -> TypedSql:
    def formula(k: str) -> str:
        before = f"filter(slice({k}, 1, ` i` + 1), ` y` -> ` y` <=> ` k`)"
        return f"transform({k}, (` k`, ` i`) -> CAST(size({before}) AS BIGINT))"

    return typed_sql(bind_if_long(_equality_keys(values), formula), t.Array(UINT32))


def _enumerate_dense(values: Sequence[TypedSql]) -> TypedSql:
    def formula(k: str) -> str:
        return f"transform({k}, ` k` -> array_position(array_distinct({k}), ` k`))"

    return typed_sql(bind_if_long(_equality_keys(values), formula), t.Array(UINT32))


def _not_has(values: Sequence[TypedSql]) -> TypedSql:
    found = _has(values)
    return replace(found, sql=f"(NOT {found.sql})")


FUNCTIONS: tuple[Function, ...] = (
    Function("has", (2, 2), ("any",), _has, strict=False),
    Function("indexOf", (2, 2), ("array", "any"), _index_of, strict=False),
    Function("countEqual", (2, 2), ("array", "any"), _count_equal, strict=False),
    Function("hasAll", (2, 2), ("array",), _has_all),
    Function("hasAny", (2, 2), ("array",), _has_any),
    Function("hasSubstr", (2, 2), ("array",), _has_subarray),
    Function("arrayIntersect", (1, MAX_ARGUMENTS), ("array",), _intersect),
    Function("arrayExcept", (2, 2), ("array",), _array_except),
    Function("arrayJaccardIndex", (2, 2), ("array",), _jaccard),
    Function("arrayDistinct", (1, 1), ("array",), _distinct),
    Function("arrayUniq", (1, MAX_ARGUMENTS), ("array",), _uniq),
    Function("arrayEnumerateUniq", (1, MAX_ARGUMENTS), ("array",), _enumerate_uniq),
    Function("arrayEnumerateDense", (1, MAX_ARGUMENTS), ("array",), _enumerate_dense),
    template_function(
        "arrayEnumerate",
        "array",
        "CAST(if(size({0}) = 0, array(), sequence(1, size({0}))) AS ARRAY<BIGINT>)",
        t.Array(UINT32),
    ),
    Function("notHas", (2, 2), ("any",), _not_has, strict=False),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
