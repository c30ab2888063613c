"""One place of a map: `map[key]`, and whether there is such a key or value.

In: `Typed` arguments. Out: `Typed`. Called by arrays, array_sets and maps. Invariant: a key of a type that the map's
keys have nothing in common with is refused; a key that is out of their range is not there.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.model.types import nullable
from penstock.sql.functions.function import UINT8, BadArguments
from penstock.sql.supertypes import supertype
from penstock.sql.typed import Typed, as_spark, is_null, null_if_any, typed
from penstock.sql.value_types import value_type, value_zero


def map_type(value: Typed) -> t.Map:
    """The type of a map. Raises BadArguments for what is none."""
    if not isinstance(value.bare, t.Map):
        raise BadArguments(f"expected a Map, this is {value.type}")
    return value.bare


def _key(of: t.Map, key: Typed) -> str:
    """A key as the map has its keys; NULL where it cannot be one of them."""
    common = supertype((t.bare(of.key), key.bare))
    if common is None or (isinstance(t.bare(of.key), t.Float) != isinstance(key.bare, t.Float)):
        raise BadArguments(f"a key of {of} cannot be a {key.type}")
    spark = value_type(of.key)
    if key.spark == spark or key.constant is not None or t.bare(of.key) == common:
        return as_spark(key, spark)
    return f"try_cast({key.sql} AS {spark})"


def map_element(value: Typed, key: Typed) -> Typed:
    """`map[key]`: the zero value for a key that is not there."""
    of = map_type(value)
    found = f"try_element_at({value.sql}, {_key(of, key)})"
    sql = found if nullable(of.value) else f"coalesce({found}, {value_zero(of.value)})"
    if not key.nullable:
        return typed(sql, of.value)
    if isinstance(t.bare(of.value), (t.Array, t.Map, t.Tuple)):
        raise BadArguments(f"a key that may be NULL in {value.type} is not supported", "assumeNotNull")
    return typed(f"if({key.sql} IS NULL, NULL, {sql})", null_if_any(of.value, [key]))


def map_contains(values: Sequence[Typed]) -> Typed:
    """mapContains: NULL is no key."""
    of = map_type(values[0])
    if is_null(values[1]):
        return Typed("false", UINT8, "BOOLEAN")
    found = f"map_contains_key({values[0].sql}, {_key(of, values[1])})"
    known = _key(of, values[1]) == values[1].sql and not values[1].nullable
    return Typed(found if known or values[1].constant is not None else f"coalesce({found}, false)", UINT8, "BOOLEAN")
