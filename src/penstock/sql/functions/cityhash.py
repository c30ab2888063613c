"""CityHash64 of version 1.0.2, which ClickHouse has, as a Spark expression.

In: texts. Out: SQL of type BIGINT. Called by hashes. Invariant: bits equal to ClickHouse's for texts of any
length; NULL for NULL.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from penstock.sql.wrapping import Wrapping, constant

_K0, _K1, _K2, _K3 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F, 0xC949D7C7509E6557
_MUL = 0x9DDFEA08EB382D69
_BYTES = "` r`"
"""The bytes in hexadecimal, reversed: a number that begins at a byte ends with its digits."""
_LENGTH = f"CAST(length({_BYTES}) DIV 2 AS BIGINT)"
_STATE = ("x", "y", "z", "v1", "v2", "w1", "w2")


def hashes_of(texts: list[str]) -> str:
    """The array of the hashes of several texts."""
    reversed_texts = (
        f"hex(encode(reverse(decode(CAST({text} AS BINARY), 'ISO-8859-1')), 'ISO-8859-1'))" for text in texts
    )
    return f"transform(array({', '.join(reversed_texts)}), {_BYTES} -> {_formula()})"


def combined(do: Wrapping, first: str, second: str) -> str:
    """One hash of two."""

    def formula(v: str) -> str:
        once = do.mixed(do.times(f"({first} ^ {v})", _MUL), 47)
        return do.times(do.mixed(do.times(f"({v} ^ {once})", _MUL), 47), _MUL)

    return do.bound(second, formula)


@lru_cache(maxsize=1)
def _formula() -> str:
    city = _City(Wrapping())
    return (
        f"CASE WHEN {_BYTES} IS NULL THEN NULL WHEN length({_BYTES}) <= 32 THEN {city.to_16()} "
        f"WHEN length({_BYTES}) <= 64 THEN {city.to_32()} WHEN length({_BYTES}) <= 128 THEN {city.to_64()} "
        f"ELSE {city.longer()} END"
    )


def _number(digits: str) -> str:
    return f"CAST(conv({digits}, 16, -10) AS BIGINT)"


def _from_start(place: int, size: int = 8) -> str:
    """The little-endian number at a place."""
    return _number(f"substring({_BYTES}, -{2 * (place + size)}, {2 * size})")


def _from_end(place: int, size: int = 8) -> str:
    """The number at a place counted from the end."""
    return _number(f"substring({_BYTES}, {2 * (place - size) + 1}, {2 * size})")


def _in_chunk(place: int) -> str:
    """The number at a place in the chunk of 64 bytes that the fold is at."""
    return _number(f"substring({_BYTES}, CAST(-(128 * ` c` + {2 * (place + 8)}) AS INT), 16)")


def _middle_byte() -> str:
    return _number(f"substring({_BYTES}, CAST(length({_BYTES}) - 2 * (length({_BYTES}) DIV 4) - 1 AS INT), 2)")


class _City:
    """The formulas by length."""

    def __init__(self, do: Wrapping):
        self.do = do

    def to_16(self) -> str:
        do = self.do
        turn = f"shiftrightunsigned({{0}}, CAST({_LENGTH} AS INT)) | shiftleft({{0}}, CAST(64 - {_LENGTH} AS INT))"
        turned = do.bound(do.plus(_from_end(8), _LENGTH), lambda v: f"({turn.format(v)})")
        long = f"({combined(do, _from_start(0), turned)} ^ {_from_end(8)})"
        middle = combined(do, f"({_LENGTH} + shiftleft({_from_start(0, 4)}, 3))", _from_end(4, 4))
        low = f"({_from_start(0, 1)} + shiftleft({_middle_byte()}, 8))"
        high = f"({_LENGTH} + shiftleft({_from_end(1, 1)}, 2))"
        short = do.times(do.mixed(f"({do.times(low, _K2)} ^ {do.times(high, _K3)})", 47), _K2)
        return (
            f"CASE WHEN length({_BYTES}) > 16 THEN {long} WHEN length({_BYTES}) >= 8 THEN {middle} "
            f"WHEN length({_BYTES}) > 0 THEN {short} ELSE {constant(_K2)} END"
        )

    def to_32(self) -> str:
        do = self.do

        def formula(a: str, b: str, c: str) -> str:
            left = do.plus(do.rotated(do.minus(a, b), 43), do.rotated(c, 30), do.times(_from_end(16), _K0))
            turned = do.rotated(f"({b} ^ {constant(_K3)})", 20)
            return combined(do, left, do.minus(a, turned, _LENGTH, c))

        return self._three(do.times(_from_start(0), _K1), _from_start(8), do.times(_from_end(8), _K2), formula)

    def _three(self, one: str, two: str, three: str, formula: Callable[[str, str, str], str]) -> str:
        bound = self.do.bound
        return bound(one, lambda a: bound(two, lambda b: bound(three, lambda c: formula(a, b, c))))

    def _half(self, words: tuple[str, str, str, str], made: Callable[[str, str], str]) -> str:
        """Two numbers of four: `made` gets them."""
        do = self.do
        start, second, third, last = words

        def steps(a0: str, a1: str, zz: str) -> str:
            def made_of(a2: str) -> str:
                turned = (do.rotated(do.plus(a0, zz), 52), do.rotated(a0, 37), do.rotated(a1, 7))
                high = do.plus(*turned, do.rotated(a2, 31))
                return do.bound(do.plus(a2, zz), lambda low: do.bound(high, lambda other: made(low, other)))

            return do.bound(do.plus(a1, third), made_of)

        return do.bound(
            last, lambda zz: do.bound(start, lambda a0: do.bound(do.plus(a0, second), lambda a1: steps(a0, a1, zz)))
        )

    def to_64(self) -> str:
        do = self.do

        def last(vf: str, vs: str, wf: str, ws: str) -> str:
            r = do.mixed(do.plus(do.times(do.plus(vf, ws), _K2), do.times(do.plus(wf, vs), _K0)), 47)
            return do.times(do.mixed(do.plus(do.times(r, _K0), vs), 47), _K2)

        def second(vf: str, vs: str) -> str:
            words = (do.plus(_from_start(16), _from_end(32)), _from_end(24), _from_end(16), _from_end(8))
            return self._half(words, lambda wf, ws: last(vf, vs, wf, ws))

        first = do.plus(_from_start(0), do.times(do.plus(_LENGTH, _from_end(16)), _K0))
        return self._half((first, _from_start(8), _from_start(16), _from_start(24)), second)

    def _weak(self, words: tuple[str, str, str, str], seeds: tuple[str, ...], made: Callable[[str, str], str]) -> str:
        """Two numbers of four and two seeds, the second being a sum: `made` gets them."""
        do = self.do
        w, x, y, z = words

        def steps(c: str, zz: str) -> str:
            turned = do.rotated(do.plus(*seeds[1:], c, zz), 21)

            def ends(inner: str) -> str:
                high = do.plus(turned, do.rotated(inner, 44), c)
                return do.bound(do.plus(inner, zz), lambda low: do.bound(high, lambda other: made(low, other)))

            return do.bound(do.plus(c, x, y), ends)

        return do.bound(do.plus(seeds[0], w), lambda c: do.bound(z, lambda zz: steps(c, zz)))

    def longer(self) -> str:
        chunks = f"sequence(0, CAST((length({_BYTES}) DIV 2 - 1) DIV 64 - 1 AS INT))"
        return f"aggregate({chunks}, {self._begin()}, (` s`, ` c`) -> {self._step()}, ` s` -> {self._end()})"

    def _begin(self) -> str:
        do = self.do
        y, z = f"({_from_end(16)} ^ {constant(_K1)})", f"({_from_end(56)} ^ {constant(_K0)})"

        def with_v(v1: str, v2: str) -> str:
            words = (_from_end(32), _from_end(24), _from_end(16), _from_end(8))
            seeds = (do.times(_LENGTH, _K1), constant(_K0))
            return self._weak(words, seeds, lambda w1, w2: with_all((v1, v2, w1, w2)))

        def with_all(pairs: tuple[str, ...]) -> str:
            next_z = do.plus(z, do.times(do.mixed(pairs[1], 47), _K1))
            next_y = do.times(do.rotated(y, 33), _K1)

            def made(bound: str) -> str:
                next_x = do.times(do.rotated(do.plus(bound, _from_start(0)), 39), _K1)
                return _state((next_x, next_y, bound, *pairs))

            return do.bound(next_z, made)

        words = (_from_end(64), _from_end(56), _from_end(48), _from_end(40))
        return self._weak(words, (_LENGTH, y), with_v)

    def _step(self) -> str:
        do = self.do
        x, y, z, v1, v2, w1, w2 = (f"` s`.{name}" for name in _STATE)
        next_x = f"({do.times(do.rotated(do.plus(x, y, v1, _in_chunk(16)), 37), _K1)} ^ {w2})"
        next_y = f"({do.times(do.rotated(do.plus(y, v2, _in_chunk(48)), 42), _K1)} ^ {v1})"
        next_z = do.rotated(f"({z} ^ {w1})", 33)

        def made(nx: str, ny: str, nz: str) -> str:
            def with_v(a: str, b: str) -> str:
                words = (_in_chunk(32), _in_chunk(40), _in_chunk(48), _in_chunk(56))
                return self._weak(words, (do.plus(nz, w2), ny), lambda c, d: _state((nz, ny, nx, a, b, c, d)))

            words = (_in_chunk(0), _in_chunk(8), _in_chunk(16), _in_chunk(24))
            return self._weak(words, (do.times(v2, _K1), nx, w1), with_v)

        return self._three(next_x, next_y, next_z, made)

    def _end(self) -> str:
        do = self.do
        x, y, z, v1, v2, w1, w2 = (f"` s`.{name}" for name in _STATE)
        left = do.plus(combined(do, v1, w1), do.times(do.mixed(y, 47), _K1), z)
        return combined(do, left, do.plus(combined(do, v2, w2), x))


def _state(values: tuple[str, ...]) -> str:
    return f"named_struct({', '.join(f'{name!r}, {value}' for name, value in zip(_STATE, values, strict=True))})"
