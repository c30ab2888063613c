"""Bit operations: bitAnd, bitOr, bitShiftLeft, bitRotateLeft, bitTest, bitCount

An integer is computed as the bits of its type in a BIGINT (two's complement); the result is a number of its type again.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.conversions.numbers import wrap_integer
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.overflow import TWO_64
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import TypedSql, as_spark, computed_type, nullable_if_any, typed_sql, unless_null
from penstock.sql.functions.function import MAX_ARGUMENTS, STRING, UINT8, UINT64, BadArguments, Function


def _int_type(value: TypedSql) -> t.Int:
    of = computed_type(value.bare)
    return of if isinstance(of, t.Int) else UINT8


def _bits_as_bigint(value: TypedSql) -> str:
    """The bits as a BIGINT, sign-extended from those of the type."""
    if value.spark == "DECIMAL(20,0)":
        return bind_if_long(value.sql, lambda v: wrap_integer(v, value.spark, t.Int(64)))
    return as_spark(value, "BIGINT")


def _number_from_bits(sql: str, of: t.Int) -> str:
    """The lowest bits of a BIGINT as a number of the type."""
    return bind_if_long(sql, lambda v: wrap_integer(v, "BIGINT", of))


def _binary_function(name: str, operator: str) -> Function:
    """bitAnd, bitOr and bitXor: the result has the larger size, and is signed if either argument is."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        a, b = map(_int_type, values)
        of = t.Int(max(a.bits, b.bits), a.signed or b.signed)
        sql = f"({_bits_as_bigint(values[0])} {operator} {_bits_as_bigint(values[1])})"
        fits = a.signed == b.signed and value_type(of) != "DECIMAL(20,0)"
        return typed_sql(
            f"CAST({sql} AS {value_type(of)})" if fits else _number_from_bits(sql, of),
            nullable_if_any(of, list(values)),
        )

    return Function(name, (2, 2), ("integer",), build)


def _bit_not(values: Sequence[TypedSql]) -> TypedSql:
    of = _int_type(values[0])
    return typed_sql(_number_from_bits(f"(~ {_bits_as_bigint(values[0])})", of), nullable_if_any(of, list(values)))


def _shift_distance(value: TypedSql) -> str:
    """The literal number of places. Raises BadArguments if it is negative or not a literal."""
    if isinstance(value.constant, int) and value.constant < 0:
        raise BadArguments("the number of bits to shift must not be negative")
    if not isinstance(value.constant, int):
        raise BadArguments("the number of bits to shift must be a literal")
    return str(value.constant)


def _shifted_type(values: Sequence[TypedSql]) -> t.Int:
    """ClickHouse shifts and rotates the bits of a type as large as the larger one of both arguments."""
    a, b = map(_int_type, values)
    return t.Int(max(a.bits, b.bits), a.signed or b.signed)


def _widened_bits(value: TypedSql, of: t.Int) -> str:
    """The bits of a value as those of a type that is at least as large, as a BIGINT."""
    bits, own = _bits_as_bigint(value), _int_type(value)
    if own.signed == of.signed or own.bits < of.bits:
        return bits
    return f"CAST({_number_from_bits(bits, of)} AS BIGINT)"


def _shift_function(name: str, *, left: bool) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        of = _shifted_type(values)
        places, bits = int(_shift_distance(values[1])), _widened_bits(values[0], of)
        if places >= _int_type(values[0]).bits:
            sql = f"if({values[0].sql} IS NULL, NULL, 0L)" if values[0].nullable else "0L"
        elif left:
            sql = f"shiftleft({bits}, {places})"
        else:
            sql = f"{'shiftright' if of.signed else 'shiftrightunsigned'}({bits}, {places})"
        return typed_sql(_number_from_bits(sql, of), nullable_if_any(of, list(values)))

    return Function(name, (2, 2), ("integer",), build)


def _rotation_function(name: str, *, left: bool) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        of = _shifted_type(values)
        places, bits = int(_shift_distance(values[1])) % of.bits, _widened_bits(values[0], of)
        places = places if left else (of.bits - places) % of.bits
        if places == 0:
            return typed_sql(_number_from_bits(bits, of), nullable_if_any(of, list(values)))
        low = bits if of.bits == 64 else f"({bits} & {2**of.bits - 1}L)"
        sql = bind_if_long(low, lambda v: f"(shiftleft({v}, {places}) | shiftrightunsigned({v}, {of.bits - places}))")
        return typed_sql(_number_from_bits(sql, of), nullable_if_any(of, list(values)))

    return Function(name, (2, 2), ("integer",), build)


def _bit_test_function(name: str, joined: str) -> Function:
    """bitTest, bitTestAll and bitTestAny with literal places."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        of = _int_type(values[0])
        places = [value.constant for value in values[1:]]
        if not all(isinstance(place, int) and 0 <= place < of.bits for place in places):
            raise BadArguments(f"the bit positions of `{name}` must be literals from 0 to {of.bits - 1}")
        mask = sum({2 ** int(place) for place in places if place is not None})
        shown = f"{mask}L" if mask < 2**63 else f"({mask - 2**64}L)" if mask > 2**63 else "shiftleft(1L, 63)"
        sql = f"(({_bits_as_bigint(values[0])} & {shown}) {'<> 0' if joined == 'any' else f'= {shown}'})"
        return TypedSql(sql, nullable_if_any(UINT8, list(values)), "BOOLEAN")

    return Function(name, (2, 2 if joined == "one" else MAX_ARGUMENTS), ("integer",), build)


def _bit_count(values: Sequence[TypedSql]) -> TypedSql:
    of = _int_type(values[0])
    bits = _bits_as_bigint(values[0])
    masked = f"({bits} & {2**of.bits - 1}L)" if of.signed and of.bits < 64 else bits
    return typed_sql(f"CAST(bit_count({masked}) AS INT)", nullable_if_any(UINT8, list(values)))


def _bit_hamming_distance(values: Sequence[TypedSql]) -> TypedSql:
    sql = f"bit_count({_bits_as_bigint(values[0])} ^ {_bits_as_bigint(values[1])})"
    return typed_sql(f"CAST({sql} AS INT)", nullable_if_any(UINT8, list(values)))


def _positions(value: TypedSql) -> str:
    """The places of the bits that are 1."""
    of = _int_type(value)
    every = f"sequence(0, {of.bits - 1})"
    return bind_if_long(_bits_as_bigint(value), lambda v: f"filter({every}, ` i` -> getbit({v}, ` i`) = 1)")


def _bit_value(of: t.Int) -> str:
    """The number that has the bit of the place ` i` only; the last bit of a signed integer is the sign."""
    power = "shiftleft(1L, ` i`)"
    if of.signed:
        return f"if(` i` = {of.bits - 1}, - {power}, {power})" if of.bits < 64 else power
    return power if of.bits < 64 else f"pmod(CAST({power} AS DECIMAL(20,0)), {TWO_64})"


def _bit_values(values: Sequence[TypedSql]) -> TypedSql:
    of = _int_type(values[0])
    if isinstance(values[0].bare, t.Bool):
        raise BadArguments("`bitmaskToArray` of a Bool is not supported", "toUInt8(…)")
    each = f"CAST({_bit_value(of)} AS {value_type(of)})"
    return typed_sql(f"transform({_positions(_needed(values[0]))}, ` i` -> {each})", t.Array(of))


def _bit_places(values: Sequence[TypedSql]) -> TypedSql:
    each = f"CAST(` i` AS {value_type(UINT64)})"
    return typed_sql(f"transform({_positions(_needed(values[0]))}, ` i` -> {each})", t.Array(UINT64))


def _bit_list(values: Sequence[TypedSql]) -> TypedSql:
    each = f"CAST({_bit_value(_int_type(values[0]))} AS STRING)"
    shown = f"array_join(transform({_positions(values[0])}, ` i` -> {each}), ',')"
    return typed_sql(unless_null(shown, values[0]), nullable_if_any(STRING, list(values)))


def _needed(value: TypedSql) -> TypedSql:
    """Raises BadArguments for a value that may be NULL: ClickHouse then reads what is below the NULL."""
    if value.nullable:
        raise BadArguments(f"the bits of {value.type} are not supported", "assumeNotNull")
    return value


FUNCTIONS: tuple[Function, ...] = (
    _binary_function("bitAnd", "&"),
    _binary_function("bitOr", "|"),
    _binary_function("bitXor", "^"),
    Function("bitNot", (1, 1), ("integer",), _bit_not),
    _shift_function("bitShiftLeft", left=True),
    _shift_function("bitShiftRight", left=False),
    _rotation_function("bitRotateLeft", left=True),
    _rotation_function("bitRotateRight", left=False),
    _bit_test_function("bitTest", "one"),
    _bit_test_function("bitTestAll", "all"),
    _bit_test_function("bitTestAny", "any"),
    Function("bitCount", (1, 1), ("integer",), _bit_count),
    Function("bitHammingDistance", (2, 2), ("integer",), _bit_hamming_distance),
    Function("bitmaskToList", (1, 1), ("integer",), _bit_list),
    Function("bitmaskToArray", (1, 1), ("integer",), _bit_values),
    Function("bitPositionsToArray", (1, 1), ("integer",), _bit_places),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
