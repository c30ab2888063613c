"""Maps: made of pairs, asked for keys and values.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: a map has one type
of keys and one of values.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.functions.function import MANY, UINT8, BadArguments, Function
from penstock.sql.supertypes import supertype
from penstock.sql.typed import Typed, as_spark, typed
from penstock.sql.value_types import value_type


def _make_map(values: Sequence[Typed]) -> Typed:
    keys, items = values[::2], values[1::2]
    key, item = supertype([value.type for value in keys]), supertype([value.type for value in items])
    if len(keys) != len(items) or key is None or item is None:
        raise BadArguments("`map` needs pairs of a key and a value, of one type each")
    shown = (
        part
        for a, b in zip(keys, items, strict=True)
        for part in (as_spark(a, value_type(key)), as_spark(b, value_type(item)))
    )
    return typed(f"map({', '.join(shown)})", t.Map(key, item))


def _of_map(name: str, spark: str) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        of = values[0].bare
        if not isinstance(of, t.Map):
            raise BadArguments(f"`{name}` needs a Map")
        return typed(f"{spark}({values[0].sql})", t.Array(of.key if name == "mapKeys" else of.value))

    return Function(name, (1, 1), ("map",), build)


def _map_contains(values: Sequence[Typed]) -> Typed:
    of = values[0].bare
    key = as_spark(values[1], value_type(of.key)) if isinstance(of, t.Map) else "NULL"
    return Typed(f"map_contains_key({values[0].sql}, {key})", UINT8, "BOOLEAN")


FUNCTIONS: tuple[Function, ...] = (
    Function("map", (2, MANY), ("any",), _make_map, strict=False),
    _of_map("mapKeys", "map_keys"),
    _of_map("mapValues", "map_values"),
    Function("mapContains", (2, 2), ("map", "any"), _map_contains),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
