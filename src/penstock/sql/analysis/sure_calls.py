"""What functions of Spark give for sure values, and where they cannot fail.

In: the name of a function in lower case, and its values as `sure_values` knows them. Out: what it gives, or None.
Invariant: a function with values for which its rule says nothing counts as one that may fail; one that has no rule and
never fails gives something of which no more is known.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from penstock.sql.analysis.expression_facts import VOLATILE_FUNCTIONS
from penstock.sql.analysis.may_raise import SAFE_FUNCTIONS
from penstock.sql.analysis.pattern_groups import count_groups
from penstock.sql.analysis.sure_values import (
    EXACT,
    MOST_DAYS,
    MOST_DIGITS,
    MOST_SECONDS,
    AnyValue,
    BoolValue,
    DateValue,
    DecimalNumber,
    FloatNumber,
    NullValue,
    SureValue,
    TextValue,
    TimeValue,
    WholeNumber,
    choose_value,
    is_near,
    whole_in_range,
)

Values: TypeAlias = Sequence[SureValue]
_LONGEST = 1_000_000
"""Characters of a text that is written as one that is repeated."""
_LARGEST = (1 << 31) - 16
"""Bytes of a text and elements of an array, as Spark holds them."""
_OF_DATES = re.compile(r"(?:[yMdHmsS]|[^A-Za-z'\[\]{}#]|'[^']*')*")
"""A pattern of numbers that each date and time has."""
_PUT = re.compile(r"(?:[^$\\]|\$1)*")
"""What is put in the place of a match: text, and the first group of it."""


_UNITS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
_UNITS |= {"month": 31 * 86_400, "quarter": 92 * 86_400, "year": 366 * 86_400}
"""The most seconds of the units that are added to a time."""


def add_to_time(unit: str, values: Values) -> SureValue | None:
    """A time with so many units added to it; None where it may be none of Spark's."""
    match values:
        case [WholeNumber(least, most, 32), TimeValue(seconds)] if unit.lower() in _UNITS:
            step = _UNITS[unit.lower()]
            found = range(seconds.start + min(least, 0) * step, seconds.stop + max(most, 0) * step)
            return TimeValue(found) if found.start > -MOST_SECONDS and found.stop < MOST_SECONDS else None
        case _:
            return None


def call_function(name: str, values: Values) -> SureValue | None:
    """What a function gives; None where it may fail, or gives another value each time."""
    if name in VOLATILE_FUNCTIONS:
        return None
    rule = _RULES.get(name)
    if rule is not None:
        return rule(values)
    return AnyValue() if name in SAFE_FUNCTIONS and values else None


# --------------------------------------------------------------------------------------------------------- texts


def _text(values: Values) -> SureValue | None:
    return TextValue() if all(isinstance(each, (TextValue, WholeNumber, NullValue)) for each in values) else AnyValue()


def _length(values: Values) -> SureValue | None:
    return WholeNumber(-1, _LARGEST, 32)  # the size of NULL may be -1


def _character(values: Values) -> SureValue | None:
    match values:
        case [WholeNumber(code, same, _)] if code == same and 0 <= code < 128:
            return TextValue(chr(code))
        case _:
            return None


def _repeated(values: Values) -> SureValue | None:
    match values:
        case [TextValue(str(text)), WholeNumber(_, most, _)] if most * len(text) <= _LONGEST:
            return TextValue()
        case _:
            return None


def _extracted(values: Values) -> SureValue | None:
    match values:
        case [TextValue(), TextValue(str(pattern)), WholeNumber(number, same, _)] if number == same >= 0:
            groups = count_groups(pattern)
            return TextValue() if groups is not None and number <= groups else None
        case _:
            return None


def _replaced(values: Values) -> SureValue | None:
    match values:
        case [TextValue(), TextValue(str(pattern)), TextValue(str(put))] if _PUT.fullmatch(put):
            groups = count_groups(pattern)
            return TextValue() if groups or (groups is not None and "$" not in put) else None
        case _:
            return None


def _split(values: Values) -> SureValue | None:
    match values:
        case [TextValue(), TextValue(str(pattern)), WholeNumber()] if count_groups(pattern) is not None:
            return AnyValue()
        case _:
            return None


def _position(values: Values) -> SureValue | None:
    return WholeNumber(0, _LARGEST, 64) if len(values) == 2 else None


def _element(values: Values) -> SureValue | None:
    match values:
        case [_, WholeNumber() as place] if not place.holds_zero:
            return AnyValue()
        case _:
            return None


def _truth_of_texts(values: Values) -> SureValue | None:
    return BoolValue() if all(isinstance(each, TextValue) for each in values) else AnyValue()


# --------------------------------------------------------------------------------------------------------- times


def _part(least: int, most: int) -> Callable[[Values], SureValue | None]:
    """A part of a date or a time. A text is not known to be one."""

    def rule(values: Values) -> SureValue | None:
        is_time = len(values) == 1 and is_near(values[0])
        return WholeNumber(least, most, 32) if is_time else None

    return rule


def _shown(values: Values) -> SureValue | None:
    match values:
        case [value, TextValue(str(pattern))] if is_near(value) and _OF_DATES.fullmatch(pattern):
            return TextValue()
        case _:
            return None


def _truncated(values: Values) -> SureValue | None:
    match values:
        case [TextValue(str()), value] if is_near(value):
            return TimeValue()
        case _:
            return None


def _day_number(values: Values) -> SureValue | None:
    match values:
        case [DateValue(days)]:
            return WholeNumber(days.start, days.stop - 1, 32)
        case _:
            return None


def _date_of_number(values: Values) -> SureValue | None:
    match values:
        case [WholeNumber(least, most, 32)]:
            return DateValue(range(least, most + 1))
        case _:
            return None


def _later(sign: int) -> Callable[[Values], SureValue | None]:
    """A date so many days later, or earlier."""

    def rule(values: Values) -> SureValue | None:
        match values:
            case [DateValue(days), WholeNumber(least, most, 32)]:
                ends = sorted((sign * least, sign * most))
                found = range(days.start + ends[0], days.stop + ends[1])
                return DateValue(found) if found.start >= -MOST_DAYS and found.stop <= MOST_DAYS else None
            case _:
                return None

    return rule


def _seconds(values: Values) -> SureValue | None:
    match values:
        case [TimeValue(seconds)]:
            return WholeNumber(seconds.start, seconds.stop, 64)
        case _:
            return None


def _moment(values: Values) -> SureValue | None:
    match values:
        case [WholeNumber(least, most, _)] if max(abs(least), abs(most)) < MOST_SECONDS:
            return TimeValue(range(least, most + 1))
        case _:
            return None


# ------------------------------------------------------------------------------------------------------- numbers


def _absolute(values: Values) -> SureValue | None:
    match values:
        case [WholeNumber(least, most, bits)]:
            return whole_in_range(0, max(abs(least), abs(most)), bits)
        case [DecimalNumber(whole, fraction, _)]:
            return DecimalNumber(whole, fraction)
        case [FloatNumber()]:
            return FloatNumber()
        case _:
            return None


def _rounded(values: Values) -> SureValue | None:
    return FloatNumber() if len(values) == 1 and isinstance(values[0], FloatNumber) else None


def _cut(values: Values) -> SureValue | None:
    match values:
        case [FloatNumber(least, most, is_finite=True)]:
            return whole_in_range(math.floor(least), math.ceil(most), 64)
        case _:
            return None


def _tried(values: Values) -> SureValue | None:
    """A number of the type in which it is computed, or NULL."""
    match values:
        case [WholeNumber(bits=one), WholeNumber(bits=other)]:
            bits = EXACT if EXACT in (one, other) else max(one, other)
            most = 10**MOST_DIGITS if bits == EXACT else 1 << (bits - 1)
            return WholeNumber(1 - most if bits == EXACT else -most, most - 1, bits)
        case _:
            return AnyValue()


def _unless_equal(values: Values) -> SureValue | None:
    match values:
        case [WholeNumber(0, most, bits), WholeNumber(0, 0, _)] if most > 0:
            return WholeNumber(1, most, bits)
        case [value, _]:
            return value
        case _:
            return None


def _unsigned(values: Values) -> SureValue | None:
    return WholeNumber(0, (1 << 64) - 1, EXACT)


_RULES: Mapping[str, Callable[[Values], SureValue | None]] = {
    **dict.fromkeys(("btrim", "concat", "hex", "left", "lower", "ltrim", "penstock_lower", "penstock_upper"), _text),
    **dict.fromkeys(("replace", "reverse", "right", "rtrim", "substring", "substring_index"), _text),
    **dict.fromkeys(("translate", "trim", "upper"), _text),
    **dict.fromkeys(("char_length", "length", "octet_length", "size", "instr"), _length),
    **dict.fromkeys(("startswith", "endswith", "contains"), _truth_of_texts),
    "chr": _character,
    "repeat": _repeated,
    "split": _split,
    "array_position": _position,
    "try_element_at": _element,
    "regexp_extract": _extracted,
    "regexp_replace": _replaced,
    "hour": _part(0, 23),
    "minute": _part(0, 59),
    "second": _part(0, 59),
    "dayofmonth": _part(1, 31),
    "dayofyear": _part(1, 366),
    "dayofweek": _part(1, 7),
    "weekday": _part(0, 6),
    "month": _part(1, 12),
    "quarter": _part(1, 4),
    "year": _part(-6_000_000, 6_000_000),
    "unix_date": _day_number,
    "date_from_unix_date": _date_of_number,
    "date_add": _later(1),
    "date_sub": _later(-1),
    "date_format": _shown,
    "date_trunc": _truncated,
    "unix_seconds": _seconds,
    "timestamp_seconds": _moment,
    "abs": _absolute,
    "rint": _rounded,
    "floor": _cut,
    "ceil": _cut,
    "ceiling": _cut,
    "nullif": _unless_equal,
    **dict.fromkeys(("try_add", "try_subtract", "try_multiply"), _tried),
    "greatest": choose_value,
    "least": choose_value,
    "penstock_unsigned": _unsigned,
}
"""By the name of the function."""
