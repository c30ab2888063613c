"""The character classes of a regular expression, and letters in any case.

In: names and ranges as RE2 has them. Out: Java's syntax. Called by re2. Invariant: Java gets ranges and
classes that mean one thing only; a letter whose cases are not sure is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Ranges = tuple[tuple[int, int], ...]
LAST = 0x10FFFF


class BadPattern(Exception):
    """What is wrong with a pattern, as a sentence and a hint."""

    def __init__(self, message: str, hint: str | None = None):
        super().__init__(message)
        self.message = message
        self.hint = hint


def _of(*spans: str) -> Ranges:
    return tuple((ord(span[0]), ord(span[-1])) for span in spans)


PERL: dict[str, Ranges] = {"d": _of("09"), "w": _of("09", "AZ", "_", "az"), "s": _of("\t\n", "\f\r", " ")}
_POSIX: dict[str, Ranges] = {
    "alnum": _of("09", "AZ", "az"),
    "alpha": _of("AZ", "az"),
    "ascii": _of("\0\x7f"),
    "blank": _of("\t", " "),
    "cntrl": _of("\0\x1f", "\x7f"),
    "digit": _of("09"),
    "graph": _of("!~"),
    "lower": _of("az"),
    "print": _of(" ~"),
    "punct": _of("!/", ":@", "[`", "{~"),
    "space": _of("\t\r", " "),
    "upper": _of("AZ"),
    "word": PERL["w"],
    "xdigit": _of("09", "AF", "af"),
}
_CATEGORIES = frozenset((
    "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Pe", "Pf",
    "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs", "Cc", "Cf", "Co",
))  # fmt: skip
_SCRIPTS = frozenset((
    "Arabic", "Armenian", "Cyrillic", "Devanagari", "Georgian", "Greek", "Han", "Hangul", "Hebrew", "Hiragana",
    "Katakana", "Latin", "Thai",
))  # fmt: skip
# Letters of which more than two are one, whatever the case.
_ORBITS = ("kK\u212a", "sS\u017f", "åÅ\u212b")
_SURE = ((0x41, 0x5A), (0x61, 0x7A), (0xC0, 0xD6), (0xD8, 0xDE), (0xE0, 0xF6), (0xF8, 0xFE), (0x100, 0x12F),
         (0x132, 0x137), (0x139, 0x148), (0x14A, 0x177), (0x410, 0x42F), (0x430, 0x44F), (0x401, 0x401),
         (0x451, 0x451))  # fmt: skip
"""Letters with one other case each, but for the orbits."""
_SPECIAL = frozenset("\\[]{}()*+?^$|.")
_SPECIAL_IN_CLASS = frozenset("\\[]^-&")


@dataclass(frozen=True, slots=True)
class CharClass:
    """`named` are classes of Java's by name, `\\p{L}`; `closed` are ranges that hold each letter in any case."""

    ranges: Ranges = ()
    closed: Ranges = ()
    named: tuple[str, ...] = ()
    negated: bool = False

    @classmethod
    def perl(cls, sign: str, any_case: str) -> CharClass:
        """`\\d`, or `\\D`."""
        ranges = PERL[sign.lower()]
        return _without(ranges, any_case) if sign.isupper() else cls(ranges)

    def joined(self, other: CharClass) -> CharClass:
        return CharClass(self.ranges + other.ranges, self.closed + other.closed, self.named + other.named, self.negated)


def _outside(ranges: Ranges) -> Ranges:
    """All that is in none of sorted ranges."""
    starts = [0, *(high + 1 for _, high in ranges)]
    ends = [*(low - 1 for low, _ in ranges), LAST]
    return tuple((low, high) for low, high in zip(starts, ends, strict=True) if low <= high)


def _without(ranges: Ranges, any_case: str) -> CharClass:
    """All that is in none of ranges, nor is another case of it."""
    cased_too = (*ranges, *_other_cases(ranges)) if any_case else ranges
    return CharClass(closed=_outside(tuple(_merged(cased_too))))


def posix_class(name: str, any_case: str) -> CharClass:
    """`alpha` of `[:alpha:]`, or `^alpha`."""
    ranges = _POSIX.get(name.removeprefix("^"))
    if ranges is None:
        raise BadPattern(f"unknown class `[:{name}:]`")
    return _without(ranges, any_case) if name.startswith("^") else CharClass(ranges)


def unicode_class(name: str, sign: str) -> CharClass:
    """`\\pN`, `\\p{Greek}`, `\\P{L}`; `sign` is the `p`, a capital one for what is not in the class."""
    if name == "Any" and sign == "p":
        return CharClass(closed=((0, LAST),))
    if name in _CATEGORIES:
        return CharClass(named=(f"\\{sign}{{{name}}}",))
    if name in _SCRIPTS:
        return CharClass(named=(f"\\{sign}{{Is{name}}}",))
    raise BadPattern(f"the class `\\p{{{name}}}` is not supported", "categories such as L, Lu, N, P, Z; Greek, Latin …")


def literal(letter: str) -> str:
    """One character outside of a class."""
    if letter in _SPECIAL:
        return "\\" + letter
    return letter if letter.isprintable() else _code(ord(letter))


def cased(letter: str) -> str:
    """One character in any case."""
    letters = _cases(letter)
    return literal(letter) if len(letters) == 1 else f"[{''.join(letters)}]"


def _cases(letter: str) -> list[str]:
    for orbit in _ORBITS:
        if letter in orbit:
            return sorted(orbit)
    if _is_sure(letter):
        return sorted({letter, letter.swapcase()})
    if not letter.isascii() and (letter.swapcase() != letter or letter.casefold() != letter):
        raise BadPattern(f"`{letter}` in any case is not supported", "name its cases in a class: [éÉ]")
    return [letter]


def _is_sure(letter: str) -> bool:
    return any(low <= ord(letter) <= high for low, high in _SURE)


def spelled(found: CharClass, any_case: str) -> str:
    """A class in Java's syntax."""
    ranges = list(found.ranges)
    if any_case:
        if found.named:
            raise BadPattern("`\\p{…}` in any case is not supported")
        ranges += _other_cases(found.ranges)
    inside = "".join(map(_span, _merged([*ranges, *found.closed])))
    return f"[{'^' if found.negated else ''}{inside}{''.join(found.named)}]"


def _other_cases(ranges: Ranges) -> Iterable[tuple[int, int]]:
    for low, high in ranges:
        if high > 0x24F and high - low > 0x400:
            raise BadPattern("so wide a range of letters in any case is not supported")
        for code in range(low, high + 1):
            yield from ((ord(letter), ord(letter)) for letter in _cases(chr(code)))


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged


def _span(span: tuple[int, int]) -> str:
    low, high = span
    if low == high:
        return _in_class(low)
    return _in_class(low) + ("-" if high > low + 1 else "") + _in_class(high)


def _in_class(code: int) -> str:
    letter = chr(code)
    if letter in _SPECIAL_IN_CLASS:
        return "\\" + letter
    return letter if letter.isprintable() and code <= 0xFFFF else _code(code)


def _code(code: int) -> str:
    return f"\\x{{{code:X}}}"
