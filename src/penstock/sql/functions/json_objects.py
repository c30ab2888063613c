"""The keys and the pairs of a JSON object, types and sizes: JSONExtractKeys, JSONExtractKeysAndValues, JSONType …

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: keys come in the order of the
text; a pair whose value cannot be of the type asked for is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.functions.function import STRING, UINT64, BadArguments, Function
from penstock.sql.functions.json import formula_or_null, of_text, type_argument
from penstock.sql.functions.json_paths import kind, parsed, text_at
from penstock.sql.let import bind, let
from penstock.sql.typed import Typed, typed
from penstock.sql.value_types import value_type

_TYPES = t.Enum(
    8,
    (
        ("Null", 0), ("String", 34), ("Array", 91), ("Bool", 98), ("Double", 100), ("Int64", 105), ("UInt64", 117),
        ("Object", 123),
    ),
)  # fmt: skip
_NO_KEYS = "CAST(array() AS ARRAY<STRING>)"


def _object_keys(value: Typed, steps: Sequence[Typed]) -> str:
    if value.nullable:
        raise BadArguments("a JSON text that may be NULL is not supported here", "ifNull(json, '')")
    keys = f"json_object_keys({text_at(value, steps)})"
    return let(parsed(value, steps), lambda v: f"if({kind(v)} LIKE 'OBJECT%', {keys}, {_NO_KEYS})")


def _keys(values: Sequence[Typed]) -> Typed:
    return typed(f"coalesce({_object_keys(values[0], values[1:])}, {_NO_KEYS})", t.Array(STRING))


def _key(values: Sequence[Typed]) -> Typed:
    place = values[-1].constant
    if not isinstance(place, int) or isinstance(place, bool):
        raise BadArguments("the last argument of `JSONKey` must be a literal place")
    if place == 0:
        return typed("''", STRING)
    return typed(f"coalesce(try_element_at({_object_keys(values[0], values[1:-1])}, {place}), '')", STRING)


def _pairs(values: Sequence[Typed]) -> Typed:
    of = type_argument(values)
    result = t.Array(t.Tuple(((None, STRING), (None, of))))
    members = f"try_cast({parsed(values[0], values[1:-1])} AS MAP<STRING, VARIANT>)"
    value = formula_or_null(of)("` m`[` k`]")
    keys = _object_keys(values[0], values[1:-1])
    made = f"transform({keys}, ` k` -> struct(` k` AS `_1`, {value} AS `_2`))"
    kept = f"filter({made}, ` p` -> ` p`.`_2` IS NOT NULL)"
    whole = bind(members, "` m`", kept)
    return typed(f"CAST(coalesce({whole}, array()) AS {value_type(result)})", result)


def _array_length(values: Sequence[Typed]) -> Typed:
    sql = let(
        parsed(values[0], []), lambda v: f"if({kind(v)} LIKE 'ARRAY%', size(try_cast({v} AS ARRAY<VARIANT>)), NULL)"
    )
    return Typed(sql, t.Nullable(UINT64), "INT")


def _type(values: Sequence[Typed]) -> Typed:
    def formula(v: str) -> str:
        of = kind(v)
        shown = f"CAST({v} AS STRING)"
        return (
            f"CASE WHEN {v} IS NULL OR {of} = 'VOID' THEN 'Null' WHEN {of} = 'STRING' THEN 'String' "
            f"WHEN {of} = 'BOOLEAN' THEN 'Bool' WHEN {of} LIKE 'ARRAY%' THEN 'Array' "
            f"WHEN {of} LIKE 'OBJECT%' THEN 'Object' WHEN {of} = 'BIGINT' THEN 'Int64' "
            f"WHEN {of} IN ('DECIMAL(19,0)', 'DECIMAL(20,0)') AND {shown} NOT LIKE '-%' "
            f"AND try_cast({shown} AS DECIMAL(38,0)) <= {2**64 - 1} THEN 'UInt64' ELSE 'Double' END"
        )

    return of_text(values[0], let(parsed(values[0], values[1:]), formula), _TYPES)


FUNCTIONS: tuple[Function, ...] = (
    Function("JSONExtractKeys", (1, 16), ("string", "constant"), _keys),
    Function("JSONExtractKeysAndValues", (2, 16), ("string", "constant"), _pairs),
    Function("JSONKey", (2, 16), ("string", "constant"), _key),
    Function("JSONArrayLength", (1, 1), ("string",), _array_length),
    Function("JSONType", (1, 16), ("string", "constant"), _type),
)
ALIASES: dict[str, str] = {"JSON_ARRAY_LENGTH": "JSONArrayLength"}
ANY_CASE: tuple[str, ...] = ("JSON_ARRAY_LENGTH",)
