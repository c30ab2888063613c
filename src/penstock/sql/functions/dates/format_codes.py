"""Formatting and parsing times with format codes: formatDateTime, parseDateTime, fromUnixTimestamp

The codes are MySQL's, with a `%` sign. A code that is not in the tables here is refused, and text between codes is
quoted for Spark. A string that does not fit the format exactly is an error, zero or NULL, as the function's name says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from penstock.model import types as t
from penstock.sql.expr.dates import FIRST_SECOND, clamp, from_wall_clock, wall_clock, wrap_to_range, zone_of
from penstock.sql.expr.typed import TypedSql, as_spark, nullable_if_any, typed_sql
from penstock.sql.functions.arguments import literal_string, zone_argument
from penstock.sql.functions.dates.best_effort_times import handle_unparsable
from penstock.sql.functions.dates.time_zones import apply_zone_argument
from penstock.sql.functions.function import STRING, BadArguments, Function
from penstock.sql.spark_text import string_literal

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
_MONTH_NAMES = "janfebmaraprmayjunjulaugsepoctnovdec"
_COMPOSITE_CODES: Mapping[str, str] = {"%F": "%Y-%m-%d", "%T": "%H:%i:%S", "%R": "%H:%i"}
_PARSE_CODES: Mapping[str, tuple[str, str]] = {
    "%Y": ("year", "([0-9]{4})"),
    "%m": ("month", "(0[1-9]|1[0-2])"),
    "%d": ("day", "(0[1-9]|[12][0-9]|3[01])"),
    "%H": ("hour", "([01][0-9]|2[0-3])"),
    "%i": ("minute", "([0-5][0-9])"),
    "%S": ("second", "([0-5][0-9])"),
    "%s": ("second", "([0-5][0-9])"),
    "%f": ("fraction", "([0-9]{1,6})"),
    "%b": ("name", "((?i:" + "|".join(re.findall("...", _MONTH_NAMES)) + "))"),
}
_DEFAULTS = {"year": "", "month": "01", "day": "01", "hour": "00", "minute": "00", "second": "00", "fraction": "0"}
"""Parts that the format does not give. The year is 1970, or 2000 if the format has a month or a day."""
_END_OF_RANGE = "TIMESTAMP'2107-01-01 00:00:00'"
"""Times from the last DateTime (in 2106) to this one wrap around, as in ClickHouse; later ones are unparsable."""
_SUFFIXES = ("", "OrNull", "OrZero")


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


def _format_datetime(values: Sequence[TypedSql]) -> TypedSql:
    if isinstance(values[0].bare, t.Date) and len(values) > 2:
        literal_string(values[2], "the time zone")
        value = values[0]  # a day is the same in every zone
    else:
        value = apply_zone_argument(values[0], values, 2)
    return typed_sql(format_time(value, literal_string(values[1], "the format")), nullable_if_any(STRING, [value]))


def _from_unix_timestamp(values: Sequence[TypedSql]) -> TypedSql:
    number = values[0]
    of = number.bare
    seconds = as_spark(number, "BIGINT")
    if isinstance(of, t.Int) and (of.signed or of.bits == 64) and not isinstance(number.constant, int):
        seconds = f"CAST({clamp(number.sql, '0', '4294967295', nullable=number.nullable)} AS BIGINT)"
    moment = typed_sql(f"timestamp_seconds({seconds})", nullable_if_any(t.DateTime(), [number]))
    if len(values) == 1:
        return moment
    shown = format_time(apply_zone_argument(moment, values, 2), literal_string(values[1], "the format"))
    return typed_sql(shown, nullable_if_any(STRING, [number]))


def _format_regexp(form: str) -> tuple[str, list[str]]:
    """The regular expression of a format and the names of its groups. Raises BadArguments for other codes."""
    pieces = re.findall(r"%.|[^%]|%", re.sub("%[FTR]", lambda code: _COMPOSITE_CODES[code[0]], form), re.DOTALL)
    names = []
    shown = []
    for piece in pieces:
        if piece in _PARSE_CODES:
            names.append(_PARSE_CODES[piece][0])
            shown.append(_PARSE_CODES[piece][1])
        elif piece == "%%" or not piece.startswith("%"):
            shown.append(re.escape(piece[-1]))
        else:
            raise BadArguments(
                f"the format code `{piece}` is not supported", ", ".join((*_PARSE_CODES, *_COMPOSITE_CODES))
            )
    if len({name.replace("name", "month") for name in names}) < len(names):
        raise BadArguments("a format takes each part of a time once")
    return f"(?s)\\A{''.join(shown)}\\z", names


def _parse_wall_clock(text: str, form: str) -> str:
    """The wall-clock time that a string in the format stands for; NULL if it does not fit."""
    pattern, names = _format_regexp(form)
    parts = {**_DEFAULTS, "year": "2000" if {"month", "name", "day"} & {*names} else "1970"}
    quoted = string_literal(pattern)
    written = {}
    for place, name in enumerate(names, 1):
        group = f"regexp_extract({text}, {quoted}, {place})"
        if name == "name":
            month = f"(instr('{_MONTH_NAMES}', lower({group})) + 2) DIV 3"
            name, group = "month", f"lpad(CAST({month} AS STRING), 2, '0')"
        written[name] = group
    year, month, day, hour, minute, second, fraction = (written.get(name, f"'{parts[name]}'") for name in parts)
    tail = f", '.', {fraction}" if "fraction" in written else ""
    joined = f"concat({year}, '-', {month}, '-', {day}, ' ', {hour}, ':', {minute}, ':', {second}{tail})"
    return f"if({text} RLIKE {quoted}, try_cast({joined} AS TIMESTAMP), NULL)"


def _parse_function(name: str, end: str) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        text, form = values[0], literal_string(values[1], "the format")
        zone = zone_argument(values, 2) if len(values) > 2 else "UTC"
        of = t.DateTime(zone)
        wall = _parse_wall_clock(text.sql, form)
        moment = from_wall_clock(wall, zone_of(of))
        inside = f"{moment} >= {FIRST_SECOND} AND {wall} < {_END_OF_RANGE}"
        found = f"if({inside}, {wrap_to_range(moment, of)}, NULL)"
        return handle_unparsable(text, found, of, end)

    return Function(f"{name}{end}", (2, 3), ("text", "constant", "constant"), build)


def _parse64_function(name: str, end: str) -> Function:
    """parseDateTime64: always six digits of a second, and any year."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        of = t.DateTime64(6, zone_argument(values, 2) if len(values) > 2 else "UTC")
        wall = _parse_wall_clock(values[0].sql, literal_string(values[1], "the format"))
        return handle_unparsable(values[0], from_wall_clock(wall, zone_of(of)), of, end)

    return Function(f"{name}{end}", (2, 3), ("text", "constant", "constant"), build)


FUNCTIONS: tuple[Function, ...] = (
    Function("formatDateTime", (2, 3), ("time", "constant"), _format_datetime),
    Function("fromUnixTimestamp", (1, 3), ("integer", "constant"), _from_unix_timestamp),
    *(_parse_function("parseDateTime", end) for end in _SUFFIXES),
    *(_parse64_function("parseDateTime64", end) for end in _SUFFIXES),
)
ALIASES: dict[str, str] = {
    "DATE_FORMAT": "formatDateTime",
    "FROM_UNIXTIME": "fromUnixTimestamp",
    "str_to_date": "parseDateTimeOrNull",
}
ANY_CASE: tuple[str, ...] = ("DATE_FORMAT", "FROM_UNIXTIME", "str_to_date")
