"""Numbers in JSON: as integers, floats, Bools and Decimals, and as the text that ClickHouse writes for them.

In: the SQL of a VARIANT. Out: SQL, NULL where the value does not fit the type. Invariant: a number with a fraction or
an exponent is the double next to it before it is anything else; whole numbers of 64 bits and texts of digits are exact.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.model import types as t
from penstock.model.json_documents.spark_functions import FLOAT_TEXT
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.spark_types import value_type
from penstock.sql.functions.function import UINT8, BadArguments
from penstock.sql.functions.json.paths import variant_kind
from penstock.sql.spark_text import bigint_literal, string_literal

Reader = Callable[[str], str]
"""SQL of a value, of the SQL of a VARIANT."""
MOST_DECIMAL_DIGITS = 18
_DIGITS = 38
_TWO_63, _TWO_64 = 2**63, 2**64
_FLOAT_TEXT = string_literal(r"^(?i:[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)(e[+-]?[0-9]+)?|[+-]?(inf|infinity|nan))\z")
_DECIMAL_TEXT = string_literal(r"^(?!\z)([+-]?+[0-9]*+(?:[.][0-9]*+)?+(?:[eE][+-]?[0-9]++|(?=[.]|\z)))")
"""Group 1 is what ClickHouse reads: what follows an exponent, or a second point, it ignores."""
_NO_DIGIT = string_literal(r"^([+-]?)(?=[.]?(?:[eE]|\z))")


def is_number(v: str) -> str:
    """Whether a VARIANT is a number that a double can hold."""
    number = f"({variant_kind(v)} IN ('BIGINT', 'DOUBLE', 'FLOAT') OR {variant_kind(v)} LIKE 'DECIMAL%')"
    return f"({number} AND NOT {is_infinite(v)})"


def is_infinite(v: str) -> str:
    """Whether a number is too large for a double: for ClickHouse the whole document is invalid then."""
    return f"({variant_kind(v)} = 'DOUBLE' AND CAST({v} AS STRING) LIKE '%Infinity')"


def has_fraction(v: str) -> str:
    """Whether a number is written with a fraction that is not zero, or with an exponent."""
    return f"{is_number(v)} AND {variant_kind(v)} <> 'BIGINT' AND CAST({v} AS STRING) RLIKE '[.eE]'"


def is_beyond_64_bits(v: str) -> str:
    """Whether a whole number fits neither an Int64 nor a UInt64: ClickHouse takes it for a text."""
    number = f"try_cast(CAST({v} AS STRING) AS DECIMAL({_DIGITS},0))"
    whole = f"({variant_kind(v)} LIKE 'DECIMAL(%,0)' AND NOT {number} BETWEEN {-_TWO_63} AND {_TWO_64 - 1})"
    return f"coalesce({whole}, false)"


def float_as_text(v: str) -> str:
    """A number as the text of its double."""
    return f"{FLOAT_TEXT}(try_cast(CAST({v} AS STRING) AS DOUBLE))"


def read_integer(of: t.Int) -> Reader:
    """Numbers without their fraction, and texts that are numbers."""
    spark = value_type(of)

    def formula(v: str) -> str:
        if of.bits == 64 and not of.signed:
            return f"penstock_document_unsigned({v})"
        whole = f"penstock_document_integer({v}, {bigint_literal(of.low)}, {bigint_literal(of.high)})"
        return whole if spark == "BIGINT" else f"try_cast({whole} AS {spark})"

    return formula


def read_float(of: t.Float) -> Reader:
    """A number, or a text that is one, infinite or NaN; a Float32 through a double."""

    def formula(v: str) -> str:
        shown = f"CAST({v} AS STRING)"
        given = f"({is_number(v)} OR ({variant_kind(v)} = 'STRING' AND {shown} RLIKE {_FLOAT_TEXT}))"
        double = f"try_cast(regexp_replace({shown}, '^(?i:[+-]?nan)$', 'NaN') AS DOUBLE)"
        return f"if({given}, {double if of.bits == 64 else f'CAST({double} AS FLOAT)'}, NULL)"

    return formula


def read_truth(v: str) -> str:
    """A Bool: true, false, and any number that fits a UInt8."""
    return f"({with_truth(read_integer(UINT8), 'INT')(v)} <> 0)"


def with_truth(number: Reader, spark: str) -> Reader:
    """JSONExtract reads true as 1 and false as 0, of which JSONExtractInt makes no number."""

    def formula(v: str) -> str:
        truth = f"CAST(if(CAST({v} AS STRING) = 'true', 1, 0) AS {spark})"
        return f"coalesce({number(v)}, if({variant_kind(v)} = 'BOOLEAN', {truth}, NULL))"

    return formula


def read_decimal(of: t.Decimal) -> Reader:
    """A number without the digits after its scale. One that is too large is an error, a text that is too large does
    not fit. Raises BadArguments for more than 18 digits."""
    if of.precision > MOST_DECIMAL_DIGITS:
        raise BadArguments(f"`JSONExtract` of {of} is not supported", "a Decimal of at most 18 digits, or a String")
    spark, wide = value_type(of), f"DECIMAL({_DIGITS},{_DIGITS - of.precision + of.scale})"
    unit = f"CAST('1e-{of.scale}' AS {wide})"

    def cut(number: str) -> str:
        return bind_if_long(number, lambda x: f"{x} - {x} % {unit}")

    def formula(v: str) -> str:
        shown = f"CAST({v} AS STRING)"
        number = f"if({has_fraction(v)}, {float_as_text(v)}, {shown})"
        read = f"regexp_replace(regexp_extract({shown}, {_DECIMAL_TEXT}, 1), {_NO_DIGIT}, '$10')"
        of_text = f"try_cast({cut(f'try_cast({read} AS {wide})')} AS {spark})"
        of_number = f"CAST({cut(f'CAST({number} AS {wide})')} AS {spark})"
        given = f"{variant_kind(v)} = 'STRING' AND {shown} RLIKE {_DECIMAL_TEXT}"
        return f"CASE WHEN {is_number(v)} THEN {of_number} WHEN {given} THEN {of_text} END"

    return formula
