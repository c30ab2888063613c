"""Formatting and parsing times by letters: formatDateTimeInJodaSyntax, parseDateTimeInJodaSyntax

In: a format of letters (`yyyy-MM-dd'T'HH:mm:ss`), of which each run means a part of a time. Out: Spark SQL. Invariant:
a letter, or a number of letters, that is not in the tables here is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby

from penstock.model import types as t
from penstock.sql.expr.dates import wall_clock
from penstock.sql.expr.typed import TypedSql, unless_null
from penstock.sql.functions.dates.format_codes import format_function, from_unix_function
from penstock.sql.functions.dates.parse_codes import (
    MONTHS,
    SUFFIXES,
    WEEKDAYS,
    TimeFormat,
    any_of,
    make_format,
    parse64_function,
    parse_function,
)
from penstock.sql.functions.function import BadArguments, Function
from penstock.sql.spark_text import string_literal

_PIECES = re.compile(r"([A-Za-z])\1*|''|'(?:[^']|'')*'|[^A-Za-z']+|'", re.DOTALL)
_MOST_LETTERS = 32
_SPARK_LETTERS = frozenset(
    (
        *("yy", "yyyy", "M", "MM", "MMM", "MMMM", "d", "dd", "D", "DDD", "EEE", "EEEE"),
        *("H", "HH", "k", "kk", "K", "KK", "h", "hh", "m", "mm", "s", "ss", "a"),
    )
)
"""Runs of letters that mean the same in Spark's date_format."""
_AS_SPARK = {"E": ("EEE", "EEEE"), "M": ("MMM", "MMMM"), "a": ("a", "a")}
"""Letters whose names are short up to three letters, and long with more."""
_NUMBERS: Mapping[str, str] = {
    "C": "CAST(floor(year({0}) / 100) AS INT)",
    "Y": "year({0})",
    "y": "year({0})",
    "x": "extract(YEAROFWEEK FROM {0})",
    "w": "weekofyear({0})",
    "e": "weekday({0}) + 1",
    "d": "day({0})",
    "D": "dayofyear({0})",
    "M": "month({0})",
    "H": "hour({0})",
    "k": "if(hour({0}) = 0, 24, hour({0}))",
    "K": "hour({0}) % 12",
    "h": "if(hour({0}) % 12 = 0, 12, hour({0}) % 12)",
    "m": "minute({0})",
    "s": "second({0})",
}
"""Letters that are a number with at least so many digits as there are letters."""


def _pieces(form: str) -> list[str]:
    """The runs of letters, the quoted texts and what is between them. Raises BadArguments for a quote without end."""
    found = [each[0] for each in _PIECES.finditer(form)]
    if "'" in found:
        raise BadArguments("the format has a quote without its end", "'' is a quote")
    long = next((each for each in found if each[0].isalpha() and len(each) > _MOST_LETTERS), None)
    if long is not None:
        raise BadArguments(f"more than {_MOST_LETTERS} letters `{long[0]}` are not supported")
    return found


def _literal_text(piece: str) -> str | None:
    """The text that a piece stands for; None for letters."""
    if piece == "''":
        return "'"
    if piece.startswith("'"):
        return piece[1:-1].replace("''", "'")
    return None if piece[0].isascii() and piece[0].isalpha() else piece


def _format_by_letters(value: TypedSql, form: str) -> str:
    """A time in a format. Raises BadArguments for letters that are not supported."""
    wall, pieces = wall_clock(value), _merged_texts(_pieces(form))
    moment = f"CAST({wall} AS TIMESTAMP)" if value.spark == "DATE" else wall
    letters = [_spark_letters(piece) for piece in pieces]
    if any(_literal_text(piece) is None for piece in pieces) and None not in letters:
        return f"date_format({moment}, {string_literal(''.join(each or '' for each in letters))})"
    shown = [_piece_sql(piece, value, moment) for piece in pieces] or ["''"]
    return unless_null(f"concat({', '.join(shown)})", value)


def _merged_texts(pieces: Sequence[str]) -> list[str]:
    """The pieces with texts that follow each other as one quoted text: two quotes in between would be a quote."""
    found: list[str] = []
    for is_text, group in groupby(pieces, lambda piece: _literal_text(piece) is not None):
        together = list(group)
        texts = "".join(_literal_text(each) or "" for each in together)
        found.extend(["'" + texts.replace("'", "''") + "'"] if is_text else together)
    return found


def _spark_letters(piece: str) -> str | None:
    """A piece in the syntax of Spark's date_format; None for what that cannot do."""
    if _literal_text(piece) is not None:
        return piece
    if piece[0] in _AS_SPARK and (len(piece) > 2 or piece[0] != "M"):
        return _AS_SPARK[piece[0]][len(piece) > 3]
    piece = "yy" if piece == "YY" else piece
    return piece if piece in _SPARK_LETTERS else None


def _piece_sql(piece: str, value: TypedSql, moment: str) -> str:
    text, letters = _literal_text(piece), _spark_letters(piece)
    if text is not None:
        return string_literal(text)
    if letters is not None:
        return f"date_format({moment}, '{letters}')"
    letter, many = piece[0], len(piece)
    if letter in _NUMBERS:
        return f"format_string('%0{many}d', {_NUMBERS[letter].format(moment)})"
    if letter == "S":
        return string_literal("0" * many) if value.spark == "DATE" else _fraction(moment, many)
    if letter == "G":
        return string_literal("AD" if many <= 3 else "Anno Domini")
    if letter == "z" and many > 3:
        return string_literal(_zone_name(value))
    raise BadArguments(f"`{piece}` in a format is not supported", "letters of text stand in quotes: 'text'")


def _fraction(moment: str, many: int) -> str:
    digits = f"date_format({moment}, '{'S' * min(many, 6)}')"
    return f"rpad({digits}, {many}, '0')" if many > 6 else digits


def _zone_name(value: TypedSql) -> str:
    if not isinstance(value.bare, (t.DateTime, t.DateTime64)):
        raise BadArguments("a Date has no time zone, so no `zzzz`")
    return value.bare.zone or "UTC"


_OPTIONAL_ZERO = "(?![0-9])"
_NAMES_OF_MONTHS = f"({any_of([*MONTHS, *(name[:3] for name in MONTHS)])})"
_NAMES_OF_WEEKDAYS = f"({any_of([*WEEKDAYS, *(name[:3] for name in WEEKDAYS)])})"
_TWO_DIGITS: Mapping[str, tuple[str, str]] = {
    "M": ("month", f"(0[1-9]|1[0-2]|[1-9]{_OPTIONAL_ZERO})"),
    "d": ("day", f"(0[1-9]|[12][0-9]|3[01]|[1-9]{_OPTIONAL_ZERO})"),
    "H": ("hour", f"([01][0-9]|2[0-3]|[0-9]{_OPTIONAL_ZERO})"),
    "k": ("hour from 1", f"(0[1-9]|1[0-9]|2[0-4]|[1-9]{_OPTIONAL_ZERO})"),
    "K": ("hour of half", f"(0[0-9]|1[01]|[0-9]{_OPTIONAL_ZERO})"),
    "h": ("hour of half", f"(0[1-9]|1[0-2]|[1-9]{_OPTIONAL_ZERO})"),
    "m": ("minute", f"([0-5][0-9]|[0-9]{_OPTIONAL_ZERO})"),
    "s": ("second", f"([0-5][0-9]|[0-9]{_OPTIONAL_ZERO})"),
}
"""Letters, one or two, that read a number of one or two digits: the part of a time, and its regular expression."""
_OTHERS: Mapping[str, tuple[str, str]] = {
    "yy": ("one or two digits of a year", f"[+]?([0-9]{{2}}|[0-9]{_OPTIONAL_ZERO})"),
    "yyy": ("short or long year", "[+]?([0-9]{1,4}+)"),
    "yyyy": ("short or long year", "[+]?([0-9]{1,4}+)"),
    **dict.fromkeys(("MMM", "MMMM"), ("month name", _NAMES_OF_MONTHS)),
    **dict.fromkeys(("E", "EE", "EEE", "EEEE"), ("weekday", _NAMES_OF_WEEKDAYS)),
    **dict.fromkeys(
        ("D", "DD", "DDD"),
        (
            "day of year",
            f"(00[1-9]|0[1-9][0-9]|[12][0-9][0-9]|3[0-5][0-9]|36[0-6]|(?:0[1-9]|[1-9][0-9]|[1-9]){_OPTIONAL_ZERO})",
        ),
    ),
    "a": ("half", "([AaPp][Mm])"),
    "Z": ("offset", "([+-](?:[01][0-9]|2[0-3])[0-5][0-9])"),
    **{"S" * many: ("fraction", f"([0-9]{{1,{many}}}+)") for many in range(1, 7)},
}


def _read_letters(form: str) -> TimeFormat:
    """Raises BadArguments for letters that are not supported."""
    parts: list[str] = []
    patterns = []
    for piece in _pieces(form):
        text = _literal_text(piece)
        if text is not None:
            patterns.append(re.escape(text))
            continue
        found = _TWO_DIGITS.get(piece[0]) if len(piece) <= 2 else None
        found = found or _OTHERS.get(piece)
        if found is None:
            known = ", ".join((*_TWO_DIGITS, *_OTHERS))
            raise BadArguments(f"`{piece}` in a format is not supported", f"{known}, and text in quotes: 'text'")
        parts.append(found[0])
        patterns.append(found[1])
    return make_format(patterns, parts, max((len(each) for each in _pieces(form) if each[0] == "S"), default=0))


def _digits(form: TimeFormat) -> int:
    return form.digits


FUNCTIONS: tuple[Function, ...] = (
    format_function("formatDateTimeInJodaSyntax", _format_by_letters),
    from_unix_function("fromUnixTimestampInJodaSyntax", _format_by_letters),
    *(parse_function("parseDateTimeInJodaSyntax", end, _read_letters) for end in SUFFIXES),
    *(parse64_function("parseDateTime64InJodaSyntax", end, _read_letters, _digits) for end in SUFFIXES),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
