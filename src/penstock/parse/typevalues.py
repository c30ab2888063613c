"""The types whose arguments are values: numbers, time zones, the names of an Enum.

In: a reader that stands before the arguments. Out: a type, or the arguments. Called by types. Invariant:
the values of an Enum are sorted by number, so two spellings of one Enum are equal.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.model import types as t
from penstock.parse.lexer import Lexeme, Reader
from penstock.parse.typerules import InvalidType, check_zone


def _read_number(reader: Reader, low: int, high: int) -> int:
    """A whole number between two bounds."""
    found = reader.peek()
    number = _whole(found)
    if number is None or not low <= number <= high:
        raise InvalidType(f"expected a number from {low} to {high}, found {found}", found.start)
    reader.take()
    return number


def read_enum(reader: Reader, head: Lexeme) -> t.Type:
    """`('a' = 1, 'b')`: a value without a number is one more than the value before it."""
    reader.expect("(")
    values = [_read_value(reader, 0)]
    while reader.accept(","):
        values.append(_read_value(reader, values[-1][1]))
    reader.expect(")")
    _refuse_twice(values, head)
    return t.Enum(_bits(values, head), tuple(sorted(values, key=lambda value: value[1])))


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
    length = _read_number(reader, 1, 0xFFFFFF)
    reader.expect(")")
    return t.FixedString(length)


def read_datetime(reader: Reader, head: Lexeme) -> t.Type:
    """Nothing, or `('zone')`."""
    if not reader.accept("(") or reader.accept(")"):
        return t.DateTime()
    zone = _read_zone(reader)
    reader.expect(")")
    return t.DateTime(zone)


def read_datetime64(reader: Reader, head: Lexeme) -> t.Type:
    """Nothing, or `(precision, 'zone')`."""
    if not reader.accept("("):
        return t.DateTime64()
    where = reader.peek()
    precision = _read_number(reader, 0, 9)
    if precision > 6:
        raise InvalidType(
            f"DateTime64({precision}) is not supported", where.start, "the lake keeps microseconds: write DateTime64(6)"
        )
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
    precision = _read_number(reader, 1, 76)
    if precision > 38:
        raise InvalidType(
            f"a Decimal of {precision} digits is not supported", where.start, "the greatest precision is 38"
        )
    scale = _read_number(reader, 0, precision) if reader.accept(",") else 0
    reader.expect(")")
    return t.Decimal(precision, scale)


def read_sized_decimal(precision: int) -> Callable[[Reader, Lexeme], t.Type]:
    """The reader of a Decimal that takes its scale only."""
    def read(reader: Reader, head: Lexeme) -> t.Type:
        reader.expect("(")
        scale = _read_number(reader, 0, precision)
        reader.expect(")")
        return t.Decimal(precision, scale)

    return read


def _read_parameter(reader: Reader) -> str:
    sign = "-" if reader.accept("-") else ""
    found = reader.peek()
    if found.kind not in ("number", "string") or (sign and found.kind == "string"):
        raise InvalidType(f"expected a number or a text in quotes, found {found}", found.start)
    return sign + reader.take().text


def _read_value(reader: Reader, before: int) -> tuple[str, int]:
    name = reader.peek()
    if name.kind != "string":
        raise InvalidType(f"expected a name in single quotes, found {name}", name.start, "such as 'new' = 1")
    reader.take()
    if not reader.accept("="):
        return name.value, before + 1
    sign = -1 if reader.accept("-") else 1
    return name.value, sign * _read_number(reader, 0, 32768)


def _bits(values: list[tuple[str, int]], head: Lexeme) -> int:
    numbers = [number for _, number in values]
    small = min(numbers) >= -128 and max(numbers) <= 127
    bits = {"enum8": 8, "enum16": 16}.get(head.text.lower(), 8 if small else 16)
    if bits == 8 and not small:
        raise InvalidType("a number of an Enum8 is from -128 to 127", head.start, "write Enum16")
    if min(numbers) < -32768 or max(numbers) > 32767:
        raise InvalidType("a number of an Enum16 is from -32768 to 32767", head.start)
    return bits


def _refuse_twice(values: list[tuple[str, int]], head: Lexeme) -> None:
    for part, what in ((0, "name"), (1, "number")):
        seen = [value[part] for value in values]
        twice = next((each for each in seen if seen.count(each) > 1), None)
        if twice is not None:
            raise InvalidType(f"the {what} {twice!r} stands twice in the Enum", head.start)


def _whole(found: Lexeme) -> int | None:
    is_whole = found.kind == "number" and found.text.isascii() and found.text.isdigit() and len(found.text) < 10
    return int(found.text) if is_whole else None
