"""JSON by path: JSONExtract*, JSONHas, JSONLength, JSONKey, JSONType, JSON_VALUE, isValidJSON

Strings are parsed into Spark's VARIANT. A value of another kind than the one asked for gives the zero value of the
type, as in ClickHouse. Keys come in the order of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from penstock.model import types as t
from penstock.model.types import Type
from penstock.parse.column_types import parse_type
from penstock.parse.lexer import InvalidSyntax
from penstock.sql.expr.bind_once import bind_if_long, try_bind_once
from penstock.sql.expr.spark_types import value_default, value_type
from penstock.sql.expr.typed import TypedSql, nullable_if_any, typed_sql, unless_null
from penstock.sql.functions.arguments import array_position, literal_string
from penstock.sql.functions.function import FLOAT64, INT64, STRING, UINT8, UINT64, BadArguments, Function
from penstock.sql.functions.json.numbers import Reader, is_beyond_64_bits, is_infinite, read_float, read_integer
from penstock.sql.functions.json.paths import json_text_at, parse_document, variant_at, variant_at_path, variant_kind
from penstock.sql.functions.json.texts import (
    is_container,
    ordered_json,
    scalar_json,
    shortest_value,
    string_or_ordered_json,
)
from penstock.sql.functions.json.typed_values import read_or_null, read_value
from penstock.sql.spark_text import string_literal

_PATH_STEP = re.compile(r"""\.([A-Za-z_][A-Za-z0-9_]*)|\."([^"'\]\\]+)"|\["([^"'\]\\]+)"\]|\[([0-9]{1,9})\]""")
_JSON_TYPE = t.Enum(
    8,
    (
        ("Null", 0),
        ("String", 34),
        ("Array", 91),
        ("Bool", 98),
        ("Double", 100),
        ("Int64", 105),
        ("UInt64", 117),
        ("Object", 123),
    ),
)
"""The result type of ClickHouse's JSONType."""
_NO_KEYS = "CAST(array() AS ARRAY<STRING>)"


def null_where_any_is_null(values: Sequence[TypedSql], sql: str, of: Type) -> TypedSql:
    """The result of a JSON function: NULL where the JSON string or a step of the path is. Raises BadArguments if the
    result type cannot be NULL."""
    nullable = [value for value in values if value.nullable]
    result = nullable_if_any(of, nullable)
    if not nullable:
        return typed_sql(sql, result)
    if result == of and not isinstance(of, t.Nullable):
        raise BadArguments(f"a JSON string or key that may be NULL gives no {of}", "ifNull(json, '')")
    missing = " OR ".join(f"{value.sql} IS NULL" for value in nullable)
    return typed_sql(f"if({missing}, NULL, {sql})", result)


def type_argument(values: Sequence[TypedSql]) -> Type:
    """The type that the last argument names. Raises BadArguments if it is not a type."""
    try:
        return parse_type(literal_string(values[-1], "the type"))
    except InvalidSyntax as error:
        raise BadArguments(str(error), error.hint) from error


def _extract_function(name: str, of: Type, formula: Callable[[str], str]) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        return null_where_any_is_null(values, bind_if_long(variant_at(values[0], values[1:]), formula), of)

    return Function(name, (1, 16), ("json", "step"), build)


def _or_zero(reader: Reader, of: Type) -> Reader:
    return lambda v: f"coalesce({reader(v)}, {value_default(of)})"


def _extract_with_text_function(name: str, of: Type, formula: Callable[[str, str], str]) -> Function:
    """As `_extract_function`, for formulas that also need the JSON text, whose keys are in order."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        text = json_text_at(values[0], values[1:])
        whole = text if values[1:] else f"get_json_object({text}, '$')"
        return null_where_any_is_null(
            values, bind_if_long(variant_at(values[0], values[1:]), lambda v: formula(v, whole)), of
        )

    return Function(name, (1, 16), ("json", "step"), build)


def _bool_value(v: str) -> str:
    """Whether a value is true or an integer of 64 bits that is not 0."""
    shown = f"CAST({v} AS STRING)"
    plain = f"({variant_kind(v)} = 'BIGINT' AND {shown} <> '0')"
    large = f"({variant_kind(v)} IN ('DECIMAL(19,0)', 'DECIMAL(20,0)') AND NOT {is_beyond_64_bits(v)})"
    return f"CAST(coalesce({plain} OR {large} OR ({variant_kind(v)} = 'BOOLEAN' AND {shown} = 'true'), false) AS INT)"


def _raw_json(v: str, text: str) -> str:
    shown = f"if({is_container(v)}, {ordered_json(text)}, {scalar_json(v)})"
    return f"coalesce(if({variant_kind(v)} = 'VOID', 'null', {shown}), '')"


def _raw_elements(v: str, text: str) -> str:
    elements = f"coalesce(try_cast({v} AS ARRAY<VARIANT>), array())"
    of_element = f"get_json_object({text}, concat('$[', ` i`, ']'))"
    shown = f"if({is_container('` e`')}, {ordered_json(of_element)}, {scalar_json('` e`')})"
    return f"transform({elements}, (` e`, ` i`) -> {shown})"


def _json_length(values: Sequence[TypedSql]) -> TypedSql:
    def formula(v: str) -> str:
        members = f"coalesce(size(try_cast({v} AS MAP<STRING, VARIANT>)), 0)"
        of_object = f"if({variant_kind(v)} LIKE 'OBJECT%', {members}, 0)"
        return f"if({variant_kind(v)} LIKE 'ARRAY%', size(try_cast({v} AS ARRAY<VARIANT>)), {of_object})"

    sql = bind_if_long(variant_at(values[0], values[1:]), formula)
    return TypedSql(unless_null(sql, *values), nullable_if_any(UINT64, list(values)), "INT")


def _json_has(values: Sequence[TypedSql]) -> TypedSql:
    found = f"({variant_at(values[0], values[1:])} IS NOT NULL)"
    return TypedSql(unless_null(found, *values), nullable_if_any(UINT8, list(values)), "BOOLEAN")


def _sql_json_path(value: TypedSql) -> str:
    """A literal `$.key."other key"[0]` as the path of a VARIANT. Raises BadArguments for other syntax."""
    text = literal_string(value, "the path").strip()
    path, place = "$", 1
    while place < len(text) or not text.startswith("$"):
        found = _PATH_STEP.match(text, place) if text.startswith("$") else None
        if found is None:
            raise BadArguments(f"the JSON path {value.sql} is not supported", '$.key, $["key"] and $[0]')
        key = found[1] or found[2] or found[3]
        path += f"['{key}']" if key else f"[{found[4]}]"
        place = found.end()
    return path


def _variant_at_sql_path(values: Sequence[TypedSql]) -> str:
    return variant_at_path(values[0].sql, _sql_json_path(values[1]))


def _json_value(values: Sequence[TypedSql]) -> TypedSql:
    """A scalar as a string; '' for arrays and objects."""

    def formula(v: str) -> str:
        nested = f"({variant_kind(v)} LIKE 'ARRAY%' OR {variant_kind(v)} LIKE 'OBJECT%')"
        return f"CASE WHEN {variant_kind(v)} = 'VOID' THEN 'null' WHEN {nested} THEN '' ELSE {shortest_value(v)} END"

    return null_where_any_is_null(values[:1], bind_if_long(_variant_at_sql_path(values), formula), STRING)


def _json_exists(values: Sequence[TypedSql]) -> TypedSql:
    found = f"({_variant_at_sql_path(values)} IS NOT NULL)"
    return TypedSql(unless_null(found, *values), nullable_if_any(UINT8, list(values)), "BOOLEAN")


def _is_valid_json(values: Sequence[TypedSql]) -> TypedSql:
    sql = unless_null(f"({parse_document(values[0].sql)} IS NOT NULL)", values[0])
    return TypedSql(sql, nullable_if_any(UINT8, [values[0]]), "BOOLEAN")


def _extract_as(values: Sequence[TypedSql]) -> TypedSql:
    """JSONExtract(json, path…, 'Type')."""
    of = type_argument(values)
    text = json_text_at(values[0], values[1:-1])
    whole = text if values[1:-1] else f"get_json_object({text}, '$')"
    sql = bind_if_long(variant_at(values[0], values[1:-1]), lambda v: read_value(of, v, whole))
    return null_where_any_is_null(values, sql, of)


def _object_keys(value: TypedSql, steps: Sequence[TypedSql]) -> str:
    if value.nullable or any(step.nullable for step in steps):
        raise BadArguments("a JSON string or key that may be NULL is not supported here", "ifNull(json, '')")
    keys = f"json_object_keys({json_text_at(value, steps)})"
    return bind_if_long(variant_at(value, steps), lambda v: f"if({variant_kind(v)} LIKE 'OBJECT%', {keys}, {_NO_KEYS})")


def _extract_keys(values: Sequence[TypedSql]) -> TypedSql:
    return typed_sql(f"coalesce({_object_keys(values[0], values[1:])}, {_NO_KEYS})", t.Array(STRING))


def _key_at_place(values: Sequence[TypedSql]) -> TypedSql:
    place = values[-1].constant
    if not isinstance(place, int) or isinstance(place, bool):
        raise BadArguments("the last argument of `JSONKey` must be an integer literal")
    if place == 0:
        return typed_sql("''", STRING)
    found = f"try_element_at({_object_keys(values[0], values[1:-1])}, {array_position(place)})"
    return typed_sql(f"coalesce({found}, '')", STRING)


def _extract_keys_and_values(values: Sequence[TypedSql]) -> TypedSql:
    of = type_argument(values)
    result = t.Array(t.Tuple(((None, STRING), (None, of))))
    members = f"try_cast({variant_at(values[0], values[1:-1])} AS MAP<STRING, VARIANT>)"
    opening, closing = string_literal("$['"), string_literal("']")
    of_key = f"get_json_object({json_text_at(values[0], values[1:-1])}, concat({opening}, ` k`, {closing}))"
    value = read_or_null(of, "` m`[` k`]", of_key)
    keys = _object_keys(values[0], values[1:-1])
    made = f"transform({keys}, ` k` -> struct(` k` AS `_1`, {value} AS `_2`))"
    kept = f"filter({made}, ` p` -> ` p`.`_2` IS NOT NULL)"
    whole = try_bind_once(members, "` m`", kept)
    return typed_sql(f"CAST(coalesce({whole}, array()) AS {value_type(result)})", result)


def _json_array_length(values: Sequence[TypedSql]) -> TypedSql:
    sql = bind_if_long(
        variant_at(values[0], []),
        lambda v: f"if({variant_kind(v)} LIKE 'ARRAY%', size(try_cast({v} AS ARRAY<VARIANT>)), NULL)",
    )
    return TypedSql(sql, t.Nullable(UINT64), "INT")


def _json_type(values: Sequence[TypedSql]) -> TypedSql:
    """The name of the type in ClickHouse's JSONType, decided by the Spark type of the VARIANT."""

    def formula(v: str) -> str:
        of = variant_kind(v)
        shown = f"CAST({v} AS STRING)"
        return (
            f"CASE WHEN {v} IS NULL OR {of} = 'VOID' OR {is_infinite(v)} THEN 'Null' "
            f"WHEN {of} = 'STRING' OR {is_beyond_64_bits(v)} THEN 'String' "
            f"WHEN {of} = 'BOOLEAN' THEN 'Bool' WHEN {of} LIKE 'ARRAY%' THEN 'Array' "
            f"WHEN {of} LIKE 'OBJECT%' THEN 'Object' WHEN {of} = 'BIGINT' THEN 'Int64' "
            f"WHEN {of} IN ('DECIMAL(19,0)', 'DECIMAL(20,0)') AND {shown} NOT LIKE '-%' THEN 'UInt64' "
            f"ELSE 'Double' END"
        )

    return null_where_any_is_null(values, bind_if_long(variant_at(values[0], values[1:]), formula), _JSON_TYPE)


def _as_clickhouse_takes(function: Function) -> Function:
    """ClickHouse's functions on documents fail for a LowCardinality(Nullable(String)), as a document or as a step."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        for value in values:
            if isinstance(value.type, t.LowCardinality) and value.nullable:
                message = f"ClickHouse's `{function.name}` does not take a {value.type}"
                raise BadArguments(message, "CAST(x AS Nullable(String))")
        return function.build(values)

    return replace(function, build=build)


_OF_DOCUMENTS = (
    Function("JSONExtract", (2, 16), ("json", "step"), _extract_as),
    _extract_with_text_function("JSONExtractString", STRING, string_or_ordered_json),
    _extract_function("JSONExtractInt", INT64, _or_zero(read_integer(t.Int(64)), INT64)),
    _extract_function("JSONExtractUInt", UINT64, _or_zero(read_integer(t.Int(64, signed=False)), UINT64)),
    _extract_function("JSONExtractFloat", FLOAT64, _or_zero(read_float(t.Float(64)), FLOAT64)),
    _extract_function("JSONExtractBool", UINT8, _bool_value),
    _extract_with_text_function("JSONExtractRaw", STRING, _raw_json),
    _extract_with_text_function("JSONExtractArrayRaw", t.Array(STRING), _raw_elements),
    Function("JSONLength", (1, 16), ("json", "step"), _json_length),
    Function("JSONHas", (2, 16), ("json", "step"), _json_has),
    Function("isValidJSON", (1, 1), ("text",), _is_valid_json),
    Function("JSONExtractKeys", (1, 16), ("json", "step"), _extract_keys),
    Function("JSONExtractKeysAndValues", (2, 16), ("json", "step"), _extract_keys_and_values),
    Function("JSONKey", (2, 16), ("json", "step"), _key_at_place),
    Function("JSONType", (1, 16), ("json", "step"), _json_type),
)
FUNCTIONS: tuple[Function, ...] = (
    *map(_as_clickhouse_takes, _OF_DOCUMENTS),
    Function("JSON_VALUE", (2, 2), ("text", "constant"), _json_value),
    Function("JSON_EXISTS", (2, 2), ("text", "constant"), _json_exists),
    Function("JSONArrayLength", (1, 1), ("json",), _json_array_length),
)
ALIASES: dict[str, str] = {"JSON_ARRAY_LENGTH": "JSONArrayLength"}
ANY_CASE: tuple[str, ...] = ("JSON_ARRAY_LENGTH",)
