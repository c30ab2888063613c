"""Parsing times with format codes: parseDateTime, parseDateTime64.

The codes are MySQL's, with a `%` sign; a code that is not in the table here is refused. A text that does not fit the
format exactly is an error, zero or NULL, as the function's name says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from penstock.model import types as t
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.dates import FIRST_SECOND, from_wall_clock, wrap_to_range, zone_of
from penstock.sql.expr.typed import TypedSql
from penstock.sql.functions.arguments import literal_string, zone_argument
from penstock.sql.functions.dates.best_effort_times import handle_unparsable
from penstock.sql.functions.function import BadArguments, Function
from penstock.sql.spark_text import string_literal

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTH_NAMES = "".join(name[:3].lower() for name in MONTHS)
_COMPOSITE_CODES: Mapping[str, str] = {"%F": "%Y-%m-%d", "%T": "%H:%i:%S", "%R": "%H:%i", "%r": "%h:%i %p"}
_MONTH, _DAY = "(0[1-9]|1[0-2])", "(0[1-9]|[12][0-9]|3[01])"
_HALF_DAY_HOUR = "(0[1-9]|1[0-2])"


def any_of(names: Sequence[str]) -> str:
    """A regular expression: one of these names, in any case."""
    return f"(?i:{'|'.join(names)})"


_CODES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "%Y": (("year",), "([0-9]{4})"),
    "%y": (("short year",), "([0-9]{2})"),
    "%m": (("month",), _MONTH),
    "%c": (("month",), "(0[1-9]|1[0-2]|[1-9](?![0-9]))"),
    "%b": (("month name",), f"({any_of([name[:3] for name in MONTHS])})"),
    "%M": (("month name",), f"({any_of(MONTHS)})"),
    "%d": (("day",), _DAY),
    "%e": (("day",), "[ ]*+(0[1-9]|[12][0-9]|3[01]|[1-9](?![0-9]))"),
    "%D": (("month", "day", "year of 2000"), f"{_MONTH}/{_DAY}/([0-9]{{2}})"),
    "%j": (("day of year",), "(00[1-9]|0[1-9][0-9]|[12][0-9][0-9]|3[0-5][0-9]|36[0-6])"),
    "%W": (("weekday",), f"({any_of(WEEKDAYS)})"),
    "%a": (("weekday",), f"({any_of([name[:3] for name in WEEKDAYS])})"),
    "%H": (("hour",), "([01][0-9]|2[0-3])"),
    "%k": (("hour",), "([01][0-9]|2[0-3]|[0-9](?![0-9]))"),
    "%h": (("hour of half",), _HALF_DAY_HOUR),
    "%I": (("hour of half",), _HALF_DAY_HOUR),
    "%l": (("hour of half",), "(0[1-9]|1[0-2]|[1-9](?![0-9]))"),
    "%p": (("half",), "([AaPp][Mm])"),
    "%i": (("minute",), "([0-5][0-9])"),
    "%S": (("second",), "([0-5][0-9])"),
    "%s": (("second",), "([0-5][0-9])"),
    "%f": (("fraction",), "([0-9]{1,6})"),
    "%z": (("offset",), "([+-][0-9]{4})"),
    "%n": ((), r"\n"),
    "%t": ((), r"\t"),
    "%%": ((), "%"),
}
"""Codes with the parts of a time that their groups are, and the regular expression of what they read."""
_ONE_OR_TWO_DIGITS = "one or two digits of a year"
"""Of which one alone is a year of the first century."""
_SAME_PART = {
    "month name": "month",
    _ONE_OR_TWO_DIGITS: "year",
    "short year": "year",
    "year of 2000": "year",
    "short or long year": "year",
    "hour of half": "hour",
    "hour from 1": "hour",
}
_OF_A_DAY = ("month", "month name", "day", "day of year")
_END_OF_RANGE = "TIMESTAMP'2107-01-01 00:00:00'"
"""Times from the last DateTime (in 2106) to this one wrap around, as in ClickHouse; later ones are unparsable."""
SUFFIXES = ("", "OrNull", "OrZero")


@dataclass(frozen=True, slots=True)
class TimeFormat:
    """A format: a regular expression, and the part of a time that each of its groups is."""

    pattern: str
    parts: tuple[str, ...]
    digits: int = 0
    """So many digits of a second the fraction has; 0 where it is as long as it is written."""

    def written(self, text: str) -> Mapping[str, str]:
        """SQL of each part that the format has."""
        quoted = string_literal(self.pattern)
        return {part: f"regexp_extract({text}, {quoted}, {place})" for place, part in enumerate(self.parts, 1)}


ReadFormat: TypeAlias = Callable[[str], TimeFormat]
"""Reads a format as it is written. Raises BadArguments."""


def _read_format(form: str) -> TimeFormat:
    """Raises BadArguments for other codes, and for parts whose order decides in ClickHouse which of them counts."""
    single = re.sub("%.", lambda code: _COMPOSITE_CODES.get(code[0], code[0]), form, flags=re.DOTALL)
    pieces = re.findall(r"%.|[^%]|%", single, re.DOTALL)
    parts: list[str] = []
    shown = []
    for piece in pieces:
        names, pattern = _CODES.get(piece, ((), "" if piece.startswith("%") else re.escape(piece)))
        if not pattern:
            raise BadArguments(f"the format code `{piece}` is not supported", ", ".join((*_CODES, *_COMPOSITE_CODES)))
        parts.extend(names)
        shown.append(pattern)
    return make_format(shown, parts)


def make_format(patterns: Sequence[str], parts: Sequence[str], digits: int = 0) -> TimeFormat:
    """The format of regular expressions one after the other. Raises BadArguments for parts that it cannot have
    together."""
    _check_parts(parts)
    return TimeFormat(f"(?s)\\A{''.join(patterns)}\\z", tuple(parts), digits)


def _check_parts(parts: Sequence[str]) -> None:
    if len({_SAME_PART.get(part, part) for part in parts}) < len(parts):
        raise BadArguments("a format takes each part of a time once")
    if "day of year" in parts and {"month", "month name", "day"} & {*parts}:
        raise BadArguments("a format with the day of the year takes no month and no day", "the year beside it")
    if "weekday" in parts and not {*parts[parts.index("weekday") :]} & {*_OF_A_DAY}:
        message = "after a weekday, a format needs the month or the day: ClickHouse takes the weekday for the day else"
        raise BadArguments(message, "the weekday before the day")


def _wall_clock(text: str, form: TimeFormat) -> str:
    """The wall-clock time that a text in the format stands for; NULL if it does not fit."""
    written = form.written(text)
    year = _year(written, "2000" if {*_OF_A_DAY} & {*form.parts} else "1970")
    fraction = ""
    if "fraction" in written:
        padded = f"lpad({written['fraction']}, {form.digits}, '0')" if form.digits else written["fraction"]
        fraction = f", '.', {padded}"
    clock = (
        f"{_hour(written)}, ':', {written.get('minute', _digits('00'))}, ':', {written.get('second', _digits('00'))}"
    )
    day = f"{_month(written)}, '-', {written.get('day', _digits('01'))}"
    found = f"try_cast(concat({year}, '-', {day}, ' ', {clock}{fraction}) AS TIMESTAMP)"
    if "day of year" in written:
        found = _moved_in_year(found, f"try_cast({written['day of year']} AS INT) - 1")
    return f"if({text} RLIKE {string_literal(form.pattern)}, {found}, NULL)"


def _digits(text: str) -> str:
    """A part that the format does not have, as SQL."""
    return f"'{text}'"


def _year(written: Mapping[str, str], otherwise: str) -> str:
    if "short year" in written:
        return f"if({written['short year']} < '70', '20', '19'), {written['short year']}"
    if _ONE_OR_TWO_DIGITS in written:
        found = written[_ONE_OR_TWO_DIGITS]
        return f"CASE WHEN length({found}) = 1 THEN '000' WHEN {found} < '70' THEN '20' ELSE '19' END, {found}"
    if "year of 2000" in written:
        return f"'20', {written['year of 2000']}"
    if "short or long year" in written:
        return f"lpad({written['short or long year']}, 4, '0')"
    return written.get("year", _digits(otherwise))


def _month(written: Mapping[str, str]) -> str:
    if "month name" in written:
        place = f"instr('{_MONTH_NAMES}', lower(left({written['month name']}, 3)))"
        return f"CAST(({place} + 2) DIV 3 AS STRING)"
    return written.get("month", _digits("01"))


def _hour(written: Mapping[str, str]) -> str:
    """The hour; the half of the day counts for an hour of twelve only."""
    if "hour from 1" in written:
        return f"CAST(try_cast({written['hour from 1']} AS INT) % 24 AS STRING)"
    if "hour of half" not in written:
        return written.get("hour", _digits("00"))
    later = f" + if(lower({written['half']}) = 'pm', 12, 0)" if "half" in written else ""
    return f"CAST(try_cast({written['hour of half']} AS INT) % 12{later} AS STRING)"


def _moved_in_year(first: str, days: str) -> str:
    """A time of the first day of a year on a later day; NULL if the year has no such day."""

    def formula(start: str) -> str:
        moved = f"timestampadd(DAY, {days}, {start})"
        return bind_if_long(moved, lambda found: f"if(year({found}) = year({start}), {found}, NULL)")

    return bind_if_long(first, formula)


def _moment(text: str, form: TimeFormat, wall: str, zone: str | None) -> str:
    """The moment of a wall-clock time: in a zone, or at the offset that the text gives."""
    if "offset" not in form.parts:
        return from_wall_clock(wall, zone)
    digits = form.written(text)["offset"]
    hours, minutes = (
        f"try_cast(concat(left({digits}, 1), substring({digits}, {place}, 2)) AS INT)" for place in (2, 4)
    )
    return f"timestampadd(MINUTE, -({hours} * 60 + {minutes}), {wall})"


def parse_function(name: str, end: str, read: ReadFormat) -> Function:
    """name + end: a DateTime of a text in a format."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        text, form = values[0], read(literal_string(values[1], "the format"))
        of = t.DateTime(zone_argument(values, 2) if len(values) > 2 else "UTC")
        wall = _wall_clock(text.sql, form)
        moment = _moment(text.sql, form, wall, zone_of(of))
        inside = f"{moment} >= {FIRST_SECOND} AND {wall} < {_END_OF_RANGE}"
        found = f"if({inside}, {wrap_to_range(moment, of)}, NULL)"
        return handle_unparsable(text, found, of, end)

    return Function(f"{name}{end}", (2, 3), ("text", "constant", "constant"), build)


def parse64_function(name: str, end: str, read: ReadFormat, digits: Callable[[TimeFormat], int]) -> Function:
    """name + end: a DateTime64 of any year, with as many digits of a second as `digits` gives."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        text, form = values[0], read(literal_string(values[1], "the format"))
        of = t.DateTime64(digits(form), zone_argument(values, 2) if len(values) > 2 else "UTC")
        found = _moment(text.sql, form, _wall_clock(text.sql, form), zone_of(of))
        return handle_unparsable(text, found, of, end)

    return Function(f"{name}{end}", (2, 3), ("text", "constant", "constant"), build)


FUNCTIONS: tuple[Function, ...] = (
    *(parse_function("parseDateTime", end, _read_format) for end in SUFFIXES),
    *(parse64_function("parseDateTime64", end, _read_format, lambda form: 6) for end in SUFFIXES),
)
ALIASES: dict[str, str] = {"str_to_date": "parseDateTimeOrNull"}
ANY_CASE: tuple[str, ...] = ("str_to_date",)
