"""What may not stand in a type, and what to write instead.

In: parts of a type and the lexemes they were read from. Out: `InvalidType` raised, or nothing.
Called by types and typevalues. Invariant: what passes here is a type that ClickHouse creates and
the lake can hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from zoneinfo import available_timezones

from penstock.errors import did_you_mean, nearest
from penstock.model import types as t
from penstock.parse.lexer import InvalidSyntax, Lexeme

_WIDE = "the widest integer is 64 bits: write Int64, UInt64 or Decimal(38, 0)"
_TEXT = ("text", "varchar", "char", "character", "nchar", "nvarchar", "clob", "blob", "tinytext", "longtext", "bytea")
_OTHER_NAMES = {
    "Float32": ("float", "real", "single"),
    "Float64": ("double",),
    "Int8": ("tinyint", "byte", "int1"),
    "Int16": ("smallint",),
    "Int32": ("int", "integer", "mediumint"),
    "Int64": ("bigint", "signed"),
    "UInt16": ("year",),
    "UInt64": ("bit", "set", "unsigned"),
    "Bool": ("boolean",),
    "String": _TEXT,
    "FixedString": ("binary", "varbinary"),
    "DateTime": ("timestamp", "datetime32"),
    "Decimal": ("numeric", "dec", "fixed"),
    "IPv4": ("inet4",),
    "IPv6": ("inet6",),
}

REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("int128", "int256", "uint128", "uint256"), _WIDE),
    **{other: f"write `{name}`" for name, others in _OTHER_NAMES.items() for other in others},
    "decimal256": "the greatest precision is 38: write Decimal(38, s)",
    "nested": "write Array(Tuple(a String, b Int64)), whose elements have names",
    "object": "write `JSON`",
}
"""Names that ClickHouse knows and this version does not take, in lower case, with what to write."""

UNSUPPORTED = frozenset(
    (
        "BFloat16", "Dynamic", "Geometry", "LineString", "MultiLineString", "MultiPoint", "MultiPolygon", "Nothing",
        "Point", "Polygon", "QBit", "Ring", "Time", "Time64", "Variant", "IntervalNanosecond", "IntervalMicrosecond",
        "IntervalMillisecond", "IntervalSecond", "IntervalMinute", "IntervalHour", "IntervalDay", "IntervalWeek",
        "IntervalMonth", "IntervalQuarter", "IntervalYear",
    )
)
"""Names that ClickHouse knows and nothing here stands for."""

_SIMPLE_FUNCTIONS = (
    "any", "anyLast", "any_respect_nulls", "anyLast_respect_nulls", "min", "max", "sum", "sumWithOverflow",
    "groupBitAnd", "groupBitOr", "groupBitXor", "sumMap", "minMap", "maxMap", "groupArrayArray",
    "groupUniqArrayArray", "groupUniqArrayArrayMap",
)
_SAME_FUNCTION = {"any_value": "any", "first_value": "any", "last_value": "anyLast", "sumMappedArrays": "sumMap"}


class InvalidType(InvalidSyntax):
    """A text that is no column type of this version."""

    code = "invalid-type"


def check_nullable(of: t.Type, where: Lexeme) -> None:
    """What Nullable cannot hold."""
    match of:
        case t.LowCardinality(inner):
            hint: str | None = f"write LowCardinality(Nullable({inner}))"
        case t.Array(inner):
            hint = f"an absent array is an empty one: write Array({inner})"
        case t.Map():
            hint = f"an absent map is an empty one: write {of}"
        case t.Nullable():
            hint = f"write {of}"
        case t.Tuple():
            hint = "make the elements Nullable"
        case t.AggregateFunction() | t.SimpleAggregateFunction():
            hint = "make the argument Nullable"
        case _:
            return
    raise InvalidType(f"`{_head(of)}` cannot be inside Nullable", where.start, hint)


def check_low_cardinality(of: t.Type, where: Lexeme) -> None:
    """LowCardinality is for texts, numbers and days."""
    inner = of.of if isinstance(of, t.Nullable) else of
    match inner:
        case t.String() | t.FixedString() | t.Int() | t.Float() | t.Bool() | t.Date() | t.DateTime() | t.UUID():
            return
        case t.IPv4() | t.IPv6():
            return
    raise InvalidType(f"`{_head(inner)}` cannot be inside LowCardinality", where.start, f"write {of}")


def check_key(of: t.Type, where: Lexeme) -> None:
    """The key of a map is never NULL."""
    if t.nullable(of):
        raise InvalidType("the key of a Map cannot be Nullable", where.start, f"write Map({t.bare(of)}, …)")


def simple_function(function: Lexeme) -> str:
    """The function as ClickHouse names it, which must be one whose state is a plain value."""
    name = _SAME_FUNCTION.get(function.text, function.text)
    if name not in _SIMPLE_FUNCTIONS:
        message = f"`{name}` has no place in SimpleAggregateFunction"
        raise InvalidType(message, function.start, did_you_mean(name, _SIMPLE_FUNCTIONS))
    return name


def check_zone(zone: Lexeme) -> None:
    """A time zone of the IANA database (where this machine has one)."""
    known = _zones()
    if known and zone.value not in known:
        near = nearest(zone.value, known) or "UTC"
        raise InvalidType(f"unknown time zone '{zone.value}'", zone.start, f"did you mean '{near}'?")


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


def _head(of: t.Type) -> str:
    return str(of).partition("(")[0]
