"""Parses a text of unknown format as a time, as parseDateTimeBestEffort and its US variant do.

In: SQL of a text. Out: SQL of a TIMESTAMP, NULL for a text of no known format. A chain of regexp_replace brings every
format to `year-month-day hour:minute:second.fraction am zone +hours:minutes`, whose parts are then read. Invariant:
nothing raises; a text without a year is not read (ClickHouse takes the year of the query). The formats are those of
ClickHouse's src/IO/parseDateTimeBestEffort.cpp.
"""

from __future__ import annotations

from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.dates import from_written_clock
from penstock.sql.spark_text import string_literal

_ISO = "^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?)?"
_ZONE = "(Z|[+-][0-9]{2}:[0-9]{2})"
_REST = "((?:[^0-9].*)?)$"
_MONTHS = (
    *("jan(uary)?", "feb(ruary)?", "mar(ch)?", "apr(il)?", "may", "june?"),
    *("july?", "aug(ust)?", "sep(tember)?", "oct(ober)?", "nov(ember)?", "dec(ember)?"),
)
_CLOCK = "[0-9]{1,2}:[0-9]{1,2}(?::[0-9]{1,2})?"
_WHOLE = (
    "^([0-9]{4})[-/. ]([0-9]{1,2})[-/. ]([0-9]{1,2})"
    "(?:[t ]+([0-9]{1,2})(?::([0-9]{1,2}))?(?::([0-9]{1,2})(?:[.]([0-9]+))?)?(?: *([ap]m)(?!z))?)?"
    " *(z|utc|gmt)? *(?:([+-])([0-9]{1,2}):?([0-9]{2})?)?$"
)
_PARTS = ";".join(f"${number}" for number in range(1, 13))
_WORDS = "(?: *(?:[ap]m|utc|gmt|z|msk|[+-][0-9:]+))*"
_TIME = f"([t ]+{_CLOCK}.*)?$"
_TIME_FIRST = (f"^({_CLOCK}(?:[.][0-9]+)?{_WORDS}) +((?![0-9]{{4}} +[a-z])[^:]+)$", "$2 $1")
_WEEKDAY = ("^(mon|tue|wed|thu|fri|sat|sun)[a-z]*,? *", "")
_NAMED = (
    (f"^@(..) +([0-9]{{1,2}}) +({_CLOCK}{_WORDS}) +([0-9]{{4}})$", "$4-$1-$2 $3"),
    (f"^@(..) *([0-9]{{1,2}})(?:,| ) *([0-9]{{4}}){_REST}", "$3-$1-$2$4"),
    (f"^@(..) +([0-9]{{4}}){_TIME}", "$2-$1-01$3"),
    ("^([0-9]{4}) +@(..)$", "$1-$2-01"),
    (f"^([0-9]{{4}}) +@(..) +([0-9]{{1,2}}){_REST}", "$1-$2-$3$4"),
)
_DIGITS = (
    ("^([0-9]{4})$", "$1-01-01"),
    (f"^([0-9]{{4}})[-/.]?([0-9]{{2}}){_TIME}|^([0-9]{{4}})[-/.]([0-9]){_TIME}", "$1$4-$2$5-01$3$6"),
    ("^([0-9]{4}) ([0-9]{1,2})$", "$1-$2-01"),
    (f"^([0-9]{{4}})([0-9]{{2}})([0-9]{{2}})([0-9]{{2}})([0-9]{{2}})([0-9]{{2}}){_REST}", "$1-$2-$3 $4:$5:$6$7"),
    (f"^([0-9]{{4}})([0-9]{{2}})([0-9]{{2}}){_REST}", "$1-$2-$3$4"),
)
_SIX = (f"^([0-9]{{4}}[-/.][0-9]{{1,2}}[-/.][0-9]{{1,2}}[t ]+[0-9]{{2}})([0-9]{{2}})([0-9]{{2}}){_REST}", "$1:$2:$3$4")
_LARGE = "1[3-9]|2[0-9]|3[01]"
_SHORT_YEAR = tuple(
    (f"^([0-9]{{1,2}}[-/.][0-9]{{1,2}}[-/.])({decade}[0-9]){_REST}", f"$1{century}$2$3")
    for decade, century in (("[0-6]", "20"), ("[7-9]", "19"))
)
_EUROPEAN = (
    (f"^([0-9]{{1,2}})[-/. ]?@(..),?[-/. ]?([0-9]{{4}}){_REST}", "$3-$2-$1$4"),
    (f"^([0-9]{{1,2}})[-/.]({_LARGE})[-/.]([0-9]{{4}}){_REST}", "$3-$1-$2$4"),
    (f"^([0-9]{{1,2}})[-/.]([0-9]{{1,2}})[-/.]([0-9]{{4}}){_REST}", "$3-$2-$1$4"),
)
"""Patterns over the text in lower case, and their replacements: day before month; `@08` is the name of a month."""
_AMERICAN = (
    (f"^([0-9]{{1,2}}) ?@(..),? ?([0-9]{{4}}){_REST}", "$3-$2-$1$4"),
    (f"^({_LARGE})[-/.]([0-9]{{1,2}})[-/.]([0-9]{{4}}){_REST}", "$3-$2-$1$4"),
    (f"^([0-9]{{1,2}})[-/.]([0-9]{{1,2}})[-/.]([0-9]{{4}}){_REST}", "$3-$1-$2$4"),
)
"""The same with the month before the day."""
_WORD = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)[a-z]*|[ap]m|utc|gmt|z|t"
UNREAD_TIME = string_literal(
    r"(?i)^(?:0000.*|.*:[0-9]{2}[.]|[0-9]{18,20}"
    r"|(?![+-])(?!.*[0-9]{3})(?=.*(?:[0-9]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))"
    rf"(?:[0-9]{{1,2}}|{_WORD}|[-:/., ])++)\z"
)
"""Pattern, as a SQL literal, of texts that ClickHouse may read as a time and this module does not: without a year, or
odd otherwise."""
_ZONES = ((" *msk$", "+03:00"), (" *msd$", "+04:00"))
"""Texts of time zones and their offsets."""


def parse_best_effort(text: str, zone: str | None, *, month_first: bool, fractions: bool) -> str:
    """The time that a text shows, on the clock of `zone` unless the text names a zone. `month_first` reads 2/1/2026
    as February (the US variant); `fractions` allows seconds since 1970 with a fraction."""
    digits = "^([0-9]{9,10}|[0-9]{13}|[0-9]{16}" + ("|[0-9]{9,10}[.][0-9]{1,9})$" if fractions else ")$")

    def whole(given: str) -> str:
        iso = f"try_cast({given} AS TIMESTAMP)"
        return (
            f"coalesce(CASE WHEN {given} RLIKE '{_ISO}$' THEN {from_written_clock(iso, zone)} "
            f"WHEN {given} RLIKE '{_ISO}{_ZONE}$' THEN {iso} "
            f"WHEN {given} RLIKE '{digits}' THEN {_parse_unix_time(given, fractions=fractions)} END, "
            f"{_parse_loose(given, zone, month_first=month_first)})"
        )

    return bind_if_long(text, whole)


def _normalize_shape(text: str, *, month_first: bool) -> str:
    """The text, in lower case, brought to the one format; `@08` stands for the name of the eighth month."""
    months = ((f"(?<![a-z]){name}(?![a-z])", f"@{number:02}") for number, name in enumerate(_MONTHS, 1))
    order = _AMERICAN if month_first else _EUROPEAN
    for pattern, shape in (_TIME_FIRST, _WEEKDAY, *months, *_NAMED, *_DIGITS, *_SHORT_YEAR, *order, _SIX, *_ZONES):
        text = f"regexp_replace({text}, '{pattern}', '{shape}')"
    return text


def _time_of_parts(parts: str, zone: str | None) -> str:
    """The time of the parts; NULL if some are missing, as the text is then of no known format."""
    part = [f"try_element_at({parts}, {place})" for place in range(13)]
    year, month, first = part[1], *(f"greatest(try_cast({each} AS INT), 1)" for each in part[2:4])
    day = f"try_cast(concat({year}, '-', {month}, '-', {first}) AS DATE)"
    hours, minutes, seconds = (f"coalesce(try_cast({part[n]} AS BIGINT), 0)" for n in (4, 5, 6))
    noon = f"{part[8]} = 'pm' AND {hours} < 12 THEN 12 WHEN {part[8]} = 'am' AND {hours} = 12 THEN -12"
    fraction = f"coalesce(CAST(try_cast(concat('0.', left({part[7]}, 9)) AS DECIMAL(10,9)) * 1000000 AS BIGINT), 0)"
    micros = f"(({hours} + CASE WHEN {noon} ELSE 0 END) * 3600 + {minutes} * 60 + {seconds}) * 1000000 + {fraction}"
    wall = f"timestampadd(MICROSECOND, {micros}, CAST({day} AS TIMESTAMP))"
    ahead = f"(try_cast({part[11]} AS BIGINT) * 3600 + coalesce(try_cast({part[12]} AS BIGINT), 0) * 60)"
    there = f"timestampadd(SECOND, if({part[10]} = '-', {ahead}, - {ahead}), {wall})"
    here = f"if({part[9]} <> '', {wall}, {from_written_clock(wall, zone)})" if zone else wall
    return f"if({part[12]} IS NOT NULL AND {year} <> '0000', if({part[10]} <> '', {there}, {here}), NULL)"


def _parse_loose(text: str, zone: str | None, *, month_first: bool) -> str:
    """The time of a text in any format but ISO 8601 and seconds since 1970."""
    shaped = bind_if_long(f"trim(lower({text}))", lambda given: _normalize_shape(given, month_first=month_first))
    return bind_if_long(
        f"split(regexp_replace({shaped}, '{_WHOLE}', '{_PARTS}'), ';', -1)", lambda parts: _time_of_parts(parts, zone)
    )


def _parse_unix_time(text: str, *, fractions: bool) -> str:
    """9 or 10 digits are seconds since 1970, 13 digits milliseconds, 16 digits microseconds."""
    number = f"try_cast({text} AS DECIMAL(27,9))"
    powers = f"CASE WHEN length({text}) = 16 THEN 1 WHEN length({text}) = 13 THEN 1000 ELSE 1000000 END"
    exact = f"CASE WHEN {text} RLIKE '[.]' THEN 1000000 ELSE {powers} END" if fractions else powers
    return f"timestamp_micros(try_cast({number} * {exact} AS BIGINT))"
