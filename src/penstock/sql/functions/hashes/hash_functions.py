"""Hashes: cityHash64, sipHash64, xxHash64, intHash64, MD5, SHA256, CRC32, javaHash

The results have the same bits as ClickHouse's (src/Functions/FunctionsHashing.h). What Spark does not show the bytes of
(floats), and arrays and maps, are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.model import types as t
from penstock.sql.expr.bind_once import bind_once
from penstock.sql.expr.overflow import WrappingArithmetic, as_unsigned, bits_literal
from penstock.sql.expr.typed import TypedSql, as_spark, nullable_if_any, typed_sql, unless_null
from penstock.sql.functions.function import UINT32, UINT64, BadArguments, Function
from penstock.sql.functions.hashes.cityhash import city_hashes, combine_hashes
from penstock.sql.functions.hashes.hash_values import hashed_values
from penstock.sql.functions.hashes.siphash import hash_pair_words, number_words, sip_hash, string_words

_INT_HASH_SEED = 0x4CF2D2BAAE6DA887
"""The constant of ClickHouse's IntHash64Impl (src/Functions/FunctionsHashing.h)."""
_MURMUR_FIRST, _MURMUR_SECOND = 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53
"""The multipliers of fmix64 in MurmurHash3."""
_SEED_ZERO = "-365884300664092260L"
"""Spark's xxhash64 has the seed 42, and each argument's hash is the seed of the next: the hash of this number is 0."""


def _bits_as_bigint(value: TypedSql, name: str) -> str:
    """The bytes of a number as the lowest ones of a BIGINT. Raises BadArguments for other types."""
    match value.bare:
        case t.Bool():
            return f"CAST({value.sql} AS BIGINT)"
        case t.Int() as of:
            if value.spark.startswith("DECIMAL"):
                wrapped = f"{value.sql} - {2**64}"
                return f"CAST(if({value.sql} > {2**63 - 1}, {wrapped}, {value.sql}) AS BIGINT)"
            number = value.sql if value.spark == "BIGINT" else f"CAST({value.sql} AS BIGINT)"
            return f"({number} & {2**of.bits - 1}L)" if of.signed and of.bits < 64 else number
        case t.Date(wide=False):
            return f"CAST(unix_date({value.sql}) AS BIGINT)"
        case t.DateTime():
            return f"unix_seconds({value.sql})"
        case _:
            raise BadArguments(
                f"`{name}` of a {value.type} is not supported",
                "toString(…) of it, if the hash need not be the same in ClickHouse",
            )


def _int_hash(sql: str) -> str:
    """ClickHouse's IntHash64Impl: the finalizer of MurmurHash3 (fmix64) on the number XORed with a seed."""
    do = WrappingArithmetic()
    seeded = f"({sql} ^ {bits_literal(_INT_HASH_SEED)})"
    return do.xor_shift(
        do.times(do.xor_shift(do.times(do.xor_shift(seeded, 33), _MURMUR_FIRST), 33), _MURMUR_SECOND), 33
    )


def _int_hash_64(values: Sequence[TypedSql]) -> TypedSql:
    """A signed number is extended to 64 bits."""
    value = values[0]
    if not isinstance(value.bare, (t.Int, t.Bool, t.Date, t.DateTime)):
        raise BadArguments(f"`intHash64` needs an integer, this is {value.type}")
    wide = isinstance(value.bare, t.Int) and value.bare.signed
    bits = as_spark(value, "BIGINT") if wide else _bits_as_bigint(value, "intHash64")
    return typed_sql(as_unsigned(_int_hash(bits)), nullable_if_any(UINT64, list(values)))


def _is_string(value: TypedSql) -> bool:
    return isinstance(value.bare, (t.String, t.FixedString))


def _city_hash(values: Sequence[TypedSql]) -> TypedSql:
    """Each argument's hash is combined with that of the arguments before it."""
    of = nullable_if_any(UINT64, list(values))
    values = [part for value in values for part in hashed_values(value, "cityHash64")]
    texts = [value for value in values if _is_string(value)]
    numbers = [value for value in values if not _is_string(value)]
    hashes = city_hashes([value.sql for value in texts]) if texts else ""
    mixed = ", ".join(_int_hash(_bits_as_bigint(value, "cityHash64")) for value in numbers)
    if len(values) == 1:
        return typed_sql(as_unsigned(mixed or f"{hashes}[0]"), of)
    found = f"concat({hashes}, array({mixed}))" if texts and numbers else hashes or f"array({mixed})"
    order = [*texts, *numbers]
    places = [next(place for place, other in enumerate(order) if other is value) for value in values]
    rest = ", ".join(f"` p`[{place}]" for place in places[1:])
    fold = f"aggregate(array({rest}), ` p`[{places[0]}], (` a`, ` h`) -> {combine_hashes('` a`', '` h`')})"
    return typed_sql(as_unsigned(bind_once(found, "` p`", fold)), of)


def _sip_hash_function(name: str, halves: int) -> Function:
    """64 bits (one half), or 128 bits (two halves) as raw bytes. With several arguments each hash is computed after the
    hash of those before it."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        parts = [part for value in values for part in hashed_values(value, name)]
        words = ", ".join(_sip_words(part, name) for part in parts)
        one = f"if(` x` IS NULL, NULL, {sip_hash('` x`', halves)})"
        hashes = f"transform(array({words}), ` x` -> {one})"
        if len(parts) == 1:
            return _sip_result(f"{hashes}[0]", values, halves)
        both = f"if(` h` IS NULL OR ` e` IS NULL, NULL, {hash_pair_words('` h`', '` e`', halves)})"
        step = bind_once(both, "` x`", one)
        fold = f"aggregate(slice(` p`, 2, {len(parts) - 1}), ` p`[0], (` h`, ` e`) -> {step})"
        return _sip_result(f"transform(array({hashes}), ` p` -> {fold})[0]", values, halves)

    return Function(name, (1, 64), ("any",), build)


def _sip_words(value: TypedSql, name: str) -> str:
    """The words of one argument in SipHash: a string, or a number in the size of its type."""
    if _is_string(value):
        return string_words(value.sql)
    match value.bare:
        case t.Bool():
            size = 1
        case t.Int(bits):
            size = bits // 8
        case t.Date():
            size = 2
        case _:
            size = 4
    words = number_words(_bits_as_bigint(value, name), size)
    return unless_null(words, value)


def _sip_result(sql: str, values: Sequence[TypedSql], halves: int) -> TypedSql:
    if halves == 1:
        return typed_sql(as_unsigned(f"{sql}.l"), nullable_if_any(UINT64, list(values)))
    digits = "concat(lpad(hex(` x`.h), 16, '0'), lpad(hex(` x`.l), 16, '0'))"
    raw = f"CAST(unhex(array_join(transform(sequence(31, 1, -2), ` i` -> substring({digits}, ` i`, 2)), '')) AS STRING)"
    shown = bind_once(sql, "` x`", f"if(` x` IS NULL, NULL, {raw})")
    return typed_sql(shown, nullable_if_any(t.FixedString(16), list(values)))


def _xx_hash(values: Sequence[TypedSql]) -> TypedSql:
    sql = as_unsigned(f"xxhash64({_SEED_ZERO}, {values[0].sql})")
    sql = unless_null(sql, values[0])
    return typed_sql(sql, nullable_if_any(UINT64, list(values)))


def _half_md5(values: Sequence[TypedSql]) -> TypedSql:
    digits = f"substring(md5(CAST({values[0].sql} AS BINARY)), 1, 16)"
    return typed_sql(f"CAST(conv({digits}, 16, 10) AS DECIMAL(20,0))", nullable_if_any(UINT64, list(values)))


def _digest_function(name: str, spark: str, size: int) -> Function:
    """The raw bytes of a digest as a FixedString."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        digits = spark.format(f"CAST({values[0].sql} AS BINARY)")
        return typed_sql(f"CAST(unhex({digits}) AS STRING)", nullable_if_any(t.FixedString(size), list(values)))

    return Function(name, (1, 1), ("bytes",), build)


def _crc32(values: Sequence[TypedSql]) -> TypedSql:
    return typed_sql(f"crc32(CAST({values[0].sql} AS BINARY))", nullable_if_any(UINT32, list(values)))


def _java_hash_function(name: str, last: Callable[[str], str]) -> Function:
    """Java's String.hashCode, over signed bytes and in 32 bits; `last` makes the result of it."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        digits = f"hex({values[0].sql})"
        byte = "CAST(conv(substring(` x`, 2 * ` i` - 1, 2), 16, 10) AS BIGINT)"
        step = f"(` a` * 31L + {byte} - if({byte} > 127, 256L, 0L)) & 4294967295L"
        fold = f"aggregate(sequence(1, length(` x`) DIV 2), 0L, (` a`, ` i`) -> {step})"
        sql = bind_once(digits, "` x`", f"if(` x` = '', 0L, {fold})")
        return typed_sql(f"CAST({last(sql)} AS INT)", nullable_if_any(t.Int(32), list(values)))

    return Function(name, (1, 1), ("text",), build)


FUNCTIONS: tuple[Function, ...] = (
    Function("cityHash64", (1, 64), ("any",), _city_hash),
    _sip_hash_function("sipHash64", 1),
    _sip_hash_function("sipHash128", 2),
    Function("xxHash64", (1, 1), ("bytes",), _xx_hash),
    Function("intHash64", (1, 1), ("any",), _int_hash_64),
    Function("halfMD5", (1, 1), ("bytes",), _half_md5),
    _digest_function("MD5", "md5({0})", 16),
    _digest_function("SHA1", "sha1({0})", 20),
    _digest_function("SHA224", "sha2({0}, 224)", 28),
    _digest_function("SHA256", "sha2({0}, 256)", 32),
    _digest_function("SHA384", "sha2({0}, 384)", 48),
    _digest_function("SHA512", "sha2({0}, 512)", 64),
    Function("CRC32", (1, 1), ("bytes",), _crc32),
    _java_hash_function("javaHash", lambda sql: f"shiftright(shiftleft({sql}, 32), 32)"),
    _java_hash_function("hiveHash", lambda sql: f"({sql} & 2147483647L)"),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ("CRC32",)
