"""Parses the text of a column type by ClickHouse's grammar (https://clickhouse.com/docs/sql-reference/data-types).

In: a text, or a reader that stands before a type. Out: a `Type`. Invariants: `parse_type(str(type)) == type`; the
values of an Enum are sorted by number, so two spellings of one Enum are equal; a type that the lake cannot hold is an
`InvalidType` that says what to write instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from zoneinfo import available_timezones

from penstock.errors import did_you_mean, near_names_hint, nearest_name
from penstock.model import types as t
from penstock.parse.lexer import InvalidSyntax, Lexeme, LexemeTexts, Reader, lex, quote_hint, reader_of_words

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
    raise InvalidType(f"`{_type_name(of)}` cannot be inside Nullable", where.start, hint)


def check_low_cardinality(of: t.Type, where: Lexeme) -> None:
    """Raises InvalidType for a type that LowCardinality cannot contain: all but strings, numbers, dates, UUIDs and IP
    addresses."""
    inner = of.of if isinstance(of, t.Nullable) else of
    match inner:
        case t.String() | t.FixedString() | t.Int() | t.Float() | t.Bool() | t.Date() | t.DateTime() | t.UUID():
            return
        case t.IPv4() | t.IPv6():
            return
    raise InvalidType(f"`{_type_name(inner)}` cannot be inside LowCardinality", where.start, f"write {of}")


def check_key(of: t.Type, where: Lexeme) -> None:
    """Raises InvalidType for a key type of a map that allows NULL."""
    if t.is_nullable(of):
        raise InvalidType("the key of a Map cannot be Nullable", where.start, f"write Map({t.unwrap_type(of)}, …)")


def check_simple_function(function: Lexeme) -> str:
    """The function under ClickHouse's name. Raises InvalidType unless its state is a plain value."""
    name = _SAME_FUNCTION.get(function.text, function.text)
    if name not in SIMPLE_FUNCTIONS:
        message = f"`{name}` is not supported in SimpleAggregateFunction"
        raise InvalidType(message, function.start, did_you_mean(name, SIMPLE_FUNCTIONS))
    return name


def check_zone(zone: Lexeme) -> None:
    """Raises InvalidType unless the name is a time zone of the IANA database, as installed on this machine."""
    known = _known_zones()
    if known and zone.value not in known:
        near = nearest_name(zone.value, known) or "UTC"
        raise InvalidType(f"unknown time zone '{zone.value}'", zone.start, f"did you mean '{near}'?")


@cache
def _known_zones() -> frozenset[str]:
    return frozenset(available_timezones())


def _type_name(of: t.Type) -> str:
    return str(of).partition("(")[0]


def _read_number(reader: Reader, low: int, high: int) -> int:
    """A whole number between two bounds."""
    found = reader.peek()
    number = _parse_whole_number(found)
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
    length = _read_number(reader, 1, 0xFFFFFF)
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
    precision = _read_number(reader, 0, 9)
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
    """The reader of Decimal32, Decimal64 …, which take only the scale."""

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


def _read_enum_value(reader: Reader, before: int) -> tuple[str, int]:
    name = reader.peek()
    if name.kind != "string":
        raise InvalidType(f"expected a name in single quotes, found {name}", name.start, "such as 'new' = 1")
    reader.take()
    if not reader.accept("="):
        return name.value, before + 1
    sign = -1 if reader.accept("-") else 1
    return name.value, sign * _read_number(reader, 0, 32768)


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


def _parse_whole_number(found: Lexeme) -> int | None:
    is_whole = found.kind == "number" and found.text.isascii() and found.text.isdigit() and len(found.text) < 10
    return int(found.text) if is_whole else None


_SIMPLE_TYPES: Mapping[str, t.Type] = {
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
        _read_number(reader, 0, 999_999_999)
        while reader.accept(","):
            _read_number(reader, 0, 999_999_999)
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
