"""JSON fields without parsing: simpleJSONExtract*, simpleJSONHas (visitParam*)

Reads what stands right after the first `"name":` in the string, as ClickHouse's simpleJSON functions do: at any depth,
without blanks after the colon, the rest of the string unread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.model.types import Type
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.typed import TypedSql, nullable_if_any
from penstock.sql.functions.arguments import binary_to_string, literal_string, to_binary
from penstock.sql.functions.function import FLOAT64, INT64, STRING, UINT8, UINT64, BadArguments, Function
from penstock.sql.functions.json.extract import null_where_any_is_null
from penstock.sql.spark_text import string_literal

_STRING = string_literal('^"(?:[^"\\\\]|\\\\(?s:.))*"')
_INTEGER = string_literal('^"?([+-]?[0-9]+)')
_UNSIGNED = string_literal('^"?([+]?[0-9]+)')
_FRACTION = string_literal('^"?([+-]?(?:(?:[0-9]+(?:[.][0-9]*)?|[.][0-9]+)(?:[eE][+-]?[0-9]+)?|inf|nan))')
# Only a quote is escaped here: two backslashes do not end it.
_TOKEN = string_literal('"[^"\\\\]*+(?:\\\\"?[^"\\\\]*+)*+(?:"|\\z)|[\\[\\]{},]|[^"\\[\\]{},]+')
_KINDS = ("String", "Int", "UInt", "Float", "Bool", "Raw")


def _name_needle(values: Sequence[TypedSql]) -> str:
    name = literal_string(values[1], "the name")
    if not name or '"' in name or "\\" in name:
        raise BadArguments("a name with quotes is not supported", "JSONExtractString …")
    return string_literal(f'"{name}":')


def _text_after_name(values: Sequence[TypedSql]) -> str:
    """The text after `"name":`, NULL if the name is not found."""
    js, needle = values[0].sql, _name_needle(values)
    return f"if(instr({js}, {needle}) = 0, NULL, substring({js}, instr({js}, {needle}) + length({needle})))"


def _extract_function(name: str, of: Type, formula: Callable[[str], str]) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        return null_where_any_is_null(values[:1], bind_if_long(_text_after_name(values), formula), of)

    return Function(name, (2, 2), ("text", "constant"), build)


def _string_value(rest: str) -> str:
    """The string with its escapes resolved; '' if it is not a complete string."""
    quoted = f"regexp_extract({rest}, {_STRING}, 0)"
    return f"coalesce(CAST(try_parse_json({quoted}) AS STRING), '')"


def _number_reader(pattern: str, spark: str) -> Callable[[str], str]:
    def formula(rest: str) -> str:
        return f"coalesce(try_cast(regexp_extract({rest}, {pattern}, 1) AS {spark}), CAST(0 AS {spark}))"

    return formula


def _unsigned_number(rest: str) -> str:
    number = _number_reader(_UNSIGNED, "DECIMAL(20,0)")(rest)
    return bind_if_long(number, lambda n: f"if({n} < {2**64}, {n}, CAST(0 AS DECIMAL(20,0)))")


def _raw_value(rest: str) -> str:
    """The text before the next comma or closing brace outside of brackets and quotes; '' if there is none."""

    def formula(tokens: str) -> str:
        start = "named_struct('open', '', 'count', 0, 'ended', false)"
        ended = "` a`.open = '' AND ` p` IN (',', '}')"
        brackets = "translate(` p`, '[{', ']}')"
        opened = f"if(` p` IN ('[', '{{'), concat(` a`.open, {brackets}), ` a`.open)"
        closed = "if(` p` = right(` a`.open, 1), left(` a`.open, length(` a`.open) - 1), " + opened + ")"
        step = f"named_struct('open', {closed}, 'count', ` a`.count + 1, 'ended', false)"
        over = "named_struct('open', '', 'count', ` a`.count, 'ended', true)"
        each = f"(` a`, ` p`) -> CASE WHEN ` a`.ended THEN ` a` WHEN {ended} THEN {over} ELSE {step} END"
        result = f"` a` -> if(` a`.ended, array_join(slice({tokens}, 1, ` a`.count), ''), '')"
        return binary_to_string(f"encode(aggregate({tokens}, {start}, {each}, {result}), 'ISO-8859-1')")

    given = f"coalesce({rest}, '')"
    single = f"decode({to_binary(given)}, 'ISO-8859-1')"
    return bind_if_long(f"regexp_extract_all({single}, {_TOKEN}, 0)", formula)


def _has_name(values: Sequence[TypedSql]) -> TypedSql:
    return TypedSql(
        f"(instr({values[0].sql}, {_name_needle(values)}) > 0)", nullable_if_any(UINT8, [values[0]]), "BOOLEAN"
    )


FUNCTIONS: tuple[Function, ...] = (
    _extract_function("simpleJSONExtractString", STRING, _string_value),
    _extract_function("simpleJSONExtractInt", INT64, _number_reader(_INTEGER, "BIGINT")),
    _extract_function("simpleJSONExtractUInt", UINT64, _unsigned_number),
    _extract_function("simpleJSONExtractFloat", FLOAT64, _number_reader(_FRACTION, "DOUBLE")),
    _extract_function(
        "simpleJSONExtractBool", UINT8, lambda rest: f"if(coalesce(startswith({rest}, 'true'), false), 1, 0)"
    ),
    _extract_function("simpleJSONExtractRaw", STRING, _raw_value),
    Function("simpleJSONHas", (2, 2), ("text", "constant"), _has_name),
)
ALIASES: dict[str, str] = {
    "visitParamExtractString": "simpleJSONExtractString",
    "visitParamExtractInt": "simpleJSONExtractInt",
    "visitParamExtractUInt": "simpleJSONExtractUInt",
    "visitParamExtractFloat": "simpleJSONExtractFloat",
    "visitParamExtractBool": "simpleJSONExtractBool",
    "visitParamExtractRaw": "simpleJSONExtractRaw",
    "visitParamHas": "simpleJSONHas",
}
ANY_CASE: tuple[str, ...] = ()
