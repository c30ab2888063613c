"""Maps: map, mapKeys, mapContains, mapAdd, mapUpdate, mapPopulateSeries

A map has one type of keys and one of values. ClickHouse keeps a key that comes twice, Spark cannot: it is an error.
`map_element` looks a key up; a key out of the range of the map's key type is not found, a key of an unrelated type is
refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.common_type import supertype, value_supertype
from penstock.sql.expr.dates import as_common_type
from penstock.sql.expr.overflow import TWO_64
from penstock.sql.expr.spark_types import missing_value, value_default, value_type
from penstock.sql.expr.typed import NOTHING, TypedSql, as_spark, is_null, nullable_if_any, typed_sql
from penstock.sql.functions.arguments import (
    check_equality,
    check_order,
    checked_size,
    element_type,
    literal_integer,
)
from penstock.sql.functions.function import MAX_ARGUMENTS, UINT8, BadArguments, Function

_SERIES_TYPES = tuple(
    t.Int(bits, signed) for bits in (8, 16, 32, 64) for signed in (True, False) if bits < 64 or signed
)
_NOT_IN_BRACKETS = (t.Float, t.Decimal, t.DateTime64, t.Array, t.Map, t.Tuple)
"""Keys that ClickHouse does not take in `map[key]`."""


def map_type(value: TypedSql) -> t.Map:
    """The type of a map. Raises BadArguments if the value is not a map."""
    if not isinstance(value.bare, t.Map):
        raise BadArguments(f"expected a Map, this is {value.type}")
    return value.bare


def pairs_of_map(value: TypedSql) -> TypedSql:
    """A map as the array of its pairs, in the tuples that arrayJoin and ARRAY JOIN give. Raises BadArguments for any
    other value."""
    of = map_type(value)
    pair = "named_struct('keys', ` e`.key, 'values', ` e`.value)"
    pairs = t.Tuple((("keys", of.key), ("values", of.value)))
    return typed_sql(f"transform(map_entries({value.sql}), ` e` -> {pair})", t.Array(pairs))


def map_element(value: TypedSql, key: TypedSql) -> TypedSql:
    """`map[key]`: the zero value if the map has no such key."""
    of = map_type(value)
    if isinstance(t.unwrap_type(of.key), _NOT_IN_BRACKETS):
        raise BadArguments(f"`[…]` of {value.type} is not supported", "mapContains, or mapValues of a mapFilter")
    found = f"try_element_at({value.sql}, {_key_sql(of, key)})"
    sql = found if t.is_nullable(of.value) else f"coalesce({found}, {missing_value(of.value)})"
    if not key.nullable:
        return typed_sql(sql, of.value)
    if isinstance(t.unwrap_type(of.value), (t.Array, t.Map, t.Tuple)):
        raise BadArguments(f"a key that may be NULL in {value.type} is not supported", "assumeNotNull")
    return typed_sql(f"if({key.sql} IS NULL, NULL, {sql})", nullable_if_any(of.value, [key]))


def map_contains(values: Sequence[TypedSql]) -> TypedSql:
    """mapContains: NULL is never a key; a NULL that a row holds is read as the default of its type."""
    of = map_type(values[0])
    if is_null(values[1]):
        return TypedSql("false", UINT8, "BOOLEAN")
    key = _key_sql(of, values[1])
    known = key == values[1].sql
    key = f"coalesce({key}, {value_default(of.key)})" if values[1].nullable and known else key
    found = f"map_contains_key({values[0].sql}, {key})"
    return TypedSql(found if known or values[1].constant is not None else f"coalesce({found}, false)", UINT8, "BOOLEAN")


def _make_map(values: Sequence[TypedSql]) -> TypedSql:
    """map(key, value, …); literal keys must differ."""
    if not values:
        return TypedSql("map()", t.Map(NOTHING, NOTHING), "MAP<VOID, VOID>")
    if len(values) % 2:
        raise BadArguments("`map` takes pairs of a key and a value", "map('a', 1, 'b', 2)")
    keys, items = values[::2], values[1::2]
    key, item = supertype([value.type for value in keys]), value_supertype(items)
    if key is None or item is None:
        raise BadArguments("`map` needs pairs of a key and a value, of one type each")
    _check_keys(key, keys)
    shown = (
        part for a, b in zip(keys, items, strict=True) for part in (as_common_type(a, key), as_common_type(b, item))
    )
    return typed_sql(f"map({', '.join(shown)})", t.Map(key, item))


def _check_keys(of: Type, keys: Sequence[TypedSql]) -> None:
    if t.is_nullable(of):
        raise BadArguments(f"a Map cannot have a key of type {of}", "assumeNotNull")
    if t.has_part(of, t.Map):
        raise BadArguments(f"a Map with keys of type {of} is not supported", "toString(…) of the key")
    constants = [key.constant for key in keys if key.constant is not None]
    if len(set(constants)) < len(constants):
        raise BadArguments("a key that comes twice in a `map` is not supported", "an Array of tuples keeps both")


def _map_from_arrays(values: Sequence[TypedSql]) -> TypedSql:
    key, item = element_type(values[0]), element_type(values[1])
    if t.is_nullable(key) or NOTHING in (t.unwrap_type(key), t.unwrap_type(item)):
        raise BadArguments(f"a Map cannot have a key of type {key}", "assumeNotNull")
    a, b = (value.sql for value in values)
    wrong = "raise_error('the arrays of mapFromArrays have different sizes')"
    return typed_sql(f"if(size({a}) <> size({b}), {wrong}, map_from_arrays({a}, {b}))", t.Map(key, item))


def _map_parts_function(name: str, spark: str) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        of = map_type(values[0])
        return typed_sql(f"{spark}({values[0].sql})", t.Array(of.key if name == "mapKeys" else of.value))

    return Function(name, (1, 1), ("map",), build)


def _contains_value(values: Sequence[TypedSql]) -> TypedSql:
    of = map_type(values[0])
    common = supertype((of.value, values[1].type))
    if common is None or isinstance(t.unwrap_type(common), t.Float):
        raise BadArguments(f"a value of {of} is not compared with a {values[1].type}")
    check_equality(of.value)
    items = as_common_type(typed_sql(f"map_values({values[0].sql})", t.Array(of.value)), t.Array(common))
    return TypedSql(f"exists({items}, ` x` -> ` x` <=> {as_common_type(values[1], common)})", UINT8, "BOOLEAN")


_LIKE_PATTERN = re.compile(r"(?s)(?:[^\\]|\\[%_\\])*")


def _like_function(name: str, part: str) -> Function:
    """The pairs whose keys (or values) match a LIKE pattern, or whether there are any."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        of = map_type(values[0])
        if t.unwrap_type(of.key if part == "k" else of.value) != t.String() or not isinstance(values[1].constant, str):
            raise BadArguments(f"`{name}` takes a Map of strings and a literal pattern")
        if _LIKE_PATTERN.fullmatch(values[1].constant) is None:
            raise BadArguments(f"a backslash in the pattern of `{name}` escapes `%`, `_` or a backslash")
        test = f"coalesce(` {part}` LIKE {values[1].sql}, false)"
        if name.startswith("mapExtract"):
            return typed_sql(f"map_filter({values[0].sql}, (` k`, ` v`) -> {test})", of)
        items = "map_keys" if part == "k" else "map_values"
        return TypedSql(f"exists({items}({values[0].sql}), ` {part}` -> {test})", UINT8, "BOOLEAN")

    return Function(name, (2, 2), ("map", "text"), build)


def _common_map_type(name: str, values: Sequence[TypedSql]) -> t.Map:
    of = map_type(values[0])
    if any(map_type(value) != of for value in values):
        raise BadArguments(f"the maps of `{name}` must be of one type", "CAST them to one Map(…)")
    return of


def _map_concat(values: Sequence[TypedSql]) -> TypedSql:
    of = _common_map_type("mapConcat", values)
    return typed_sql(f"map_concat({', '.join(value.sql for value in values)})", of)


def _map_update(values: Sequence[TypedSql]) -> TypedSql:
    """The second map's pairs replace those of the first and come last."""
    of, (a, b) = _common_map_type("mapUpdate", values), (value.sql for value in values)
    return typed_sql(f"map_concat(map_filter({a}, (` k`, ` v`) -> NOT map_contains_key({b}, ` k`)), {b})", of)


def _summed_map_type(name: str, values: Sequence[TypedSql]) -> t.Map:
    """The type of a sum of maps, with 64-bit values. Raises BadArguments if keys or values differ in type."""
    types = [map_type(value) for value in values]
    sums = {_sum_value_type(name, of.value) for of in types}
    if len({of.key for of in types}) > 1 or len(sums) > 1:
        raise BadArguments(f"the maps of `{name}` must have keys and values of one type each", "CAST them")
    check_order(types[0].key)
    return t.Map(types[0].key, sums.pop())


def _sum_value_type(name: str, of: Type) -> Type:
    match of:
        case t.Int(_, signed):
            return t.Int(64, signed)
        case t.Float():
            return t.Float(64)
        case _:
            raise BadArguments(f"`{name}` of values of {of} is not supported", "integers and floats")


def _add_function(name: str, sign: str) -> Function:
    """mapAdd and mapSubtract: key by key, in the order of the keys; unsigned sums wrap around."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        of = _summed_map_type(name, values)
        spark = value_type(of.value)
        wide = spark if spark != "DECIMAL(20,0)" else "DECIMAL(38,0)"
        found = (f"coalesce(CAST(try_element_at({v.sql}, ` k`) AS {wide}), {_zero_literal(wide)})" for v in values)
        total = f" {sign} ".join(found)
        if wide == "DECIMAL(38,0)":
            total = f"pmod({total}, {TWO_64})"
        keys = f"array_sort(array_distinct(concat({', '.join(f'map_keys({v.sql})' for v in values)})))"
        pairs = f"transform({keys}, ` k` -> struct(` k` AS k, CAST({total} AS {spark}) AS v))"
        return typed_sql(f"map_from_entries({pairs})", of)

    return Function(name, (2, MAX_ARGUMENTS), ("map",), build)


def _zero_literal(spark: str) -> str:
    return f"CAST(0 AS {spark})"


def _sort_function(name: str, reverse: str) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        of = map_type(values[0])
        check_order(of.key)
        m = values[0].sql
        keys = f"{reverse}(array_sort(map_keys({m})))" if reverse else f"array_sort(map_keys({m}))"
        return typed_sql(f"map_from_entries(transform({keys}, ` k` -> struct(` k` AS k, {m}[` k`] AS v)))", of)

    return Function(name, (1, 1), ("map",), build)


def _key_sql(of: t.Map, key: TypedSql) -> str:
    """A key cast to the map's key type, NULL where it does not fit. Raises BadArguments for keys of an unrelated
    type."""
    common = supertype((t.unwrap_type(of.key), key.bare))
    if common is None or (isinstance(t.unwrap_type(of.key), t.Float) != isinstance(key.bare, t.Float)):
        raise BadArguments(f"a key of {of} cannot be a {key.type}")
    spark = value_type(of.key)
    if key.spark == spark or key.constant is not None or t.unwrap_type(of.key) == common:
        return as_spark(key, spark)
    return f"try_cast({key.sql} AS {spark})"


def _populate_series(values: Sequence[TypedSql]) -> TypedSql:
    """Every key from the least to the greatest, or to a literal last one; new keys have the value 0."""
    of = values[0].bare
    if not isinstance(of, t.Map) or of.key not in _SERIES_TYPES or of.value not in _SERIES_TYPES:
        raise BadArguments(f"`mapPopulateSeries` of {values[0].type} is not supported", "a Map of integers")
    key, value = value_type(of.key), value_type(of.value)

    def formula(m: str) -> str:
        last = f"array_max(map_keys({m}))"
        if len(values) > 1:
            end = literal_integer(values[1], "the last key")
            if not isinstance(of.key, t.Int) or not of.key.low <= end <= of.key.high:
                raise BadArguments(f"the last key {end} is out of the range of {of.key}")
            last = f"CAST({end} AS {key})"
        first = f"array_min(map_keys({m}))"
        filled = f"coalesce(try_element_at({m}, ` k`), CAST(0 AS {value}))"
        entries = f"transform(sequence({first}, greatest({last}, {first})), ` k` -> struct(` k`, {filled}))"
        nothing = f"CAST(map() AS MAP<{key}, {value}>)"
        empty = f"size({m}) = 0 OR {last} < {first}"
        size = f"CAST({last} AS DECIMAL(20,0)) - CAST({first} AS DECIMAL(20,0))"
        return checked_size(f"if({empty}, {nothing}, map_from_entries({entries}))", size, values)

    return typed_sql(bind_if_long(values[0].sql, formula), of)


MAP_SORTS = {
    row.name: row.build for row in (_sort_function("mapSort", ""), _sort_function("mapReverseSort", "reverse"))
}

FUNCTIONS: tuple[Function, ...] = (
    Function("map", (0, MAX_ARGUMENTS), ("any",), _make_map, strict=False),
    Function("mapFromArrays", (2, 2), ("array",), _map_from_arrays),
    _map_parts_function("mapKeys", "map_keys"),
    _map_parts_function("mapValues", "map_values"),
    Function("mapContainsKey", (2, 2), ("map", "any"), map_contains, strict=False),
    Function("mapContainsValue", (2, 2), ("map", "any"), _contains_value, strict=False),
    _like_function("mapContainsKeyLike", "k"),
    _like_function("mapContainsValueLike", "v"),
    _like_function("mapExtractKeyLike", "k"),
    _like_function("mapExtractValueLike", "v"),
    Function("mapConcat", (1, MAX_ARGUMENTS), ("map",), _map_concat),
    Function("mapUpdate", (2, 2), ("map",), _map_update),
    _add_function("mapAdd", "+"),
    _add_function("mapSubtract", "-"),
    Function("mapPopulateSeries", (1, 2), ("map", "constant"), _populate_series),
)
ALIASES: dict[str, str] = {"mapContains": "mapContainsKey", "MAP_FROM_ARRAYS": "mapFromArrays"}
ANY_CASE: tuple[str, ...] = ()
