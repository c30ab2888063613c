"""The text that ClickHouse writes for a value inside of JSON: of a string itself, of anything else its JSON.

In: the SQL of a VARIANT and of the JSON text of the same value, in which keys have their order. Out: SQL of a text.
Invariant: a place that does not exist is the empty text.
"""

from __future__ import annotations

from penstock.sql.expr.bind_once import try_bind_once
from penstock.sql.functions.json.numbers import float_as_text, has_fraction, is_beyond_64_bits, is_infinite
from penstock.sql.functions.json.paths import variant_kind
from penstock.sql.spark_text import string_literal


def ordered_json(text: str) -> str:
    """An object or array as ClickHouse writes it: keys in the order of the text, which a VARIANT does not keep."""
    return letters_as_written(f"penstock_document_numbers({text})")


def letters_as_written(json: str) -> str:
    """JSON that Spark wrote, with the letters that ClickHouse does not escape, or escapes, as ClickHouse has them."""
    return f"penstock_document_letters({json})"


def string_or_ordered_json(v: str, text: str) -> str:
    """A string as it is, another value as JSON; '' for null and for a place that does not exist. Only for arrays and
    objects is the value asked for twice."""
    return f"coalesce({_scalar_text(v)}, {ordered_json(text)})"


def string_value(v: str) -> str:
    """As `string_or_ordered_json`, of a value that is no array and no object."""
    return f"coalesce({_scalar_text(v)}, to_json({v}))"


def _scalar_text(v: str) -> str:
    """NULL for an array and an object."""
    return f"penstock_document_text(coalesce({v}, try_parse_json('null')))"


_MAYBE_INTEGER = string_literal("^DECIMAL[(](19|[23][0-9]),0")
_FEW = string_literal("^-?0[.]0{3}0*[1-9]$|^-?0[.]0{4}")
_MANY = string_literal("^-?[1-9](0{5,}|[0-9]*[1-9]0{6,})$")


def shortest_value(v: str) -> str:
    """As `string_value`, a number with a fraction or an exponent in the shorter of its two forms: `1e-04`, `1.5e+07`,
    as JSON_VALUE writes it."""
    of = variant_kind(v)
    is_float = f"({of} = 'DOUBLE' OR ({of} LIKE 'DECIMAL%' AND NOT {of} RLIKE {_MAYBE_INTEGER}))"
    return f"if({is_float}, {try_bind_once(float_as_text(v), '` f`', _SHORTEST)}, {string_value(v)})"


def _mantissa(digits: str) -> str:
    """One digit, and behind a point the others, if there are any; a sign before the digits stays before them."""
    return f"regexp_replace({digits}, '^([0-9])([0-9]+)$', '$1.$2')"


_SIGN = "if(` f` LIKE '-%', '-', '')"
_SIGNIFICANT = _mantissa(r"regexp_extract(` f`, '([1-9][0-9]*?)0*$', 1)")
_PLACE = "length(regexp_extract(` f`, '[.](0*)', 1)) + 1"
_LAST_PLACE = "length(regexp_extract(` f`, '([0-9]+)$', 1)) - 1"
_SIGNED = "regexp_replace(` f`, 'e([0-9])', 'e+$1')"
_SHORTEST = (
    f"CASE WHEN ` f` LIKE '%e%' THEN regexp_replace({_SIGNED}, '([+-])([0-9])$', '$10$2') "
    f"WHEN ` f` RLIKE {_FEW} THEN concat({_SIGN}, {_SIGNIFICANT}, 'e-0', {_PLACE}) "
    f"WHEN ` f` RLIKE {_MANY} THEN concat({_SIGN}, {_SIGNIFICANT}, 'e+', lpad({_LAST_PLACE}, 2, '0')) ELSE ` f` END"
)
"""The other form of ` f`, the text of a float that has an exponent from 1e21 and below 1e-6 only."""


def is_container(v: str) -> str:
    return f"({variant_kind(v)} LIKE 'OBJECT%' OR {variant_kind(v)} LIKE 'ARRAY%')"


def scalar_json(v: str) -> str:
    """A string, number, boolean or null as JSON; integers of more than 64 bits as strings."""
    shown = letters_as_written(f"regexp_replace(to_json({v}), '^(-?[0-9]+)[.]0$', '$1')")
    long = f"WHEN {is_beyond_64_bits(v)} THEN concat('\"', CAST({v} AS STRING), '\"')"
    return f"CASE WHEN {is_infinite(v)} THEN '' WHEN {has_fraction(v)} THEN {float_as_text(v)} {long} ELSE {shown} END"
