"""Arguments of functions: literals, numbers as Spark's INT and BIGINT, bytes, and types of array elements.

Takes `TypedSql` arguments and returns literal values, SQL or types. Elements that Spark would compare or sort otherwise
than ClickHouse are refused here with BadArguments.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.errors import SqlglotError
from sqlglot.tokens import TokenType

from penstock.errors import nearest_name
from penstock.model import types as t
from penstock.model.types import Type
from penstock.parse.type_syntax.type_arguments import known_zones
from penstock.sql.expr.bind_once import bind_if_long, bind_once
from penstock.sql.expr.common_type import supertype
from penstock.sql.expr.dates import as_common_type
from penstock.sql.expr.typed import TypedSql, as_spark, text
from penstock.sql.functions.function import BadArguments
from penstock.sql.spark_text import quote_identifier, string_literal, tokenize_spark

_MAX_INT = 2**31 - 1
MOST_ELEMENTS = 1_000_000
"""The most elements, or letters, that a function adds to a value because a row says so."""
_STORED_AS_STRING = (t.Enum, t.UUID, t.IPv4, t.IPv6, t.Json, t.Dynamic)


def literal_string(value: TypedSql, what: str) -> str:
    """The value of a string literal; `what` names the argument in the message. Raises BadArguments for anything
    else."""
    if not isinstance(value.constant, str):
        raise BadArguments(f"{what} must be a string literal")
    return value.constant


def literal_strings(value: TypedSql, what: str) -> list[TypedSql]:
    """The values of a literal array of strings. Raises BadArguments for anything else."""
    try:
        tokens = tokenize_spark(value.sql)
    except SqlglotError:
        tokens = []
    found = [text(token.text) for token in tokens if token.token_type == TokenType.STRING]
    if not found or value.sql != f"array({', '.join(each.sql for each in found)})":
        raise BadArguments(f"{what} must be a literal array of strings")
    return found


def literal_integer(value: TypedSql, what: str) -> int:
    """The value of an integer literal. Raises BadArguments for anything else."""
    if not isinstance(value.constant, int) or isinstance(value.constant, bool):
        raise BadArguments(f"{what} must be a literal number")
    return value.constant


def zone_argument(values: Sequence[TypedSql], place: int) -> str | None:
    """The time zone that the literal argument at `place` names, None without such an argument. Raises BadArguments."""
    return literal_zone(values[place]) if len(values) > place else None


def literal_zone(value: TypedSql) -> str:
    """The time zone that a string literal names. Raises BadArguments where there is no such zone."""
    zone = literal_string(value, "the time zone")
    if zone != "UTC" and zone not in known_zones():  # to list all zones takes longer than most queries
        near = nearest_name(zone, known_zones())
        raise BadArguments(f"unknown time zone '{zone}'", f"did you mean '{near}'?" if near else "a name such as 'UTC'")
    return zone


def precision_argument(values: Sequence[TypedSql], place: int) -> int:
    """The digits of a second that a DateTime64 has: the literal argument at `place`, by default 3. Raises BadArguments
    unless it is from 0 to 9."""
    precision = values[place].constant if len(values) > place else 3
    if not isinstance(precision, int) or not 0 <= precision <= 9:
        raise BadArguments("the precision must be a literal from 0 to 9")
    return precision


def as_spark_int(value: TypedSql) -> str:
    """An integer as Spark's INT; one out of its range becomes the nearest INT."""
    if value.spark == "INT":
        return value.sql
    if isinstance(value.constant, int) and abs(value.constant) <= _MAX_INT:
        return str(int(value.constant))
    if value.spark == "BOOLEAN":
        return f"CAST({value.sql} AS INT)"
    if value.spark == "BIGINT":
        nearest = f"CAST(greatest(least({value.sql}, {_MAX_INT}), -{_MAX_INT}) AS INT)"
        return f"if({value.sql} IS NULL, NULL, {nearest})" if value.nullable else nearest
    nearest = bind_if_long(f"CAST({value.sql} AS DECIMAL(20,0))", _uint64_as_int)
    return f"if({value.sql} IS NULL, NULL, {nearest})" if value.nullable else nearest


def array_position(place: TypedSql | int) -> str:
    """An integer as a position for `try_element_at`: NULL for 0, and for the least INT, at which Spark reads memory
    far from the array, which ends its process."""
    if isinstance(place, TypedSql):
        found = f"nullif({as_spark_int(place)}, 0)"
        return f"nullif({found}, {-_MAX_INT - 1})" if place.spark == "INT" and place.constant is None else found
    return str(min(max(place, -_MAX_INT), _MAX_INT)) if place else "CAST(NULL AS INT)"


def checked_size(sql: str, size: str, given: Sequence[TypedSql]) -> str:
    """`sql`, but an error where the SQL `size` is above MOST_ELEMENTS, unless all `given` numbers are literals: a row
    must not ask for more than there is memory, which would end the process with every stream in it."""
    if all(value.constant is not None for value in given):
        return sql
    return f"if({size} > {MOST_ELEMENTS}, raise_error('a size above {MOST_ELEMENTS}'), {sql})"


def empty_if_null(array: str, value: TypedSql, spark: str = "ARRAY<STRING>") -> str:
    """The array, or an empty one where `value` is NULL: arrays are never NULL."""
    return f"coalesce({array}, CAST(array() AS {spark}))" if value.nullable else array


def limit_parts(array: str, values: Sequence[TypedSql], place: int = 2) -> str:
    """The first elements of an array, as many as the literal argument at `place` says; all of them for 0 and less."""
    if len(values) <= place:
        return array
    most = literal_integer(values[place], "the largest number of parts")
    return array if most <= 0 else f"slice({array}, 1, {min(most, _MAX_INT)})"


def to_binary(sql: str) -> str:
    """A string as Spark's BINARY, so that functions on it count bytes."""
    return f"CAST({sql} AS BINARY)"


def binary_to_string(sql: str) -> str:
    """Bytes as a string; they are kept as they are, valid UTF-8 or not."""
    return f"CAST({sql} AS STRING)"


def template_literal(value: str) -> str:
    """A string literal for a template of `template_function`, in which braces are doubled."""
    return string_literal(value).replace("{", "{{").replace("}", "}}")


def element_type(value: TypedSql) -> Type:
    """The type of an array's elements. Raises BadArguments if the value is not an array."""
    if not isinstance(value.bare, t.Array):
        raise BadArguments(f"expected an Array, this is {value.type}")
    return value.bare.of


def nested_types(of: Type) -> list[Type]:
    """The types that a type contains, at any depth, without the type itself."""
    match t.unwrap_type(of):
        case t.Array(inner):
            return [inner, *nested_types(inner)]
        case t.Tuple(fields):
            return [part for _, inner in fields for part in (inner, *nested_types(inner))]
        case t.Map(key, value):
            return [key, value, *nested_types(key), *nested_types(value)]
        case _:
            return []


def check_equality(of: Type) -> None:
    """Raises BadArguments for elements that contain floats: NaN differs from itself in ClickHouse, but not in Spark."""
    if any(isinstance(t.unwrap_type(part), t.Float) for part in nested_types(of)):
        raise BadArguments(f"elements of {of} cannot be compared exactly", "arrays of plain values")


def check_order(of: Type) -> None:
    """Raises BadArguments for elements that Spark orders otherwise than ClickHouse."""
    for part in (of, *nested_types(of)):
        if isinstance(t.unwrap_type(part), _STORED_AS_STRING):
            raise BadArguments(f"the order of {t.unwrap_type(part)} inside an array is not supported", "toString(x)")
    check_equality(of)
    if any(t.is_nullable(part) for part in nested_types(of)):
        raise BadArguments(f"the order of {of} is not supported", "elements without NULL inside")


def cast_to_common_array(values: Sequence[TypedSql]) -> tuple[list[str], Type]:
    """The SQL of arrays cast to one type, and their element type. Raises BadArguments if there is no common type."""
    of = supertype([element_type(value) for value in values])
    if of is None:
        raise BadArguments("the arrays have no common type")
    return [as_common_type(value, t.Array(of)) for value in values], of


def zip_arrays(arrays: Sequence[str]) -> str:
    """Arrays of equal size as one array of structs with the fields `0`, `1` …; arrays of different sizes raise when
    run."""
    parts = ", ".join(f"{sql} AS {quote_identifier(str(place))}" for place, sql in enumerate(arrays))
    names = [quote_identifier(str(place)) for place in range(len(arrays))]
    fields = ", ".join(f"element_at(` s`.{name}, ` i` + 1) AS {name}" for name in names)
    same = " OR ".join(f"size(` s`.`0`) <> size(` s`.{name})" for name in names[1:])
    walk = f"transform(` s`.`0`, (` e`, ` i`) -> struct({fields}))"
    wrong = "raise_error('the arrays of a lambda have different sizes')"
    return bind_once(f"struct({parts})", "` s`", f"if({same}, {wrong}, {walk})")


def bytes_as_characters(value: str) -> str:
    """A string in which each byte of `value` is one character (ISO 8859-1)."""
    return f"decode({to_binary(value)}, 'ISO-8859-1')"


def as_bigint(value: TypedSql) -> str:
    """An integer as a BIGINT; a UInt64 out of its range becomes the greatest BIGINT."""
    if value.spark.startswith("DECIMAL") and value.constant is None:
        return f"CAST(least({value.sql}, 9223372036854775807) AS BIGINT)"
    return as_spark(value, "BIGINT")


def _uint64_as_int(v: str) -> str:
    """ClickHouse reads a UInt64 here as an Int64: the upper half of its range is negative."""
    negative = f"greatest({v} - 18446744073709551616, -{_MAX_INT})"
    return f"CAST(if({v} > 9223372036854775807, {negative}, least({v}, {_MAX_INT})) AS INT)"


def is_never_negative(value: TypedSql) -> bool:
    """Whether an integer argument cannot be below 0."""
    if isinstance(value.constant, int):
        return value.constant >= 0
    return isinstance(value.bare, t.Int) and not value.bare.signed and not value.spark.startswith("DECIMAL")
