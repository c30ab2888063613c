"""Parses the text of a column type by ClickHouse's grammar (https://clickhouse.com/docs/sql-reference/data-types).

In: a text, or a reader that stands before a type. Out: a `Type`. Invariants: `parse_type(str(type)) == type`; the
values of an Enum are sorted by number, so two spellings of one Enum are equal; a type that the lake cannot hold is an
`InvalidType` that says what to write instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from penstock.errors import near_names_hint
from penstock.model import types as t
from penstock.parse.lexer import InvalidSyntax, Lexeme, LexemeTexts, Reader, lex, quote_hint, reader_of_words
from penstock.parse.type_syntax.json_type import read_json
from penstock.parse.type_syntax.type_arguments import (
    InvalidType,
    check_key,
    check_low_cardinality,
    check_nullable,
    check_simple_function,
    read_datetime,
    read_datetime32,
    read_datetime64,
    read_decimal,
    read_enum,
    read_fixed_string,
    read_number,
    read_parameters,
    read_sized_decimal,
)

_WIDEST_INTEGER_HINT = "the widest integer is 64 bits: write Int64, UInt64 or Decimal(38, 0)"
_CHARACTERS = ("char", "character", "nchar", "national char", "national character")
_BINARIES = (*_CHARACTERS, "binary")
_STRINGS = """
text tinytext mediumtext longtext blob tinyblob mediumblob longblob clob bytea varbinary varchar varchar2 nvarchar
"""
_STRING_ALIASES = (
    *_STRINGS.split(),
    *_CHARACTERS,
    *(f"{name} {ending}" for name in _BINARIES for ending in ("varying", "large object")),
)
_INTEGER_BITS = {"tinyint": 8, "int1": 8, "smallint": 16, "mediumint": 32, "int": 32, "integer": 32, "bigint": 64}
"""Names that UNSIGNED or SIGNED may follow."""
_SIZED_ALIASES: Mapping[str, str] = {
    **dict.fromkeys(_STRING_ALIASES, "String"),
    **dict.fromkeys(("float", "real", "single"), "Float32"),
    **dict.fromkeys(("double", "double precision"), "Float64"),
    **{name: f"Int{bits}" for name, bits in _INTEGER_BITS.items()},
    "byte": "Int8",
    "signed": "Int64",
    "year": "UInt16",
    **dict.fromkeys(("bit", "set", "unsigned"), "UInt64"),
}
"""Names of other databases, in lower case. A size, as in VARCHAR(255), means nothing: the type holds any."""
_ALIASES: Mapping[str, str] = {
    **_SIZED_ALIASES,
    "boolean": "Bool",
    "timestamp": "DateTime",
    "binary": "FixedString",
    **dict.fromkeys(("numeric", "dec", "fixed"), "Decimal"),
    "inet4": "IPv4",
    "inet6": "IPv6",
}
_FIRST_WORDS = frozenset(name.partition(" ")[0] for name in _ALIASES)
_MOST_WORDS = max(len(name.split()) for name in _ALIASES)

REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("int128", "int256", "uint128", "uint256"), _WIDEST_INTEGER_HINT),
    "decimal256": "the greatest precision is 38: write Decimal(38, s)",
    "nested": "write Array(Tuple(a String, b Int64)), whose elements have names",
    "object": "write `JSON`",
}
"""ClickHouse's type names that this version does not support, in lower case, with what to write instead."""

UNSUPPORTED = frozenset(
    (
        "BFloat16",
        "Dynamic",
        "Geometry",
        "LineString",
        "MultiLineString",
        "MultiPoint",
        "MultiPolygon",
        "Nothing",
        "Point",
        "Polygon",
        "QBit",
        "Ring",
        "Time",
        "Time64",
        "Variant",
        "IntervalNanosecond",
        "IntervalMicrosecond",
        "IntervalMillisecond",
        "IntervalSecond",
        "IntervalMinute",
        "IntervalHour",
        "IntervalDay",
        "IntervalWeek",
        "IntervalMonth",
        "IntervalQuarter",
        "IntervalYear",
    )
)
"""ClickHouse's type names without any replacement."""


_SIMPLE_TYPES: Mapping[str, t.Type] = {
    **{str(t.Int(bits, signed)): t.Int(bits, signed) for bits in (8, 16, 32, 64) for signed in (True, False)},
    "Float32": t.Float(32),
    "Float64": t.Float(64),
    "Bool": t.Bool(),
    "String": t.String(),
    "UUID": t.UUID(),
    "Date": t.Date(),
    "Date32": t.Date(wide=True),
    "IPv4": t.IPv4(),
    "IPv6": t.IPv6(),
}
_ANY_CASE = (
    "Bool",
    "Date",
    "Date32",
    "DateTime",
    "DateTime32",
    "DateTime64",
    "Decimal",
    "Decimal32",
    "Decimal64",
    "Decimal128",
)
_SPELLINGS = {name.lower(): name for name in (*_ANY_CASE, "Enum", "JSON")} | {"enum8": "Enum8", "enum16": "Enum16"}


@lru_cache(maxsize=4096)
def parse_type(text: str) -> t.Type:
    """The type a text names. Raises InvalidSyntax (mostly its subclass InvalidType)."""
    reader = Reader(lex(text))
    found = read_type(reader)
    reader.finish()
    return found


def read_type(reader: Reader) -> t.Type:
    """Read the next type from a reader; the lexemes after it stay unread. Projects have few types and many columns, so
    a type with arguments is parsed once and cached."""
    words = reader.call()
    alone = reader.peek().text.lower() not in _FIRST_WORDS  # INT(11) UNSIGNED: more may follow the brackets
    known = _read_cached(words) if len(words) > 1 and alone else None
    if known is None:
        return _read_uncached(reader)
    reader.skip(len(words))
    return known


@lru_cache(maxsize=4096)
def _read_cached(words: LexemeTexts) -> t.Type | None:
    """The type of a name and its arguments; None if it is wrong (the caller then reads it again to locate the
    mistake)."""
    reader = reader_of_words(words)
    try:
        found = _read_uncached(reader)
        reader.finish()
    except InvalidSyntax:
        return None
    return found


def _read_uncached(reader: Reader) -> t.Type:
    head = reader.peek()
    if head.kind != "word":
        raise InvalidType(f"expected a type, found {head}", head.start, quote_hint(head))
    if head.text.lower() in _FIRST_WORDS and (alias := _find_alias(reader)) is not None:
        return _read_alias(reader, alias)
    reader.take()
    name = _SPELLINGS.get(head.text.lower(), head.text)
    if name in _SIMPLE_TYPES:
        return _read_simple_type(reader, _SIMPLE_TYPES[name])
    if name in _READERS:
        return _READERS[name](reader, head)
    raise _unknown_type(head)


def _find_alias(reader: Reader) -> str | None:
    """The longest name of another database that comes next; None if none does."""
    words = [reader.peek(ahead).text.lower() for ahead in range(_MOST_WORDS)]
    names = (" ".join(words[:count]) for count in range(_MOST_WORDS, 0, -1))
    return next((name for name in names if name in _ALIASES), None)


def _read_alias(reader: Reader, alias: str) -> t.Type:
    head = reader.peek()
    reader.skip(len(alias.split()))
    name = _ALIASES[alias]
    if name in _READERS:
        return _READERS[name](reader, head)
    if alias not in _SIZED_ALIASES:
        return _read_simple_type(reader, _SIMPLE_TYPES[name])
    _skip_size(reader)
    of = _SIMPLE_TYPES[name]
    if alias in _INTEGER_BITS:
        unsigned = reader.accept("UNSIGNED")
        of = t.Int(_INTEGER_BITS[alias], signed=not unsigned)
        if unsigned or reader.accept("SIGNED"):
            _skip_size(reader)
    return of


def _skip_size(reader: Reader) -> None:
    """`(255)`, `(5, 2)` or nothing."""
    if reader.accept("(") and not reader.accept(")"):
        read_number(reader, 0, 999_999_999)
        while reader.accept(","):
            read_number(reader, 0, 999_999_999)
        reader.expect(")")


def _unknown_type(head: Lexeme) -> InvalidType:
    hint = REFUSED.get(head.text.lower())
    if hint is not None or head.text in UNSUPPORTED:
        return InvalidType(f"the type `{head.text}` is not supported", head.start, hint)
    names = (*_SIMPLE_TYPES, *_READERS)
    hint = near_names_hint(head.text, names) or "docs/datafiles.md lists the types"
    return InvalidType(f"unknown type `{head.text}`", head.start, hint)


def _read_simple_type(reader: Reader, plain: t.Type) -> t.Type:
    if not reader.accept("("):
        return plain
    if not reader.peek().says(")"):
        raise InvalidType(f"`{plain}` takes no arguments", reader.peek().start, f"write `{plain}`")
    reader.take()
    return plain


def _read_json(reader: Reader, head: Lexeme) -> t.Type:
    return read_json(reader, head, read_type)


def _read_bracketed(reader: Reader, check: Callable[[t.Type, Lexeme], None]) -> t.Type:
    """`(T)`, T being allowed there."""
    reader.expect("(")
    inner = reader.peek()
    found = read_type(reader)
    check(found, inner)
    reader.expect(")")
    return found


def _read_array(reader: Reader, head: Lexeme) -> t.Type:
    return t.Array(_read_bracketed(reader, _check_nothing))


def _check_nothing(of: t.Type, where: Lexeme) -> None:
    """No check: every type is allowed here."""


def _read_nullable(reader: Reader, head: Lexeme) -> t.Type:
    return t.Nullable(_read_bracketed(reader, check_nullable))


def _read_low_cardinality(reader: Reader, head: Lexeme) -> t.Type:
    return t.LowCardinality(_read_bracketed(reader, check_low_cardinality))


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
        raise InvalidType("either all elements of a Tuple have a name or none has", head.start, "name all or none")
    if len(set(names)) < len(names):
        raise InvalidType("two elements of a Tuple have the same name", head.start)
    _refuse_same_paths(fields, head)
    return t.Tuple(tuple(fields))


def _refuse_same_paths(fields: Sequence[tuple[str | None, t.Type]], head: Lexeme) -> None:
    """Raises InvalidType if Iceberg could not tell an element `a.b` from `b` inside `a`."""
    outer = {name: of for name, of in fields if name is not None and t.has_part(of, t.Tuple)}
    for name, _ in fields:
        within = next((each for each in outer if name is not None and name.startswith(f"{each}.")), None)
        if within is not None:
            message = f"the elements `{name}` and `{within}` of a Tuple cannot be told apart in a table"
            raise InvalidType(message, head.start, f"write `{str(name).replace('.', '_')}`")


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
    name = check_simple_function(function)
    reader.expect(",")
    of = read_type(reader)
    reader.expect(")")
    return t.SimpleAggregateFunction(name, of)


def _read_function(reader: Reader) -> Lexeme:
    if reader.peek().kind != "word":
        raise InvalidType(f"expected the name of a function, found {reader.peek()}", reader.peek().start)
    return reader.take()


_READERS: Mapping[str, Callable[[Reader, Lexeme], t.Type]] = {
    "JSON": _read_json,
    "Array": _read_array,
    "Nullable": _read_nullable,
    "LowCardinality": _read_low_cardinality,
    "Map": _read_map,
    "Tuple": _read_tuple,
    "FixedString": read_fixed_string,
    "DateTime": read_datetime,
    "DateTime32": read_datetime32,
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
