"""The hash functions of bytes, each with what it makes of a number, of two hashes, of an array's size and of NULL.

In: SQL of bytes, numbers and hashes. Out: SQL. The names are those of Java classes of ours in
`lake/spark/jars/hashes`, which every session has. Invariant: the bits are those of ClickHouse's
src/Functions/FunctionsHashing.h, and SQL that is given is written once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from penstock.model import types as t
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Type
from penstock.sql.expr.typed import TypedSql, as_spark, nullable_if_any, typed_sql
from penstock.sql.functions.function import UINT32, UINT64
from penstock.sql.spark_text import bigint_literal

Bits = Literal[32, 64, 128]
_RESULTS: dict[Bits, Type] = {32: UINT32, 64: UINT64, 128: t.FixedString(16)}
_OF_NULL = {
    32: "64596081L",
    64: bigint_literal(14234421406067173489 - 2**64),
    128: "CAST(unhex('71A8D903DAD28AC5407AEACB96F11557') AS STRING)",
}
"""The hash of a NULL in an array or a tuple."""


@dataclass(frozen=True, slots=True)
class HashFamily:
    """One hash function; a hash of 32 or 64 bits is a BIGINT, one of 128 bits its bytes."""

    name: str
    of_bytes: str
    """Spark SQL of the hash of bytes, which stand for `{0}`."""
    bits: Bits
    combine: Callable[[str, str], str]
    """One hash of two."""
    numbers_apart: bool = False
    """Whether numbers of up to 64 bits have a hash of their own, in place of that of their bytes."""

    def hash_bytes(self, sql: str) -> str:
        return self.of_bytes.format(sql)

    def hash_number(self, bits: str, size: int) -> str:
        """The hash of a number of so many bytes, the lowest ones of a BIGINT."""
        return hash_number(bits) if self.numbers_apart else self.hash_bytes(number_bytes(bits, size))

    def hash_size(self, number: str) -> str:
        """What the number of elements adds to the hash of an array."""
        match self.bits:
            case 32:
                return hash_number_32(number)
            case 64:
                return hash_number(number)
            case 128:
                return number_bytes(hash_number_32(number), 16)

    @property
    def of_null(self) -> str:
        """What NULL in an array or a tuple adds to its hash."""
        return _OF_NULL[self.bits]

    def result(self, sql: str, values: list[TypedSql]) -> TypedSql:
        """The hash as ClickHouse's type has it."""
        return typed_sql(as_unsigned(sql) if self.bits == 64 else sql, nullable_if_any(_RESULTS[self.bits], values))


def hash_number(bits: str) -> str:
    """ClickHouse's intHash64 of a BIGINT, as the bits of a BIGINT."""
    return f"penstock_int_hash({bits})"


def hash_number_32(bits: str) -> str:
    """ClickHouse's intHash32 of a BIGINT."""
    return f"penstock_int_hash_32({bits})"


def number_bits(value: TypedSql, of: t.Int) -> str:
    """The bits of an integer as the lowest ones of a BIGINT."""
    if value.spark.startswith("DECIMAL"):
        return f"penstock_bits({value.sql})"
    number = as_spark(value, "BIGINT")
    return f"({number} & {2**of.bits - 1}L)" if of.signed and of.bits < 64 else number


def number_bytes(number: str, size: int) -> str:
    """So many bytes of a BIGINT or of a decimal without its point, the least significant first, as a string."""
    return f"penstock_bytes({number}, {size})"


def as_unsigned(bits: str) -> str:
    """A BIGINT, read as unsigned, in the form in which UInt64 is kept: a decimal."""
    return f"penstock_unsigned({bits})"


def _pair_of_numbers(first: str, second: str) -> str:
    return f"({hash_number(first)} ^ {second})"


def _pair_of_numbers_32(first: str, second: str) -> str:
    return f"({hash_number_32(first)} ^ {second})"


def _city_pair(first: str, second: str) -> str:
    return f"penstock_city_pair({first}, {second})"


def _farm_pair(first: str, second: str) -> str:
    return f"penstock_farm_pair({first}, {second})"


def _pair_of_halves(of_bytes: str) -> Callable[[str, str], str]:
    """The hash of the bytes of both."""
    return lambda first, second: of_bytes.format(f"penstock_pair({first}, {second})")


def _pair_of_texts(of_bytes: str) -> Callable[[str, str], str]:
    return lambda first, second: of_bytes.format(f"concat({first}, {second})")


_SIP, _HALF_MD5 = "penstock_sip_hash({0})", "penstock_half_md5({0})"
_SIP_128, _MURMUR_128 = "penstock_sip_hash_128({0})", "penstock_murmur3_128({0})"
FAMILIES: tuple[HashFamily, ...] = (
    HashFamily("cityHash64", "penstock_city_hash({0})", 64, _city_pair, numbers_apart=True),
    HashFamily("sipHash64", _SIP, 64, _pair_of_halves(_SIP)),
    HashFamily("sipHash128", _SIP_128, 128, _pair_of_texts(_SIP_128)),
    HashFamily("xxHash32", "penstock_xx_hash_32({0})", 32, _pair_of_numbers_32),
    HashFamily("xxHash64", "penstock_xx_hash({0})", 64, _city_pair),
    HashFamily("farmHash64", "penstock_farm_hash({0})", 64, _city_pair, numbers_apart=True),
    HashFamily("farmFingerprint64", "penstock_farm_fingerprint({0})", 64, _farm_pair, numbers_apart=True),
    HashFamily("gccMurmurHash", "penstock_gcc_murmur({0})", 64, _pair_of_numbers),
    HashFamily("kafkaMurmurHash", "penstock_kafka_murmur({0})", 32, _pair_of_numbers_32),
    HashFamily("murmurHash2_32", "penstock_murmur2_32({0})", 32, _pair_of_numbers_32),
    HashFamily("murmurHash2_64", "penstock_murmur2({0})", 64, _pair_of_numbers),
    HashFamily("murmurHash3_32", "penstock_murmur3_32({0})", 32, _pair_of_numbers_32),
    HashFamily("murmurHash3_64", "penstock_murmur3({0})", 64, _pair_of_numbers),
    HashFamily("murmurHash3_128", _MURMUR_128, 128, _pair_of_texts(_MURMUR_128)),
    HashFamily("halfMD5", _HALF_MD5, 64, _pair_of_halves(_HALF_MD5)),
)
