"""Which expressions are constants that cannot fail: literals of any type, and casts of which each is known to succeed.

In: an expression of a tree of `opaque_calls`. Out: a boolean, or the tree with each such expression replaced by a word.
Each cast is proved by the value under it, as Spark does casts in ANSI mode, in a session whose zone is UTC. Invariant:
an expression counts as sure only if it gives the same value each time it is asked for, and never an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import TypeAlias, Union

from sqlglot import exp

from penstock.model.quick_dataclass import dataclass
from penstock.sql.analysis.opaque_calls import call_name, parse_opaque_value
from penstock.sql.spark_text import DIALECT

_BITS = {exp.DType.TINYINT: 8, exp.DType.SMALLINT: 16, exp.DType.INT: 32, exp.DType.BIGINT: 64}
_FLOATS = (exp.DType.FLOAT, exp.DType.DOUBLE)
_TEXTS = (exp.DType.TEXT, exp.DType.VARCHAR)
_MOMENTS = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ)
_MOST_DIGITS = 38
"""Of a number that Spark reads without an exponent."""
_LONGEST = 1_000_000
"""Characters of a text that is written as one that is repeated."""
_NUMBER = re.compile(r"(\d*)(?:\.(\d*))?", re.ASCII)
_SIGNED = re.compile(r"[+-]?(\d+)(?:\.(\d+))?", re.ASCII)
_FLOAT = re.compile(r"[+-]?(?:\d+(?:\.\d+)?|inf|infinity)|nan", re.ASCII | re.IGNORECASE)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?", re.ASCII)
_WORD = "known"
"""Stands for a sure constant. It is no column, and no value of which a cast is known to succeed."""


@dataclass(frozen=True, slots=True)
class _Null:
    """NULL, which every type has."""


@dataclass(frozen=True, slots=True)
class _Truth:
    """True or false."""


@dataclass(frozen=True, slots=True)
class _Whole:
    """A whole number."""

    value: int


@dataclass(frozen=True, slots=True)
class _Number:
    """A number with so many digits before the point, and after it."""

    whole: int
    fraction: int


@dataclass(frozen=True, slots=True)
class _Floating:
    """A floating point number, which may be infinite or NaN."""


@dataclass(frozen=True, slots=True)
class _Text:
    """A text; None: it is not looked at."""

    value: str | None = None


@dataclass(frozen=True, slots=True)
class _Day:
    """A date."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """A time."""


@dataclass(frozen=True, slots=True)
class _Items:
    """The elements of an array."""

    parts: tuple[_Sure, ...]


@dataclass(frozen=True, slots=True)
class _Fields:
    """The fields of a struct."""

    parts: tuple[_Sure, ...]


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The keys of a map, which differ, and the values."""

    keys: tuple[_Sure, ...]
    values: tuple[_Sure, ...]


_Sure: TypeAlias = Union[_Null, _Truth, _Whole, _Number, _Floating, _Text, _Day, _Moment, _Items, _Fields, _Pairs]


def is_sure(node: exp.Expr) -> bool:
    """Whether it is a constant that cannot fail."""
    return _sure(node) is not None


def is_sure_sql(sql: str) -> bool:
    """The same of Spark SQL; false where sqlglot does not know the form."""
    node = parse_opaque_value(sql)
    return node is not None and is_sure(node)


def without_sure_constants(node: exp.Expr) -> exp.Expr:
    """A copy with a word in the place of each sure constant that is more than a literal."""

    def replaced(each: exp.Expr) -> exp.Expr:
        is_made = isinstance(each, (exp.Cast, exp.Neg, exp.Array, exp.Coalesce, exp.VarMap, exp.Anonymous))
        return exp.var(_WORD) if is_made and is_sure(each) else each

    return node.transform(replaced)


def is_zero(value: exp.Expr) -> bool:
    """Whether it is the number 0 of any type. One with a sign is not: a float may be -0.0."""
    inner: object = value
    while isinstance(inner, (exp.Paren, exp.Cast, exp.Coalesce)):
        inner = inner.this
    is_literal = isinstance(inner, exp.Literal) and not inner.is_string and inner.this == "0"
    return is_literal and isinstance(_sure(value), (_Whole, _Number, _Floating))


def zero_sum(value: exp.Expr) -> exp.Expr | None:
    """The sum of zeros with a fraction, in the type that Spark gives a sum: of floats a DOUBLE, of a DECIMAL one of ten
    more digits. None for another expression."""
    while isinstance(value, exp.Paren):
        value = value.this
    of = _sum_type(value.to) if isinstance(value, exp.Cast) and is_zero(value) else None
    return exp.cast(exp.Literal.number(0), of, dialect=DIALECT) if of is not None else None


def _sum_type(of: exp.DataType) -> str | None:
    sizes = _sizes(of)
    if of.this in _FLOATS:
        return "DOUBLE"
    return f"DECIMAL({min(sizes[0] + 10, _MOST_DIGITS)}, {sizes[1]})" if sizes is not None else None


def _sure(node: object) -> _Sure | None:
    match node:
        case exp.Paren():
            return _sure(node.this)
        case exp.Literal() | exp.Null() | exp.Boolean():
            return _literal(node)
        case exp.Neg():
            return _negative(_sure(node.this))
        case exp.Cast():  # sqlglot reads CAST of Spark as its TryCast
            value = _sure(node.this)
            return None if value is None else _cast(value, node.to)
        case exp.Coalesce():
            return _first(_all_sure([node.this, *node.expressions]))
        case exp.Array() | exp.VarMap() | exp.Anonymous():
            return _made(node)
        case _:
            return None


def _literal(node: exp.Literal | exp.Null | exp.Boolean) -> _Sure | None:
    if isinstance(node, exp.Literal):
        return _Text(str(node.this)) if node.is_string else _number(str(node.this))
    return _Null() if isinstance(node, exp.Null) else _Truth()


def _made(node: exp.Array | exp.VarMap | exp.Anonymous) -> _Sure | None:
    """What is made of several constants."""
    match node:
        case exp.Array():
            parts = _all_sure(node.expressions)
            return None if parts is None or not _are_alike(parts) else _Items(parts)
        case exp.VarMap():
            return _map(node)
        case _:
            return _called(call_name(node), node.expressions)


def _all_sure(nodes: Sequence[object]) -> tuple[_Sure, ...] | None:
    found = [_sure(each) for each in nodes]
    known = tuple(each for each in found if each is not None)
    return known if len(known) == len(found) else None


def _number(text: str) -> _Sure | None:
    """A number as Spark reads it: with an exponent a DOUBLE, else with all its digits."""
    if "e" in text.lower():
        return _Floating() if math.isfinite(float(text)) else None
    found = _NUMBER.fullmatch(text)
    if found is None or not 1 <= len(text.replace(".", "")) <= _MOST_DIGITS:
        return None
    return _Whole(int(text)) if found[2] is None else _Number(len(found[1].lstrip("0")), len(found[2]))


def _negative(value: _Sure | None) -> _Sure | None:
    match value:
        case _Whole(number) if number >= 0:  # the least number of a type has no opposite in it
            return _Whole(-number)
        case _Number() | _Floating():
            return value
        case _:
            return None


def _first(parts: tuple[_Sure, ...] | None) -> _Sure | None:
    """The first of plain values that is not NULL, in the type that has all of them."""
    if parts is None or not _are_alike(parts):
        return None
    some = [each for each in parts if not isinstance(each, _Null)]
    match some:
        case []:
            return _Null()
        case [_Items() | _Fields() | _Pairs(), *_]:
            return None
        case [_Number(), *_]:
            numbers = [each for each in some if isinstance(each, _Number)]
            return _Number(max(each.whole for each in numbers), max(each.fraction for each in numbers))
        case _:
            return some[0]


def _map(node: exp.VarMap) -> _Sure | None:
    keys, values = (_all_sure(node.args[side].expressions) for side in ("keys", "values"))
    if keys is None or values is None or len(keys) != len(values) or not _are_alike(values):
        return None
    return _Pairs(keys, values) if _are_keys(keys) else None


def _are_keys(keys: tuple[_Sure, ...]) -> bool:
    """Whether all are whole numbers, or texts, that differ: of other types, equal keys may be written differently."""
    is_plain = all(isinstance(key, _Whole) or (isinstance(key, _Text) and key.value is not None) for key in keys)
    return is_plain and _are_alike(keys) and len(set(keys)) == len(keys)


def _called(name: str, given: Sequence[exp.Expr]) -> _Sure | None:
    """What a function makes of constants: a struct, and a text of zero bytes, as a FixedString begins."""
    if name == "named_struct":
        parts = _all_sure(given[1::2])
        is_named = len(given) % 2 == 0 and all(isinstance(each, exp.Literal) and each.is_string for each in given[::2])
        return _Fields(parts) if parts is not None and is_named else None
    values = [_sure(each) for each in given]
    match name, values:
        case "chr", [_Whole(code)] if 0 <= code < 128:
            return _Text(chr(code))
        case "repeat", [_Text(str(text)), _Whole(times)] if 0 <= times * len(text) <= _LONGEST:
            return _Text()
        case _:
            return None


def _are_alike(values: Sequence[_Sure]) -> bool:
    """Whether Spark finds a type for all of them that has each: it makes numbers of texts where both are given."""
    some = [each for each in values if not isinstance(each, _Null)]
    if len({type(each) for each in some}) > 1:
        return False
    numbers = [each for each in some if isinstance(each, _Number)]
    if numbers and max(each.whole for each in numbers) + max(each.fraction for each in numbers) > _MOST_DIGITS:
        return False
    structs = [each.parts for each in some if isinstance(each, _Fields)]
    return (
        len({len(parts) for parts in structs}) <= 1
        and all(map(_are_alike, zip(*structs, strict=False)))
        and _are_alike_inside([part for each in some if isinstance(each, _Items) for part in each.parts])
        and _are_alike_inside([part for each in some if isinstance(each, _Pairs) for part in each.keys])
        and _are_alike_inside([part for each in some if isinstance(each, _Pairs) for part in each.values])
    )


def _are_alike_inside(parts: Sequence[_Sure]) -> bool:
    return not parts or _are_alike(parts)


def _cast(value: _Sure, to: exp.DataType) -> _Sure | None:
    """The value after a cast; None unless it is known to succeed."""
    if isinstance(value, _Null):
        return value
    if isinstance(value, (_Items, _Fields, _Pairs)):
        return _cast_parts(value, to)
    kind = to.this
    if kind in _TEXTS:
        return value if isinstance(value, _Text) else _Text()
    if kind == exp.DType.DATE or kind in _MOMENTS:
        return _as_moment(value, _Day() if kind == exp.DType.DATE else _Moment())
    return _as_number(value, to)


def _as_moment(value: _Sure, moment: _Sure) -> _Sure | None:
    """A date or a time, of one or of a text in which one is written in full."""
    is_moment = isinstance(value, (_Day, _Moment)) or (isinstance(value, _Text) and _is_written(value.value or ""))
    return moment if is_moment else None


def _as_number(value: _Sure, to: exp.DataType) -> _Sure | None:
    """A number, or a truth, which Spark makes of any number."""
    if to.this in _BITS:
        return value if isinstance(value, _Whole) and _fits(value, _BITS[to.this]) else None
    if to.this in _FLOATS:
        return _as_float(value)
    if to.this == exp.DType.BOOLEAN:
        return _Truth() if isinstance(value, (_Truth, _Whole, _Number, _Floating)) else None
    return _as_decimal(value, to)


def _fits(value: _Whole, bits: int) -> bool:
    return -(1 << (bits - 1)) <= value.value < 1 << (bits - 1)


def _as_float(value: _Sure) -> _Sure | None:
    match value:
        case _Whole() | _Number() | _Floating() | _Truth():
            return _Floating()
        case _Text(str(text)) if _FLOAT.fullmatch(text):
            return _Floating()
        case _:
            return None


def _as_decimal(value: _Sure, to: exp.DataType) -> _Sure | None:
    """A number as a DECIMAL that holds it with all its digits."""
    sizes = _sizes(to)
    digits = _digits(value)
    if sizes is None or digits is None:
        return None
    (precision, scale), (whole, fraction) = sizes, digits
    if whole > precision - scale or fraction > scale:
        return None
    return value if scale == 0 and isinstance(value, _Whole) else _Number(precision - scale, scale)


def _digits(value: _Sure) -> tuple[int, int] | None:
    """How many digits a number has before the point and after it."""
    match value:
        case _Whole(number):
            return (len(str(abs(number))) if number else 0), 0
        case _Number(whole, fraction):
            return whole, fraction
        case _Text(str(text)) if (found := _SIGNED.fullmatch(text)) is not None:
            return len(found[1].lstrip("0")), len(found[2] or "")
        case _:
            return None


def _sizes(of: exp.DataType) -> tuple[int, int] | None:
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


def _cast_parts(value: _Sure, to: exp.DataType) -> _Sure | None:
    """An array, a map or a struct, cast part by part; the fields of a struct by their places."""
    types = [each.args["kind"] if isinstance(each, exp.ColumnDef) else each for each in to.expressions]
    if not all(isinstance(each, exp.DataType) for each in types):
        return None
    match value, to.this, types:
        case _Items(parts), exp.DType.ARRAY, [of]:
            inside = _cast_all(parts, [of] * len(parts))
            return None if inside is None else _Items(inside)
        case _Fields(parts), exp.DType.STRUCT, _ if len(parts) == len(types):
            inside = _cast_all(parts, types)
            return None if inside is None else _Fields(inside)
        case _Pairs(), exp.DType.MAP, [key, of]:
            keys = _cast_all(value.keys, [key] * len(value.keys))
            values = _cast_all(value.values, [of] * len(value.values))
            is_map = keys is not None and values is not None and _are_keys(keys)
            return _Pairs(keys, values) if is_map and keys is not None and values is not None else None
        case _:
            return None


def _cast_all(parts: Sequence[_Sure], types: Sequence[exp.DataType]) -> tuple[_Sure, ...] | None:
    found = [_cast(part, of) for part, of in zip(parts, types, strict=True)]
    known = tuple(each for each in found if each is not None)
    return known if len(known) == len(found) else None
