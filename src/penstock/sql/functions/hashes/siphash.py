"""SipHash-2-4 (Aumasson and Bernstein, 2012) with a key of zeros, as ClickHouse uses it, as a Spark expression.

Takes the SQL of words (arrays of BIGINT) and returns the SQL of the two halves of the hash: the same bits as
ClickHouse's, NULL for NULL. Half a round is written once and folded over the rotation distances, since the two halves
differ only in those; the parts of the state come out in the order in which the next half takes them.
"""

from __future__ import annotations

from functools import lru_cache

from penstock.sql.expr.bind_once import bind_once
from penstock.sql.expr.overflow import WrappingArithmetic, bits_literal
from penstock.sql.functions.hashes.cityhash import reversed_hex_digits

_INITIAL_STATE = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
"""v0 to v3 of SipHash: the bytes of "somepseudorandomlygeneratedbytes"."""
_STATE, _WORD, _TURN, _SUM, _DIGITS = "` s`", "` w`", "` k`", "` q`", "` r`"
_NAMES = ("a", "b", "c", "d")
_DO = WrappingArithmetic()


def string_words(text: str) -> str:
    """The words of 8 bytes of a string; the last one holds the rest, and the length in its highest byte."""
    count = f"CAST(length({_DIGITS}) / 2 AS INT)"
    rest = f"2 * ({count} % 8)"
    last = f"right(hex({count}), 2)"
    digits = f"concat(lpad({last}, 2, '0'), lpad(left({_DIGITS}, {rest}), 14, '0'), substring({_DIGITS}, {rest} + 1))"
    place = "length(` p`) - 16 * ` i` - 15"
    number = f"CAST(conv(substring(` p`, {place}, 16), 16, -10) AS BIGINT)"
    words = f"transform(sequence(0, CAST(length(` p`) / 16 AS INT) - 1), ` i` -> {number})"
    walked = bind_once(digits, "` p`", words)
    return bind_once(reversed_hex_digits(text), _DIGITS, f"if({_DIGITS} IS NULL, NULL, {walked})")


def number_words(bits: str, size: int) -> str:
    """The words of a number of so many bytes."""
    if size == 8:
        return f"array({bits}, {bits_literal(8 << 56)})"
    return f"array({bits} | {bits_literal(size << 56)})"


def hash_pair_words(first: str, second: str, halves: int) -> str:
    """The words of hashes one after the other, from structs of two halves; `halves` says whether one or both are
    used."""
    names = ("l", "h")[:halves]
    parts = [f"{each}.{name}" for each in (first, second) for name in names]
    return f"array({', '.join(parts)}, {bits_literal(16 * halves << 56)})"


def sip_hash(words: str, halves: int) -> str:
    """A struct (l, h): the low half and, of 128 bits, the high one."""
    step, result = f"({_STATE}, {_WORD}) -> {_compress_word()}", f"{_STATE} -> {_hash_halves(halves)}"
    return f"aggregate({_with_end_mark(words)}, {_initial_state()}, {step}, {result})"


def _with_end_mark(words: str) -> str:
    """A NULL marks the end, where there are four rounds in place of two."""
    return f"concat({words}, array(CAST(NULL AS BIGINT)))"


def _initial_state() -> str:
    values = dict(zip(_NAMES, map(bits_literal, _INITIAL_STATE), strict=True))
    return _struct(**values, m="0L")


@lru_cache(maxsize=1)
def _compress_word() -> str:
    """The word is XORed into the last part of the state before the rounds, and into the first part after them, together
    with the next word."""
    s, m = _STATE, f"coalesce({_WORD}, 0L)"
    begin = _struct(
        a=f"{s}.a ^ {s}.m", b=f"{s}.b", c=f"if({_WORD} IS NULL, {s}.c ^ 255L, {s}.c)", d=f"{s}.d ^ {m}", m=m
    )
    turns = f"if({_WORD} IS NULL, array(13, 17, 13, 17, 13, 17, 13, 17), array(13, 17, 13, 17))"
    return f"aggregate({turns}, {begin}, ({s}, {_TURN}) -> {_half_round()})"


def _half_round() -> str:
    s, q, k = _STATE, _SUM, _TURN
    sums = _struct(a=_DO.plus(f"{s}.a", f"{s}.b"), c=_DO.plus(f"{s}.c", f"{s}.d"))
    made = _struct(
        a=f"{q}.c",
        b=f"({_rotate_left(f'{s}.b', k)} ^ {q}.a)",
        c=_rotate_left(f"{q}.a", "32"),
        d=f"({_rotate_left(f'{s}.d', f'if({k} = 13, 16, 21)')} ^ {q}.c)",
        m=f"{s}.m",
    )
    return bind_once(sums, q, made)


def _rotate_left(value: str, places: str) -> str:
    return f"(shiftleft({value}, {places}) | shiftrightunsigned({value}, 64 - {places}))"


def _hash_halves(halves: int) -> str:
    a, b, c, d = (f"{_STATE}.{name}" for name in _NAMES)
    if halves == 2:
        return _struct(l=f"{a} ^ {b}", h=f"{c} ^ {d}")
    return _struct(l=f"{a} ^ {b} ^ {c} ^ {d}")


def _struct(**fields: str) -> str:
    return f"named_struct({', '.join(f'{name!r}, {value}' for name, value in fields.items())})"
