"""Translates a regular expression of RE2, which ClickHouse uses, into one of Java's that matches the same.

Takes a pattern in RE2's syntax (https://github.com/google/re2/wiki/Syntax) and returns a `Pattern`. Everything in the
pattern is parsed: what RE2 refuses, and what Java might match otherwise, raises BadPattern.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from penstock.sql.functions.strings.character_classes import (
    PERL,
    BadPattern,
    CharClass,
    any_case_character,
    escape_character,
    java_class,
    posix_class,
    unicode_class,
)

MAX_REPETITIONS = 1000
"""The limit of RE2."""
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
    """A translated pattern. `java` begins with a flag that makes `.` match a line end; `empty`: it can match the empty
    string."""

    java: str
    groups: int
    empty: bool


@dataclass(frozen=True, slots=True)
class _JavaPart:
    """A piece of the translated pattern; `empty`: it can match the empty string."""

    java: str
    empty: bool


@dataclass(frozen=True, slots=True)
class _Flags:
    """The flags of a group. `i`: ignore case; `m`: `^` and `$` match at lines; `s`: `.` matches a line end; `U`: greedy
    and lazy repetitions change places."""

    i: bool = False
    m: bool = False
    s: bool = True
    U: bool = False

    @property
    def case(self) -> str:
        return "i" if self.i else ""


def java_pattern(pattern: str, any_case: str = "") -> Pattern:
    """The same pattern in Java's syntax; `any_case` is "i" for functions that ignore case. Raises BadPattern."""
    reader = _Parser(pattern, _Flags(i=bool(any_case)))
    whole = reader.alternatives()
    if reader.at < len(pattern):
        raise BadPattern("unexpected `)`")
    return Pattern("(?s)" + whole.java, reader.groups, whole.empty)


class _Parser:
    """A recursive-descent parser. Flags hold to the end of the group in which they stand."""

    def __init__(self, pattern: str, flags: _Flags):
        self.pattern = pattern
        self.at = 0
        self.flags = flags
        self.groups = 0
        self.names: set[str] = set()

    def _looking_at(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def _take(self) -> str:
        if self.at >= len(self.pattern):
            raise BadPattern("it ends too early")
        self.at += 1
        return self.pattern[self.at - 1]

    def alternatives(self) -> _JavaPart:
        parts = [self._sequence()]
        while self._looking_at("|"):
            self.at += 1
            parts.append(self._sequence())
        return _JavaPart("|".join(part.java for part in parts), any(part.empty for part in parts))

    def _sequence(self) -> _JavaPart:
        parts: list[_JavaPart] = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            atom = self._atom()
            parts += [self._repetition(atom[-1])] if len(atom) == 1 else self._repetition_of_last(atom)
        return _JavaPart("".join(part.java for part in parts), all(part.empty for part in parts))

    def _repetition_of_last(self, atoms: list[_JavaPart]) -> list[_JavaPart]:
        """Of a quoted text only the last letter is repeated; flags alone are nothing to repeat."""
        if not atoms:
            if self.at < len(self.pattern) and self.pattern[self.at] in "*+?":
                raise BadPattern(f"nothing to repeat by `{self.pattern[self.at]}`")
            return []
        return [*atoms[:-1], self._repetition(atoms[-1])]

    def _repetition(self, part: _JavaPart) -> _JavaPart:
        bounds = self._bounds()
        if bounds is None:
            return part
        least, most, written = bounds
        if part.empty and most != least and (most is None or most > 1):
            raise BadPattern(f"what may be empty is repeated by `{written}`", "make it match at least one character")
        lazy = self._looking_at("?")
        self.at += lazy
        if self._bounds() is not None or self._looking_at("+"):
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
                return self._escape()
            case "*" | "+" | "?":
                raise BadPattern(f"nothing to repeat by `{sign}`")
        if _REPEAT.match(self.pattern, self.at - 1):
            raise BadPattern("nothing to repeat by `{`")
        return [self._letter(sign)]

    def _letter(self, letter: str) -> _JavaPart:
        return _JavaPart(any_case_character(letter) if self.flags.i else escape_character(letter), False)

    def _escape(self) -> list[_JavaPart]:
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
            return [_JavaPart(java_class(self._unicode_class(sign), self.flags.case), False)]
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
            raise BadPattern(f"`\\{sign}` is not an escape of RE2")
        return sign

    def _unicode_class(self, sign: str) -> CharClass:
        name = self._take()
        if name == "{":
            end = self.pattern.find("}", self.at)
            name, self.at = (self.pattern[self.at : end], end + 1) if end >= 0 else ("", self.at)
        return unicode_class(name.removeprefix("^"), sign.swapcase() if name.startswith("^") else sign)

    def _group(self) -> list[_JavaPart]:
        around = self.flags
        opened = "("
        if self._looking_at("?"):
            self.at += 1
            named = _GROUP_NAME.match(self.pattern, self.at)
            if named is not None:
                self._add_name(named)
            else:
                opened = "(?:"
                if self._change_flags() == ")":
                    return []
        self.groups += opened == "("
        inside = self.alternatives()
        if not self._looking_at(")"):
            raise BadPattern("a `)` is missing")
        self.at += 1
        self.flags = around
        return [_JavaPart(f"{opened}{inside.java})", inside.empty)]

    def _add_name(self, named: re.Match[str]) -> None:
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
        negated = self._looking_at("^")
        self.at += negated
        found = CharClass(negated=negated)
        first = True
        while first or not self._looking_at("]"):
            first = False
            found = found.joined(self._class_item())
        self.at += 1
        return found

    def _class_item(self) -> CharClass:
        if self._looking_at("[:"):
            end = self.pattern.find(":]", self.at)
            if end >= 0:
                name, self.at = self.pattern[self.at + 2 : end], end + 2
                return posix_class(name, self.flags.case)
        if self._looking_at("\\") and self.pattern[self.at + 1 : self.at + 2].lower() in (*PERL, "p"):
            self.at += 2
            sign = self.pattern[self.at - 1]
            return self._unicode_class(sign) if sign in "pP" else CharClass.perl(sign, self.flags.case)
        low = self._class_character()
        if not self._looking_at("-") or self._looking_at("-]"):
            return CharClass(((ord(low), ord(low)),))
        self.at += 1
        high = self._class_character()
        if high < low:
            raise BadPattern(f"invalid range `{low}-{high}`")
        return CharClass(((ord(low), ord(high)),))

    def _class_character(self) -> str:
        sign = self._take()
        return self._character(self._take()) if sign == "\\" else sign
