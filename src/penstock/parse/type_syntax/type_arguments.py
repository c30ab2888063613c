"""The arguments of column types: `('a' = 1)`, `(38, 0)`, `('UTC')`, and which types another one can contain.

In: a reader that stands before the arguments. Out: a `Type`, or plain values. Raises `InvalidType` with the place of
what is wrong and what to write. Invariant: nothing is read after the closing bracket.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from zoneinfo import available_timezones

from penstock.errors import near_names_hint, nearest_name
from penstock.model import types as t
from penstock.parse.lexer import InvalidSyntax, Lexeme, Reader

SIMPLE_FUNCTIONS = (
    "any",
    "anyLast",
    "any_respect_nulls",
    "anyLast_respect_nulls",
    "min",
    "max",
    "sum",
    "sumWithOverflow",
    "groupBitAnd",
    "groupBitOr",
    "groupBitXor",
    "sumMap",
    "minMap",
    "maxMap",
    "groupArrayArray",
    "groupUniqArrayArray",
    "groupUniqArrayArrayMap",
)
"""The aggregates of SimpleAggregateFunction: their state is a plain value, of which two merge into one."""
_SAME_FUNCTION = {"any_value": "any", "first_value": "any", "last_value": "anyLast", "sumMappedArrays": "sumMap"}


class InvalidType(InvalidSyntax):
    """A text that is no column type of this version."""

    code = "invalid-type"


def check_nullable(of: t.Type, where: Lexeme) -> None:
    """Raises InvalidType for a type that Nullable cannot contain."""
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
    raise InvalidType(f"`{type_name(of)}` cannot be inside Nullable", where.start, hint)


def check_low_cardinality(of: t.Type, where: Lexeme) -> None:
    """Raises InvalidType for a type that LowCardinality cannot contain: all but strings, numbers, dates, UUIDs and IP
    addresses."""
    inner = of.of if isinstance(of, t.Nullable) else of
    if isinstance(inner, t.IN_LOW_CARDINALITY):
        return
    raise InvalidType(f"`{type_name(inner)}` cannot be inside LowCardinality", where.start, f"write {of}")


def check_key(of: t.Type, where: Lexeme) -> None:
    """Raises InvalidType for a key type of a map that allows NULL."""
    if t.is_nullable(of):
        raise InvalidType("the key of a Map cannot be Nullable", where.start, f"write Map({t.unwrap_type(of)}, …)")


def check_simple_function(function: Lexeme) -> str:
    """The function under ClickHouse's name. Raises InvalidType unless its state is a plain value."""
    name = _SAME_FUNCTION.get(function.text, function.text)
    if name not in SIMPLE_FUNCTIONS:
        message = f"`{name}` is not supported in SimpleAggregateFunction"
        hint = near_names_hint(name, SIMPLE_FUNCTIONS) or "its state must be a plain value, as of sum, min, max and any"
        raise InvalidType(message, function.start, hint)
    return name


def check_zone(zone: Lexeme) -> None:
    """Raises InvalidType unless the name is a time zone of the IANA database, as installed on this machine."""
    known = known_zones()
    if known and zone.value not in known:
        near = nearest_name(zone.value, known) or "UTC"
        raise InvalidType(f"unknown time zone '{zone.value}'", zone.start, f"did you mean '{near}'?")


@cache
def known_zones() -> frozenset[str]:
    """The names of all time zones, as ClickHouse writes them."""
    return frozenset(available_timezones())


def type_name(of: t.Type) -> str:
    return str(of).partition("(")[0]


def read_number(reader: Reader, low: int, high: int) -> int:
    """A whole number between two bounds."""
    found = reader.peek()
    number = parse_whole_number(found)
    if number is None or not low <= number <= high:
        raise InvalidType(f"expected a number from {low} to {high}, found {found}", found.start)
    reader.take()
    return number


def read_enum(reader: Reader, head: Lexeme) -> t.Type:
    """`('a' = 1, 'b')`: a value without a number is one more than the value before it."""
    reader.expect("(")
    values = [_read_enum_value(reader, 0)]
    while reader.accept(","):
        values.append(_read_enum_value(reader, values[-1][1]))
    reader.expect(")")
    _refuse_duplicates(values, head)
    return t.Enum(_enum_bits(values, head), tuple(sorted(values, key=lambda value: value[1])))


def read_parameters(reader: Reader) -> tuple[str, ...]:
    """`(0.5, 0.9)`, each as its text; none where no bracket follows."""
    if not reader.accept("("):
        return ()
    found: list[str] = []
    while not reader.accept(")"):
        if found:
            reader.expect(",")
        found.append(_read_parameter(reader))
    return tuple(found)


def read_fixed_string(reader: Reader, head: Lexeme) -> t.Type:
    """`(length)`."""
    reader.expect("(")
    length = read_number(reader, 1, t.LONGEST_FIXED_STRING)
    reader.expect(")")
    return t.FixedString(length)


def read_datetime(reader: Reader, head: Lexeme) -> t.Type:
    """Nothing, `('zone')`, or what follows DateTime64: DateTime(3) is DateTime64(3), and DateTime(0) a DateTime."""
    if reader.peek().says("(") and reader.peek(1).kind == "number":
        fine = read_datetime64(reader, head)
        return t.DateTime(fine.zone) if fine.precision == 0 else fine
    return read_datetime32(reader, head)


def read_datetime32(reader: Reader, head: Lexeme) -> t.DateTime:
    """Nothing, or `('zone')`."""
    if not reader.accept("(") or reader.accept(")"):
        return t.DateTime()
    zone = _read_zone(reader)
    reader.expect(")")
    return t.DateTime(zone)


def read_datetime64(reader: Reader, head: Lexeme) -> t.DateTime64:
    """Nothing, or `(precision, 'zone')`."""
    if not reader.accept("("):
        return t.DateTime64()
    precision = read_number(reader, 0, 9)
    zone = _read_zone(reader) if reader.accept(",") else None
    reader.expect(")")
    return t.DateTime64(precision, zone)


def _read_zone(reader: Reader) -> str:
    where = reader.peek()
    if where.kind != "string":
        raise InvalidType(f"expected a time zone in quotes, found {where}", where.start, "such as 'UTC'")
    reader.take()
    check_zone(where)
    return where.value


def read_decimal(reader: Reader, head: Lexeme) -> t.Type:
    """Nothing, or `(precision, scale)`."""
    if not reader.accept("("):
        return t.Decimal(10, 0)
    where = reader.peek()
    precision = read_number(reader, 1, 76)
    if precision > 38:
        raise InvalidType(
            f"a Decimal of {precision} digits is not supported", where.start, "the greatest precision is 38"
        )
    scale = read_number(reader, 0, precision) if reader.accept(",") else 0
    reader.expect(")")
    return t.Decimal(precision, scale)


def read_sized_decimal(precision: int) -> Callable[[Reader, Lexeme], t.Type]:
    """The reader of Decimal32, Decimal64 …, which take only the scale."""

    def read(reader: Reader, head: Lexeme) -> t.Type:
        reader.expect("(")
        scale = read_number(reader, 0, precision)
        reader.expect(")")
        return t.Decimal(precision, scale)

    return read


def _read_parameter(reader: Reader) -> str:
    sign = "-" if reader.accept("-") else ""
    found = reader.peek()
    if found.kind not in ("number", "string") or (sign and found.kind == "string"):
        raise InvalidType(f"expected a number or a text in quotes, found {found}", found.start)
    return sign + reader.take().text


def _read_enum_value(reader: Reader, before: int) -> tuple[str, int]:
    name = reader.peek()
    if name.kind != "string":
        raise InvalidType(f"expected a name in single quotes, found {name}", name.start, "such as 'new' = 1")
    reader.take()
    if not reader.accept("="):
        return name.value, before + 1
    sign = -1 if reader.accept("-") else 1
    return name.value, sign * read_number(reader, 0, 32768)


def _enum_bits(values: list[tuple[str, int]], head: Lexeme) -> int:
    numbers = [number for _, number in values]
    small = min(numbers) >= -128 and max(numbers) <= 127
    bits = {"enum8": 8, "enum16": 16}.get(head.text.lower(), 8 if small else 16)
    if bits == 8 and not small:
        raise InvalidType("a number of an Enum8 is from -128 to 127", head.start, "write Enum16")
    if min(numbers) < -32768 or max(numbers) > 32767:
        raise InvalidType("a number of an Enum16 is from -32768 to 32767", head.start)
    return bits


def _refuse_duplicates(values: list[tuple[str, int]], head: Lexeme) -> None:
    for part, what in ((0, "name"), (1, "number")):
        seen = [value[part] for value in values]
        twice = next((each for each in seen if seen.count(each) > 1), None)
        if twice is not None:
            raise InvalidType(f"the {what} {twice!r} occurs twice in the Enum", head.start)


def parse_whole_number(found: Lexeme) -> int | None:
    is_whole = found.kind == "number" and found.text.isascii() and found.text.isdigit() and len(found.text) < 10
    return int(found.text) if is_whole else None
