"""Formats of C: printf

The format must be a literal. Each place takes the type that ClickHouse demands for it; widths of texts, which count
columns of a terminal there, and the places for exponents are refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.expr.overflow import lowest_64_bits
from penstock.sql.expr.typed import TypedSql, as_spark, nullable_if_any, typed_sql, unless_null
from penstock.sql.functions.arguments import literal_string
from penstock.sql.functions.function import MAX_ARGUMENTS, STRING, BadArguments, Function
from penstock.sql.spark_text import string_literal

_PLACE = re.compile(
    r"%(?:%|([-+ 0#]*)([1-9][0-9]*)?(?:[.]([0-9]+))?(?:hh|h|ll|l|j|z|t|L)?([A-Za-z]))|[^%]+|%", re.DOTALL
)
_WHOLE, _HEXADECIMAL, _FIXED, _TEXT = frozenset("di"), frozenset("xX"), frozenset("f"), frozenset("s")
_MOST_DIGITS = 60


def _printf(values: Sequence[TypedSql]) -> TypedSql:
    pattern = literal_string(values[0], "the format of `printf`")
    pieces: list[str] = []
    given = list(values[1:])
    for found in _PLACE.finditer(pattern):
        if found[0] == "%":
            raise BadArguments("the format of `printf` has a `%` that begins no place", "`%%` is a percent sign")
        if found[4] is None:
            pieces.append(string_literal(found[0].replace("%%", "%")))
            continue
        if not given:
            raise BadArguments(f"the format of `printf` has more places than values: `{found[0]}`")
        pieces.append(_written(found, given.pop(0)))
    if given or not pieces:
        raise BadArguments(f"the format of `printf` has {len(values) - 1 - len(given)} places", "one for each value")
    sql = unless_null(f"concat({', '.join(pieces)})", *values)
    return typed_sql(sql, nullable_if_any(STRING, list(values)))


def _written(found: re.Match[str], value: TypedSql) -> str:
    """The value in its place. Raises BadArguments for a place that is not supported, or takes no value of the type."""
    flags, width, kind, of = found[1], found[2], found[4], value.bare
    if kind in _WHOLE and isinstance(of, (t.Int, t.Bool)) and not found[3] and "#" not in flags:
        return f"format_string('%{_java_flags(found)}d', {_as_signed(value)})"
    if kind in _HEXADECIMAL and isinstance(of, (t.Int, t.Bool)) and not found[3] and not set("+ #") & set(flags):
        return f"format_string('%{_java_flags(found)}{kind}', {_as_signed(value)})"
    if kind in _FIXED and isinstance(of, t.Float) and "#" not in flags:
        return _fixed_point(found, value)
    if kind in _TEXT and isinstance(of, (t.String, t.FixedString)) and not width and not found[3]:
        return value.sql
    hint = "leftPadUTF8 and rightPadUTF8" if kind in _TEXT and isinstance(of, (t.String, t.FixedString)) else "format"
    raise BadArguments(f"`{found[0]}` of {value.type} in `printf` is not supported", hint)


def _as_signed(value: TypedSql) -> str:
    """An integer as ClickHouse hands it to C, where a UInt64 beyond 63 bits has a sign."""
    if value.spark.startswith("DECIMAL"):
        return lowest_64_bits(value.sql)
    return as_spark(value, "BIGINT") if value.spark != "BOOLEAN" else f"CAST({value.sql} AS BIGINT)"


def _java_flags(found: re.Match[str]) -> str:
    """Flags and width: Java takes each flag once, and neither `0` beside `-` nor a blank beside `+`."""
    flags = set(found[1])
    flags -= {"0"} if "-" in flags or not found[2] else set()
    flags -= {"-"} if not found[2] else set()
    flags -= {" "} if "+" in flags else set()
    return "".join(sorted(flags)) + (found[2] or "")


def _fixed_point(found: re.Match[str], value: TypedSql) -> str:
    flags, digits = set(found[1]), int(found[3] or 6)
    if digits > _MOST_DIGITS:
        raise BadArguments(f"`printf` with more than {_MOST_DIGITS} digits is not supported", "fewer digits")
    number = as_spark(value, "DOUBLE")
    shown = f"penstock_even_fixed_point({number}, {digits})"
    sign = "+" if "+" in flags else " " if " " in flags else ""
    if sign:
        shown = f"if(startswith({shown}, '-'), {shown}, concat('{sign}', {shown}))"
    width = int(found[2] or 0)
    if not width:
        return shown
    if "-" in flags:
        return _padded("rpad", shown, width, " ")
    if "0" not in flags:
        return _padded("lpad", shown, width, " ")
    first = f"regexp_extract({shown}, '^[-+ ]?', 0)"
    rest = f"substring({shown}, length({first}) + 1)"
    zeros = f"concat({first}, {_padded('lpad', rest, f'{width} - length({first})', '0')})"
    odd = f"{shown} RLIKE '[a-z]'"
    return f"if({odd}, {_padded('lpad', shown, width, ' ')}, {zeros})"


def _padded(side: str, text: str, width: int | str, letter: str) -> str:
    return f"{side}({text}, greatest({width}, length({text})), '{letter}')"


FUNCTIONS: tuple[Function, ...] = (Function("printf", (1, MAX_ARGUMENTS), ("constant", "any"), _printf),)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
