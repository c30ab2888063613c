"""Column types under ClickHouse's names, as immutable values.

In: nothing. Out: the closed union `Type`; `str(type)` is its ClickHouse spelling. Invariant: two values are equal
exactly when they mean the same type. Source: ClickHouse's documentation, "Data types".
"""

from __future__ import annotations

from dataclasses import field
from typing import TypeAlias, Union

from penstock.model.json_documents.path_rules import write_rules
from penstock.model.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Int:
    """Int8 … Int64 and UInt8 … UInt64."""

    bits: int
    signed: bool = True
    signed_as_well: bool = field(default=False, compare=False)
    """Of a UInt64: a literal below 2^63 gave the type, so that beside signed integers it is an Int64."""

    def __str__(self) -> str:
        return f"{'' if self.signed else 'U'}Int{self.bits}"

    @property
    def low(self) -> int:
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def high(self) -> int:
        return (1 << (self.bits - 1)) - 1 if self.signed else (1 << self.bits) - 1


@dataclass(frozen=True, slots=True)
class Float:
    """Float32 and Float64."""

    bits: int

    def __str__(self) -> str:
        return f"Float{self.bits}"


@dataclass(frozen=True, slots=True)
class Decimal:
    """Decimal(precision, scale), precision at most 38."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"Decimal({self.precision}, {self.scale})"

    @property
    def kept_digits(self) -> int:
        """The digits that the integer holds in which ClickHouse keeps it, of 32, 64 or 128 bits."""
        return next(digits for digits in (9, 18, 38) if self.precision <= digits)


@dataclass(frozen=True, slots=True)
class Bool:
    """Bool: true or false."""

    def __str__(self) -> str:
        return "Bool"


@dataclass(frozen=True, slots=True)
class String:
    """String: text."""

    def __str__(self) -> str:
        return "String"


@dataclass(frozen=True, slots=True)
class FixedString:
    """Text of exactly `length` bytes, padded with zero bytes."""

    length: int

    def __str__(self) -> str:
        return f"FixedString({self.length})"


@dataclass(frozen=True, slots=True)
class UUID:
    """A UUID, kept as its lower-case text."""

    def __str__(self) -> str:
        return "UUID"


@dataclass(frozen=True, slots=True)
class Date:
    """A day."""

    wide: bool = False
    """False: Date (1970 … 2149); True: Date32 (1900 … 2299)."""

    def __str__(self) -> str:
        return "Date32" if self.wide else "Date"


@dataclass(frozen=True, slots=True)
class DateTime:
    """A point in time in whole seconds."""

    zone: str | None = None
    """The time zone for parsing and display; None: UTC."""

    def __str__(self) -> str:
        return f"DateTime('{self.zone}')" if self.zone else "DateTime"


@dataclass(frozen=True, slots=True)
class DateTime64:
    """A point in time with fractions of a second."""

    precision: int = 3
    """Decimal digits of a second, 0 … 9."""
    zone: str | None = None
    """The time zone for parsing and display; None: UTC."""

    def __str__(self) -> str:
        zone = f", '{self.zone}'" if self.zone else ""
        return f"DateTime64({self.precision}{zone})"


@dataclass(frozen=True, slots=True)
class Enum:
    """Enum8 or Enum16, kept as its text."""

    bits: int
    values: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        names = ((name.replace("\\", "\\\\").replace("'", "\\'"), number) for name, number in self.values)
        values = ", ".join(f"'{name}' = {number}" for name, number in names)
        return f"Enum{self.bits}({values})"


@dataclass(frozen=True, slots=True)
class Array:
    """A list of values of one type."""

    of: Type

    def __str__(self) -> str:
        return f"Array({self.of})"


@dataclass(frozen=True, slots=True)
class Tuple:
    """A fixed number of values; each field has a type and may have a name. A tuple without fields represents
    ClickHouse's Nothing, the type without values."""

    fields: tuple[tuple[str | None, Type], ...]

    def __str__(self) -> str:
        if not self.fields:
            return "Nothing"
        return f"Tuple({', '.join(f'{_quote_field_name(name)} {of}' if name else str(of) for name, of in self.fields)})"


@dataclass(frozen=True, slots=True)
class Map:
    """Keys of one type to values of another."""

    key: Type
    value: Type

    def __str__(self) -> str:
        return f"Map({self.key}, {self.value})"


@dataclass(frozen=True, slots=True)
class Nullable:
    """A value or NULL."""

    of: Type

    def __str__(self) -> str:
        return f"Nullable({self.of})"


@dataclass(frozen=True, slots=True)
class LowCardinality:
    """The same values as `of`; a hint for dictionary encoding."""

    of: Type

    def __str__(self) -> str:
        return f"LowCardinality({self.of})"


@dataclass(frozen=True, slots=True)
class Json:
    """A JSON document, kept as the text that `json_documents` gives it."""

    paths: tuple[tuple[str, Type], ...] = ()
    """Each path that has a type of its own, in their order; it is there in every document."""
    skipped: tuple[str, ...] = ()
    """Paths that are left out, in their order, with all below them."""
    patterns: tuple[str, ...] = ()
    """A path in which one of these patterns is found is left out."""

    def __str__(self) -> str:
        parts = [f"{_quote_field_name(path)} {of}" for path, of in self.paths]
        parts += [f"SKIP {_quote_field_name(path)}" for path in self.skipped]
        parts += ["SKIP REGEXP '" + each.replace("\\", "\\\\").replace("'", "\\'") + "'" for each in self.patterns]
        return f"JSON({', '.join(parts)})" if parts else "JSON"

    def rules(self) -> str:
        """What is said of the paths, as `path_rules.rules_of` reads it."""
        if not (self.paths or self.skipped or self.patterns):
            return ""
        return write_rules([(path, str(of)) for path, of in self.paths], self.skipped, self.patterns)


@dataclass(frozen=True, slots=True)
class Dynamic:
    """A value in a JSON document, or none: its type is only known for each row. No column has this type."""

    also: tuple[Type, ...] = field(default=(), compare=False)
    """The types that a value has where an expression made it, which documents may not have: `coalesce(data.a, 0)`."""

    def __str__(self) -> str:
        return "Dynamic"


@dataclass(frozen=True, slots=True)
class IPv4:
    """An IPv4 address, kept as its text."""

    def __str__(self) -> str:
        return "IPv4"


@dataclass(frozen=True, slots=True)
class IPv6:
    """An IPv6 address, kept as its text."""

    def __str__(self) -> str:
        return "IPv6"


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """The mergeable state of an aggregate: the result of `<function>State` and the argument of `<function>Merge`."""

    function: str
    arguments: tuple[Type, ...] = ()
    parameters: tuple[str, ...] = ()

    def __str__(self) -> str:
        parameters = f"({', '.join(self.parameters)})" if self.parameters else ""
        return f"AggregateFunction({', '.join([self.function + parameters, *map(str, self.arguments)])})"


@dataclass(frozen=True, slots=True)
class SimpleAggregateFunction:
    """A plain value that merges by `function` (sum, min, max, any …)."""

    function: str
    of: Type

    def __str__(self) -> str:
        return f"SimpleAggregateFunction({self.function}, {self.of})"


Type: TypeAlias = Union[
    Int,
    Float,
    Decimal,
    Bool,
    String,
    FixedString,
    UUID,
    Date,
    DateTime,
    DateTime64,
    Enum,
    Array,
    Tuple,
    Map,
    Nullable,
    LowCardinality,
    Json,
    Dynamic,
    IPv4,
    IPv6,
    AggregateFunction,
    SimpleAggregateFunction,
]
IN_LOW_CARDINALITY = (String, FixedString, Int, Float, Bool, Date, DateTime, UUID, IPv4, IPv6)
"""The types that LowCardinality may contain; their Nullable, too."""
LONGEST_FIXED_STRING = 0xFFFFFF
"""In bytes."""


def is_nullable(of: Type) -> bool:
    """Whether a column of this type may hold NULL."""
    match of:
        case Nullable():
            return True
        case LowCardinality(inner) | SimpleAggregateFunction(_, inner):
            return is_nullable(inner)
        case _:
            return False


def unwrap_type(of: Type) -> Type:
    """The type without Nullable, LowCardinality and SimpleAggregateFunction around it."""
    match of:
        case Nullable(inner) | LowCardinality(inner) | SimpleAggregateFunction(_, inner):
            return unwrap_type(inner)
        case _:
            return of


def has_json(of: Type) -> bool:
    """Whether values of this type are JSON documents, or have some inside."""
    return has_part(of, Json)


def has_part(of: Type, kind: type[Type]) -> bool:
    """Whether a type is of this kind, or has a type of it inside."""
    match of:
        case _ if isinstance(of, kind):
            return True
        case Nullable(inner) | LowCardinality(inner) | SimpleAggregateFunction(_, inner) | Array(inner):
            return has_part(inner, kind)
        case Map(key, value):
            return has_part(key, kind) or has_part(value, kind)
        case Tuple(fields):
            return any(has_part(inner, kind) for _, inner in fields)
        case _:
            return False


def count_levels(of: Type) -> int:
    """How many arrays, maps and tuples are inside each other."""
    match of:
        case Nullable(inner) | LowCardinality(inner) | SimpleAggregateFunction(_, inner):
            return count_levels(inner)
        case Array(inner):
            return 1 + count_levels(inner)
        case Map(key, value):
            return 1 + max(count_levels(key), count_levels(value))
        case Tuple(fields):
            return 1 + max((count_levels(inner) for _, inner in fields), default=0)
        case _:
            return 0


def has_list_in_key(of: Type) -> bool:
    """Whether a Map in the type has an Array or a Map in its keys, which Python cannot hold as keys."""
    match of:
        case Map(key, value):
            return has_part(key, Array) or has_part(key, Map) or has_list_in_key(value)
        case Nullable(inner) | Array(inner):
            return has_list_in_key(inner)
        case Tuple(fields):
            return any(has_list_in_key(inner) for _, inner in fields)
        case _:
            return False


def has_fields_alike(of: Type) -> bool:
    """Whether a tuple in the type has fields whose names differ in case only."""
    match of:
        case Nullable(inner) | Array(inner):
            return has_fields_alike(inner)
        case Map(_, value):
            return has_fields_alike(value)
        case Tuple(fields):
            names = [name.casefold() for name, _ in fields if name]
            return len(set(names)) < len(names) or any(has_fields_alike(inner) for _, inner in fields)
        case _:
            return False


_RESERVED = ("all", "distinct", "false", "from", "inf", "nan", "null", "select", "table", "true", "values")
"""Words that ClickHouse writes in back-quotes when they are names."""


def _quote_field_name(name: str) -> str:
    """The name of a tuple field as ClickHouse spells it: in back-quotes unless it is a plain word."""
    if name.isascii() and name.isidentifier() and name.lower() not in _RESERVED:
        return name
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"
