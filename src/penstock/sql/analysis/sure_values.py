"""What is known of a value before it is computed: its kind, and the range in which it lies.

In: the parts of an expression. Out: `SureValue`, for what Spark makes of them with casts, arithmetic and choices;
None where an error is possible. Invariant: the rules are those of Spark in ANSI mode, where a number that its type does
not hold, a division by zero and a text that is no number are errors; a value is in its range, or NULL.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import TypeAlias, Union

from sqlglot import exp

from penstock.model.quick_dataclass import dataclass

BITS = {exp.DType.TINYINT: 8, exp.DType.SMALLINT: 16, exp.DType.INT: 32, exp.DType.BIGINT: 64}
FLOATS = (exp.DType.FLOAT, exp.DType.DOUBLE)
MOST_DIGITS = 38
"""Of a number that Spark reads without an exponent, and of a DECIMAL."""
EXACT = 0
"""In the place of bits: a DECIMAL without a fraction."""
_TEXTS = (exp.DType.TEXT, exp.DType.VARCHAR)
_MOMENTS = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ)
_NUMBER = re.compile(r"(\d*)(?:\.(\d*))?", re.ASCII)
_SIGNED = re.compile(r"[+-]?(\d+)(?:\.(\d+))?", re.ASCII)
_FLOAT = re.compile(r"[+-]?(?:\d+(?:\.\d+)?|inf|infinity)|nan", re.ASCII | re.IGNORECASE)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class NullValue:
    """NULL, which every type has."""


@dataclass(frozen=True, slots=True)
class BoolValue:
    """True or false."""


@dataclass(frozen=True, slots=True)
class WholeNumber:
    """A whole number from `least` to `most`."""

    least: int
    most: int
    bits: int
    """Of its type; `EXACT`: it is a DECIMAL."""

    @property
    def holds_zero(self) -> bool:
        return self.least <= 0 <= self.most


@dataclass(frozen=True, slots=True)
class DecimalNumber:
    """A DECIMAL with so many digits before the point, and after it."""

    whole: int
    fraction: int
    value: float | None = None
    """That of a literal, or the nearest DOUBLE."""


@dataclass(frozen=True, slots=True)
class FloatNumber:
    """A floating point number."""

    least: float = -math.inf
    most: float = math.inf
    is_finite: bool = False
    """Whether it is neither infinite nor NaN."""

    @property
    def holds_zero(self) -> bool:
        return not self.is_finite or self.least <= 0 <= self.most


@dataclass(frozen=True, slots=True)
class TextValue:
    """A text; None: it is not looked at."""

    value: str | None = None


DAY = 86_400
"""Seconds."""
MOST_DAYS = 1 << 31
"""More than a date has, counted from 1970."""
DATES = range(-719_162, 2_932_897)
"""The days of the years 1 to 9999."""


@dataclass(frozen=True, slots=True)
class DateValue:
    """A date."""

    days: range = range(-MOST_DAYS, MOST_DAYS)


MOST_SECONDS = 1 << 43
"""More than there are in the microseconds of 64 bits."""
TIMES = range(-62_135_596_800, 253_402_300_800)
"""The seconds of the years 1 to 9999, in which each time of ClickHouse is."""


@dataclass(frozen=True, slots=True)
class TimeValue:
    """A time."""

    seconds: range = range(-MOST_SECONDS, MOST_SECONDS)


@dataclass(frozen=True, slots=True)
class ArrayValue:
    """The elements of an array."""

    parts: tuple[SureValue, ...]


@dataclass(frozen=True, slots=True)
class TupleValue:
    """The fields of a struct."""

    parts: tuple[SureValue, ...]


@dataclass(frozen=True, slots=True)
class MapValue:
    """The keys of a map, which differ, and the values."""

    keys: tuple[SureValue, ...]
    values: tuple[SureValue, ...]


@dataclass(frozen=True, slots=True)
class AnyValue:
    """A value of a kind that is not looked at."""


SureValue: TypeAlias = Union[
    NullValue,
    BoolValue,
    WholeNumber,
    DecimalNumber,
    FloatNumber,
    TextValue,
    DateValue,
    TimeValue,
    ArrayValue,
    TupleValue,
    MapValue,
    AnyValue,
]
_NUMBERS = (WholeNumber, DecimalNumber, FloatNumber)


# ------------------------------------------------------------------------------------------------------- literals


def number_of(text: str) -> SureValue | None:
    """A number as Spark reads it: with an exponent a DOUBLE, else with all its digits."""
    if "e" in text.lower():
        value = float(text)
        return FloatNumber(value, value, is_finite=True) if math.isfinite(value) else None
    found = _NUMBER.fullmatch(text)
    if found is None or not 1 <= len(text.replace(".", "")) <= MOST_DIGITS:
        return None
    if found[2] is None:
        return whole_number(int(text))
    return DecimalNumber(len(found[1].lstrip("0")), len(found[2]), float(text))


def whole_number(value: int) -> WholeNumber:
    """A whole number of the smallest type of a literal that holds it."""
    return WholeNumber(value, value, next((bits for bits in (32, 64) if _fits(value, value, bits)), EXACT))


def _fits(least: int, most: int, bits: int) -> bool:
    if bits == EXACT:
        return len(str(max(abs(least), abs(most)))) <= MOST_DIGITS
    return -(1 << (bits - 1)) <= least and most < 1 << (bits - 1)


# ---------------------------------------------------------------------------------------------------- arithmetic


def negate(value: SureValue | None) -> SureValue | None:
    """The opposite; the least number of a type has none in it."""
    match value:
        case WholeNumber(least, most, bits):
            return whole_in_range(-most, -least, bits)
        case DecimalNumber(whole, fraction, number):
            return DecimalNumber(whole, fraction, -number if number is not None else None)
        case FloatNumber():
            return FloatNumber(-value.most, -value.least, value.is_finite)
        case _:
            return None


def whole_in_range(least: int, most: int, bits: int) -> WholeNumber | None:
    """A whole number of a type; None if the type does not hold each one of the range."""
    return WholeNumber(least, most, bits) if _fits(least, most, bits) else None


def compute_value(kind: type[exp.Expr], left: SureValue, right: SureValue) -> SureValue | None:
    """`+`, `-`, `*`, `/`, `%`, DIV or `&` of two values."""
    match left, right:
        case (NullValue(), beside) | (beside, NullValue()):
            return NullValue() if isinstance(beside, _NUMBERS) else None
        case WholeNumber(), WholeNumber():
            return _whole_arithmetic(kind, left, right)
        case (DecimalNumber() | WholeNumber(), DecimalNumber() | WholeNumber()):
            one, other = _digits_of_type(left), _digits_of_type(right)
            return _number_arithmetic(kind, one, other) if one is not None and other is not None else None
        case (WholeNumber() | DecimalNumber() | FloatNumber(), WholeNumber() | DecimalNumber() | FloatNumber()):
            is_known = kind in (exp.Add, exp.Sub, exp.Mul) or not _is_zero(right)
            return FloatNumber() if is_known and kind not in (exp.IntDiv, exp.BitwiseAnd) else None
        case _:
            return None


def _is_zero(value: SureValue) -> bool:
    """Whether it may be zero."""
    return not isinstance(value, (WholeNumber, FloatNumber)) or value.holds_zero


def _whole_arithmetic(kind: type[exp.Expr], left: WholeNumber, right: WholeNumber) -> SureValue | None:
    bits = EXACT if EXACT in (left.bits, right.bits) else max(left.bits, right.bits)
    ends = [(one, other) for one in (left.least, left.most) for other in (right.least, right.most)]
    if kind is exp.Add:
        return whole_in_range(left.least + right.least, left.most + right.most, bits)
    if kind is exp.Sub:
        return whole_in_range(left.least - right.most, left.most - right.least, bits)
    if kind is exp.BitwiseAnd:
        is_mask = right.least == right.most >= 0 and bits != EXACT
        return WholeNumber(0, right.most, bits) if is_mask else None
    if kind is exp.Mul:
        products = [one * other for one, other in ends]
        return whole_in_range(min(products), max(products), bits)
    if right.holds_zero:
        return None
    farthest = max(abs(left.least), abs(left.most))
    if kind is exp.IntDiv:  # a quotient is BIGINT
        most = farthest // min(abs(right.least), abs(right.most))
        return whole_in_range(-most if min(left.least, right.least) < 0 else 0, most, 64)
    if kind is exp.Mod:
        rest = min(farthest, max(abs(right.least), abs(right.most)) - 1)
        return whole_in_range(-rest if left.least < 0 else 0, rest, bits)
    return _quotient(left, right) if bits != EXACT else None


def _quotient(left: WholeNumber, right: WholeNumber) -> FloatNumber:
    """The quotient of whole numbers that are no DECIMALs is a DOUBLE, which may be rounded."""
    most = max(abs(left.least), abs(left.most)) / min(abs(right.least), abs(right.most)) * 1.001 + 1
    return FloatNumber(-most, most, is_finite=True)


def _digits_of_type(value: SureValue) -> DecimalNumber | None:
    """A number as a DECIMAL of the type in which Spark computes with it."""
    match value:
        case DecimalNumber():
            return value
        case WholeNumber(bits=bits) if bits != EXACT:
            return DecimalNumber(20 if bits == 64 else 10, 0)
        case _:
            return None


def _number_arithmetic(kind: type[exp.Expr], left: DecimalNumber, right: DecimalNumber) -> SureValue | None:
    """Where the type of the result has room for all digits, none is lost and nothing overflows."""
    if kind in (exp.Add, exp.Sub):
        found = DecimalNumber(max(left.whole, right.whole) + 1, max(left.fraction, right.fraction))
    elif kind is exp.Mul:
        found = DecimalNumber(left.whole + right.whole + 1, left.fraction + right.fraction)
    else:
        return None
    return found if found.whole + found.fraction <= MOST_DIGITS else None


# ------------------------------------------------------------------------------------------------------- choices


def choose_value(values: Sequence[SureValue]) -> SureValue | None:
    """One of several plain values, in the type that has all of them; None if there is no such type."""
    some = [each for each in values if not isinstance(each, NullValue)]
    if not some:
        return NullValue()
    if not are_alike(some):
        return _chosen_number(some)
    match some:
        case [ArrayValue() | TupleValue() | MapValue(), *_]:
            return None
        case [WholeNumber() | DecimalNumber() | FloatNumber(), *_]:
            return _one_number(some)
        case [TextValue(), *_]:
            return some[0] if len(set(some)) == 1 else TextValue()
        case [DateValue(), *_]:
            return DateValue(_reach(each.days for each in some if isinstance(each, DateValue)))
        case [TimeValue(), *_]:
            return TimeValue(_reach(each.seconds for each in some if isinstance(each, TimeValue)))
        case _:
            return some[0]


def _one_number(some: Sequence[SureValue]) -> SureValue:
    """One of several numbers of one kind."""
    whole = [each for each in some if isinstance(each, WholeNumber)]
    numbers = [each for each in some if isinstance(each, DecimalNumber)]
    if whole:
        bits = EXACT if any(each.bits == EXACT for each in whole) else max(each.bits for each in whole)
        return WholeNumber(min(each.least for each in whole), max(each.most for each in whole), bits)
    if numbers:
        return DecimalNumber(max(each.whole for each in numbers), max(each.fraction for each in numbers))
    return FloatNumber() if len(some) > 1 else some[0]


def _reach(ranges: Iterable[range]) -> range:
    """The range in which all of them are."""
    found = tuple(ranges)
    return range(min(each.start for each in found), max(each.stop for each in found))


def _chosen_number(some: Sequence[SureValue]) -> SureValue | None:
    """One of floats and whole numbers is a float; what is said of a kind that is not looked at is nothing."""
    if any(isinstance(each, AnyValue) for each in some):
        return AnyValue()
    is_float = any(isinstance(each, FloatNumber) for each in some)
    return FloatNumber() if is_float and all(isinstance(each, _NUMBERS) for each in some) else None


def are_comparable(values: Sequence[SureValue]) -> bool:
    """Whether Spark compares them as they are: of a text beside a number or a date it makes one."""
    some = [each for each in values if not isinstance(each, (NullValue, AnyValue))]
    return len({type(each) for each in some}) <= 1 or all(isinstance(each, _NUMBERS) for each in some)


def are_alike(values: Sequence[SureValue]) -> bool:
    """Whether Spark finds a type for all of them that has each: it makes numbers of texts where both are given."""
    some = [each for each in values if not isinstance(each, NullValue)]
    if len({type(each) for each in some}) > 1:
        return False
    numbers = [each for each in some if isinstance(each, DecimalNumber)]
    if numbers and max(each.whole for each in numbers) + max(each.fraction for each in numbers) > MOST_DIGITS:
        return False
    structs = [each.parts for each in some if isinstance(each, TupleValue)]
    return (
        len({len(parts) for parts in structs}) <= 1
        and all(map(are_alike, zip(*structs, strict=False)))
        and _are_alike_inside([part for each in some if isinstance(each, ArrayValue) for part in each.parts])
        and _are_alike_inside([part for each in some if isinstance(each, MapValue) for part in each.keys])
        and _are_alike_inside([part for each in some if isinstance(each, MapValue) for part in each.values])
    )


def _are_alike_inside(parts: Sequence[SureValue]) -> bool:
    return not parts or are_alike(parts)


def are_keys(keys: tuple[SureValue, ...]) -> bool:
    """Whether all are whole numbers, or texts, that differ: of other types, equal keys may be written differently."""
    written = {(each.least if isinstance(each, WholeNumber) else each) for each in keys}
    is_plain = all(
        (isinstance(key, WholeNumber) and key.least == key.most)
        or (isinstance(key, TextValue) and key.value is not None)
        for key in keys
    )
    return is_plain and are_alike(keys) and len(written) == len(keys)


# --------------------------------------------------------------------------------------------------------- casts


def cast_value(value: SureValue, to: exp.DataType) -> SureValue | None:
    """The value after a cast; None unless it is known to succeed."""
    if isinstance(value, NullValue):
        return value
    if isinstance(value, (ArrayValue, TupleValue, MapValue)):
        return _cast_parts(value, to)
    kind = to.this
    if kind in _TEXTS:
        return value if isinstance(value, TextValue) else TextValue()
    if kind == exp.DType.DATE or kind in _MOMENTS:
        return _as_date(value) if kind == exp.DType.DATE else _as_time(value)
    return _as_number(value, to)


def _as_date(value: SureValue) -> SureValue | None:
    """The date of a time, in any zone, or of a text in which one is written in full."""
    match value:
        case DateValue():
            return value
        case TimeValue(seconds):
            return DateValue(range(seconds.start // DAY - 1, seconds.stop // DAY + 2))
        case TextValue(str(text)) if _is_written(text):
            return DateValue(DATES)
        case _:
            return None


def _as_time(value: SureValue) -> SureValue | None:
    """The time of a date, or of a text in which one is written in full."""
    match value:
        case TimeValue():
            return value
        case DateValue(days) if is_near(value):
            return TimeValue(range((days.start - 1) * DAY, (days.stop + 1) * DAY))
        case TextValue(str(text)) if _is_written(text):
            return TimeValue(TIMES)
        case _:
            return None


def is_near(value: SureValue) -> bool:
    """Whether it is a time, or a date that has one in Spark."""
    if isinstance(value, DateValue):
        return max(abs(value.days.start), abs(value.days.stop)) * DAY < MOST_SECONDS - 2 * DAY
    return isinstance(value, TimeValue)


def _as_number(value: SureValue, to: exp.DataType) -> SureValue | None:
    """A number, or a truth, which Spark makes of any number."""
    if to.this in BITS:
        return _as_whole(value, BITS[to.this])
    if to.this in FLOATS:
        return _as_float(value, to)
    if to.this == exp.DType.BOOLEAN:
        return BoolValue() if isinstance(value, (BoolValue, WholeNumber, DecimalNumber, FloatNumber)) else None
    return _as_decimal(value, to)


def _as_whole(value: SureValue, bits: int) -> SureValue | None:
    """A whole number of so many bits, without the fraction that a number has."""
    match value:
        case BoolValue():
            return WholeNumber(0, 1, bits)
        case WholeNumber(least, most, _):
            return whole_in_range(least, most, bits)
        case DecimalNumber(whole):
            return whole_in_range(-(10**whole), 10**whole, bits)
        case FloatNumber(least, most, is_finite=True):
            return whole_in_range(math.floor(least), math.ceil(most), bits)
        case _:
            return None


def _as_float(value: SureValue, to: exp.DataType) -> SureValue | None:
    match value:
        case WholeNumber(least, most, _) if max(abs(least), abs(most)) < 1 << 53 and to.this == exp.DType.DOUBLE:
            return FloatNumber(least, most, is_finite=True)
        case DecimalNumber(_, _, float(number)) if to.this == exp.DType.DOUBLE:
            return FloatNumber(number, number, is_finite=True)
        case FloatNumber() if to.this == exp.DType.DOUBLE:
            return value
        case WholeNumber() | DecimalNumber() | FloatNumber() | BoolValue():
            return FloatNumber()
        case TextValue(str(text)) if _FLOAT.fullmatch(text):
            return FloatNumber()
        case _:
            return None


def _as_decimal(value: SureValue, to: exp.DataType) -> SureValue | None:
    """A number as a DECIMAL that holds it with all its digits."""
    sizes = decimal_sizes(to)
    digits = _digits(value)
    if sizes is None or digits is None:
        return None
    (precision, scale), (whole, fraction) = sizes, digits
    if whole > precision - scale or fraction > scale:
        return None
    if scale == 0 and isinstance(value, WholeNumber):
        return WholeNumber(value.least, value.most, EXACT)
    return DecimalNumber(precision - scale, scale)


def _digits(value: SureValue) -> tuple[int, int] | None:
    """How many digits a number has before the point and after it."""
    match value:
        case WholeNumber(least, most, _):
            farthest = max(abs(least), abs(most))
            return (len(str(farthest)) if farthest else 0), 0
        case DecimalNumber(whole, fraction, _):
            return whole, fraction
        case TextValue(str(text)) if (found := _SIGNED.fullmatch(text)) is not None:
            return len(found[1].lstrip("0")), len(found[2] or "")
        case _:
            return None


def decimal_sizes(of: exp.DataType) -> tuple[int, int] | None:
    """The precision and the scale that are written in a DECIMAL."""
    sizes = [each.name for each in of.expressions]
    is_written = of.this == exp.DType.DECIMAL and len(sizes) == 2 and all(map(str.isdecimal, sizes))
    return (int(sizes[0]), int(sizes[1])) if is_written else None


def _is_written(text: str) -> bool:
    """Whether a text is a date, or a date and a time, of the calendar."""
    try:
        if _DAY.fullmatch(text):
            date.fromisoformat(text)
            return True
        if _MOMENT.fullmatch(text):
            datetime.strptime(text[:19], "%Y-%m-%d %H:%M:%S")
            return True
    except ValueError:
        pass
    return False


def _cast_parts(value: SureValue, to: exp.DataType) -> SureValue | None:
    """An array, a map or a struct, cast part by part; the fields of a struct by their places."""
    types = [each.args["kind"] if isinstance(each, exp.ColumnDef) else each for each in to.expressions]
    if not all(isinstance(each, exp.DataType) for each in types):
        return None
    match value, to.this, types:
        case ArrayValue(parts), exp.DType.ARRAY, [of]:
            inside = _cast_all(parts, [of] * len(parts))
            return None if inside is None else ArrayValue(inside)
        case TupleValue(parts), exp.DType.STRUCT, _ if len(parts) == len(types):
            inside = _cast_all(parts, types)
            return None if inside is None else TupleValue(inside)
        case MapValue(), exp.DType.MAP, [key, of]:
            keys = _cast_all(value.keys, [key] * len(value.keys))
            values = _cast_all(value.values, [of] * len(value.values))
            is_map = keys is not None and values is not None and are_keys(keys)
            return MapValue(keys, values) if is_map and keys is not None and values is not None else None
        case _:
            return None


def _cast_all(parts: Sequence[SureValue], types: Sequence[exp.DataType]) -> tuple[SureValue, ...] | None:
    found = [cast_value(part, of) for part, of in zip(parts, types, strict=True)]
    known = tuple(each for each in found if each is not None)
    return known if len(known) == len(found) else None
