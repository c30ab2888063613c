"""Geohashes: geohashEncode, geohashDecode

A geohash interleaves the bits of longitude and latitude, five bits a letter of its base-32 alphabet. Each bit halves
a span whose ends are exact doubles, so the bits are ClickHouse's. A character outside of the alphabet stands for 31,
as in ClickHouse.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.expr.bind_once import bind_once
from penstock.sql.expr.typed import TypedSql, as_spark, nullable_if_any, typed_sql
from penstock.sql.functions.function import FLOAT64, STRING, BadArguments, Function

_ALPHABET = "'0123456789bcdefghjkmnpqrstuvwxyz'"
_MAX_PRECISION = 12
_SPAN = "named_struct('l', {0}D, 'h', {1}D, 'b', '')"
_LONGITUDE, _LATITUDE = _SPAN.format(-180.0, 180.0), _SPAN.format(-90.0, 90.0)


def _encode(values: Sequence[TypedSql]) -> TypedSql:
    """Bits of longitude and latitude in turns, five a letter."""
    if not all(isinstance(value.bare, t.Float) for value in values[:2]):
        raise BadArguments("`geohashEncode` takes a longitude and a latitude as floats", "toFloat64(…)")
    longitude, latitude = (as_spark(value, "DOUBLE") for value in values[:2])
    bit = "substring(if(` k` % 2 = 0, ` p`.x, ` p`.y), CAST(` k` DIV 2 AS INT) + 1, 1)"
    bits = f"array_join(transform(sequence(0, 5 * {_precision(values)} - 1), ` k` -> {bit}), '')"
    letter = f"substring({_ALPHABET}, CAST(conv(substring(` b`, 5 * ` k` - 4, 5), 2, 10) AS INT) + 1, 1)"
    letters = f"array_join(transform(sequence(1, CAST(length(` b`) / 5 AS INT)), ` k` -> {letter}), '')"
    pair = f"named_struct('x', {_coordinate_bits(longitude, _LONGITUDE)}, 'y', {_coordinate_bits(latitude, _LATITUDE)})"
    sql = f"transform(transform(array({pair}), ` p` -> {bits}), ` b` -> {letters})[0]"
    nulls = " OR ".join(f"{value.sql} IS NULL" for value in values if value.nullable)
    return typed_sql(f"if({nulls}, NULL, {sql})" if nulls else sql, nullable_if_any(STRING, list(values)))


def _precision(values: Sequence[TypedSql]) -> int:
    """The number of letters: 12 for 0 and for more than 12, as in ClickHouse."""
    if len(values) < 3:
        return _MAX_PRECISION
    given = values[2].constant
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given <= 255:
        raise BadArguments("the precision of `geohashEncode` must be a literal number from 0 to 255", "1 to 12")
    return given if 1 <= given <= _MAX_PRECISION else _MAX_PRECISION


def _coordinate_bits(value: str, span: str) -> str:
    """30 bits of a coordinate as a string of 0 and 1; NaN is below every number."""
    middle = "(` s`.l + ` s`.h) / 2D"
    above = f"named_struct('l', {middle}, 'h', ` s`.h, 'b', concat(` s`.b, '1'))"
    below = f"named_struct('l', ` s`.l, 'h', {middle}, 'b', concat(` s`.b, '0'))"
    step = f"if(` v` >= {middle} AND NOT isnan(` v`), {above}, {below})"
    fold = f"aggregate(sequence(1, 30), {span}, (` s`, ` k`) -> {step}, ` s` -> ` s`.b)"
    return bind_once(value, "` v`", fold)


def _decode(values: Sequence[TypedSql]) -> TypedSql:
    """The middle of the cell; at most twelve letters are read; an empty string is (0, 0)."""
    value = values[0]
    if value.nullable:
        raise BadArguments(f"`geohashDecode` of {value.type} is not supported", "assumeNotNull(…), ifNull(…)")
    latin = f"left(decode(CAST({value.sql} AS BINARY), 'ISO-8859-1'), {_MAX_PRECISION})"
    place = f"instr({_ALPHABET}, substring(` t`, ` k`, 1))"
    letter = f"lpad(conv(CAST(if({place} = 0, 31, {place} - 1) AS STRING), 10, 2), 5, '0')"
    bits = f"array_join(transform(sequence(1, length(` t`)), ` k` -> {letter}), '')"
    longitude, latitude = _midpoint(1, _LONGITUDE), _midpoint(0, _LATITUDE)
    found = bind_once(bits, "` b`", f"named_struct('longitude', {longitude}, 'latitude', {latitude})")
    empty = "named_struct('longitude', 0D, 'latitude', 0D)"
    sql = bind_once(latin, "` t`", f"if(length(` t`) = 0, {empty}, {found})")
    return typed_sql(sql, t.Tuple((("longitude", FLOAT64), ("latitude", FLOAT64))))


def _midpoint(parity: int, span: str) -> str:
    """The middle of the span that every other bit (of that parity) leaves."""
    middle = "(` s`.l + ` s`.h) / 2D"
    above = f"named_struct('l', {middle}, 'h', ` s`.h, 'b', '')"
    below = f"named_struct('l', ` s`.l, 'h', {middle}, 'b', '')"
    halved = f"if(substring(` b`, ` k`, 1) = '1', {above}, {below})"
    step = f"if(` k` % 2 = {parity}, {halved}, ` s`)"
    return f"aggregate(sequence(1, length(` b`)), {span}, (` s`, ` k`) -> {step}, ` s` -> {middle})"


FUNCTIONS: tuple[Function, ...] = (
    Function("geohashEncode", (2, 3), ("number", "number", "constant"), _encode),
    Function("geohashDecode", (1, 1), ("bytes",), _decode),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
