"""JSON in texts: JSONExtract* by path, JSONHas, JSONLength, JSON_VALUE.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: a value of another
kind than asked for gives the zero value, as in ClickHouse; a path step is a key or a place from 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.model import types as t
from penstock.model.types import Type
from penstock.parse.lexer import InvalidSyntax
from penstock.parse.types import parse_type
from penstock.sql.conversion_texts import as_text
from penstock.sql.functions.function import FLOAT64, INT64, STRING, UINT8, UINT64, BadArguments, Function
from penstock.sql.functions.text_arguments import constant_text
from penstock.sql.let import let
from penstock.sql.typed import Typed, null_if_any, typed
from penstock.sql.value_types import text_literal, value_type

_NUMBER = "^-?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?$"


def _path(steps: Sequence[Typed]) -> str:
    """The JSON path of literal keys and places."""
    path = "$"
    for step in steps:
        match step.constant:
            case str(key) if "'" not in key and "]" not in key:
                path += f"['{key}']"
            case int(place) if place > 0:
                path += f"[{place - 1}]"
            case _:
                raise BadArguments("a step of a JSON path must be a text literal, or a literal place from 1")
    return text_literal(path)


def _parsed(value: Typed, steps: Sequence[Typed]) -> str:
    """The value at the path as a VARIANT; NULL where the text is no JSON or has no such place."""
    return f"try_variant_get(try_parse_json({value.sql}), {_path(steps)}, 'variant')"


def _kind(variant: str) -> str:
    return f"schema_of_variant({variant})"


def _extract(name: str, of: Type, formula: Callable[[str], str]) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        sql = let(_parsed(values[0], values[1:]), formula)
        return typed(sql, null_if_any(of, [values[0]]))

    return Function(name, (1, 16), ("string", "constant"), build)


def _is_number(v: str) -> str:
    return f"({_kind(v)} IN ('BIGINT', 'DOUBLE', 'FLOAT') OR {_kind(v)} LIKE 'DECIMAL%')"


def _text(v: str) -> str:
    """Texts as they are, other values as their JSON; '' for null and for what is not there."""
    number = as_text(typed(f"CAST(CAST({v} AS STRING) AS DOUBLE)", FLOAT64))
    fraction = f"{_is_number(v)} AND {_kind(v)} <> 'BIGINT' AND CAST({v} AS STRING) RLIKE '[.eE]'"
    return (
        f"CASE WHEN {v} IS NULL OR {_kind(v)} = 'VOID' THEN '' WHEN {_kind(v)} = 'STRING' THEN CAST({v} AS STRING) "
        f"WHEN {fraction} THEN {number} ELSE to_json({v}) END"
    )


def _integer(low: int, high: int, spark: str) -> Callable[[str], str]:
    """Numbers without their fraction, and texts that are numbers."""

    def formula(v: str) -> str:
        shown = f"CAST({v} AS STRING)"
        number = f"try_cast({shown} AS DECIMAL(38,10))"
        whole = f"if({number} < 0, ceil({number}), floor({number}))"
        given = f"({_is_number(v)} OR ({_kind(v)} = 'STRING' AND {shown} RLIKE '{_NUMBER}'))"
        return f"if({given} AND {whole} BETWEEN {low} AND {high}, CAST({whole} AS {spark}), CAST(0 AS {spark}))"

    return formula


def _float(v: str) -> str:
    shown = f"CAST({v} AS STRING)"
    given = f"({_is_number(v)} OR ({_kind(v)} = 'STRING' AND {shown} RLIKE '{_NUMBER}'))"
    return f"if({given}, CAST({shown} AS DOUBLE), 0D)"


def _bool(v: str) -> str:
    number = f"({_kind(v)} = 'BIGINT' AND CAST({v} AS STRING) <> '0')"
    return f"CAST(coalesce({number} OR ({_kind(v)} = 'BOOLEAN' AND CAST({v} AS STRING) = 'true'), false) AS INT)"


def _raw(v: str) -> str:
    return f"coalesce(if({_kind(v)} = 'VOID', 'null', to_json({v})), '')"


def _raw_array(v: str) -> str:
    elements = f"coalesce(try_cast({v} AS ARRAY<VARIANT>), array())"
    return f"transform({elements}, ` e` -> to_json(` e`))"


def _length(values: Sequence[Typed]) -> Typed:
    def formula(v: str) -> str:
        members = f"coalesce(size(try_cast({v} AS MAP<STRING, VARIANT>)), 0)"
        of_object = f"if({_kind(v)} LIKE 'OBJECT%', {members}, 0)"
        return f"if({_kind(v)} LIKE 'ARRAY%', size(try_cast({v} AS ARRAY<VARIANT>)), {of_object})"

    return Typed(let(_parsed(values[0], values[1:]), formula), null_if_any(UINT64, [values[0]]), "INT")


def _has(values: Sequence[Typed]) -> Typed:
    return Typed(f"({_parsed(values[0], values[1:])} IS NOT NULL)", UINT8, "BOOLEAN")


def _json_value(values: Sequence[Typed]) -> Typed:
    found = f"get_json_object({values[0].sql}, {values[1].sql})"
    return typed(f"coalesce({found}, '')", null_if_any(STRING, [values[0]]))


def _formula(of: Type) -> Callable[[str], str]:
    """What makes a value of a type of a VARIANT. Raises BadArguments for a type without one."""
    match of:
        case t.String():
            return _text
        case t.Int():
            return _integer(of.low, of.high, value_type(of))
        case t.Float(64):
            return _float
        case t.Bool():
            return lambda v: f"({_bool(v)} <> 0)"
        case t.Array(inner):
            element = _formula(inner)("` e`")
            return lambda v: f"transform(coalesce(try_cast({v} AS ARRAY<VARIANT>), array()), ` e` -> {element})"
        case _:
            raise BadArguments(f"`JSONExtract` of {of} is not supported", "String, integers, Float64, Bool, Array")


def _extract_as(values: Sequence[Typed]) -> Typed:
    """JSONExtract(json, path…, 'Type')."""
    try:
        of = parse_type(constant_text(values[-1], "the type"))
    except InvalidSyntax as error:
        raise BadArguments(str(error), error.hint) from error
    sql = let(_parsed(values[0], values[1:-1]), _formula(of))
    return typed(sql, null_if_any(of, [values[0]]))


FUNCTIONS: tuple[Function, ...] = (
    Function("JSONExtract", (2, 16), ("string", "constant"), _extract_as),
    _extract("JSONExtractString", STRING, _text),
    _extract("JSONExtractInt", INT64, _integer(-(2**63), 2**63 - 1, "BIGINT")),
    _extract("JSONExtractUInt", UINT64, _integer(0, 2**64 - 1, "DECIMAL(20,0)")),
    _extract("JSONExtractFloat", FLOAT64, _float),
    _extract("JSONExtractBool", UINT8, _bool),
    _extract("JSONExtractRaw", STRING, _raw),
    _extract("JSONExtractArrayRaw", t.Array(STRING), _raw_array),
    Function("JSONLength", (1, 16), ("string", "constant"), _length),
    Function("JSONHas", (2, 16), ("string", "constant"), _has),
    Function("JSON_VALUE", (2, 2), ("string", "constant"), _json_value),
    Function(
        "isValidJSON",
        (1, 1),
        ("string",),
        lambda v: Typed(f"(try_parse_json({v[0].sql}) IS NOT NULL)", UINT8, "BOOLEAN"),
    ),
)
ALIASES = {
    f"simpleJSONExtract{kind}": f"JSONExtract{kind}" for kind in ("String", "Int", "UInt", "Float", "Bool", "Raw")
}
ANY_CASE: tuple[str, ...] = ()
