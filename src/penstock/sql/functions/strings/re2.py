"""A regular expression of RE2, which ClickHouse reads, as one of Java's that matches the same.

In: a pattern. Out: `Pattern`. Called by the functions on texts. Invariant: what RE2 refuses, and what Java
might match otherwise, raises BadPattern; nothing is passed on unread.

The character classes of a regular expression, and letters in any case.

In: names and ranges as RE2 has them. Out: Java's syntax. Called by re2. Invariant: Java gets ranges and
classes that mean one thing only; a letter whose cases are not sure is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

MAX_REPETITIONS = 1000
_WORD = "[0-9A-Za-z_]"
_BOUNDARY = f"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))"
_NO_BOUNDARY = f"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))"
_ASSERTIONS = {"A": r"\A", "z": r"\z", "b": _BOUNDARY, "B": _NO_BOUNDARY}
_CONTROLS = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
_REPEAT = re.compile(r"\{([0-9]+)(,([0-9]*))?\}")
_GROUP_NAME = re.compile(r"P?<([A-Za-z_0-9]+)>")
_GROUP_FLAGS = re.compile(r"([imsU]*)(-[imsU]+)?([:)])")


@dataclass(frozen=True, slots=True)
class Pattern:
    """`java` has a flag of its own in front: `.` matches a line end. `empty`: it can match nothing."""

    java: str
    groups: int
    empty: bool


@dataclass(frozen=True, slots=True)
class _JavaPart:
    java: str
    empty: bool


@dataclass(frozen=True, slots=True)
class _Flags:
    """`i`: any case; `m`: lines; `s`: `.` matches a line end; `U`: lazy where greedy is written."""

    i: bool = False
    m: bool = False
    s: bool = True
    U: bool = False

    @property
    def case(self) -> str:
        return "i" if self.i else ""


def java_pattern(pattern: str, any_case: str = "") -> Pattern:
    """The same in Java's syntax; `any_case` is "i" for a function that ignores the case. Raises BadPattern."""
    reader = _Parser(pattern, _Flags(i=bool(any_case)))
    whole = reader.alternatives()
    if reader.at < len(pattern):
        raise BadPattern("unexpected `)`")
    return Pattern("(?s)" + whole.java, reader.groups, whole.empty)


class _Parser:
    """Reads from left to right; flags hold to the end of the group that they stand in."""

    def __init__(self, pattern: str, flags: _Flags):
        self.pattern = pattern
        self.at = 0
        self.flags = flags
        self.groups = 0
        self.names: set[str] = set()

    def _next(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def _take(self) -> str:
        if self.at >= len(self.pattern):
            raise BadPattern("it ends too early")
        self.at += 1
        return self.pattern[self.at - 1]

    def alternatives(self) -> _JavaPart:
        parts = [self._sequence()]
        while self._next("|"):
            self.at += 1
            parts.append(self._sequence())
        return _JavaPart("|".join(part.java for part in parts), any(part.empty for part in parts))

    def _sequence(self) -> _JavaPart:
        parts: list[_JavaPart] = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            atom = self._atom()
            parts += [self._repeated(atom[-1])] if len(atom) == 1 else self._last_repeated(atom)
        return _JavaPart("".join(part.java for part in parts), all(part.empty for part in parts))

    def _last_repeated(self, atoms: list[_JavaPart]) -> list[_JavaPart]:
        """Of a quoted text only the last letter is repeated; flags alone are nothing to repeat."""
        if not atoms:
            if self.at < len(self.pattern) and self.pattern[self.at] in "*+?":
                raise BadPattern(f"nothing to repeat by `{self.pattern[self.at]}`")
            return []
        return [*atoms[:-1], self._repeated(atoms[-1])]

    def _repeated(self, part: _JavaPart) -> _JavaPart:
        bounds = self._bounds()
        if bounds is None:
            return part
        least, most, written = bounds
        if part.empty and most != least and (most is None or most > 1):
            raise BadPattern(f"what may be empty is repeated by `{written}`", "make it match at least one character")
        lazy = self._next("?")
        self.at += lazy
        if self._bounds() is not None or self._next("+"):
            raise BadPattern("a repetition is repeated")
        return _JavaPart(f"{part.java}{written}{'?' if lazy != self.flags.U else ''}", part.empty or least == 0)

    def _bounds(self) -> tuple[int, int | None, str] | None:
        """How often at least and at most, and how that is written; None where nothing is repeated."""
        sign = self.pattern[self.at : self.at + 1]
        if sign and sign in "*+?":
            self.at += 1
            return (1 if sign == "+" else 0, 1 if sign == "?" else None, sign)
        found = _REPEAT.match(self.pattern, self.at)
        if found is None:
            return None
        self.at = found.end()
        least = int(found.group(1))
        most = least if found.group(2) is None else int(found.group(3)) if found.group(3) else None
        if max(least, most or 0) > MAX_REPETITIONS or (most is not None and most < least):
            raise BadPattern(f"invalid repetition `{found.group()}`")
        return least, most, found.group()

    def _atom(self) -> list[_JavaPart]:
        sign = self._take()
        match sign:
            case "(":
                return self._group()
            case "[":
                return [_JavaPart(java_class(self._class(), self.flags.case), False)]
            case ".":
                return [_JavaPart("." if self.flags.s else r"[^\n]", False)]
            case "^":
                return [_JavaPart(r"(?<![^\n])" if self.flags.m else "^", True)]
            case "$":
                return [_JavaPart(r"(?![^\n])" if self.flags.m else r"\z", True)]
            case "\\":
                return self._escaped()
            case "*" | "+" | "?":
                raise BadPattern(f"nothing to repeat by `{sign}`")
        if _REPEAT.match(self.pattern, self.at - 1):
            raise BadPattern("nothing to repeat by `{`")
        return [self._letter(sign)]

    def _letter(self, letter: str) -> _JavaPart:
        return _JavaPart(any_case_character(letter) if self.flags.i else escape_character(letter), False)

    def _escaped(self) -> list[_JavaPart]:
        sign = self._take()
        if sign == "Q":
            end = self.pattern.find("\\E", self.at)
            quoted = self.pattern[self.at : end] if end >= 0 else self.pattern[self.at :]
            self.at = end + 2 if end >= 0 else len(self.pattern)
            return [self._letter(letter) for letter in quoted]
        if sign in _ASSERTIONS:
            return [_JavaPart(_ASSERTIONS[sign], True)]
        if sign.lower() in PERL:
            return [_JavaPart(java_class(CharClass.perl(sign, self.flags.case), self.flags.case), False)]
        if sign in "pP":
            return [_JavaPart(java_class(self._unicode(sign), self.flags.case), False)]
        return [self._letter(self._character(sign))]

    def _character(self, sign: str) -> str:
        """The character of `\\n`, `\\x41`, `\\101`, `\\.` …"""
        if sign in _CONTROLS:
            return chr(_CONTROLS[sign])
        if sign == "x":
            found = re.compile(r"([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,6})\}").match(self.pattern, self.at)
            code = int(found.group(1) or found.group(2), 16) if found is not None else -1
            if found is None or code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
                raise BadPattern(r"invalid escape `\x`")
            self.at = found.end()
            return chr(code)
        octal = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}").match(self.pattern, self.at - 1)
        if octal is not None:
            self.at = octal.end()
            return chr(int(octal.group(), 8))
        if not sign.isascii() or sign.isalnum():
            raise BadPattern(f"`\\{sign}` is no escape of RE2's")
        return sign

    def _unicode(self, sign: str) -> CharClass:
        name = self._take()
        if name == "{":
            end = self.pattern.find("}", self.at)
            name, self.at = (self.pattern[self.at : end], end + 1) if end >= 0 else ("", self.at)
        return unicode_class(name.removeprefix("^"), sign.swapcase() if name.startswith("^") else sign)

    def _group(self) -> list[_JavaPart]:
        around = self.flags
        opened = "("
        if self._next("?"):
            self.at += 1
            named = _GROUP_NAME.match(self.pattern, self.at)
            if named is not None:
                self._name(named)
            else:
                opened = "(?:"
                if self._change_flags() == ")":
                    return []
        self.groups += opened == "("
        inside = self.alternatives()
        if not self._next(")"):
            raise BadPattern("a `)` is missing")
        self.at += 1
        self.flags = around
        return [_JavaPart(f"{opened}{inside.java})", inside.empty)]

    def _name(self, named: re.Match[str]) -> None:
        if named.group(1) in self.names:
            raise BadPattern(f"two groups are called `{named.group(1)}`")
        self.names.add(named.group(1))
        self.at = named.end()

    def _change_flags(self) -> str:
        """`(?i)`, `(?s-m:` …; what ends them."""
        found = _GROUP_FLAGS.match(self.pattern, self.at)
        if found is None or found.group() == ")":
            raise BadPattern(f"`(?{self.pattern[self.at : self.at + 1]}` is not known to RE2")
        on, off = found.group(1), (found.group(2) or "")[1:]
        self.flags = replace(self.flags, **dict.fromkeys(on, True), **dict.fromkeys(set(off) - set(on), False))
        if set(on) & set(off):
            raise BadPattern("a flag is set and unset at once")
        self.at = found.end()
        return found.group(3)

    def _class(self) -> CharClass:
        """What follows `[`."""
        negated = self._next("^")
        self.at += negated
        found = CharClass(negated=negated)
        first = True
        while first or not self._next("]"):
            first = False
            found = found.joined(self._class_item())
        self.at += 1
        return found

    def _class_item(self) -> CharClass:
        if self._next("[:"):
            end = self.pattern.find(":]", self.at)
            if end >= 0:
                name, self.at = self.pattern[self.at + 2 : end], end + 2
                return posix_class(name, self.flags.case)
        if self._next("\\") and self.pattern[self.at + 1 : self.at + 2].lower() in (*PERL, "p"):
            self.at += 2
            sign = self.pattern[self.at - 1]
            return self._unicode(sign) if sign in "pP" else CharClass.perl(sign, self.flags.case)
        low = self._class_character()
        if not self._next("-") or self._next("-]"):
            return CharClass(((ord(low), ord(low)),))
        self.at += 1
        high = self._class_character()
        if high < low:
            raise BadPattern(f"invalid range `{low}-{high}`")
        return CharClass(((ord(low), ord(high)),))

    def _class_character(self) -> str:
        sign = self._take()
        return self._character(self._take()) if sign == "\\" else sign


Ranges = tuple[tuple[int, int], ...]
LAST_CODE_POINT = 0x10FFFF


class BadPattern(Exception):
    """What is wrong with a pattern, as a sentence and a hint."""

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
_CATEGORIES = frozenset(
    (
        "L",
        "Ll",
        "Lm",
        "Lo",
        "Lt",
        "Lu",
        "M",
        "Mc",
        "Me",
        "Mn",
        "N",
        "Nd",
        "Nl",
        "No",
        "P",
        "Pc",
        "Pd",
        "Pe",
        "Pf",
        "Pi",
        "Po",
        "Ps",
        "S",
        "Sc",
        "Sk",
        "Sm",
        "So",
        "Z",
        "Zl",
        "Zp",
        "Zs",
        "Cc",
        "Cf",
        "Co",
    )
)
_SCRIPTS = frozenset(
    (
        "Arabic",
        "Armenian",
        "Cyrillic",
        "Devanagari",
        "Georgian",
        "Greek",
        "Han",
        "Hangul",
        "Hebrew",
        "Hiragana",
        "Katakana",
        "Latin",
        "Thai",
    )
)
# Letters of which more than two are one, whatever the case.
_CASE_ORBITS = ("kK\u212a", "sS\u017f", "åÅ\u212b")
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
        return _complement_class(ranges, any_case) if sign.isupper() else cls(ranges)

    def joined(self, other: CharClass) -> CharClass:
        return CharClass(self.ranges + other.ranges, self.closed + other.closed, self.named + other.named, self.negated)


def _complement(ranges: Ranges) -> Ranges:
    """All that is in none of sorted ranges."""
    starts = [0, *(high + 1 for _, high in ranges)]
    ends = [*(low - 1 for low, _ in ranges), LAST_CODE_POINT]
    return tuple((low, high) for low, high in zip(starts, ends, strict=True) if low <= high)


def _complement_class(ranges: Ranges, any_case: str) -> CharClass:
    """All that is in none of ranges, nor is another case of it."""
    cased_too = (*ranges, *_other_cases(ranges)) if any_case else ranges
    return CharClass(closed=_complement(tuple(_merge_ranges(cased_too))))


def posix_class(name: str, any_case: str) -> CharClass:
    """`alpha` of `[:alpha:]`, or `^alpha`."""
    ranges = _POSIX.get(name.removeprefix("^"))
    if ranges is None:
        raise BadPattern(f"unknown class `[:{name}:]`")
    return _complement_class(ranges, any_case) if name.startswith("^") else CharClass(ranges)


def unicode_class(name: str, sign: str) -> CharClass:
    """`\\pN`, `\\p{Greek}`, `\\P{L}`; `sign` is the `p`, a capital one for what is not in the class."""
    if name == "Any" and sign == "p":
        return CharClass(closed=((0, LAST_CODE_POINT),))
    if name in _CATEGORIES:
        return CharClass(named=(f"\\{sign}{{{name}}}",))
    if name in _SCRIPTS:
        return CharClass(named=(f"\\{sign}{{Is{name}}}",))
    raise BadPattern(f"the class `\\p{{{name}}}` is not supported", "categories such as L, Lu, N, P, Z; Greek, Latin …")


def escape_character(letter: str) -> str:
    """One character outside of a class."""
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
            raise BadPattern("so wide a range of letters in any case is not supported")
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
