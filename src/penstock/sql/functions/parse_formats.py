"""parseDateTime: texts in a format of MySQL's %-codes as times.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: a code that is not in the
table here is refused; a text that the format does not fit, digit for digit, is an error, zero or NULL.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from penstock.model import types as t
from penstock.sql.dates import FIRST_SECOND, from_wall_clock, narrowed, zone_of
from penstock.sql.functions.function import BadArguments, Function
from penstock.sql.functions.parsing import settled
from penstock.sql.functions.text_arguments import constant_text
from penstock.sql.typed import Typed
from penstock.sql.value_types import text_literal

_MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec"
_WHOLE: Mapping[str, str] = {"%F": "%Y-%m-%d", "%T": "%H:%i:%S", "%R": "%H:%i"}
_CODES: Mapping[str, tuple[str, str]] = {
    "%Y": ("year", "([0-9]{4})"), "%m": ("month", "(0[1-9]|1[0-2])"), "%d": ("day", "(0[1-9]|[12][0-9]|3[01])"),
    "%H": ("hour", "([01][0-9]|2[0-3])"), "%i": ("minute", "([0-5][0-9])"), "%S": ("second", "([0-5][0-9])"),
    "%s": ("second", "([0-5][0-9])"), "%f": ("fraction", "([0-9]{1,6})"),
    "%b": ("name", "((?i:" + "|".join(re.findall("...", _MONTHS)) + "))"),
}  # fmt: skip
_DEFAULTS = {"year": "", "month": "01", "day": "01", "hour": "00", "minute": "00", "second": "00",
             "fraction": "0"}  # fmt: skip
"""A year that is not given is that of 1970, or 2000 beside a month or day."""
_TOO_LATE = "TIMESTAMP'2107-01-01 00:00:00'"
"""What is before it and no longer a DateTime wraps around."""


def _pattern(form: str) -> tuple[str, list[str]]:
    """The pattern of a format and the names of its groups. Raises BadArguments."""
    pieces = re.findall(r"%.|[^%]|%", re.sub("%[FTR]", lambda code: _WHOLE[code[0]], form), re.DOTALL)
    names = []
    shown = []
    for piece in pieces:
        if piece in _CODES:
            names.append(_CODES[piece][0])
            shown.append(_CODES[piece][1])
        elif piece == "%%" or not piece.startswith("%"):
            shown.append(re.escape(piece[-1]))
        else:
            raise BadArguments(f"the format code `{piece}` is not supported", ", ".join((*_CODES, *_WHOLE)))
    if len({name.replace("name", "month") for name in names}) < len(names):
        raise BadArguments("a format takes each part of a time once")
    return f"(?s)\\A{''.join(shown)}\\z", names


def _moment(text: str, form: str) -> str:
    pattern, names = _pattern(form)
    parts = {**_DEFAULTS, "year": "2000" if {"month", "name", "day"} & {*names} else "1970"}
    quoted = text_literal(pattern)
    written = {}
    for place, name in enumerate(names, 1):
        group = f"regexp_extract({text}, {quoted}, {place})"
        if name == "name":
            month = f"(instr('{_MONTHS}', lower({group})) + 2) DIV 3"
            name, group = "month", f"lpad(CAST({month} AS STRING), 2, '0')"
        written[name] = group
    year, month, day, hour, minute, second, fraction = (written.get(name, f"'{parts[name]}'") for name in parts)
    tail = f", '.', {fraction}" if "fraction" in written else ""
    joined = f"concat({year}, '-', {month}, '-', {day}, ' ', {hour}, ':', {minute}, ':', {second}{tail})"
    return f"if({text} RLIKE {quoted}, try_cast({joined} AS TIMESTAMP), NULL)"


def _parse(name: str, end: str) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        text, form = values[0], constant_text(values[1], "the format")
        zone = constant_text(values[2], "the time zone") if len(values) > 2 else "UTC"
        of = t.DateTime(zone)
        wall = _moment(text.sql, form)
        moment = from_wall_clock(wall, zone_of(of))
        inside = f"{moment} >= {FIRST_SECOND} AND {wall} < {_TOO_LATE}"
        found = f"if({inside}, {narrowed(moment, of)}, NULL)"
        return settled(text, found, of, end)

    return Function(f"{name}{end}", (2, 3), ("text", "constant", "constant"), build)


def _parse64(name: str, end: str) -> Function:
    """Always of six digits, and of any year."""

    def build(values: Sequence[Typed]) -> Typed:
        of = t.DateTime64(6, constant_text(values[2], "the time zone") if len(values) > 2 else "UTC")
        wall = _moment(values[0].sql, constant_text(values[1], "the format"))
        return settled(values[0], from_wall_clock(wall, zone_of(of)), of, end)

    return Function(f"{name}{end}", (2, 3), ("text", "constant", "constant"), build)


_ENDS = ("", "OrNull", "OrZero")
FUNCTIONS: tuple[Function, ...] = (
    *(_parse("parseDateTime", end) for end in _ENDS),
    *(_parse64("parseDateTime64", end) for end in _ENDS),
)
ALIASES = {"str_to_date": "parseDateTimeOrNull"}
ANY_CASE: tuple[str, ...] = ("str_to_date",)
