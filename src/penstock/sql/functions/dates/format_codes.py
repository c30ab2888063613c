"""Formatting times with format codes: formatDateTime, fromUnixTimestamp

The codes are MySQL's, with a `%` sign. A code that is not in the tables here is refused, and text between codes is
quoted for Spark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from penstock.model import types as t
from penstock.sql.expr.dates import clamp, wall_clock
from penstock.sql.expr.overflow import lowest_64_bits
from penstock.sql.expr.typed import TypedSql, as_spark, nullable_if_any, typed_sql
from penstock.sql.functions.arguments import literal_string
from penstock.sql.functions.dates.time_zones import apply_zone_argument
from penstock.sql.functions.function import STRING, BadArguments, Function
from penstock.sql.spark_text import bigint_literal, string_literal

_SPARK_LETTERS: Mapping[str, str] = {
    "%Y": "yyyy",
    "%m": "MM",
    "%d": "dd",
    "%H": "HH",
    "%M": "MMMM",
    "%i": "mm",
    "%S": "ss",
    "%s": "ss",
    "%F": "yyyy-MM-dd",
    "%T": "HH:mm:ss",
    "%R": "HH:mm",
    "%y": "yy",
    "%D": "MM/dd/yy",
    "%j": "DDD",
    "%I": "hh",
    "%h": "hh",
    "%p": "a",
    "%b": "MMM",
    "%a": "EEE",
    "%W": "EEEE",
    "%r": "hh:mm a",
    "%c": "MM",
    "%%": "%",
    "%e": "d",
    "%k": "HH",
    "%l": "hh",
}
"""Codes with the letters that mean the same in Spark's date_format."""
_CODE_FORMULAS: Mapping[str, str] = {
    "%C": "lpad(CAST(CAST(floor(year({0}) / 100) AS INT) AS STRING), 2, '0')",
    "%g": "lpad(CAST(extract(YEAROFWEEK FROM {0}) % 100 AS STRING), 2, '0')",
    "%G": "lpad(CAST(extract(YEAROFWEEK FROM {0}) AS STRING), 4, '0')",
    "%V": "lpad(CAST(weekofyear({0}) AS STRING), 2, '0')",
    "%Q": "CAST(quarter({0}) AS STRING)",
    "%u": "CAST(weekday({0}) + 1 AS STRING)",
    "%w": "CAST(dayofweek({0}) - 1 AS STRING)",
    "%n": "'\\n'",
    "%t": "'\\t'",
}
"""Codes that need a formula, of a wall-clock time."""
_CALENDAR = ("-62167219200L", "253402300799L")
"""The seconds of the first and the last time of the years 0 to 9999."""
FormatTime: TypeAlias = Callable[[TypedSql, str], str]
"""The SQL of a time in a format. Raises BadArguments."""


def format_time(value: TypedSql, pattern: str) -> str:
    """A time in a format. Raises BadArguments for a format code that is not supported."""
    wall = wall_clock(value)
    moment = f"CAST({wall} AS TIMESTAMP)" if value.spark == "DATE" else wall
    pieces = re.findall(r"%.|[^%]+|%", pattern, re.DOTALL)
    if all(piece in _SPARK_LETTERS or not piece.startswith("%") for piece in pieces):
        return f"date_format({moment}, {string_literal(''.join(map(_spark_pattern_piece, pieces)))})"
    return f"concat({', '.join(_code_sql(piece, value, moment) for piece in pieces)})"


def _spark_pattern_piece(piece: str) -> str:
    """A code, or the text between two codes, in the syntax of Spark's date_format."""
    return _SPARK_LETTERS[piece] if piece.startswith("%") else "'" + piece.replace("'", "''") + "'"


def _code_sql(piece: str, value: TypedSql, moment: str) -> str:
    if not piece.startswith("%"):
        return string_literal(piece)
    if piece in _SPARK_LETTERS:
        return f"date_format({moment}, {string_literal(_SPARK_LETTERS[piece])})"
    if piece in _CODE_FORMULAS:
        return _CODE_FORMULAS[piece].format(moment)
    if piece == "%f":
        return f"date_format({moment}, 'SSSSSS')"
    if piece == "%z":
        return _offset_digits(value, moment)
    raise BadArguments(f"the format code `{piece}` is not supported")


def _offset_digits(value: TypedSql, moment: str) -> str:
    """The offset of the zone from UTC: +0200."""
    if isinstance(value.bare, t.Date):
        raise BadArguments("a Date has no time zone, so no `%z`")
    if moment == value.sql:
        return f"if({value.sql} IS NULL, NULL, '+0000')" if value.nullable else "'+0000'"
    minutes = f"CAST((unix_seconds({moment}) - unix_seconds({value.sql})) / 60 AS INT)"
    digits = f"abs({minutes}) DIV 60 * 100 + abs({minutes}) % 60"
    return f"concat(if({minutes} < 0, '-', '+'), lpad(CAST({digits} AS STRING), 4, '0'))"


def format_function(name: str, format_value: FormatTime) -> Function:
    """name(time, format, zone)"""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        if isinstance(values[0].bare, t.Date) and len(values) > 2:
            literal_string(values[2], "the time zone")
            value = values[0]  # a day is the same in every zone
        else:
            value = apply_zone_argument(values[0], values, 2)
        shown = format_value(value, literal_string(values[1], "the format"))
        return typed_sql(shown, nullable_if_any(STRING, [value]))

    return Function(name, (2, 3), ("time", "constant"), build)


def _seconds_of_time(number: TypedSql) -> str:
    """The seconds of a DateTime: the nearest one there is."""
    of = number.bare
    if isinstance(number.constant, int):
        return bigint_literal(min(max(number.constant, 0), 2**32 - 1))
    if isinstance(of, t.Int) and (of.signed or of.bits == 64):
        return f"CAST({clamp(number.sql, '0', '4294967295', nullable=number.nullable)} AS BIGINT)"
    return as_spark(number, "BIGINT")


def _shown_seconds(number: TypedSql) -> str:
    """The seconds of what is only shown: of 64 bits any time of the calendar, of fewer bits with a sign that of the
    unsigned number."""
    of = number.bare
    if isinstance(of, t.Int) and of.bits == 64:
        bits = number.sql if of.signed else lowest_64_bits(number.sql)
        return clamp(bits, *_CALENDAR, nullable=number.nullable)
    seconds = as_spark(number, "BIGINT")
    return f"({seconds} & 4294967295L)" if isinstance(of, t.Int) and of.signed else seconds


def from_unix_function(name: str, format_value: FormatTime) -> Function:
    """name(seconds), a time; name(seconds, format, zone), its text."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        number, shown = values[0], len(values) > 1
        seconds = _shown_seconds(number) if shown else _seconds_of_time(number)
        moment = typed_sql(f"timestamp_seconds({seconds})", nullable_if_any(t.DateTime(), [number]))
        if not shown:
            return moment
        text = format_value(apply_zone_argument(moment, values, 2), literal_string(values[1], "the format"))
        return typed_sql(text, nullable_if_any(STRING, [number]))

    return Function(name, (1, 3), ("integer", "constant"), build)


FUNCTIONS: tuple[Function, ...] = (
    format_function("formatDateTime", format_time),
    from_unix_function("fromUnixTimestamp", format_time),
)
ALIASES: dict[str, str] = {
    "DATE_FORMAT": "formatDateTime",
    "FROM_UNIXTIME": "fromUnixTimestamp",
}
ANY_CASE: tuple[str, ...] = ("DATE_FORMAT", "FROM_UNIXTIME")
