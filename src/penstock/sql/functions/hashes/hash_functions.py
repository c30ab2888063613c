"""Hashes: cityHash64, sipHash64, xxHash64, murmurHash3_64, intHash64, MD5, SHA256, CRC32, javaHash

The results have the same bits as ClickHouse's (src/Functions/FunctionsHashing.h). JSON and aggregate states are
refused. Every NaN has the hash of ClickHouse's `nan`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.model import types as t
from penstock.sql.expr.typed import TypedSql, as_spark, nullable_if_any, typed_sql
from penstock.sql.functions.function import UINT32, UINT64, BadArguments, Function
from penstock.sql.functions.hashes.hash_family import (
    FAMILIES,
    HashFamily,
    as_unsigned,
    hash_number,
    hash_number_32,
    number_bits,
)
from penstock.sql.functions.hashes.hash_values import hash_values

_ARGUMENTS = (1, 64)


def _hash_function(family: HashFamily) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        return family.result(hash_values(values, family), list(values))

    return Function(family.name, _ARGUMENTS, ("any",), build)


def _int_hash_function(name: str, build_hash: Callable[[str], TypedSql]) -> Function:
    """The hash of an integer, a date or a time. A signed number is extended to 64 bits."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        found = build_hash(_bits(values[0], name))
        return typed_sql(found.sql, nullable_if_any(found.type, list(values)))

    return Function(name, (1, 1), ("any",), build)


def _bits(value: TypedSql, name: str) -> str:
    match value.bare:
        case t.Int(_, signed) as of:
            return as_spark(value, "BIGINT") if signed else number_bits(value, of)
        case t.Bool():
            return as_spark(value, "BIGINT")
        case t.Date():
            return f"CAST(unix_date({value.sql}) AS BIGINT)"
        case t.DateTime():
            return f"unix_seconds({value.sql})"
        case _:
            raise BadArguments(f"`{name}` needs an integer, this is {value.type}")


def _digest_function(name: str, spark: str, size: int) -> Function:
    """The raw bytes of a digest as a FixedString."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        digits = spark.format(f"CAST({values[0].sql} AS BINARY)")
        return typed_sql(f"CAST(unhex({digits}) AS STRING)", nullable_if_any(t.FixedString(size), list(values)))

    return Function(name, (1, 1), ("bytes",), build)


def _crc32(values: Sequence[TypedSql]) -> TypedSql:
    return typed_sql(f"crc32(CAST({values[0].sql} AS BINARY))", nullable_if_any(UINT32, list(values)))


def _java_hash_function(name: str, formula: str) -> Function:
    """Java's String.hashCode, over signed bytes and in 32 bits, which stands for `{0}`."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        sql = formula.format(f"penstock_java_hash({values[0].sql})")
        return typed_sql(sql, nullable_if_any(t.Int(32), list(values)))

    return Function(name, (1, 1), ("text",), build)


FUNCTIONS: tuple[Function, ...] = (
    *map(_hash_function, FAMILIES),
    _int_hash_function("intHash64", lambda bits: typed_sql(as_unsigned(hash_number(bits)), UINT64)),
    _int_hash_function("intHash32", lambda bits: typed_sql(hash_number_32(bits), UINT32)),
    _digest_function("MD5", "md5({0})", 16),
    _digest_function("SHA1", "sha1({0})", 20),
    _digest_function("SHA224", "sha2({0}, 224)", 28),
    _digest_function("SHA256", "sha2({0}, 256)", 32),
    _digest_function("SHA384", "sha2({0}, 384)", 48),
    _digest_function("SHA512", "sha2({0}, 512)", 64),
    Function("CRC32", (1, 1), ("bytes",), _crc32),
    _java_hash_function("javaHash", "{0}"),
    _java_hash_function("hiveHash", "({0} & 2147483647)"),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ("CRC32",)
