"""Translates a regular expression of RE2, which ClickHouse uses, into one of Java's that matches the same.

Takes a pattern in RE2's syntax (https://github.com/google/re2/wiki/Syntax) and returns a `Pattern`. Everything in the
pattern is parsed: what RE2 refuses, and what Java might match otherwise, raises BadPattern.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from penstock.model.quick_dataclass import dataclass
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
    """A translated pattern."""

    java: str
    """Begins with a flag that makes `.` match a line end."""
    groups: int
    empty: bool
    """It can match the empty string."""


@dataclass(frozen=True, slots=True)
class _JavaPart:
    """A piece of the translated pattern."""

    java: str
    empty: bool
    """It can match the empty string."""


@dataclass(frozen=True, slots=True)
class _Flags:
    """The flags of a group."""

    i: bool = False
    """Ignore case."""
    m: bool = False
    """`^` and `$` match at lines."""
    s: bool = True
    """`.` matches a line end."""
    U: bool = False
    """Greedy and lazy repetitions are exchanged."""

    @property
    def case(self) -> str:
        return "i" if self.i else ""


@lru_cache(maxsize=256)
def java_pattern(pattern: str, any_case: str = "") -> Pattern:
    """The same pattern in Java's syntax; `any_case` is "i" for functions that ignore case. Raises BadPattern."""
    parser = _Parser(pattern, _Flags(i=bool(any_case)))
    whole = parser.read_alternatives()
    if parser.position < len(pattern):
        raise BadPattern("unexpected `)`")
    return Pattern("(?s)" + whole.java, parser.groups, whole.empty)


class _Parser:
    """A recursive-descent parser. Flags hold to the end of the group in which they stand."""

    def __init__(self, pattern: str, flags: _Flags):
        self.pattern = pattern
        self.position = 0
        self.flags = flags
        self.groups = 0
        self.names: set[str] = set()

    def _looking_at(self, text: str) -> bool:
        return self.pattern.startswith(text, self.position)

    def _next_character(self) -> str:
        """Consumes one character. Raises BadPattern at the end of the pattern."""
        if self.position >= len(self.pattern):
            raise BadPattern("the pattern ends too early")
        self.position += 1
        return self.pattern[self.position - 1]

    def read_alternatives(self) -> _JavaPart:
        """Sequences separated by `|`, up to a closing bracket or the end."""
        parts = [self._read_sequence()]
        while self._looking_at("|"):
            self.position += 1
            parts.append(self._read_sequence())
        return _JavaPart("|".join(part.java for part in parts), any(part.empty for part in parts))

    def _read_sequence(self) -> _JavaPart:
        parts: list[_JavaPart] = []
        while self.position < len(self.pattern) and self.pattern[self.position] not in "|)":
            atom = self._read_atom()
            parts += [self._read_repetition(atom[-1])] if len(atom) == 1 else self._repeat_last(atom)
        return _JavaPart("".join(part.java for part in parts), all(part.empty for part in parts))

    def _repeat_last(self, atoms: list[_JavaPart]) -> list[_JavaPart]:
        """Only the last letter of a text quoted by `\\Q` is repeated; flags alone cannot be repeated."""
        if not atoms:
            if self.position < len(self.pattern) and self.pattern[self.position] in "*+?":
                raise BadPattern(f"nothing to repeat by `{self.pattern[self.position]}`")
            return []
        return [*atoms[:-1], self._read_repetition(atoms[-1])]

    def _read_repetition(self, part: _JavaPart) -> _JavaPart:
        bounds = self._read_bounds()
        if bounds is None:
            return part
        least, most, written = bounds
        if part.empty and most != least and (most is None or most > 1):
            raise BadPattern(
                f"`{written}` repeats what may match the empty string", "make it match at least one character"
            )
        lazy = self._looking_at("?")
        self.position += lazy
        if self._read_bounds() is not None or self._looking_at("+"):
            raise BadPattern("a repetition is repeated")
        return _JavaPart(f"{part.java}{written}{'?' if lazy != self.flags.U else ''}", part.empty or least == 0)

    def _read_bounds(self) -> tuple[int, int | None, str] | None:
        """The least and the greatest number of repetitions and their text; None if nothing is repeated."""
        sign = self.pattern[self.position : self.position + 1]
        if sign and sign in "*+?":
            self.position += 1
            return (1 if sign == "+" else 0, 1 if sign == "?" else None, sign)
        found = _REPEAT.match(self.pattern, self.position)
        if found is None:
            return None
        self.position = found.end()
        least = int(found.group(1))
        most = least if found.group(2) is None else int(found.group(3)) if found.group(3) else None
        if max(least, most or 0) > MAX_REPETITIONS or (most is not None and most < least):
            raise BadPattern(f"invalid repetition `{found.group()}`")
        return least, most, found.group()

    def _read_atom(self) -> list[_JavaPart]:
        """What a repetition may follow: the letters of a quoted text one by one, nothing for flags alone."""
        sign = self._next_character()
        match sign:
            case "(":
                return self._read_group()
            case "[":
                return [_JavaPart(java_class(self._read_class(), self.flags.case), False)]
            case ".":
                return [_JavaPart("." if self.flags.s else r"[^\n]", False)]
            case "^":
                return [_JavaPart(r"(?<![^\n])" if self.flags.m else "^", True)]
            case "$":
                return [_JavaPart(r"(?![^\n])" if self.flags.m else r"\z", True)]
            case "\\":
                return self._read_escape()
            case "*" | "+" | "?":
                raise BadPattern(f"nothing to repeat by `{sign}`")
        if _REPEAT.match(self.pattern, self.position - 1):
            raise BadPattern("nothing to repeat by `{`")
        return [self._translate_letter(sign)]

    def _translate_letter(self, letter: str) -> _JavaPart:
        return _JavaPart(any_case_character(letter) if self.flags.i else escape_character(letter), False)

    def _read_escape(self) -> list[_JavaPart]:
        """What follows a backslash: quoted text, an assertion, a class or a character."""
        sign = self._next_character()
        if sign == "Q":
            end = self.pattern.find("\\E", self.position)
            quoted = self.pattern[self.position : end] if end >= 0 else self.pattern[self.position :]
            self.position = end + 2 if end >= 0 else len(self.pattern)
            return [self._translate_letter(letter) for letter in quoted]
        if sign in _ASSERTIONS:
            return [_JavaPart(_ASSERTIONS[sign], True)]
        if sign.lower() in PERL:
            return [_JavaPart(java_class(CharClass.perl(sign, self.flags.case), self.flags.case), False)]
        if sign in "pP":
            return [_JavaPart(java_class(self._read_unicode_class(sign), self.flags.case), False)]
        return [self._translate_letter(self._read_escaped_character(sign))]

    def _read_escaped_character(self, sign: str) -> str:
        """The character of `\\n`, `\\x41`, `\\101` or `\\.`, whose first character `sign` has been consumed."""
        if sign in _CONTROLS:
            return chr(_CONTROLS[sign])
        if sign == "x":
            found = re.compile(r"([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,6})\}").match(self.pattern, self.position)
            code = int(found.group(1) or found.group(2), 16) if found is not None else -1
            if found is None or code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
                raise BadPattern(r"invalid escape `\x`")
            self.position = found.end()
            return chr(code)
        octal = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}").match(self.pattern, self.position - 1)
        if octal is not None:
            self.position = octal.end()
            return chr(int(octal.group(), 8))
        if not sign.isascii() or sign.isalnum():
            raise BadPattern(f"`\\{sign}` is not an escape of RE2")
        return sign

    def _read_unicode_class(self, sign: str) -> CharClass:
        name = self._next_character()
        if name == "{":
            end = self.pattern.find("}", self.position)
            name, self.position = (self.pattern[self.position : end], end + 1) if end >= 0 else ("", self.position)
        return unicode_class(name.removeprefix("^"), sign.swapcase() if name.startswith("^") else sign)

    def _read_group(self) -> list[_JavaPart]:
        """A group, whose `(` has been consumed; nothing for flags alone."""
        around = self.flags
        opened = "("
        if self._looking_at("?"):
            self.position += 1
            named = _GROUP_NAME.match(self.pattern, self.position)
            if named is not None:
                self._read_group_name(named)
            else:
                opened = "(?:"
                if self._read_flags() == ")":
                    return []
        self.groups += opened == "("
        inside = self.read_alternatives()
        if not self._looking_at(")"):
            raise BadPattern("a `)` is missing")
        self.position += 1
        self.flags = around
        return [_JavaPart(f"{opened}{inside.java})", inside.empty)]

    def _read_group_name(self, named: re.Match[str]) -> None:
        if named.group(1) in self.names:
            raise BadPattern(f"two groups have the name `{named.group(1)}`")
        self.names.add(named.group(1))
        self.position = named.end()

    def _read_flags(self) -> str:
        """Applies `(?i)` or `(?s-m:` and returns the character that ends the flags."""
        found = _GROUP_FLAGS.match(self.pattern, self.position)
        if found is None or found.group() == ")":
            raise BadPattern(f"`(?{self.pattern[self.position : self.position + 1]}` is not known to RE2")
        on, off = found.group(1), (found.group(2) or "")[1:]
        self.flags = replace(self.flags, **dict.fromkeys(on, True), **dict.fromkeys(set(off) - set(on), False))
        if set(on) & set(off):
            raise BadPattern("a flag is both set and cleared")
        self.position = found.end()
        return found.group(3)

    def _read_class(self) -> CharClass:
        """A character class, whose `[` has been consumed."""
        negated = self._looking_at("^")
        self.position += negated
        found = CharClass(negated=negated)
        first = True
        while first or not self._looking_at("]"):
            first = False
            found = found.union(self._read_class_item())
        self.position += 1
        return found

    def _read_class_item(self) -> CharClass:
        if self._looking_at("[:"):
            end = self.pattern.find(":]", self.position)
            if end >= 0:
                name, self.position = self.pattern[self.position + 2 : end], end + 2
                return posix_class(name, self.flags.case)
        if self._looking_at("\\") and self.pattern[self.position + 1 : self.position + 2].lower() in (*PERL, "p"):
            self.position += 2
            sign = self.pattern[self.position - 1]
            return self._read_unicode_class(sign) if sign in "pP" else CharClass.perl(sign, self.flags.case)
        low = self._read_class_character()
        if not self._looking_at("-") or self._looking_at("-]"):
            return CharClass(((ord(low), ord(low)),))
        self.position += 1
        high = self._read_class_character()
        if high < low:
            raise BadPattern(f"invalid range `{low}-{high}`")
        return CharClass(((ord(low), ord(high)),))

    def _read_class_character(self) -> str:
        sign = self._next_character()
        return self._read_escaped_character(self._next_character()) if sign == "\\" else sign
