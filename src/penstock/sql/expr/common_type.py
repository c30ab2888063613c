"""The common type of several values, and the result types of arithmetic.

In: ClickHouse types. Out: a type, or None where ClickHouse has none. The rules are those of ClickHouse's
`getLeastSupertype` (src/DataTypes/getLeastSupertype.cpp) and `NumberTraits` (src/DataTypes/NumberTraits.h); the
differential tests compare them with chDB.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.model import types as t
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.sql.expr.dates import zone_of
from penstock.sql.expr.typed import NOTHING, TypedSql

INTEGER_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}
"""Decimal digits that hold every integer of so many bits."""

_BOOL, _UINT8 = t.Bool(), t.Int(8, signed=False)
_DECIMAL_OF_INT = {32: t.Decimal(9, 0), 64: t.Decimal(18, 0)}
"""The Decimals that are stored as these integers are, by their bits."""


def supertype(types: Iterable[Type]) -> Type | None:
    """The least type that every given type converts to without loss, as ClickHouse finds it; None if there is none."""
    all_types = list(types)
    if isinstance(all_types[0], t.Dynamic) and all(isinstance(of, t.Dynamic) for of in all_types):
        return _dynamic_of_all(all_types)
    if all(of == all_types[0] for of in all_types):
        return next((of for of in all_types if not _has_signed_literal(of)), all_types[0])
    plain = _bare_supertype([unwrap_type(of) for of in all_types])
    if plain is None:
        return None
    wraps = any(map(is_nullable, all_types)) and not isinstance(plain, (t.Array, t.Map, t.Dynamic))
    return t.Nullable(plain) if wraps else plain


def _has_signed_literal(of: Type) -> bool:
    """Whether a type, or one in it, is the UInt64 of a literal that would be an Int64 beside signed integers."""
    match of:
        case t.Int():
            return of.signed_as_well
        case t.Nullable(inner) | t.LowCardinality(inner) | t.Array(inner):
            return _has_signed_literal(inner)
        case t.Map(key, value):
            return _has_signed_literal(key) or _has_signed_literal(value)
        case t.Tuple(fields):
            return any(_has_signed_literal(inner) for _, inner in fields)
        case _:
            return False


def _bare_supertype(types: Sequence[Type]) -> Type | None:
    given = [of for of in types if of != NOTHING] or [NOTHING]
    if isinstance(given[0], (t.Array, t.Map, t.Tuple)):
        return _nested_supertype(given)
    numbers = _signed_as_they_can_be(given)
    whole: Type | None = numbers[0]
    for other in numbers[1:]:
        whole = None if whole is None else _pair_supertype(whole, other)
    return whole


def _signed_as_they_can_be(types: list[Type]) -> list[Type]:
    """The types, with Int64 for those of unsigned literals if there are signed integers and no other UInt64."""
    integers = [of for of in types if isinstance(of, t.Int)]
    unsigned = [of for of in integers if not of.signed and of.bits == 64]
    if not unsigned or not all(of.signed_as_well for of in unsigned) or not any(of.signed for of in integers):
        return types
    return [t.Int(64) if of in unsigned else of for of in types]


def value_supertype(values: Sequence[TypedSql]) -> Type | None:
    """The common type of values. Bool and UInt8 are one type in ClickHouse, and the first one gives it its name: a
    Bool that then holds a 7 is none here, so only the literals 0 and 1 may follow a Bool."""
    types = [value.type for value in values]
    given = [value for value in values if value.bare != NOTHING]
    if not given or given[0].bare != _BOOL or not all(value.bare in (_BOOL, _UINT8) for value in given):
        return supertype(types)
    if any(value.bare == _UINT8 and value.constant not in (0, 1) for value in given):
        return None
    return t.Nullable(_BOOL) if any(map(is_nullable, types)) else _BOOL


def _dynamic_of_all(types: Iterable[Type]) -> t.Dynamic:
    """The Dynamic whose values may have any of the types that values of these have."""
    return t.Dynamic(tuple(dict.fromkeys(of for each in types if isinstance(each, t.Dynamic) for of in each.also)))


def _pair_supertype(left: Type, right: Type) -> Type | None:
    if isinstance(left, t.Dynamic) and isinstance(right, t.Dynamic):
        return _dynamic_of_all((left, right))
    if left == right:
        return left
    return _number_supertype(left, right) or _time_supertype(left, right) or _text_supertype(left, right)


def _number_supertype(left: Type, right: Type) -> Type | None:
    a, b = (t.Int(8, signed=False) if isinstance(of, t.Bool) else of for of in (left, right))
    match (a, b):
        case (t.Int(), t.Int()):
            return _integer_supertype(a, b)
        case (t.Float(), t.Float()):
            return t.Float(max(a.bits, b.bits))
        case (t.Float(), t.Int(bits)):
            return t.Float(32) if a.bits == 32 and bits <= 16 else t.Float(64) if bits <= 32 else None
        case (t.Decimal(p1, s1), t.Decimal(p2, s2)):
            return _clickhouse_decimal(max(p1, p2), max(s1, s2))
        case (t.Decimal(p, 0), t.Int(bits, True)) if bits > 16 and _clickhouse_decimal(p, 0) == _DECIMAL_OF_INT[bits]:
            return _DECIMAL_OF_INT[bits]
        case (t.Decimal(p, s), t.Int(bits)):
            return _clickhouse_decimal(max(p - s, INTEGER_DIGITS[bits]) + s, s)
        case (t.Int(), t.Float() | t.Decimal()):
            return _number_supertype(b, a)
        case _:
            return None


def _integer_supertype(left: t.Int, right: t.Int) -> Type | None:
    if left.signed == right.signed:
        return t.Int(max(left.bits, right.bits), left.signed)
    signed, unsigned = (left, right) if left.signed else (right, left)
    bits = max(signed.bits, unsigned.bits * 2)
    return t.Int(bits) if bits <= 64 else None


def _clickhouse_decimal(precision: int, scale: int) -> t.Decimal | None:
    """A Decimal of at least this precision, as wide as its integer in ClickHouse: 9, 18 or 38 digits."""
    fits = next((size for size in (9, 18, 38) if precision <= size), None)
    return t.Decimal(fits, scale) if fits else None


def _time_supertype(left: Type, right: Type) -> Type | None:
    """The time zone is that of the first type among equal kinds, and that of the finer type among DateTime64s. A
    date and a time in a zone have no common type: the date would be midnight in that zone, which no Spark cast
    gives."""
    ranks = {t.Date: 0, t.DateTime: 1, t.DateTime64: 2}
    if type(left) not in ranks or type(right) not in ranks:
        return None
    low, high = sorted((left, right), key=lambda of: ranks[type(of)])
    match (low, high):
        case (t.Date(), t.Date()):
            return t.Date(wide=True)
        case (t.Date(wide=True), t.DateTime()):
            return t.DateTime64(0)
        case (t.Date(), _):
            return None if zone_of(high) else high
        case (t.DateTime(), t.DateTime()):
            return left
        case (t.DateTime64(p1, _), t.DateTime64(p2, _)):
            return right if p2 > p1 else left
        case _:
            return high


def _text_supertype(left: Type, right: Type) -> Type | None:
    """A FixedString has none with another text: ClickHouse takes its zero bytes off in some places only."""
    pair = (left, right)
    texts = any(isinstance(of, t.String) for of in pair)
    return t.String() if texts and all(isinstance(of, (t.String, t.Enum)) for of in pair) else None


def _nested_supertype(types: list[Type]) -> Type | None:
    """That of arrays, maps or tuples, by their parts; None if they are not all of one kind."""
    arrays = [of for of in types if isinstance(of, t.Array)]
    maps = [of for of in types if isinstance(of, t.Map)]
    tuples = [of for of in types if isinstance(of, t.Tuple)]
    if len(arrays) == len(types):
        inner = supertype(of.of for of in arrays)
        return t.Array(inner) if inner else None
    if len(maps) == len(types):
        key, value = supertype(of.key for of in maps), supertype(of.value for of in maps)
        return t.Map(key, value) if key and value else None
    return _tuple_supertype(tuples) if len(tuples) == len(types) else None


def _tuple_supertype(types: list[t.Tuple]) -> t.Tuple | None:
    """A field has a name if it has the same one in all."""
    if len({len(of.fields) for of in types}) > 1:
        return None
    columns = list(zip(*(of.fields for of in types), strict=True))
    parts = [supertype(inner for _, inner in column) for column in columns]
    names = [column[0][0] if len({name for name, _ in column}) == 1 else None for column in columns]
    given = [part for part in parts if part is not None]
    return t.Tuple(tuple(zip(names, given, strict=True))) if len(given) == len(parts) else None


def is_same_clickhouse_type(one: Type, other: Type) -> bool:
    """Whether ClickHouse treats the two as one type. It does so for Decimals of one scale whose integers have one
    width, though each keeps its own precision."""
    if not isinstance(one, t.Decimal) or not isinstance(other, t.Decimal):
        return one == other
    narrow, wide = sorted((one.precision, other.precision))
    return one.scale == other.scale and not any(narrow <= size < wide for size in (9, 18, 38))


def arithmetic_type(operator: str, left: Type, right: Type) -> Type | None:
    """The type of `left operator right` for two number types without Nullable; None if there is no such operation."""
    a, b = (t.Int(8, signed=False) if isinstance(of, t.Bool) else of for of in (left, right))
    if isinstance(a, t.Decimal) or isinstance(b, t.Decimal):
        return _whole_decimal_quotient(a, b) if operator == "intDiv" else _decimal_result(operator, a, b)
    if not isinstance(a, (t.Int, t.Float)) or not isinstance(b, (t.Int, t.Float)):
        return None
    if operator == "/":
        return t.Float(64)
    if isinstance(a, t.Int) and isinstance(b, t.Int):
        return _integer_result(operator, a, b)
    return t.Int(a.bits) if operator == "intDiv" else t.Float(64)


def _integer_result(operator: str, a: t.Int, b: t.Int) -> Type:
    match operator:
        case "-":
            return t.Int(min(64, 2 * max(a.bits, b.bits)))
        case "intDiv":
            return t.Int(a.bits, a.signed or b.signed)
        case "%":
            return t.Int(min(64, b.bits * 2) if a.signed else b.bits, a.signed)
        case _:
            return t.Int(min(64, 2 * max(a.bits, b.bits)), a.signed or b.signed)


_LARGEST_SCALE = 30
"""Of a result with more digits behind the point, too few are left before it."""
_LARGEST_SCALE_OF_QUOTIENTS = 6
"""Spark keeps so many digits behind the point of a quotient, remainder or product of decimals of 38 digits."""


def _has_quotient(a: Type, b: Type) -> bool:
    """Whether the quotient or remainder of a Decimal and another number can be computed without a digit that would be
    lost."""
    if not any(isinstance(of, t.Decimal) and of.precision > 18 for of in (a, b)):
        return True
    return isinstance(a, t.Decimal) and a.scale <= _LARGEST_SCALE_OF_QUOTIENTS


def _whole_decimal_quotient(a: Type, b: Type) -> Type | None:
    """A signed integer of the dividend's size; the one behind a Decimal of more than 18 digits has no type here."""
    floats = isinstance(a, t.Float) or isinstance(b, t.Float)
    if not floats and _decimal_result("/", a, b) is None:
        return None
    match a:
        case t.Int(bits) | t.Float(bits):
            return t.Int(bits)
        case t.Decimal(precision) if precision <= 18:
            return t.Int(32 if precision <= 9 else 64)
        case _:
            return None


def _decimal_result(operator: str, a: Type, b: Type) -> Type | None:
    if isinstance(a, t.Float) or isinstance(b, t.Float):
        return t.Float(64)
    if operator not in ("+", "-", "*", "/", "%"):
        return None
    if operator in "/%" and not _has_quotient(a, b):
        return None
    match (a, b):
        case (t.Decimal(p, s), t.Decimal(q, r)) if operator in "/%":
            return _clickhouse_decimal(max(p, q), s) if r <= s else None
        case (t.Decimal(p, s), t.Decimal(q, r)):
            scale = s + r if operator == "*" else max(s, r)
            return _clickhouse_decimal(max(p, q), scale) if scale <= _LARGEST_SCALE else None
        case (t.Decimal(), t.Int()):
            return a
        case (t.Int(), t.Decimal()):
            return b
        case _:
            return None
