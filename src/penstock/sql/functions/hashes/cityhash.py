"""CityHash64 of version 1.0.2, the one that ClickHouse uses, as a Spark expression of some 20,000 characters.

Takes the SQL of strings and returns the SQL of an array of BIGINTs: the same bits as ClickHouse's for strings of any
length, NULL for NULL. The functions here follow those of city.cc (HashLen17to32, WeakHashLen32WithSeeds …).

What the lengths share (words, the last mixing) is written once, and a value used twice is bound, because Spark plans
and evaluates all that is written. Chains of values that need each other are kept short: Spark stops after 100 rounds
of resolving, and each nested lambda takes one or two.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from penstock.sql.expr.overflow import WrappingArithmetic, bind_in_chain, bits_literal

_K0, _K1, _K2, _K3 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F, 0xC949D7C7509E6557
"""k0 to k3 of city.cc."""
_MUL = 0x9DDFEA08EB382D69
"""kMul of Hash128to64."""
_BYTES, _TEXT, _WORDS, _CHUNK, _STATE = "` r`", "` x`", "` w`", "` c`", "` s`"
"""Lambda parameters: digits, the struct of the string (see `_city_hash_formula`), its words, the number of a chunk, the
state of a fold."""
_FIELDS = ("x", "y", "z", "v1", "v2", "w1", "w2")
_P, _Q, _V = "` p`", "` q`", "` v`"
_N, _M = f"{_TEXT}.n", f"{_TEXT}.m"
_LENGTH = f"CAST({_N} AS BIGINT)"
_DO = WrappingArithmetic()


def city_hashes(texts: Sequence[str]) -> str:
    """The SQL of an array of the hashes of several strings."""
    return f"transform(array({', '.join(map(reversed_hex_digits, texts))}), {_BYTES} -> {_city_hash_formula()})"


def reversed_hex_digits(text: str) -> str:
    """The bytes of a string in hexadecimal and reversed, so that a little-endian number ends with its digits."""
    return f"hex(encode(reverse(decode(CAST({text} AS BINARY), 'ISO-8859-1')), 'ISO-8859-1'))"


@lru_cache(maxsize=8)
def combine_hashes(first: str, second: str) -> str:
    """Hash128to64 of CityHash: one hash of two. (The first step XORs the high bits in again; that changes nothing.)
    It is remembered, as each formula has parameters of its own: the same call must be the same text, or it is no key
    of GROUP BY."""
    step = _DO.times("(` t` ^ shiftrightunsigned(` t`, 47) ^ ` e`)", _MUL)
    return f"aggregate(array({second}, {second}, 0L), {_DO.xor_shift(first, 47)}, (` t`, ` e`) -> {step})"


@lru_cache(maxsize=1)
def _city_hash_formula() -> str:
    """Builds a struct of the string (its reversed digits, padded to 8 bytes; its length; the length of the digits) and
    eight of its words (the first four and the last four, or the last eight), then the hash by the length."""
    text = _struct(
        r=f"if(length({_BYTES}) < 16, lpad({_BYTES}, 16, '0'), {_BYTES})",
        n=f"CAST(length({_BYTES}) / 2 AS INT)",
        m=f"CAST(greatest(length({_BYTES}) / 2, 8) AS INT)",
    )
    start = f"if(` i` < 4 AND {_N} <= 64, least(8 * ` i`, {_M} - 8), greatest({_M} - 64 + 8 * ` i`, 0))"
    words = f"transform(transform(sequence(0, 7), ` i` -> {start}), ` o` -> {_word_at('` o`')})"
    cases = (
        f"CASE WHEN {_N} > 64 THEN {_hash_over_64()} WHEN {_N} > 32 THEN {_hash_33_to_64()} ELSE {_hash_up_to_32()} END"
    )
    last = (
        f"if({_N} > 64 OR {_N} BETWEEN 4 AND 32, {combine_hashes(f'{_V}.u', f'{_V}.v')} ^ {_V}.o, "
        f"{_DO.times(_DO.xor_shift(f'{_V}.u', 47), _K2)})"
    )
    step = f"if(` k` = 0, {cases}, {_result(last)})"
    both = f"aggregate(array(0, 1), {_null_struct('u', 'v', 'o')}, ({_V}, ` k`) -> {step}, {_V} -> {_V}.u)"
    hashed = bind_in_chain(_TEXT, text, bind_in_chain(_WORDS, words, both))
    return f"if({_BYTES} IS NULL, NULL, {hashed})"


def _struct(**fields: str) -> str:
    return f"named_struct({', '.join(f'{name!r}, {value}' for name, value in fields.items())})"


def _null_struct(*fields: str) -> str:
    """NULL of the type of a struct of BIGINTs."""
    return f"CAST(NULL AS STRUCT<{', '.join(f'{name}: BIGINT' for name in fields)}>)"


def _word_at(place: str) -> str:
    """The little-endian number of the 8 bytes at a byte position."""
    return f"CAST(conv(substring({_TEXT}.r, 2 * ({_M} - {place}) - 15, 16), 16, -10) AS BIGINT)"


def _word(place: int) -> str:
    return f"{_WORDS}[{place}]"


def _hash_up_to_32() -> str:
    """HashLen0to16, and HashLen17to32 below: two numbers to combine, and one to XOR into the hash at the end; up to 3
    bytes one number to mix."""
    first, last = _word(0), _word(7)
    low = f"(({first} & 255L) + shiftleft(shiftrightunsigned({first}, 8 * shiftright({_N}, 1)) & 255L, 8))"
    high = f"({_N} + shiftleft(shiftrightunsigned({first}, 8 * ({_N} - 1)), 2))"
    bytes_ = f"({_DO.times(low, _K2)} ^ {_DO.times(high, _K3)})"
    turned = bind_in_chain(
        _Q, _DO.plus(last, _LENGTH), f"(shiftrightunsigned({_Q}, {_N}) | shiftleft({_Q}, 64 - {_N}))"
    )
    ends = _result(f"({_N} + shiftleft({first} & 4294967295L, 3))", f"shiftrightunsigned({first}, 8 * ({_N} - 4))")
    return (
        f"CASE WHEN {_N} > 16 THEN {_hash_17_to_32()} WHEN {_N} > 8 THEN {_result(first, turned, last)} "
        f"WHEN {_N} >= 4 THEN {ends} WHEN {_N} > 0 THEN {_result(bytes_)} ELSE {_result('1L')} END"
    )


def _result(u: str, v: str = "0L", o: str = "0L") -> str:
    return _struct(u=u, v=v, o=o)


def _hash_17_to_32() -> str:
    """HashLen17to32."""
    a, b, c = f"{_P}.a", _word(1), f"{_P}.c"
    differences = _struct(b=_DO.minus(a, b), d=f"({b} ^ {bits_literal(_K3)})")
    left = _DO.plus(_DO.rotate_right(f"{_Q}.b", 43), _DO.rotate_right(c, 30), f"{_P}.d")
    right = _DO.minus(a, _DO.rotate_right(f"{_Q}.d", 20), _LENGTH, c)
    products = _struct(a=_DO.times(_word(0), _K1), c=_DO.times(_word(7), _K2), d=_DO.times(_word(6), _K0))
    return bind_in_chain(_P, products, bind_in_chain(_Q, differences, _result(left, right)))


def _hash_33_to_64() -> str:
    """HashLen33to64, which does the same twice with four words; `f` and `s` are its vf, wf and vs, ws."""
    starts = (_DO.plus(_word(0), _DO.times(_DO.plus(_word(6), _LENGTH), _K0)), _DO.plus(_word(2), _word(4)))
    pairs = ", ".join(_struct(o=str(4 * place), a=start) for place, start in enumerate(starts))
    one, two, three = (f"{_WORDS}[{_Q}.o + {place}]" for place in (1, 2, 3))
    a, b, c, d, z = (f"{_Q}.{name}" for name in "abcdz")
    with_b = f"transform(array({pairs}), {_Q} -> {_struct(a=a, b=_DO.plus(a, one), t=two, z=three)})"
    with_c = f"transform({with_b}, {_Q} -> {_struct(a=a, b=b, c=_DO.plus(b, f'{_Q}.t'), d=_DO.plus(a, z), z=z)})"
    turned = (_DO.rotate_right(d, 52), _DO.rotate_right(a, 37), _DO.rotate_right(b, 7), _DO.rotate_right(c, 31))
    both = f"transform({with_c}, {_Q} -> {_struct(f=_DO.plus(c, z), s=_DO.plus(*turned))})"
    v, w = f"{_P}[0]", f"{_P}[1]"
    products = _struct(
        a=_DO.times(_DO.plus(f"{v}.f", f"{w}.s"), _K2), b=_DO.times(_DO.plus(f"{w}.f", f"{v}.s"), _K0), s=f"{v}.s"
    )
    r = _DO.times(_DO.xor_shift(_DO.plus(f"{_Q}.a", f"{_Q}.b"), 47), _K0)
    mixed = bind_in_chain(_P, bind_in_chain(_Q, products, _struct(r=r, s=f"{_Q}.s")), _DO.plus(f"{_P}.r", f"{_P}.s"))
    return bind_in_chain(_P, both, _result(mixed))


def _weak_hash_pairs(words: str, first: tuple[str, str], second: tuple[str, str]) -> str:
    """WeakHashLen32WithSeeds, for two groups of four words and two seeds each: the pairs (f, s)."""
    pairs = ", ".join(_struct(o=str(4 * place), a=a, b=b) for place, (a, b) in enumerate((first, second)))
    zero, one, two, three = (f"{words}[{_Q}.o + {place}]" for place in range(4))
    a, b, c, z = (f"{_Q}.{name}" for name in "abcz")
    with_c = _struct(o=f"{_Q}.o", b=b, c=_DO.plus(a, zero))
    with_a = _struct(a=_DO.plus(c, one, two), b=_DO.plus(b, c, three), c=c, z=three)
    ends = _struct(f=_DO.plus(a, z), s=_DO.plus(_DO.rotate_right(b, 21), _DO.rotate_right(a, 44), c))
    steps = (with_c, with_a, ends)
    sql = f"array({pairs})"
    for step in steps:
        sql = f"transform({sql}, {_Q} -> {step})"
    return sql


def _hash_over_64() -> str:
    """All chunks of 64 bytes in one fold, whose steps know the state's type beforehand: Spark resolves them side by
    side, and limits the depth of what it resolves."""
    c, last = _CHUNK, f"2 * shiftright({_N} - 1, 6)"
    begun = " ".join(f"WHEN {c} = {place - 3} THEN {sql}" for place, sql in enumerate(_initial_states()))
    even, odd = _chunk_steps()
    body = f"CASE {begun} WHEN {c} = {last} THEN {_final_state()} WHEN {c} & 1 = 0 THEN {even} ELSE {odd} END"
    result = _result(f"{_STATE}.x", f"{_STATE}.y")
    return f"aggregate(sequence(-3, {last}), {_null_struct(*_FIELDS)}, ({_STATE}, {c}) -> {body}, {_STATE} -> {result})"


def _state(**changed: str) -> str:
    return _struct(**{name: changed.get(name, f"{_STATE}.{name}") for name in _FIELDS})


def _state_with_pairs(pairs: str, **others: str) -> str:
    """The state with both pairs of `_weak_hash_pairs`."""
    ends = {"v1": f"{_P}[0].f", "v2": f"{_P}[0].s", "w1": f"{_P}[1].f", "w2": f"{_P}[1].s"}
    return bind_in_chain(_P, f"{pairs}", _state(**others, **ends))


def _initial_states() -> tuple[str, str, str]:
    """The state before the first chunk, computed from the last 64 bytes in three steps."""
    s, y, z = _STATE, f"({_word(6)} ^ {bits_literal(_K1)})", f"({_word(1)} ^ {bits_literal(_K0)})"
    pairs = _weak_hash_pairs(_WORDS, (_LENGTH, y), (_DO.times(_LENGTH, _K1), bits_literal(_K0)))
    product = _DO.times(_DO.xor_shift(f"{s}.v2", 47), _K1)
    second = bind_in_chain(_Q, product, _state(z=_DO.plus(f"{s}.z", _Q)))
    x = bind_in_chain(_Q, _word_at("0"), _DO.times(_DO.rotate_right(_DO.plus(f"{s}.z", _Q), 39), _K1))
    third = _state(x=x, y=_DO.times(_DO.rotate_right(f"{s}.y", 33), _K1))
    return _state_with_pairs(pairs, x="0L", y=y, z=z), second, third


def _chunk_steps() -> tuple[str, str]:
    """One chunk, in two steps; between them `v1` is a product."""
    s, place = _STATE, f"64 * shiftright({_CHUNK}, 1)"
    turned = (
        (_DO.plus(f"{s}.x", f"{s}.y", f"{s}.v1", f"{_Q}.a"), 37),
        (_DO.plus(f"{s}.y", f"{s}.v2", f"{_Q}.b"), 42),
        (f"{s}.v2", 0),
    )
    array = ", ".join(_struct(v=value, k=str(places)) for value, places in turned)
    rotation = f"(shiftrightunsigned({_P}.v, {_P}.k) | shiftleft({_P}.v, 64 - {_P}.k))"
    products = f"transform(transform(array({array}), {_P} -> {rotation}), {_P} -> {_DO.times(_P, _K1)})"
    made = _state(
        x=f"({_P}[0] ^ {s}.w2)", y=f"({_P}[1] ^ {s}.v1)", z=_DO.rotate_right(f"({s}.z ^ {s}.w1)", 33), v1=f"{_P}[2]"
    )
    numbers = _struct(a=_word_at(f"({place} + 16)"), b=_word_at(f"({place} + 48)"))
    even = bind_in_chain(_P, bind_in_chain(_Q, numbers, products), made)
    words = f"transform(sequence({place}, {place} + 56, 8), ` o` -> {_word_at('` o`')})"
    pairs = _weak_hash_pairs(_V, (f"{s}.v1", _DO.plus(f"{s}.x", f"{s}.w1")), (_DO.plus(f"{s}.z", f"{s}.w2"), f"{s}.y"))
    return even, bind_in_chain(_V, words, _state_with_pairs(pairs, x=f"{s}.z", z=f"{s}.x"))


def _final_state() -> str:
    """The two numbers that are combined to the hash, as `x` and `y`."""
    s = _STATE
    ends = (_struct(a=f"{s}.v1", b=f"{s}.w1", c=_DO.plus(_P, f"{s}.z")), _struct(a=f"{s}.v2", b=f"{s}.w2", c=f"{s}.x"))
    pairs = bind_in_chain(_P, _DO.times(_DO.xor_shift(f"{s}.y", 47), _K1), f"array({', '.join(ends)})")
    hash_of_pair = bind_in_chain(_P, combine_hashes(f"{_Q}.a", f"{_Q}.b"), _DO.plus(_P, f"{_Q}.c"))
    hashes = f"transform({pairs}, {_Q} -> {hash_of_pair})"
    return bind_in_chain(_P, hashes, _state(x=f"{_P}[0]", y=f"{_P}[1]"))
