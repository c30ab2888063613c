"""Character classes of regular expressions and the cases of letters, from RE2's syntax to Java's.

Takes the names and ranges of RE2's classes and returns Java's syntax, written with ranges and classes that mean one
thing only. A letter whose other cases the two engines may see differently raises BadPattern.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.model.quick_dataclass import dataclass

Ranges = tuple[tuple[int, int], ...]
LAST_CODE_POINT = 0x10FFFF


class BadPattern(Exception):
    """What is wrong with a pattern, and a hint what to write instead."""

    def __init__(self, message: str, hint: str | None = None):
        super().__init__(message)
        self.message = message
        self.hint = hint


def _ranges(*spans: str) -> Ranges:
    return tuple((ord(span[0]), ord(span[-1])) for span in spans)


PERL: dict[str, Ranges] = {"d": _ranges("09"), "w": _ranges("09", "AZ", "_", "az"), "s": _ranges("\t\n", "\f\r", " ")}
_POSIX: dict[str, Ranges] = {
    "alnum": _ranges("09", "AZ", "az"),
    "alpha": _ranges("AZ", "az"),
    "ascii": _ranges("\0\x7f"),
    "blank": _ranges("\t", " "),
    "cntrl": _ranges("\0\x1f", "\x7f"),
    "digit": _ranges("09"),
    "graph": _ranges("!~"),
    "lower": _ranges("az"),
    "print": _ranges(" ~"),
    "punct": _ranges("!/", ":@", "[`", "{~"),
    "space": _ranges("\t\r", " "),
    "upper": _ranges("AZ"),
    "word": PERL["w"],
    "xdigit": _ranges("09", "AF", "af"),
}
_CATEGORY_NAMES = "L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs Cc Cf Co"
_CATEGORIES = frozenset(_CATEGORY_NAMES.split())
_SCRIPT_NAMES = "Arabic Armenian Cyrillic Devanagari Georgian Greek Han Hangul Hebrew Hiragana Katakana Latin Thai"
_SCRIPTS = frozenset(_SCRIPT_NAMES.split())
_CASE_ORBITS = ("kK\u212a", "sS\u017f", "åÅ\u212b")
"""Letters with more than two cases (those of the Kelvin sign, the long s and the Ångström sign)."""
_TWO_CASE_RANGES = (
    (0x41, 0x5A),
    (0x61, 0x7A),
    (0xC0, 0xD6),
    (0xD8, 0xDE),
    (0xE0, 0xF6),
    (0xF8, 0xFE),
    (0x100, 0x12F),
    (0x132, 0x137),
    (0x139, 0x148),
    (0x14A, 0x177),
    (0x410, 0x42F),
    (0x430, 0x44F),
    (0x401, 0x401),
    (0x451, 0x451),
)
"""Ranges of letters with exactly one other case each, except those in the orbits."""
_SPECIAL = frozenset("\\[]{}()*+?^$|.")
_SPECIAL_IN_CLASS = frozenset("\\[]^-&")


@dataclass(frozen=True, slots=True)
class CharClass:
    """A character class."""

    ranges: Ranges = ()
    closed: Ranges = ()
    """Ranges that contain every letter in all its cases."""
    named: tuple[str, ...] = ()
    r"""Java's classes, such as `\p{L}`."""
    negated: bool = False

    @classmethod
    def perl(cls, sign: str, any_case: str) -> CharClass:
        """`\\d`, or `\\D`."""
        ranges = PERL[sign.lower()]
        return _complement_class(ranges, any_case) if sign.isupper() else cls(ranges)

    def union(self, other: CharClass) -> CharClass:
        return CharClass(self.ranges + other.ranges, self.closed + other.closed, self.named + other.named, self.negated)


def _complement(ranges: Ranges) -> Ranges:
    """The code points in none of the sorted ranges."""
    starts = [0, *(high + 1 for _, high in ranges)]
    ends = [*(low - 1 for low, _ in ranges), LAST_CODE_POINT]
    return tuple((low, high) for low, high in zip(starts, ends, strict=True) if low <= high)


def _complement_class(ranges: Ranges, any_case: str) -> CharClass:
    """The code points that are in none of the ranges, nor is another case of them."""
    cased_too = (*ranges, *_other_cases(ranges)) if any_case else ranges
    return CharClass(closed=_complement(tuple(_merge_ranges(cased_too))))


def posix_class(name: str, any_case: str) -> CharClass:
    """The class of `[:name:]`; a name that begins with `^` means the complement. Raises BadPattern for unknown
    names."""
    ranges = _POSIX.get(name.removeprefix("^"))
    if ranges is None:
        raise BadPattern(f"unknown class `[:{name}:]`")
    return _complement_class(ranges, any_case) if name.startswith("^") else CharClass(ranges)


def unicode_class(name: str, sign: str) -> CharClass:
    """The class of `\\pN`, `\\p{Greek}` or `\\P{L}`; `sign` is `p`, or `P` for the complement. Raises BadPattern for
    others."""
    if name == "Any" and sign == "p":
        return CharClass(closed=((0, LAST_CODE_POINT),))
    if name in _CATEGORIES:
        return CharClass(named=(f"\\{sign}{{{name}}}",))
    if name in _SCRIPTS:
        return CharClass(named=(f"\\{sign}{{Is{name}}}",))
    raise BadPattern(f"the class `\\p{{{name}}}` is not supported", "categories such as L, Lu, N, P, Z; Greek, Latin …")


def escape_character(letter: str) -> str:
    """One character outside of a class, escaped where needed."""
    if letter in _SPECIAL:
        return "\\" + letter
    return letter if letter.isprintable() else _hex_escape(ord(letter))


def any_case_character(letter: str) -> str:
    """One character in any case."""
    letters = _cases_of(letter)
    return escape_character(letter) if len(letters) == 1 else f"[{''.join(letters)}]"


def _cases_of(letter: str) -> list[str]:
    for orbit in _CASE_ORBITS:
        if letter in orbit:
            return sorted(orbit)
    if _has_two_cases(letter):
        return sorted({letter, letter.swapcase()})
    if not letter.isascii() and (letter.swapcase() != letter or letter.casefold() != letter):
        raise BadPattern(f"`{letter}` in any case is not supported", "name its cases in a class: [éÉ]")
    return [letter]


def _has_two_cases(letter: str) -> bool:
    return any(low <= ord(letter) <= high for low, high in _TWO_CASE_RANGES)


def java_class(found: CharClass, any_case: str) -> str:
    """A class in Java's syntax."""
    ranges = list(found.ranges)
    if any_case:
        if found.named:
            raise BadPattern("`\\p{…}` in any case is not supported")
        ranges += _other_cases(found.ranges)
    inside = "".join(map(_range_in_class, _merge_ranges([*ranges, *found.closed])))
    return f"[{'^' if found.negated else ''}{inside}{''.join(found.named)}]"


def _other_cases(ranges: Ranges) -> Iterable[tuple[int, int]]:
    for low, high in ranges:
        if high > 0x24F and high - low > 0x400:
            raise BadPattern("a range of letters this wide is not supported where case is ignored")
        for code in range(low, high + 1):
            yield from ((ord(letter), ord(letter)) for letter in _cases_of(chr(code)))


def _merge_ranges(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged


def _range_in_class(span: tuple[int, int]) -> str:
    low, high = span
    if low == high:
        return _escape_in_class(low)
    return _escape_in_class(low) + ("-" if high > low + 1 else "") + _escape_in_class(high)


def _escape_in_class(code: int) -> str:
    letter = chr(code)
    if letter in _SPECIAL_IN_CLASS:
        return "\\" + letter
    return letter if letter.isprintable() and code <= 0xFFFF else _hex_escape(code)


def _hex_escape(code: int) -> str:
    return f"\\x{{{code:X}}}"
