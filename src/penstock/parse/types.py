"""The text of a column type to a `Type`, by ClickHouse's grammar.

In: a text, or a reader that stands before a type. Out: a `Type`. Called by schema and by whoever
meets a type's name in SQL. Invariant: `parse_type(str(type)) == type`; what the lake cannot hold is
an `InvalidType` that says what to write instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from penstock.errors import did_you_mean
from penstock.model import types as t
from penstock.parse.lexer import InvalidSyntax, Lexeme, Reader, Words, from_words, lex, quote_hint
from penstock.parse.typerules import (
    REFUSED,
    UNSUPPORTED,
    InvalidType,
    check_key,
    check_low_cardinality,
    check_nullable,
    simple_function,
)
from penstock.parse.typevalues import (
    read_datetime,
    read_datetime64,
    read_decimal,
    read_enum,
    read_fixed_string,
    read_parameters,
    read_sized_decimal,
)

_PLAIN: Mapping[str, t.Type] = {
    **{str(t.Int(bits, signed)): t.Int(bits, signed) for bits in (8, 16, 32, 64) for signed in (True, False)},
    "Float32": t.Float(32),
    "Float64": t.Float(64),
    "Bool": t.Bool(),
    "String": t.String(),
    "UUID": t.UUID(),
    "Date": t.Date(),
    "Date32": t.Date(wide=True),
    "JSON": t.Json(),
    "IPv4": t.IPv4(),
    "IPv6": t.IPv6(),
}
_ANY_CASE = ("Bool", "Date", "Date32", "DateTime", "DateTime64", "Decimal", "Decimal32", "Decimal64", "Decimal128")
_SPELLINGS = {name.lower(): name for name in (*_ANY_CASE, "Enum", "JSON")} | {"enum8": "Enum8", "enum16": "Enum16"}


@lru_cache(maxsize=4096)
def parse_type(text: str) -> t.Type:
    """The type a text names. Raises InvalidSyntax (mostly its subclass InvalidType)."""
    reader = Reader(lex(text))
    found = read_type(reader)
    reader.finish()
    return found


def read_type(reader: Reader) -> t.Type:
    """The type that comes next in a reader; what follows it stays unread. Projects have few types and
    many columns: a type with arguments is read once."""
    words = reader.call()
    known = _known(words) if len(words) > 1 else None
    if known is None:
        return _read(reader)
    reader.skip(len(words))
    return known


@lru_cache(maxsize=4096)
def _known(words: Words) -> t.Type | None:
    """The type of a name and its arguments; None where it is wrong, which is told with its place."""
    reader = from_words(words)
    try:
        found = _read(reader)
        reader.finish()
    except InvalidSyntax:
        return None
    return found


def _read(reader: Reader) -> t.Type:
    head = reader.peek()
    if head.kind != "word":
        raise InvalidType(f"expected a type, found {head}", head.start, quote_hint(head))
    reader.take()
    name = _SPELLINGS.get(head.text.lower(), head.text)
    if name in _PLAIN:
        return _read_plain(reader, _PLAIN[name])
    if name in _READERS:
        return _READERS[name](reader, head)
    raise _unknown(head)


def _unknown(head: Lexeme) -> InvalidType:
    hint = REFUSED.get(head.text.lower())
    if hint is not None or head.text in UNSUPPORTED:
        return InvalidType(f"the type `{head.text}` is not supported", head.start, hint)
    names = (*_PLAIN, *_READERS)
    return InvalidType(f"unknown type `{head.text}`", head.start, did_you_mean(head.text, names))


def _read_plain(reader: Reader, plain: t.Type) -> t.Type:
    if not reader.accept("("):
        return plain
    if not reader.peek().says(")"):
        raise InvalidType(f"`{plain}` takes no arguments", reader.peek().start, f"write `{plain}`")
    reader.take()
    return plain


def _read_one(reader: Reader, check: Callable[[t.Type, Lexeme], None]) -> t.Type:
    """`(T)`, T being allowed there."""
    reader.expect("(")
    inner = reader.peek()
    found = read_type(reader)
    check(found, inner)
    reader.expect(")")
    return found


def _read_array(reader: Reader, head: Lexeme) -> t.Type:
    return t.Array(_read_one(reader, _check_nothing))


def _check_nothing(of: t.Type, where: Lexeme) -> None:
    """Every type may stand here."""


def _read_nullable(reader: Reader, head: Lexeme) -> t.Type:
    return t.Nullable(_read_one(reader, check_nullable))


def _read_low_cardinality(reader: Reader, head: Lexeme) -> t.Type:
    return t.LowCardinality(_read_one(reader, check_low_cardinality))


def _read_map(reader: Reader, head: Lexeme) -> t.Type:
    reader.expect("(")
    where = reader.peek()
    key = read_type(reader)
    check_key(key, where)
    reader.expect(",")
    value = read_type(reader)
    reader.expect(")")
    return t.Map(key, value)


def _read_tuple(reader: Reader, head: Lexeme) -> t.Type:
    reader.expect("(")
    fields = [_read_field(reader)]
    while reader.accept(","):
        fields.append(_read_field(reader))
    reader.expect(")")
    names = [name for name, _ in fields if name is not None]
    if names and len(names) < len(fields):
        raise InvalidType("either all elements of a Tuple have a name or none has", head.start)
    if len(set(names)) < len(names):
        raise InvalidType("two elements of a Tuple have the same name", head.start)
    return t.Tuple(tuple(fields))


def _read_field(reader: Reader) -> tuple[str | None, t.Type]:
    first, second = reader.peek(), reader.peek(1)
    named = first.kind == "quoted" or (first.kind == "word" and second.kind == "word")
    if not named:
        return None, read_type(reader)
    reader.take()
    if not first.value:
        raise InvalidType("the name of an element is empty", first.start)
    return first.value, read_type(reader)


def _read_aggregate(reader: Reader, head: Lexeme) -> t.Type:
    reader.expect("(")
    function = _read_function(reader)
    parameters = read_parameters(reader)
    arguments: list[t.Type] = []
    while reader.accept(","):
        arguments.append(read_type(reader))
    reader.expect(")")
    return t.AggregateFunction(function.text, tuple(arguments), parameters)


def _read_simple_aggregate(reader: Reader, head: Lexeme) -> t.Type:
    reader.expect("(")
    function = _read_function(reader)
    name = simple_function(function)
    reader.expect(",")
    of = read_type(reader)
    reader.expect(")")
    return t.SimpleAggregateFunction(name, of)


def _read_function(reader: Reader) -> Lexeme:
    if reader.peek().kind != "word":
        raise InvalidType(f"expected the name of a function, found {reader.peek()}", reader.peek().start)
    return reader.take()


_READERS: Mapping[str, Callable[[Reader, Lexeme], t.Type]] = {
    "Array": _read_array,
    "Nullable": _read_nullable,
    "LowCardinality": _read_low_cardinality,
    "Map": _read_map,
    "Tuple": _read_tuple,
    "FixedString": read_fixed_string,
    "DateTime": read_datetime,
    "DateTime64": read_datetime64,
    "Decimal": read_decimal,
    "Decimal32": read_sized_decimal(9),
    "Decimal64": read_sized_decimal(18),
    "Decimal128": read_sized_decimal(38),
    "Enum": read_enum,
    "Enum8": read_enum,
    "Enum16": read_enum,
    "AggregateFunction": _read_aggregate,
    "SimpleAggregateFunction": _read_simple_aggregate,
}
