"""formatDateTime: ClickHouse's %-codes, and fromUnixTimestamp with a format.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: a code that is not in the
two tables here is refused; nothing of a format is passed on to Spark unquoted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from penstock.model import types as t
from penstock.sql.dates import wall_clock, within
from penstock.sql.functions.datetimes import in_zone
from penstock.sql.functions.function import STRING, BadArguments, Function
from penstock.sql.functions.text_arguments import constant_text
from penstock.sql.typed import Typed, as_spark, null_if_any, typed
from penstock.sql.value_types import text_literal

_LETTERS: Mapping[str, str] = {
    "%Y": "yyyy", "%m": "MM", "%d": "dd", "%H": "HH", "%M": "MMMM", "%i": "mm", "%S": "ss", "%s": "ss",
    "%F": "yyyy-MM-dd", "%T": "HH:mm:ss", "%R": "HH:mm", "%y": "yy", "%D": "MM/dd/yy", "%j": "DDD", "%I": "hh",
    "%h": "hh", "%p": "a", "%b": "MMM", "%a": "EEE", "%W": "EEEE", "%r": "hh:mm a", "%c": "MM", "%%": "%",
    "%e": "d", "%k": "HH", "%l": "hh",
}  # fmt: skip
"""The codes that are letters of Spark's patterns."""
_FORMULAS: Mapping[str, str] = {
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
"""The others, of a time on its clock."""


def format_time(value: Typed, pattern: str) -> str:
    """A time in a format. Raises BadArguments for a code that is not supported."""
    wall = wall_clock(value)
    moment = f"CAST({wall} AS TIMESTAMP)" if value.spark == "DATE" else wall
    pieces = re.findall(r"%.|[^%]+|%", pattern, re.DOTALL)
    if all(piece in _LETTERS or not piece.startswith("%") for piece in pieces):
        return f"date_format({moment}, {text_literal(''.join(map(_letters, pieces)))})"
    return f"concat({', '.join(_part(piece, value, moment) for piece in pieces)})"


def _letters(piece: str) -> str:
    """A code, or the text between two of them, in Spark's pattern."""
    return _LETTERS[piece] if piece.startswith("%") else "'" + piece.replace("'", "''") + "'"


def _part(piece: str, value: Typed, moment: str) -> str:
    if not piece.startswith("%"):
        return text_literal(piece)
    if piece in _LETTERS:
        return f"date_format({moment}, {text_literal(_LETTERS[piece])})"
    if piece in _FORMULAS:
        return _FORMULAS[piece].format(moment)
    if piece == "%f":
        return f"date_format({moment}, 'SSSSSS')"
    if piece == "%z":
        return _offset(value, moment)
    raise BadArguments(f"the format code `{piece}` is not supported")


def _offset(value: Typed, moment: str) -> str:
    """How far the zone's clock is ahead: +0200."""
    if isinstance(value.bare, t.Date):
        raise BadArguments("a Date has no time zone, so no `%z`")
    if moment == value.sql:
        return f"if({value.sql} IS NULL, NULL, '+0000')" if value.nullable else "'+0000'"
    minutes = f"CAST((unix_seconds({moment}) - unix_seconds({value.sql})) / 60 AS INT)"
    digits = f"abs({minutes}) DIV 60 * 100 + abs({minutes}) % 60"
    return f"concat(if({minutes} < 0, '-', '+'), lpad(CAST({digits} AS STRING), 4, '0'))"


def _format(values: Sequence[Typed]) -> Typed:
    value = in_zone(values[0], values, 2)
    return typed(format_time(value, constant_text(values[1], "the format")), null_if_any(STRING, [value]))


def _from_seconds(values: Sequence[Typed]) -> Typed:
    number = values[0]
    of = number.bare
    seconds = as_spark(number, "BIGINT")
    if isinstance(of, t.Int) and (of.signed or of.bits == 64) and not isinstance(number.constant, int):
        seconds = f"CAST({within(number.sql, '0', '4294967295', nullable=number.nullable)} AS BIGINT)"
    moment = typed(f"timestamp_seconds({seconds})", null_if_any(t.DateTime(), [number]))
    if len(values) == 1:
        return moment
    shown = format_time(in_zone(moment, values, 2), constant_text(values[1], "the format"))
    return typed(shown, null_if_any(STRING, [number]))


FUNCTIONS: tuple[Function, ...] = (
    Function("formatDateTime", (2, 3), ("time", "constant"), _format),
    Function("fromUnixTimestamp", (1, 3), ("integer", "constant"), _from_seconds),
)
ALIASES = {"DATE_FORMAT": "formatDateTime", "FROM_UNIXTIME": "fromUnixTimestamp"}
ANY_CASE = ("DATE_FORMAT", "FROM_UNIXTIME")
