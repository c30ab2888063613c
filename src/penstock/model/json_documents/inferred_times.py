"""Which texts in a JSON document are times: ClickHouse gives such a leaf the type Date, DateTime or DateTime64(9).

In: a text. Out: the type and the text as ClickHouse writes it, or None for a text that stays a String. Invariant: what
is returned for a time is again a time of the same type. Times without an offset are in UTC. Source: ClickHouse's
behaviour with `date_time_input_format = 'best_effort'` (strict form, dates divided by `-`, `/` or `:`).
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from functools import lru_cache

from penstock.model.quick_dataclass import dataclass

DATE, DATETIME, DATETIME64 = "Date", "DateTime", "DateTime64(9)"
_LONGEST = 50
_MOST_DIGITS = 19
"""Digits that ClickHouse reads as one number; what follows is the next one."""
_DATE = re.compile(r"(\d{4})[-/:](\d{1,2})[-/:](\d{1,2})", re.ASCII)
_FIRST_DAY, _LAST_DAY = dt.date(1970, 1, 1), dt.date(2149, 6, 6)
_MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTHS = {name[:3]: number for number, name in enumerate(_MONTH_NAMES, 1)}
_WEEKDAYS = {name[:3]: name for name in ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]}
_ZONES = {"utc": 0, "gmt": 0, "msk": 3, "msd": 4}
_DIVIDERS = ("-", "/")
"""Between a day and a month; ClickHouse also allows `:` after a year."""


class _NoTime(Exception):
    """The text is no time."""


def infer_time(text: str) -> tuple[str, str] | None:
    """The type and the canonical text of a time; None for any other text."""
    return _infer_short_time(text) if 5 <= len(text) <= _LONGEST else None


@lru_cache(maxsize=8192)
def _infer_short_time(text: str) -> tuple[str, str] | None:
    """Kept for the texts used last, which are short: a document may have texts of megabytes."""
    if len(text.encode(errors="replace")) > _LONGEST or not any("0" <= each <= "9" for each in text):
        return None
    if text.isascii() and text.isdigit():
        return None
    day = _infer_date(text)
    if day is not None:
        return DATE, day
    try:
        found = _Scanner(text).read()
    except _NoTime:
        return None
    return _written(found)


def written_time(text: str, of: str) -> str:
    """The text of a time as a type of more digits writes it: a Date as a DateTime or DateTime64(9)."""
    found = infer_time(text)
    if found is None:
        return text
    have, shown = found
    if have == DATE and of != DATE:
        have, shown = DATETIME, f"{shown} 00:00:00"
    return f"{shown}.000000000" if have == DATETIME and of == DATETIME64 else shown


def _infer_date(text: str) -> str | None:
    """A day from 1970 to 2149-06-06. A day that its month does not have is one of the next month, as in ClickHouse."""
    found = _DATE.fullmatch(text) if 8 <= len(text) <= 10 else None
    if found is None:
        return None
    year, month, number = map(int, found.groups())
    if not (1970 <= year <= 2149 and 1 <= month <= 12 and 1 <= number <= 31):
        return None
    day = dt.date(year, month, 1) + dt.timedelta(days=number - 1)
    return str(day) if _FIRST_DAY <= day <= _LAST_DAY else None


@dataclass(frozen=True, slots=True)
class _Moment:
    """Seconds since 1970 and nanoseconds; `local` are the seconds before the offset was applied."""

    seconds: int
    nanos: int
    local: int
    has_point: bool


def _written(found: _Moment) -> tuple[str, str] | None:
    whole = not found.has_point and 0 <= found.local < 2**32 and 0 <= found.seconds < 2**32
    if not whole and not -(2**63) <= found.seconds * 10**9 + found.nanos < 2**63:
        return None
    moment = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=found.seconds)
    shown = f"{moment:%Y-%m-%d %H:%M:%S}"
    return (DATETIME, shown) if whole else (DATETIME64, f"{shown}.{found.nanos:09d}")


class _Scanner:
    """Reads one text from left to right; each part of a date may come in any place."""

    def __init__(self, text: str):
        self._text, self._at = text, 0
        self._year = self._month = self._day = 0
        self._hour = self._minute = self._second = 0
        self._has_time = False
        self._fraction: str | None = None
        self._zone_hours = self._zone_minutes = 0
        self._is_west = False
        self._half: str | None = None
        self._comma = False

    def read(self) -> _Moment:
        """The moment. Raises _NoTime."""
        while self._at < len(self._text):
            if bool(self._year) != self._has_time and self._take(","):
                self._comma = True
                if self._at == len(self._text):
                    break
            digits = self._digits(_MOST_DIGITS) if not self._year or not self._has_time else ""
            if len(digits) == 13 and not self._year and not self._has_time:
                return self._unix_milliseconds(int(digits))
            if digits:
                self._read_number(digits)
            elif not self._read_mark():
                break
        if self._at < len(self._text):
            raise _NoTime
        return self._moment()

    def _unix_milliseconds(self, number: int) -> _Moment:
        """Milliseconds since 1970, which words may precede; nothing follows."""
        if self._at < len(self._text):
            raise _NoTime
        seconds, millis = divmod(number, 1000)
        return _Moment(seconds, millis * 1_000_000, seconds, has_point=True)

    def _take(self, one: str) -> bool:
        found = self._text[self._at : self._at + 1] == one
        self._at += found
        return found

    def _run(self, belongs: Callable[[str], bool], most: int) -> str:
        end = self._at
        while end < len(self._text) and end - self._at < most and belongs(self._text[end]):
            end += 1
        found, self._at = self._text[self._at : end], end
        return found

    def _digits(self, most: int) -> str:
        return self._run(lambda each: "0" <= each <= "9", most)

    def _letters(self, most: int) -> str:
        return self._run(lambda each: each.isascii() and each.isalpha(), most)

    def _short_number(self) -> int:
        """One or two digits."""
        digits = self._digits(_MOST_DIGITS)
        if len(digits) not in (1, 2):
            raise _NoTime
        return int(digits)

    def _read_number(self, digits: str) -> None:
        if len(digits) == 4 and not self._year:
            self._read_year(int(digits))
        elif len(digits) in (1, 2):
            self._read_short(int(digits))
        else:
            raise _NoTime

    def _read_year(self, year: int) -> None:
        """`2020-01-02`, `2020-1`, or the year alone after its month."""
        self._year = year
        divider = self._text[self._at : self._at + 1]
        if not divider or self._month:
            if divider and (divider < " " or divider in ",;'\""):
                raise _NoTime
            return
        if divider < " " or divider in ",;'\"":
            raise _NoTime
        self._at += 1
        digits = self._digits(_MOST_DIGITS)
        if len(digits) not in (1, 2):
            if divider == " ":
                return
            raise _NoTime
        self._month = int(digits)
        if not self._day and self._take(divider):
            digits = self._digits(_MOST_DIGITS)
            if len(digits) not in (1, 2):
                if divider == " ":
                    return
                raise _NoTime
            self._day = int(digits)
        if divider not in (*_DIVIDERS, ":"):
            raise _NoTime

    def _read_short(self, number: int) -> None:
        """An hour with its minutes, a day with its month, or either alone."""
        if self._take(":"):
            self._read_time(number)
        elif self._take(","):
            if self._month and not self._day:
                self._day = number
        elif self._text[self._at : self._at + 1] in _DIVIDERS and self._at < len(self._text):
            self._at += 1
            self._read_day_and_month(number)
        elif self._day:
            if self._hour:
                raise _NoTime
            self._hour = number
        else:
            self._day = number

    def _read_time(self, hour: int) -> None:
        if self._has_time:
            raise _NoTime
        self._hour, self._has_time = hour, True
        self._minute = self._short_number()
        if self._take(":"):
            self._second = self._short_number()

    def _read_day_and_month(self, number: int) -> None:
        if self._day or self._month:
            raise _NoTime
        self._day = number
        digits = self._digits(_MOST_DIGITS)
        if not digits:
            self._month = self._month_named(self._letters(9))
        elif len(digits) <= 2:
            self._month = int(digits)
        else:
            raise _NoTime
        if self._month > 12:
            self._month, self._day = self._day, self._month
        if self._text[self._at : self._at + 1] in _DIVIDERS and self._at < len(self._text):
            self._at += 1
            self._read_last_year()

    def _read_last_year(self) -> None:
        digits = self._digits(_MOST_DIGITS)
        if self._year or len(digits) not in (2, 4):
            raise _NoTime
        year = int(digits)
        self._year = year if len(digits) == 4 else year + (1900 if year >= 70 else 2000)

    def _month_named(self, word: str) -> int:
        number = _MONTHS.get(word[:3].lower(), 0)
        more = self._text[self._at : self._at + 1]
        if not number or (len(word) > 3 and not _is_name(word)) or (more.isascii() and more.isalpha()):
            raise _NoTime
        return number

    def _read_mark(self) -> bool:
        """A divider, a fraction, an offset or a word; False where none of these stands."""
        mark = self._text[self._at]
        if mark == " " or (mark == "T" and self._year and not self._has_time) or mark == "Z":
            self._at += 1
        elif mark == ".":
            self._read_fraction()
        elif mark in "+-":
            self._at += 1
            self._read_offset(is_west=mark == "-")
        else:
            return self._read_word()
        return True

    def _read_fraction(self) -> None:
        if not self._has_time or self._fraction is not None:
            raise _NoTime
        self._at += 1
        self._fraction = self._digits(_MOST_DIGITS)

    def _read_offset(self, *, is_west: bool) -> None:
        digits = self._digits(_MOST_DIGITS)
        if len(digits) == 6 and not self._has_time and self._year and self._month and self._day:
            self._hour += int(digits[:2])
            self._minute, self._second, self._has_time = int(digits[2:4]), int(digits[4:]), True
            return
        if not 1 <= len(digits) <= 4:
            raise _NoTime
        self._is_west = self._is_west or is_west
        if len(digits) > 2:
            self._add_offset(int(digits[:-2]), int(digits[-2:]))
        else:
            self._add_offset(int(digits), self._short_number() if self._take(":") else 0)

    def _add_offset(self, hours: int, minutes: int) -> None:
        """A second offset is added to the first, in bytes, as in ClickHouse."""
        self._zone_hours = (self._zone_hours + hours) % 256
        self._zone_minutes = (self._zone_minutes + minutes) % 256

    def _read_word(self) -> bool:
        """A month, a day of the week, AM or PM, or a zone."""
        first = self._letters(3)
        if not first:
            return False
        if len(first) < 3:
            if first.lower() not in ("am", "pm"):
                raise _NoTime
            self._half = "pm" if "pm" in (first.lower(), self._half) else "am"
            return True
        word = first + self._letters(7)
        more, short = self._text[self._at : self._at + 1], first.lower()
        if (more.isascii() and more.isalpha()) or (len(word) > 3 and not _is_name(word)):
            raise _NoTime
        if short in _MONTHS:
            self._month = _MONTHS[short]
        elif short in _ZONES:
            self._zone_hours = _ZONES[short] or self._zone_hours
        elif short in _WEEKDAYS:
            self._take(",")
        else:
            raise _NoTime
        return True

    def _moment(self) -> _Moment:
        complete = self._year and self._month and self._day
        if not complete or (self._comma and not self._has_time):
            raise _NoTime
        try:
            day = dt.date(self._year, self._month, self._day)
        except ValueError:
            raise _NoTime from None
        hour = self._hour
        if self._half == "am" and hour == 12:
            hour = 0
        if self._half == "pm" and hour < 12:
            hour += 12
        local = (day - dt.date(1970, 1, 1)).days * 86400 + hour * 3600 + self._minute * 60 + self._second
        nanos = int((self._fraction or "0")[:9].ljust(9, "0"))
        offset = self._zone_hours * 3600 + self._zone_minutes * 60
        return _Moment(local + (offset if self._is_west else -offset), nanos, local, self._fraction is not None)


def _is_name(word: str) -> bool:
    """Whether a word is the whole name of a month or of a day of the week."""
    low = word.lower()
    return low in _MONTH_NAMES or low in _WEEKDAYS.values()
