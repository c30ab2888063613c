"""A regular expression of RE2, which ClickHouse reads, as one of Java's that matches the same.

In: a pattern. Out: `Pattern`. Called by the functions on texts. Invariant: what RE2 refuses, and what Java
might match otherwise, raises BadPattern; nothing is passed on unread.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from penstock.sql.re2_classes import (
    PERL,
    BadPattern,
    CharClass,
    cased,
    literal,
    posix_class,
    spelled,
    unicode_class,
)

LONGEST_REPEAT = 1000
_WORD = "[0-9A-Za-z_]"
_BOUNDARY = f"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))"
_INSIDE = f"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))"
_ASSERTIONS = {"A": r"\A", "z": r"\z", "b": _BOUNDARY, "B": _INSIDE}
_CONTROLS = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
_REPEAT = re.compile(r"\{([0-9]+)(,([0-9]*))?\}")
_NAMED = re.compile(r"P?<([A-Za-z_0-9]+)>")
_FLAGS = re.compile(r"([imsU]*)(-[imsU]+)?([:)])")


@dataclass(frozen=True, slots=True)
class Pattern:
    """`java` has a flag of its own in front: `.` matches a line end. `empty`: it can match nothing."""

    java: str
    groups: int
    empty: bool


@dataclass(frozen=True, slots=True)
class _Part:
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
    reader = _Reader(pattern, _Flags(i=bool(any_case)))
    whole = reader.alternatives()
    if reader.at < len(pattern):
        raise BadPattern("unexpected `)`")
    return Pattern("(?s)" + whole.java, reader.groups, whole.empty)


class _Reader:
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

    def alternatives(self) -> _Part:
        parts = [self._sequence()]
        while self._next("|"):
            self.at += 1
            parts.append(self._sequence())
        return _Part("|".join(part.java for part in parts), any(part.empty for part in parts))

    def _sequence(self) -> _Part:
        parts: list[_Part] = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            atom = self._atom()
            parts += [self._repeated(atom[-1])] if len(atom) == 1 else self._last_repeated(atom)
        return _Part("".join(part.java for part in parts), all(part.empty for part in parts))

    def _last_repeated(self, atoms: list[_Part]) -> list[_Part]:
        """Of a quoted text only the last letter is repeated; flags alone are nothing to repeat."""
        if not atoms:
            if self.at < len(self.pattern) and self.pattern[self.at] in "*+?":
                raise BadPattern(f"nothing to repeat by `{self.pattern[self.at]}`")
            return []
        return [*atoms[:-1], self._repeated(atoms[-1])]

    def _repeated(self, part: _Part) -> _Part:
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
        return _Part(f"{part.java}{written}{'?' if lazy != self.flags.U else ''}", part.empty or least == 0)

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
        if max(least, most or 0) > LONGEST_REPEAT or (most is not None and most < least):
            raise BadPattern(f"invalid repetition `{found.group()}`")
        return least, most, found.group()

    def _atom(self) -> list[_Part]:
        sign = self._take()
        match sign:
            case "(":
                return self._group()
            case "[":
                return [_Part(spelled(self._class(), self.flags.case), False)]
            case ".":
                return [_Part("." if self.flags.s else r"[^\n]", False)]
            case "^":
                return [_Part(r"(?<![^\n])" if self.flags.m else "^", True)]
            case "$":
                return [_Part(r"(?![^\n])" if self.flags.m else r"\z", True)]
            case "\\":
                return self._escaped()
            case "*" | "+" | "?":
                raise BadPattern(f"nothing to repeat by `{sign}`")
        if _REPEAT.match(self.pattern, self.at - 1):
            raise BadPattern("nothing to repeat by `{`")
        return [self._letter(sign)]

    def _letter(self, letter: str) -> _Part:
        return _Part(cased(letter) if self.flags.i else literal(letter), False)

    def _escaped(self) -> list[_Part]:
        sign = self._take()
        if sign == "Q":
            end = self.pattern.find("\\E", self.at)
            quoted = self.pattern[self.at : end] if end >= 0 else self.pattern[self.at :]
            self.at = end + 2 if end >= 0 else len(self.pattern)
            return [self._letter(letter) for letter in quoted]
        if sign in _ASSERTIONS:
            return [_Part(_ASSERTIONS[sign], True)]
        if sign.lower() in PERL:
            return [_Part(spelled(CharClass.perl(sign, self.flags.case), self.flags.case), False)]
        if sign in "pP":
            return [_Part(spelled(self._unicode(sign), self.flags.case), False)]
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

    def _group(self) -> list[_Part]:
        around = self.flags
        opened = "("
        if self._next("?"):
            self.at += 1
            named = _NAMED.match(self.pattern, self.at)
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
        return [_Part(f"{opened}{inside.java})", inside.empty)]

    def _name(self, named: re.Match[str]) -> None:
        if named.group(1) in self.names:
            raise BadPattern(f"two groups are called `{named.group(1)}`")
        self.names.add(named.group(1))
        self.at = named.end()

    def _change_flags(self) -> str:
        """`(?i)`, `(?s-m:` …; what ends them."""
        found = _FLAGS.match(self.pattern, self.at)
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
