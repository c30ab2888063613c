"""JSON by path: JSONExtract*, JSONHas, JSONLength, JSONKey, JSONType, JSON_VALUE, isValidJSON

Strings are parsed into Spark's VARIANT. A value of another kind than the one asked for gives the zero value of the
type, as in ClickHouse. Keys come in the order of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from penstock.model import types as t
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.parse.column_types import parse_type
from penstock.parse.lexer import InvalidSyntax
from penstock.sql.conversions.strings import as_text
from penstock.sql.expr.bind_once import bind_if_long, try_bind_once
from penstock.sql.expr.spark_types import value_default, value_type
from penstock.sql.expr.typed import TypedSql, nullable_if_any, typed_sql, unless_null
from penstock.sql.functions.arguments import literal_string
from penstock.sql.functions.function import FLOAT64, INT64, STRING, UINT8, UINT64, BadArguments, Function
from penstock.sql.functions.json.paths import json_text_at, variant_at, variant_at_path, variant_kind
from penstock.sql.spark_text import string_literal

_JSON_NUMBER = "^-?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?$"
_PATH_STEP = re.compile(r"""\.([A-Za-z_][A-Za-z0-9_]*)|\."([^"'\]\\]+)"|\["([^"'\]\\]+)"\]|\[([0-9]{1,9})\]""")
_END_MARK = "end of the text"
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


def nullable_value_reader(of: Type) -> Callable[[str], str]:
    """As `_value_reader`, but NULL for a value that is not of the type. Raises BadArguments for other types."""
    match of:
        case t.String():
            return lambda v: f"if({v} IS NULL OR {variant_kind(v)} = 'VOID', NULL, {_string_value(v)})"
        case t.Int():
            return _boolean_as_number(_integer_reader(of.low, of.high, value_type(of), "NULL"), value_type(of))
        case t.Float(64):
            return _boolean_as_number(_float_or_null, "DOUBLE")
        case _:
            raise BadArguments(f"JSON values as {of} are not supported here", "String, integers, Float64")


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


def _extract_with_text_function(name: str, of: Type, formula: Callable[[str, str], str]) -> Function:
    """As `_extract_function`, for formulas that also need the JSON text, whose keys are in order."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        text = json_text_at(values[0], values[1:])
        whole = f"get_json_object({text}, '$')" if text == values[0].sql else text
        return null_where_any_is_null(
            values, bind_if_long(variant_at(values[0], values[1:]), lambda v: formula(v, whole)), of
        )

    return Function(name, (1, 16), ("json", "step"), build)


def _is_number_sql(v: str) -> str:
    return f"({variant_kind(v)} IN ('BIGINT', 'DOUBLE', 'FLOAT') OR {variant_kind(v)} LIKE 'DECIMAL%')"


def _ordered_json(v: str, text: str) -> str:
    """An object or array as ClickHouse writes it: keys in the order of the text, which a VARIANT does not keep, and
    numbers without a fraction of zero. `text` writes large numbers with an exponent, the VARIANT does not."""
    strings = r"""("(?:[^"\\\\]|\\\\.)*")|(-?[0-9]+)[.]0(?=[,}\\]])"""
    shown = f"regexp_replace({text}, '{strings}', '$1$2')"
    return f"if({text} RLIKE '[0-9]E-?[0-9]', to_json({v}), {shown})"


def _string_or_ordered_json(v: str, text: str) -> str:
    return f"if({_is_container(v)}, {_ordered_json(v, text)}, {_string_value(v)})"


def _string_value(v: str) -> str:
    """A string as it is, another value as JSON; '' for null and for a place that does not exist."""
    number = as_text(typed_sql(f"CAST(CAST({v} AS STRING) AS DOUBLE)", FLOAT64))
    fraction = f"{_is_number_sql(v)} AND {variant_kind(v)} <> 'BIGINT' AND CAST({v} AS STRING) RLIKE '[.eE]'"
    return (
        f"CASE WHEN {v} IS NULL OR {variant_kind(v)} = 'VOID' THEN '' "
        f"WHEN {variant_kind(v)} = 'STRING' THEN CAST({v} AS STRING) "
        f"WHEN {fraction} THEN {number} ELSE to_json({v}) END"
    )


def _integer_reader(low: int, high: int, spark: str, otherwise: str = "0") -> Callable[[str], str]:
    """Numbers without their fraction, and strings that are numbers; `otherwise` for anything out of range."""

    def formula(v: str) -> str:
        shown = f"CAST({v} AS STRING)"
        number = f"try_cast({shown} AS DECIMAL(38,10))"
        whole = f"if({number} < 0, ceil({number}), floor({number}))"
        given = f"({_is_number_sql(v)} OR ({variant_kind(v)} = 'STRING' AND {shown} RLIKE '{_JSON_NUMBER}'))"
        fits = f"{given} AND {whole} BETWEEN {low} AND {high}"
        return f"if({fits}, CAST({whole} AS {spark}), CAST({otherwise} AS {spark}))"

    return formula


def _float_or_zero(v: str) -> str:
    shown = f"CAST({v} AS STRING)"
    given = f"({_is_number_sql(v)} OR ({variant_kind(v)} = 'STRING' AND {shown} RLIKE '{_JSON_NUMBER}'))"
    return f"if({given}, CAST({shown} AS DOUBLE), 0D)"


def _float_or_null(v: str) -> str:
    shown = f"CAST({v} AS STRING)"
    given = f"({_is_number_sql(v)} OR ({variant_kind(v)} = 'STRING' AND {shown} RLIKE '{_JSON_NUMBER}'))"
    return f"if({given}, CAST({shown} AS DOUBLE), NULL)"


def _bool_value(v: str) -> str:
    number = f"({variant_kind(v)} = 'BIGINT' AND CAST({v} AS STRING) <> '0')"
    return f"CAST(coalesce({number} OR ({variant_kind(v)} = 'BOOLEAN' AND CAST({v} AS STRING) = 'true'), false) AS INT)"


def _is_container(v: str) -> str:
    return f"({variant_kind(v)} LIKE 'OBJECT%' OR {variant_kind(v)} LIKE 'ARRAY%')"


def _scalar_json(v: str) -> str:
    """A string, number, boolean or null as JSON."""
    return f"regexp_replace(to_json({v}), '^(-?[0-9]+)[.]0$', '$1')"


def _raw_json(v: str, text: str) -> str:
    shown = f"if({_is_container(v)}, {_ordered_json(v, text)}, {_scalar_json(v)})"
    return f"coalesce(if({variant_kind(v)} = 'VOID', 'null', {shown}), '')"


def _raw_elements(v: str, text: str) -> str:
    elements = f"coalesce(try_cast({v} AS ARRAY<VARIANT>), array())"
    of_element = f"get_json_object({text}, concat('$[', ` i`, ']'))"
    shown = f"if({_is_container('` e`')}, {_ordered_json('` e`', of_element)}, {_scalar_json('` e`')})"
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
        return f"CASE WHEN {variant_kind(v)} = 'VOID' THEN 'null' WHEN {nested} THEN '' ELSE {_string_value(v)} END"

    return null_where_any_is_null(values[:1], bind_if_long(_variant_at_sql_path(values), formula), STRING)


def _json_exists(values: Sequence[TypedSql]) -> TypedSql:
    found = f"({_variant_at_sql_path(values)} IS NOT NULL)"
    return TypedSql(unless_null(found, *values), nullable_if_any(UINT8, list(values)), "BOOLEAN")


def _is_valid_json(values: Sequence[TypedSql]) -> TypedSql:
    """Exactly one value: Spark's parser ignores what follows the first one."""
    whole = f"try_parse_json(concat('[[', {values[0].sql}, '],\"{_END_MARK}\"]'))"

    def formula(v: str) -> str:
        first, second = (f"try_variant_get({v}, '$[0][{place}]', 'variant')" for place in (0, 1))
        one = f"{first} IS NOT NULL AND {second} IS NULL"
        ends = f"coalesce(try_variant_get({v}, '$[1]', 'string') = '{_END_MARK}', false)"
        infinite = f"NOT to_json({v}) LIKE '%Infinity%'"
        return f"({one} AND {ends} AND coalesce({infinite}, true))"

    sql = bind_if_long(whole, formula)
    sql = unless_null(sql, values[0])
    return TypedSql(sql, nullable_if_any(UINT8, [values[0]]), "BOOLEAN")


def _value_reader(of: Type) -> Callable[[str], str]:
    """The formula that reads a value of a type from a VARIANT. Raises BadArguments for other types."""
    match of:
        case t.String():
            return _string_value
        case t.Int():
            return _boolean_as_number(_integer_reader(of.low, of.high, value_type(of)), value_type(of))
        case t.Float(64):
            return _boolean_as_number(_float_or_zero, "DOUBLE")
        case t.Bool():
            return lambda v: f"({_bool_value(v)} <> 0)"
        case t.Nullable(inner):
            return nullable_value_reader(inner)
        case t.LowCardinality(inner):
            return _value_reader(inner)
        case t.Array(inner) if not isinstance(inner, t.Tuple):  # of which ClickHouse drops all if none is a tuple
            element = _value_reader(inner)("` e`")
            return lambda v: f"transform(coalesce(try_cast({v} AS ARRAY<VARIANT>), array()), ` e` -> {element})"
        case t.Tuple(fields) if fields and all(name and _PLAIN_NAME.fullmatch(name) for name, _ in fields):
            readers = [(str(name), _value_reader(inner)) for name, inner in fields]
            return lambda v: _tuple_value(v, readers)
        case _:
            hint = "String, integers, Float64, Bool, Array, and Tuple with names of letters and digits"
            raise BadArguments(f"`JSONExtract` of {of} is not supported", hint)


_PLAIN_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")


def _tuple_value(v: str, readers: Sequence[tuple[str, Callable[[str], str]]]) -> str:
    """A tuple of the members of an object by their names, or of the elements of an array by their places."""
    parts = []
    for place, (name, reader) in enumerate(readers):
        at_place, by_name = (f"try_variant_get({v}, '$[{step}]', 'variant')" for step in (place, f'"{name}"'))
        member = f"if({variant_kind(v)} LIKE 'ARRAY%', {at_place}, {by_name})"
        parts.append(f"'{name}', {bind_if_long(member, reader)}")
    return f"named_struct({', '.join(parts)})"


def _read_value(of: Type, v: str, text: str) -> str:
    """A value of a type, or the type's default, from a VARIANT and the JSON text of the same value, whose keys are in
    order. Raises BadArguments for other types."""
    match of:
        case t.String():
            return _string_or_ordered_json(v, text)
        case t.Nullable(t.String()) | t.Array():
            found = _read_or_null(unwrap_type(of), v, text)
            return f"coalesce({found}, CAST(array() AS {value_type(of)}))" if isinstance(of, t.Array) else found
        case t.LowCardinality(inner):
            return _read_value(inner, v, text)
        case _:
            return _value_reader(of)(v)


def _read_or_null(of: Type, v: str, text: str, depth: int = 0) -> str:
    """As `_read_value`, but NULL for a value that is not of the type."""
    match of:
        case t.String():
            return f"if({v} IS NULL OR {variant_kind(v)} = 'VOID', NULL, {_string_or_ordered_json(v, text)})"
        case t.Bool():
            return f"({_boolean_as_number(_integer_reader(0, 255, 'INT', 'NULL'), 'INT')(v)} <> 0)"
        case t.LowCardinality(inner):
            return _read_or_null(inner, v, text, depth)
        case t.Array(inner):
            return _read_array(inner, v, text, depth)
        case _:
            return nullable_value_reader(of)(v)


def _read_array(of: Type, v: str, text: str, depth: int) -> str:
    """An array of elements that may be of another type: these are the type's default. NULL for a value that is no
    array, and for elements none of which is of the type."""
    e, i, r = (f"` {letter}{depth}`" for letter in ("e", "i", "r"))
    of_element = f"get_json_object({text}, concat('$[', {i}, ']'))"
    found = _read_or_null(unwrap_type(of), e, of_element, depth + 1)
    array = f"try_cast({v} AS ARRAY<VARIANT>)"
    if is_nullable(of):
        pairs = f"transform({array}, ({e}, {i}) -> named_struct('void', {variant_kind(e)} = 'VOID', 'v', {found}))"
        none = f"forall({r}, {e} -> NOT {e}.void AND {e}.v IS NULL)"
        kept = f"transform({r}, {e} -> {e}.v)"
    else:
        pairs = f"transform({array}, ({e}, {i}) -> {found})"
        none = f"forall({r}, {e} -> {e} IS NULL)"
        kept = f"transform({r}, {e} -> coalesce({e}, {value_default(of)}))"
    return try_bind_once(pairs, r, f"if(size({r}) > 0 AND {none}, NULL, {kept})")


def _boolean_as_number(number: Callable[[str], str], spark: str) -> Callable[[str], str]:
    """JSONExtract reads true as 1 and false as 0; JSONExtractInt does not."""

    def formula(v: str) -> str:
        truth = f"CAST(if(CAST({v} AS STRING) = 'true', 1, 0) AS {spark})"
        return f"if(coalesce({variant_kind(v)}, '') = 'BOOLEAN', {truth}, {number(v)})"

    return formula


def _extract_as(values: Sequence[TypedSql]) -> TypedSql:
    """JSONExtract(json, path…, 'Type')."""
    of = type_argument(values)
    text = json_text_at(values[0], values[1:-1])
    whole = f"get_json_object({text}, '$')" if text == values[0].sql else text
    sql = bind_if_long(variant_at(values[0], values[1:-1]), lambda v: _read_value(of, v, whole))
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
    return typed_sql(f"coalesce(try_element_at({_object_keys(values[0], values[1:-1])}, {place}), '')", STRING)


def _extract_keys_and_values(values: Sequence[TypedSql]) -> TypedSql:
    of = type_argument(values)
    result = t.Array(t.Tuple(((None, STRING), (None, of))))
    members = f"try_cast({variant_at(values[0], values[1:-1])} AS MAP<STRING, VARIANT>)"
    opening, closing = string_literal("$['"), string_literal("']")
    of_key = f"get_json_object({json_text_at(values[0], values[1:-1])}, concat({opening}, ` k`, {closing}))"
    value = _read_or_null(of, "` m`[` k`]", of_key)
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
            f"CASE WHEN {v} IS NULL OR {of} = 'VOID' THEN 'Null' WHEN {of} = 'STRING' THEN 'String' "
            f"WHEN {of} = 'BOOLEAN' THEN 'Bool' WHEN {of} LIKE 'ARRAY%' THEN 'Array' "
            f"WHEN {of} LIKE 'OBJECT%' THEN 'Object' WHEN {of} = 'BIGINT' THEN 'Int64' "
            f"WHEN {of} IN ('DECIMAL(19,0)', 'DECIMAL(20,0)') AND {shown} NOT LIKE '-%' "
            f"AND try_cast({shown} AS DECIMAL(38,0)) <= {2**64 - 1} THEN 'UInt64' ELSE 'Double' END"
        )

    return null_where_any_is_null(values, bind_if_long(variant_at(values[0], values[1:]), formula), _JSON_TYPE)


FUNCTIONS: tuple[Function, ...] = (
    Function("JSONExtract", (2, 16), ("json", "step"), _extract_as),
    _extract_with_text_function("JSONExtractString", STRING, _string_or_ordered_json),
    _extract_function("JSONExtractInt", INT64, _integer_reader(-(2**63), 2**63 - 1, "BIGINT")),
    _extract_function("JSONExtractUInt", UINT64, _integer_reader(0, 2**64 - 1, "DECIMAL(20,0)")),
    _extract_function("JSONExtractFloat", FLOAT64, _float_or_zero),
    _extract_function("JSONExtractBool", UINT8, _bool_value),
    _extract_with_text_function("JSONExtractRaw", STRING, _raw_json),
    _extract_with_text_function("JSONExtractArrayRaw", t.Array(STRING), _raw_elements),
    Function("JSONLength", (1, 16), ("json", "step"), _json_length),
    Function("JSONHas", (2, 16), ("json", "step"), _json_has),
    Function("JSON_VALUE", (2, 2), ("string", "constant"), _json_value),
    Function("JSON_EXISTS", (2, 2), ("string", "constant"), _json_exists),
    Function("isValidJSON", (1, 1), ("string",), _is_valid_json),
    Function("JSONExtractKeys", (1, 16), ("json", "step"), _extract_keys),
    Function("JSONExtractKeysAndValues", (2, 16), ("json", "step"), _extract_keys_and_values),
    Function("JSONKey", (2, 16), ("json", "step"), _key_at_place),
    Function("JSONArrayLength", (1, 1), ("json",), _json_array_length),
    Function("JSONType", (1, 16), ("json", "step"), _json_type),
)
ALIASES: dict[str, str] = {"JSON_ARRAY_LENGTH": "JSONArrayLength"}
ANY_CASE: tuple[str, ...] = ("JSON_ARRAY_LENGTH",)
